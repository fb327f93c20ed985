/** Export and import: a workspace moves from one store to another unchanged, or not at all. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Hub } from "../../src/index.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import {
  open,
  openFresh,
  refusal,
  STORES,
  sha256,
  take,
  tempFolder,
} from "../support/hub/support.ts";
import { chosenSeed, randomFrom } from "../support/random.ts";
import { fillWorkspace } from "../support/random-workspace.ts";

const exported = async (hub: Hub): Promise<string> =>
  (await Array.fromAsync(hub.archive.export())).join("");

const linesOf = (text: string): string[] => text.split("\n").slice(0, -1);

/** Returns a hub with records of every kind, and its export. */
async function sample(clock = new VirtualClock()) {
  const hub = await openFresh("memory", { clock });
  await fillWorkspace(hub, randomFrom(7), 40);
  return { hub, clock, text: await exported(hub) };
}

/**
 * Expects that an export over HTTP has the same records and one more, of the export itself. Its position
 * moves those of other rows.
 */
function expectOnlyAudited(text: string, before: string): void {
  const memories = (each: string) => linesOf(each).filter((line) => /^{"kind":"memory"/.test(line));
  const known = new Set(memories(before));
  const added = memories(text).filter((line) => !known.has(line));
  expect(added).toEqual([expect.stringContaining("archive.export")]);
  expect(memories(text).filter((line) => known.has(line))).toEqual([...known]);
  expect(linesOf(text)).toHaveLength(linesOf(before).length + 1);
}

const isEmpty = async (hub: Hub): Promise<boolean> =>
  linesOf(await exported(hub)).length === 2 && (await hub.agents.list()).length === 0;

const PAIRS = STORES.flatMap((from) => STORES.map((to) => ({ from, to })));

describe.each(PAIRS)("moving a workspace from $from to $to", ({ from, to }) => {
  it("copies every byte, verifies, and exports the same text again [MEM-17]", async () => {
    const seed = chosenSeed();
    const seeded = `BATON_SEED=${seed}`;
    const clock = new VirtualClock();
    // Random failures may hit one receiver repeatedly; the circuit breaker must not refuse handoffs
    // here.
    const source = await openFresh(from, { clock, limits: { breakerStrikes: 100 } });
    await fillWorkspace(source, randomFrom(seed), 60);
    const text = await exported(source);
    expect((await source.verify()).problems, seeded).toEqual([]);
    const target = await openFresh(to, { clock });
    const report = await target.archive.import([text]);
    expect(report, seeded).toMatchObject({ kind: "imported", eventsMovedBy: 0 });
    expect((await target.verify()).problems, seeded).toEqual([]);
    const again = await exported(target);
    if (to === "http") expectOnlyAudited(again, text);
    else expect(again === text, seeded).toBe(true);
    expect(await target.deliveries.totals()).toEqual(await source.deliveries.totals());
    expect((await target.events.list({ after: 0, limit: 1_000 })).items).toEqual(
      (await source.events.list({ after: 0, limit: 1_000 })).items,
    );
    // New numbers and positions follow the imported ones.
    const agent = await target.agent("newcomer", {});
    await agent.handoff({ to: "newcomer", task: "after the move", intent: "Go on" });
    expect((await take(agent)).delivery.task).toBe("after the move");
    expect((await target.verify()).problems, seeded).toEqual([]);
  });
});

describe("an export", () => {
  it("has a header, a line for every row, and a footer with a checksum [MEM-17]", async () => {
    const { text } = await sample();
    const lines = linesOf(text);
    const header = JSON.parse(lines[0] ?? "");
    const footer = JSON.parse(lines.at(-1) ?? "");
    expect(header).toMatchObject({
      ...{ kind: "header", format: "baton-export", version: 1, workspace: "default" },
    });
    const rows = Object.values(header.counts as Record<string, number>);
    expect(lines).toHaveLength(rows.reduce((sum, count) => sum + count, 2));
    const before = text.slice(0, text.lastIndexOf("\n", text.length - 2) + 1);
    expect(footer).toMatchObject({ kind: "footer", lines: lines.length, sha256: sha256(before) });
  });

  it("of the same state differs only in its time [MEM-17]", async () => {
    const { hub, clock, text } = await sample();
    clock.advance(60_000);
    const later = linesOf(await exported(hub));
    expect(later.slice(1, -1)).toEqual(linesOf(text).slice(1, -1));
    expect(later[0]).not.toBe(linesOf(text)[0]);
  });

  it("includes held work, which its holder can resume with its handle [MEM-17]", async () => {
    const clock = new VirtualClock();
    const source = await openFresh("sqlite", { clock });
    const ada = await source.agent("ada", {});
    await ada.handoff({ to: "ada", task: "t", intent: "Do it" });
    const work = await take(ada);
    const target = await openFresh("postgres", { clock });
    await target.archive.import([await exported(source)]);
    const there = await target.agent("ada");
    const resumed = await there.resume(work.handle);
    await resumed.complete({ summary: "done over there" });
    expect((await target.deliveries.totals()).byState.completed).toBe(1);
  });

  it("includes held work, which is redelivered when the lease expires [MEM-17]", async () => {
    const clock = new VirtualClock();
    const source = await openFresh("sqlite", { clock });
    const ada = await source.agent("ada", {});
    await ada.handoff({ to: "ada", task: "t", intent: "Do it" });
    const before = await take(ada);
    const target = await openFresh("memory", { clock });
    await target.archive.import([await exported(source)]);
    clock.advance(61_000);
    const there = await target.agent("ada");
    await target.deliveries.runDue();
    clock.advance(3_600_000);
    const again = await take(there);
    expect(again.delivery.attempt).toBe(before.delivery.attempt + 1);
  });

  it.each(STORES)(
    "keeps waiting deliveries ahead of those sent later on %s [MEM-17]",
    async (store) => {
      const clock = new VirtualClock();
      const address = `sqlite:${join(tempFolder(), "hub.db")}`;
      const other = await open(address, { clock, workspace: "other" });
      const filler = Array.from({ length: 50 }, (_, n) => ({ content: `${n}` }));
      await (await other.agent("zoe", {})).remember(filler);
      const source = await open(address, { clock });
      const ada = await source.agent("ada", {});
      await ada.handoff({ to: "ada", task: "first", intent: "Do it" });
      const target = await openFresh(store, { clock });
      await target.archive.import([await exported(source)]);
      const there = await target.agent("ada");
      await there.handoff({ to: "ada", task: "second", intent: "Do it" });
      const waiting = (await there.deliveries.waiting()).items;
      expect(waiting.map(({ envelope }) => envelope.task)).toEqual(["first", "second"]);
      expect((await target.events.list({ after: 1, limit: 10 })).items).toMatchObject([
        { number: 2, task: "second" },
      ]);
    },
  );

  it.each(STORES)(
    "on %s is a consistent snapshot when taken during writes [MEM-17]",
    async (store) => {
      const source = await openFresh(store);
      const agents = await Promise.all(
        ["ada", "ben", "cyd"].map((name) => source.agent(name, { role: "coder" })),
      );
      await agents[0]?.remember(
        Array.from({ length: 200 }, (_, n) => ({ content: `before ${n}` })),
      );
      let writing = true;
      const writers = agents.map(async (agent, i) => {
        for (let n = 0; writing; n++) {
          await agent.remember({ content: `${i} meanwhile ${n}` });
          await agent.handoff({ to: agent.id, task: `${i}-${n}`, intent: "Do it" });
          await (await agent.accept({ task: `${i}-${n}` }))?.complete();
        }
      });
      const first = await exported(source);
      await agents[1]?.remember({ content: "between the two" });
      const second = await exported(source);
      writing = false;
      await Promise.all(writers);
      expect(first).not.toContain("between the two");
      expect(second).toContain("between the two");
      for (const text of [first, second]) {
        const target = await openFresh("memory");
        expect((await target.archive.import([text])).kind).toBe("imported");
      }
    },
  );

  it("is written to a file, and replaces an existing one only when forced [MEM-17]", async () => {
    const { hub, text } = await sample();
    const file = join(tempFolder(), "team.jsonl");
    const seen: number[] = [];
    const report = await hub.archive.exportTo(file, { onProgress: ({ done }) => seen.push(done) });
    expect(readFileSync(file, "utf8")).toBe(text);
    expect(report).toMatchObject({ file, bytes: Buffer.byteLength(text), workspace: "default" });
    expect(await refusal(hub.archive.exportTo(file))).toMatchObject({ code: "already_exists" });
    await hub.archive.exportTo(file, { force: true });
    const nowhere = join(tempFolder(), "no", "such", "folder.jsonl");
    expect(await refusal(hub.archive.exportTo(nowhere))).toMatchObject({ code: "file_unusable" });
  });
});

describe("an import", () => {
  it.each(STORES)(
    "on %s recognizes a file that was already imported, also after later writes [MEM-17]",
    async (store) => {
      const { text } = await sample();
      const target = await openFresh(store);
      expect((await target.archive.import([text])).kind).toBe("imported");
      expect((await target.archive.import([text])).kind).toBe("already_there");
      await (await target.agent("eve", {})).remember({ content: "more" });
      const before = await exported(target);
      expect((await target.archive.import([text])).kind).toBe("already_there");
      expect(linesOf(await exported(target)).slice(1, -1)).toEqual(linesOf(before).slice(1, -1));
    },
  );

  it("is refused for a workspace with a history of its own [MEM-17]", async () => {
    const { text } = await sample();
    const target = await openFresh("memory");
    await (await target.agent("eve", {})).remember({ content: "own" });
    expect(await refusal(target.archive.import([text]))).toMatchObject({
      code: "workspace_not_empty",
      hint: expect.stringContaining("never merged"),
    });
  });

  it("is refused under another workspace name, with the right name as a hint [MEM-17]", async () => {
    const { text } = await sample();
    const target = await openFresh("memory", { workspace: "team" });
    expect(await refusal(target.archive.import([text]))).toMatchObject({
      ...{ code: "invalid_input", path: "workspace" },
      hint: expect.stringContaining("--workspace default"),
    });
    expect(await isEmpty(target)).toBe(true);
  });

  it("next to other workspaces shifts event numbers and reports it [MEM-17]", async () => {
    const source = await openFresh("memory");
    const eve = await source.agent("eve", {});
    await eve.handoff({ to: "eve", task: "t", intent: "Come later" });
    const text = await exported(source);
    const address = `sqlite:${join(tempFolder(), "hub.db")}`;
    const other = await open(address, { workspace: "other" });
    const ada = await other.agent("ada", {});
    await ada.handoff({ to: "ada", task: "t", intent: "Be here first" });
    const target = await open(address);
    const report = await target.archive.import([text]);
    expect(report.eventsMovedBy).toBe(1);
    expect((await target.verify()).problems).toEqual([]);
    expect((await other.verify()).problems).toEqual([]);
    expect((await other.events.list()).items.map(({ number }) => number)).toEqual([1]);
  });

  it.each(STORES)("of a truncated file stores nothing on %s [MEM-17]", async (store) => {
    const { text } = await sample();
    const bytes = Buffer.from(text);
    const seed = chosenSeed();
    const random = randomFrom(seed);
    const target = await openFresh(store);
    const footer = bytes.lastIndexOf("\n", bytes.length - 2) + 1;
    const cuts = [
      ...[0, 1, bytes.indexOf("\n") + 1, footer, bytes.length - 1],
      ...Array.from({ length: 10 }, () => random.below(bytes.length)),
    ];
    for (const cut of cuts) {
      const error = await refusal(target.archive.import([bytes.subarray(0, cut)]));
      expect(error, `BATON_SEED=${seed}, cut at ${cut}`).toMatchObject({
        code: "invalid_export",
      });
      expect(error.path).toMatch(/^line \d+$/);
      expect(await isEmpty(target)).toBe(true);
    }
    expect((await target.archive.import([text])).kind).toBe("imported");
  });

  it("of a file with a changed byte stores nothing, and names the line [MEM-17]", async () => {
    const { text } = await sample();
    const seed = chosenSeed();
    const random = randomFrom(seed);
    const target = await openFresh("memory");
    for (let n = 0; n < 60; n++) {
      const bytes = Buffer.from(text);
      const at = random.below(bytes.length);
      bytes[at] = (bytes[at] as number) ^ (1 << random.below(8));
      const line = bytes.subarray(0, at).filter((byte) => byte === 0x0a).length + 1;
      const error = await refusal(target.archive.import([bytes]));
      const where = `BATON_SEED=${seed}, byte ${at} in line ${line}: ${error.message}`;
      expect(error, where).toMatchObject({ code: "invalid_export" });
      // A changed line break joins or splits lines, so the number may be off by one.
      const named = Number(error.path.slice("line ".length));
      expect(line === 1 || Math.abs(named - line) <= 1, where).toBe(true);
      expect(await isEmpty(target)).toBe(true);
    }
  });

  it.each([
    ["swapped", (lines: string[]) => lines.toSpliced(3, 2, lines[4] ?? "", lines[3] ?? ""), 4],
    ["left out", (lines: string[]) => lines.toSpliced(5, 1), 6],
    ["duplicated", (lines: string[]) => lines.toSpliced(5, 0, lines[5] ?? ""), 7],
    ["added after the footer", (lines: string[]) => [...lines, lines.at(-1) ?? ""], undefined],
  ])("names the first line that was %s [MEM-17]", async (_, change, line) => {
    const { text } = await sample();
    const changed = change(linesOf(text));
    const target = await openFresh("memory");
    const error = await refusal(target.archive.import([`${changed.join("\n")}\n`]));
    expect(error).toMatchObject({ code: "invalid_export", path: `line ${line ?? changed.length}` });
    expect(await isEmpty(target)).toBe(true);
  });

  it("of an unknown version reports that Baton is too old [MEM-17]", async () => {
    const { text } = await sample();
    const target = await openFresh("memory");
    const newer = text.replace('"version":1', '"version":2');
    expect(await refusal(target.archive.import([newer]))).toMatchObject({
      ...{ code: "invalid_export", path: "line 1", details: { found: 2, known: 1 } },
      hint: expect.stringContaining("Upgrade"),
    });
  });

  it.each([
    ["an empty file", ""],
    ["plain text", "hello\nworld\n"],
    ["other JSON", '{"kind":"header"}\n'],
  ])("of %s is refused [MEM-17]", async (_, text) => {
    const target = await openFresh("memory");
    expect(await refusal(target.archive.import([text]))).toMatchObject({ code: "invalid_export" });
  });

  it("of forged rows with valid checksums is refused by their hashes [MEM-17]", async () => {
    const clock = new VirtualClock();
    const source = await openFresh("sqlite", { clock });
    const ada = await source.agent("ada", {});
    await ada.remember({ content: "the truth" });
    const forged = forge(await exported(source), (row) =>
      row["text"] === undefined
        ? row
        : { ...row, text: String(row["text"]).replace("the truth", "a lie here") },
    );
    for (const store of STORES) {
      const target = await openFresh(store, { clock });
      const error = await refusal(target.archive.import([forged]));
      expect(error).toMatchObject({ code: "invalid_export" });
      expect(error.message).toContain("link: does not follow from the record before");
      expect(await isEmpty(target)).toBe(true);
    }
  });

  it("of a path reads the file, and refuses a missing one [MEM-17]", async () => {
    const { text } = await sample();
    const file = join(tempFolder(), "team.jsonl");
    const target = await openFresh("sqlite");
    expect(await refusal(target.archive.import(file))).toMatchObject({ code: "file_unusable" });
    writeFileSync(file, text);
    expect((await target.archive.import(file)).kind).toBe("imported");
  });

  it("of an endless line stops at the limit [MEM-17]", async () => {
    const target = await openFresh("memory", { limits: { exportLineBytes: 1_000 } });
    const endless = (function* () {
      for (;;) yield "x".repeat(100);
    })();
    expect(await refusal(target.archive.import(endless))).toMatchObject({
      ...{ code: "limit_exceeded", details: { limit: "exportLineBytes" } },
    });
  });
});

/** Returns the export with changed rows and recomputed checksums, as a forger would write it. */
function forge(
  text: string,
  change: (row: Record<string, unknown>) => Record<string, unknown>,
): string {
  const lines = linesOf(text).map((line) => JSON.parse(line));
  let sum = sha256(JSON.stringify(["baton-export", 1, lines[0].workspace]));
  let written = "";
  for (const [i, { sum: _, ...line }] of lines.entries()) {
    const value =
      i === lines.length - 1
        ? { ...line, sha256: sha256(written) }
        : i === 0
          ? line
          : { ...line, row: change(line.row) };
    const body = JSON.stringify(value);
    if (i > 0) sum = sha256(`${sum}\n${body}`);
    const short = (i === 0 ? sha256(body) : sum).slice(0, 16);
    written += `${body.slice(0, -1)},"sum":"${short}"}\n`;
  }
  return written;
}

describe("an export of memories", () => {
  it("contains what its reader may see, is marked as lossy, and cannot be imported [MEM-17]", async () => {
    const hub = await openFresh("sqlite");
    const ada = await hub.agent("ada", {});
    const ben = await hub.agent("ben", {});
    await ada.remember({ content: "for all", task: "a" });
    await ada.remember({ content: "for ada", task: "a", scope: "agent" });
    await ben.remember({ content: "other task", task: "b", type: "lesson" });
    const said = async (lines: AsyncIterable<string>): Promise<string[]> =>
      (await Array.fromAsync(lines))
        .map((line) => JSON.parse(line))
        .flatMap(({ kind, row }) => (kind === "memory" ? JSON.parse(row.text).content : []));
    expect(await said(hub.memories.export())).toEqual(["for all", "other task"]);
    expect(await said(ada.memories.export())).toEqual(["for all", "for ada", "other task"]);
    expect(await said(ben.memories.export({ task: "a" }))).toEqual(["for all"]);
    expect(await said(hub.memories.export({ type: "lesson" }))).toEqual(["other task"]);
    const text = (await Array.fromAsync(ada.memories.export())).join("");
    expect(JSON.parse(linesOf(text)[0] ?? "")).toMatchObject({ lossy: true, reader: "ada" });
    const target = await openFresh("memory");
    expect((await refusal(target.archive.import([text]))).message).toContain("only memories");
  });

  it.each(STORES)(
    "requires an existing branch that is not a trace, as Markdown does, on %s [MEM-10 MEM-17]",
    async (store) => {
      const hub = await openFresh(store);
      const ada = await hub.agent("ada", {}, { instance: "monday" });
      await ada.remember({ content: "on the trunk" });
      const branch = await ada.branches.create("run-42/ada");
      await branch.remember({ content: "on the branch" });
      await ada.trace({ kind: "tool", name: "grep" });
      for (const reader of [hub, ada, branch]) {
        for (const [name, code] of [
          ["run-42/ben", "unknown_branch"],
          ["trace/monday", "unknown_branch"],
          ["#pruned", "invalid_input"],
          ["two words", "invalid_input"],
        ] as const) {
          const refused = { code, path: "branch" };
          const lines = Array.fromAsync(reader.memories.export({ branch: name }));
          expect(await refusal(lines), name).toMatchObject(refused);
          const document = reader.memories.exportMarkdown({ branch: name });
          expect(await refusal(document), name).toMatchObject(refused);
        }
        expect(await reader.memories.exportMarkdown({ branch: "run-42/ada" })).toContain(
          "on the branch",
        );
        expect(await reader.memories.exportMarkdown({ branch: "main" })).not.toContain(
          "on the branch",
        );
      }
      await ada.branches.abandon("run-42/ada", "No.");
      expect(await hub.memories.exportMarkdown({ branch: "run-42/ada" })).toContain(
        "on the branch",
      );
    },
  );
});
