/**
 * `baton remember` searches first: it reports similar memories, refuses to repeat one, or skips the
 * search.
 */
import { describe, expect, it } from "vitest";
import { ERROR_CODES } from "../../src/index.ts";
import { type TestStore, testStore } from "./baton.ts";

/** Registers ada and ben, and writes a memory as ben. Returns its id. */
async function withNote(store: TestStore, content: string): Promise<string> {
  await using hub = await store.open();
  await hub.agent("ada", {});
  const ben = await hub.agent("ben", {});
  return (await ben.remember({ content })).id;
}

const idIn = (stdout: string): string => /^mem_\S+/.exec(stdout)?.[0] ?? "";

describe("baton remember with search-first", { timeout: 240_000 }, () => {
  it("reports a memory that the new one contradicts, and how to replace it [MEM-9]", async () => {
    using store = testStore();
    const old = await withNote(store, "The pool has 20 connections.");
    const say = (text: string, ...more: string[]) =>
      store.baton("remember", text, "--as", "ada", ...more);
    const { code, stdout } = await say("The pool has 30 connections.");
    expect(code).toBe(0);
    const written = idIn(stdout);
    expect(stdout).toContain(`Contradicts ${old}  ben, moments ago; "20" before, "30" now\n`);
    expect(stdout).toContain("  The pool has 20 connections.\n");
    expect(stdout).toContain(`run the command again with --supersedes ${written} and\n`);
    expect(stdout).toContain(`  --supersedes ${old}  replace it\n`);
    expect(stdout).toContain(`  --continues ${old} `);
    // Following the advice leaves one record and nothing to report.
    const options = ["--supersedes", written, "--supersedes", old];
    const again = await say("The pool has 30 connections.", ...options);
    expect(again.stdout).toMatch(/^mem_\S+ {2}fact \d+ of main\n$/);
    await using hub = await store.open();
    const { items: hits } = await hub.recall("How many connections has the pool?");
    expect(hits.map(({ memory }) => memory.id)).toEqual([idIn(again.stdout)]);
  });

  it("refuses a known memory with --strict, and writes nothing [MEM-9]", async () => {
    using store = testStore();
    const old = await withNote(store, "Lines end with LF.");
    const strict = ["remember", "Lines end with LF.", "--as", "ada", "--strict"];
    const refused = await store.baton(...strict);
    expect(refused.code).toBe(ERROR_CODES.already_known.exit);
    expect(refused.stdout).toBe("");
    expect(refused.stderr).toContain(`${old} states the same; nothing was written.`);
    expect(refused.stderr).toContain(`--continues ${old} (or --supersedes, --corrects)`);
    const refusal = await store.baton(...strict, "--json");
    expect(JSON.parse(refusal.stderr)).toMatchObject({
      code: "already_known",
      details: { known: [{ id: old, verdict: "same" }] },
    });
    await using hub = await store.open();
    expect((await hub.memories.recent()).items).toHaveLength(1);
  });

  it("skips the search with --force, and lists known memories with --json [MEM-9]", async () => {
    using store = testStore();
    const old = await withNote(store, "Lines end with LF.");
    const say = (...more: string[]) =>
      store.baton("remember", "Lines end with LF.", "--as", "ada", ...more);
    expect((await say("--force")).stdout).toMatch(/^mem_\S+ {2}fact 2 of main\n$/);
    const written = JSON.parse((await say("--json", "--scope", "agent")).stdout);
    expect(written).toMatchObject({ scope: "agent", content: "Lines end with LF." });
    const known = written.known as { memory: { id: string }; offers: { relation: string }[] }[];
    expect(known.map(({ memory }) => memory.id)).toContain(old);
    expect(known[0]?.offers[0]?.relation).toBe("continues-from");
    const both = await say("--force", "--strict");
    expect(both.code).toBe(ERROR_CODES.invalid_input.exit);
    expect(both.stderr).toContain("cannot be combined");
  });

  it("only reports similar memories with --dry-run [MEM-9]", async () => {
    using store = testStore();
    const old = await withNote(store, "Lines end with LF.");
    const ask = (text: string, ...more: string[]) =>
      store.baton("remember", text, "--as", "ada", "--dry-run", ...more);
    const { code, stdout } = await ask("Lines end with CRLF.");
    expect(code).toBe(0);
    expect(stdout).toContain(`Contradicts ${old}`);
    expect(stdout).toContain("To keep only one of them, run the command again with\n");
    expect(JSON.parse((await ask("Lines end with LF.", "--json")).stdout)).toMatchObject([
      { memory: { id: old }, verdict: "same" },
    ]);
    expect((await ask("Tabs are eight wide.")).stdout).toBe("No similar memories.\n");
    await using hub = await store.open();
    expect((await hub.memories.recent()).items).toHaveLength(1);
  });

  it("stores the type, tags, relations and other fields given as options [MEM-9]", async () => {
    using store = testStore();
    const old = await withNote(store, "Lines end with LF.");
    const { stdout } = await store.baton(
      ...["remember", "Windows wants CRLF.", "--as", "ada", "--type", "lesson", "--json"],
      ...["--tag", "git", "--tag", "windows", "--concept", "line ends", "--session", "s1"],
      ...["--importance", "0.8", "--confidence", "1", "--ref", old, "--continues", old],
      ...["--corrects", old, "--task", "setup"],
    );
    expect(JSON.parse(stdout)).toMatchObject({
      type: "lesson",
      task: "setup",
      tags: ["git", "windows"],
      concepts: ["line ends"],
      session: "s1",
      importance: 0.8,
      confidence: 1,
      refs: [old],
      relations: [
        { kind: "continues-from", to: old },
        { kind: "corrects", to: old },
      ],
      known: [],
    });
    const wrong = await store.baton("remember", "x", "--as", "ada", "--importance", "high");
    expect(wrong.code).toBe(ERROR_CODES.invalid_input.exit);
    expect(wrong.stderr).toContain("from 0 to 1");
  });
});
