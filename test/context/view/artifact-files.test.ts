/** Freshness of artifact files; files outside the hub's folder are never opened. */
import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Hub, HubOptions } from "../../../src/index.ts";
import { withoutNumbers } from "../../support/fences.ts";
import { openFresh, refusal, STORES, sha256, take, tempFolder } from "../../support/hub/support.ts";

async function sendAndAccept(
  hub: Hub,
  artifacts: { kind: string; path: string; digest?: string }[],
) {
  const [ada, ben] = [await hub.agent("ada", {}), await hub.agent("ben", {})];
  await ada.handoff({ to: "ben", task: "t", intent: "i", artifacts });
  return take(ben);
}

/** Returns the freshness that a hub with these options reports for one artifact. */
async function freshnessOf(
  artifact: { kind?: string; path: string; digest?: string },
  options: HubOptions,
): Promise<string | undefined> {
  const work = await sendAndAccept(await openFresh("memory", options), [
    { kind: "file", ...artifact },
  ]);
  const { artifacts } = await work.freshness();
  expect(artifacts.map(({ path }) => path)).toEqual([artifact.path]);
  return artifacts[0]?.freshness;
}

describe.each(STORES)("artifact files on %s", (store) => {
  it("are reported as fresh, stale, gone or unchecked to the receiver [CTX-10]", async () => {
    const files = tempFolder();
    mkdirSync(join(files, "src"));
    for (const name of ["same", "changed", "deleted"]) writeFileSync(join(files, name), name);
    writeFileSync(join(files, "src/läuft 😀.ts"), "export {};");
    const hub = await openFresh(store, { files });
    const same = await hub.handoffs.artifact("same");
    expect(same).toEqual({ kind: "file", path: "same", digest: sha256("same") });
    const deep = await hub.handoffs.artifact(join(files, "src/läuft 😀.ts"));
    expect(deep.path).toBe("src/läuft 😀.ts");
    const work = await sendAndAccept(hub, [
      same,
      deep,
      await hub.handoffs.artifact("./changed"),
      await hub.handoffs.artifact("deleted"),
      { kind: "file", path: "same" },
      { kind: "url", path: "https://example.org", digest: sha256("x") },
    ]);
    writeFileSync(join(files, "changed"), "something else");
    rmSync(join(files, "deleted"));
    const { artifacts } = await work.freshness();
    expect(artifacts.map(({ path, freshness }) => [path, freshness])).toEqual([
      ["same", "fresh"],
      ["src/läuft 😀.ts", "fresh"],
      ["changed", "stale"],
      ["deleted", "gone"],
      ["same", "unchecked"],
      ["https://example.org", "unchecked"],
    ]);
    const view = await work.view();
    expect(view.artifacts).toEqual(artifacts);
    expect(withoutNumbers(view.text)).toMatch(/«changed», STALE/);
    expect(withoutNumbers(view.text)).toMatch(/«deleted», GONE/);
  });
});

describe("access to artifact files", () => {
  const digest = sha256("secret");

  it("never opens a file outside the hub's folder [CTX-10]", async () => {
    const outside = tempFolder();
    writeFileSync(join(outside, "secret"), "secret");
    const files = join(outside, "in");
    mkdirSync(join(files, "folder"), { recursive: true });
    symlinkSync(join(outside, "secret"), join(files, "link"));
    symlinkSync(outside, join(files, "up"));
    writeFileSync(join(outside, "inner"), "secret");
    execFileSync("mkfifo", [join(files, "pipe")]);
    const ways = ["../secret", join(outside, "secret"), "link", "up/secret", "folder/../../secret"];
    for (const path of ways)
      expect([path, await freshnessOf({ path, digest }, { files })]).toEqual([path, "unchecked"]);
    for (const path of ["pipe", "folder"]) {
      expect([path, await freshnessOf({ path, digest }, { files })]).toEqual([path, "gone"]);
    }
    expect(await freshnessOf({ path: "in/link", digest }, { files: outside })).toBe("fresh");
    expect(await freshnessOf({ path: "inner", digest }, { files: false })).toBe("unchecked");
    const hub = await openFresh("memory", { files });
    for (const path of ["../secret", "up/secret", "link"]) {
      const { code } = await refusal(hub.handoffs.artifact(path));
      expect(["invalid_input", "file_unusable"]).toContain(code);
    }
    expect((await refusal(hub.handoffs.artifact(""))).code).toBe("invalid_input");
    const none = await openFresh("memory", { files: false });
    expect((await refusal(none.handoffs.artifact("inner"))).code).toBe("invalid_input");
  });

  it("opens files in a symlinked folder and in the current directory [CTX-10]", async () => {
    const folder = tempFolder();
    writeFileSync(join(folder, "secret"), "secret");
    const link = join(tempFolder(), "link");
    symlinkSync(folder, link);
    expect(await freshnessOf({ path: "secret", digest }, { files: link })).toBe("fresh");
    const own = await (await openFresh("memory")).handoffs.artifact("package.json");
    expect(await freshnessOf(own, {})).toBe("fresh");
    expect((await refusal(openFresh("memory", { files: 5 as never }))).code).toBe("invalid_input");
  });

  it("stops reading at the byte limit [CTX-10]", async () => {
    const files = tempFolder();
    for (const name of ["a", "b", "c"]) writeFileSync(join(files, name), name.repeat(40));
    const hub = await openFresh("memory", { files, limits: { artifactBytes: 100 } });
    const work = await sendAndAccept(
      hub,
      await Promise.all(["a", "b", "c"].map((name) => hub.handoffs.artifact(name))),
    );
    const { artifacts } = await work.freshness();
    expect(artifacts.map(({ freshness }) => freshness)).toEqual(["fresh", "fresh", "unchecked"]);
    writeFileSync(join(files, "large"), "x".repeat(101));
    expect((await refusal(hub.handoffs.artifact("large"))).code).toBe("file_unusable");
  });
});
