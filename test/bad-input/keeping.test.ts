/**
 * Invalid arguments to exports, imports, backups and restores: each call rejects with the path of
 * the invalid value, and nothing is written.
 */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { restore } from "../../src/index.ts";
import { contents, freshAddress, open, STORES, tempFolder } from "../support/hub/support.ts";
import { type ExpectedRefusal, refused } from "../support/refusal.ts";

/**
 * Expects a rejected promise: the call itself must not throw, so that a caller without `await`
 * handles errors in one place.
 */
async function rejected(act: () => Promise<unknown>, expected: ExpectedRefusal): Promise<void> {
  const attempt = act();
  attempt.catch(() => {});
  await refused(() => attempt, expected);
}

const invalid = (path: string | RegExp): ExpectedRefusal => ({ code: "invalid_input", path });

const NO_FILES = [undefined, null, 5, {}, ["a"], "", "a\0b", Symbol("s"), 10n];
const NO_OPTIONS = [null, 42, "text", true, [], () => 1];

/** Invalid options, each with the path that the error names. */
const WRONG: readonly (readonly [unknown, string])[] = [
  ...NO_OPTIONS.map((options) => [options, ""] as const),
  [{ onProgress: "often" }, "onProgress"],
  [{ onProgress: null }, "onProgress"],
  [{ onProgess: () => {} }, "onProgess"],
];

describe.each(STORES)("archives on %s", (store) => {
  async function scene() {
    const address = freshAddress(store);
    const hub = await open(address);
    const agent = await hub.agent("ada", {});
    await agent.remember({ content: "known" });
    const folder = tempFolder();
    return { hub, agent, address, folder, file: join(folder, "out") };
  }

  it("refuse an invalid path and change nothing [MEM-17]", async () => {
    const { hub, folder, address } = await scene();
    const before = await contents(hub);
    for (const file of NO_FILES as never[]) {
      await rejected(() => hub.archive.exportTo(file), invalid("file"));
      await rejected(() => hub.archive.exportTo(file, { force: true }), invalid("file"));
      await rejected(() => hub.archive.backup(file), invalid("file"));
      await rejected(() => restore(file, address), invalid("backup"));
    }
    expect(await contents(hub)).toEqual(before);
    expect(readdirSync(folder)).toEqual([]);
  });

  it("refuse invalid options [MEM-17]", async () => {
    const { hub, folder, file } = await scene();
    const lines = await Array.fromAsync(hub.archive.export());
    for (const [options, path] of WRONG as [never, string][]) {
      await rejected(() => Array.fromAsync(hub.archive.export(options)), invalid(path));
      await rejected(() => hub.archive.exportTo(file, options), invalid(path));
      await rejected(() => hub.archive.import(lines, options), invalid(path));
      await rejected(() => hub.archive.backup(file, options), invalid(path));
    }
    const forced = { force: "yes" } as never;
    await rejected(() => hub.archive.exportTo(file, forced), invalid("force"));
    await rejected(
      () => Array.fromAsync(hub.archive.export({ force: true } as never)),
      invalid("force"),
    );
    expect(readdirSync(folder)).toEqual([]);
    const left = { onProgress: undefined, force: undefined };
    expect(await hub.archive.exportTo(file, left)).toMatchObject({ file });
  });

  it("refuse to import a source that does not consist of lines [MEM-17]", async () => {
    const { hub: full } = await scene();
    const [header = ""] = await Array.fromAsync(full.archive.export());
    const hub = await open(freshAddress(store));
    const before = await contents(hub);
    async function* broken() {
      yield header;
      yield 5;
    }
    for (const source of [
      ...NO_FILES.filter((each) => !Array.isArray(each)),
      () => 1,
      [null],
      [5],
      [{}],
      [[header]],
      [header, undefined],
      Buffer.from(header), // Iterates over numbers; inside a list it would be one line.
      broken(),
    ] as never[]) {
      await rejected(() => hub.archive.import(source), invalid("source"));
    }
    expect(await contents(hub)).toEqual(before);
  });

  it("refuse a Markdown document that is not a string, and invalid options [MEM-17]", async () => {
    const { agent, hub } = await scene();
    const before = await contents(hub);
    for (const text of [undefined, null, 5, {}, ["- a"], Buffer.from("- a")] as never[]) {
      await rejected(() => agent.memories.importMarkdown(text), invalid("document"));
    }
    for (const options of NO_OPTIONS as never[]) {
      await rejected(() => agent.memories.importMarkdown("- a", options), invalid(""));
    }
    await rejected(
      () => agent.memories.importMarkdown("- a", { dryrun: true } as never),
      invalid("dryrun"),
    );
    expect(await contents(hub)).toEqual(before);
  });

  it("refuse an invalid query of memories to export [MEM-17]", async () => {
    const { agent, hub } = await scene();
    for (const reader of [hub, agent]) {
      for (const [query, path] of [
        ...NO_OPTIONS.map((options) => [options, ""] as const),
        [{ branch: 5 }, "branch"],
        [{ branch: "" }, "branch"],
        [{ task: {} }, "task"],
        [{ type: "" }, "type"],
        [{ taks: "t" }, "taks"],
      ] as [never, string][]) {
        await rejected(() => reader.memories.exportMarkdown(query), invalid(path));
        await rejected(() => Array.fromAsync(reader.memories.export(query)), invalid(path));
      }
    }
  });

  it("refuse to restore with an invalid address or invalid options [MEM-17]", async () => {
    const { hub, folder, file } = await scene();
    await hub.archive.exportTo(file);
    const target = `sqlite:${join(folder, "target.db")}`;
    for (const [options, path] of [
      ...WRONG,
      [{ force: 1 }, "force"],
      [{ clock: {} }, "clock"],
      [{ limits: { pageSise: 1 } }, "limits.pageSise"],
      [{ workspace: "other" }, "workspace"],
    ] as [never, string][]) {
      await rejected(() => restore(file, target, options), invalid(path));
    }
    for (const address of [undefined, null, 5, {}, ""] as never[]) {
      await rejected(() => restore(file, address), invalid("address"));
    }
    expect(readdirSync(folder)).toEqual(["out"]);
    expect(await restore(file, target)).toMatchObject({ kind: "workspace" });
  });
});
