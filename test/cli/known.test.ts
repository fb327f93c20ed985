/** `baton remember` looks first: it says what was known, refuses to repeat it, or does not look. */
import { describe, expect, it } from "vitest";
import { ERROR_CODES } from "../../src/index.ts";
import { type TestStore, testStore } from "./baton.ts";

/** What ben has written down. */
async function withNote(store: TestStore, content: string): Promise<string> {
  await using hub = await store.open();
  await hub.agent("ada", {});
  const ben = await hub.agent("ben", {});
  return (await ben.remember({ content })).id;
}

const idIn = (stdout: string): string => /^mem_\S+/.exec(stdout)?.[0] ?? "";

describe("baton remember, search first", { timeout: 240_000 }, () => {
  it("says what was known, and how to put it right [MEM-9]", async () => {
    using store = testStore();
    const old = await withNote(store, "The pool has 20 connections.");
    const say = (text: string, ...more: string[]) =>
      store.baton("remember", text, "--agent", "ada", ...more);
    const { code, stdout } = await say("The pool has 30 connections.");
    expect(code).toBe(0);
    const written = idIn(stdout);
    expect(stdout).toContain(`Contradicts ${old}  ben, moments ago; "20" before, "30" now\n`);
    expect(stdout).toContain("  The pool has 20 connections.\n");
    expect(stdout).toContain(`run the command again with --supersedes ${written} and\n`);
    expect(stdout).toContain(`  --supersedes ${old}  replace it\n`);
    expect(stdout).toContain(`  --continues ${old} `);
    // Doing as told leaves one record, and nothing more to say.
    const options = ["--supersedes", written, "--supersedes", old];
    const again = await say("The pool has 30 connections.", ...options);
    expect(again.stdout).toMatch(/^mem_\S+ {2}fact \d+ of main\n$/);
    await using hub = await store.open();
    const { items: hits } = await hub.recall("How many connections has the pool?");
    expect(hits.map(({ memory }) => memory.id)).toEqual([idIn(again.stdout)]);
  });

  it("writes nothing with --strict, and exits as the error table says [MEM-9]", async () => {
    using store = testStore();
    const old = await withNote(store, "Lines end with LF.");
    const strict = ["remember", "Lines end with LF.", "--agent", "ada", "--strict"];
    const refused = await store.baton(...strict);
    expect(refused.code).toBe(ERROR_CODES.already_known.exit);
    expect(refused.stdout).toBe("");
    expect(refused.stderr).toContain(`${old} states the same; nothing was written.`);
    expect(refused.stderr).toContain(`--continues ${old} (or --supersedes, --corrects)`);
    const told = await store.baton(...strict, "--json");
    expect(JSON.parse(told.stderr)).toMatchObject({
      code: "already_known",
      details: { known: [{ id: old, verdict: "same" }] },
    });
    await using hub = await store.open();
    expect((await hub.memories.recent()).items).toHaveLength(1);
  });

  it("does not look with --force, and gives data with --json [MEM-9]", async () => {
    using store = testStore();
    const old = await withNote(store, "Lines end with LF.");
    const say = (...more: string[]) =>
      store.baton("remember", "Lines end with LF.", "--agent", "ada", ...more);
    expect((await say("--force")).stdout).toMatch(/^mem_\S+ {2}fact 2 of main\n$/);
    const told = JSON.parse((await say("--json", "--scope", "agent")).stdout);
    expect(told).toMatchObject({ scope: "agent", content: "Lines end with LF." });
    const known = told.known as { memory: { id: string }; offers: { relation: string }[] }[];
    expect(known.map(({ memory }) => memory.id)).toContain(old);
    expect(known[0]?.offers[0]?.relation).toBe("continues-from");
    const both = await say("--force", "--strict");
    expect(both.code).toBe(ERROR_CODES.invalid_input.exit);
    expect(both.stderr).toContain("cannot be combined");
  });

  it("only says what is known with --dry-run [MEM-9]", async () => {
    using store = testStore();
    const old = await withNote(store, "Lines end with LF.");
    const ask = (text: string, ...more: string[]) =>
      store.baton("remember", text, "--agent", "ada", "--dry-run", ...more);
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

  it("takes everything that can be said of a memory [MEM-9]", async () => {
    using store = testStore();
    const old = await withNote(store, "Lines end with LF.");
    const { stdout } = await store.baton(
      ...["remember", "Windows wants CRLF.", "--agent", "ada", "--type", "lesson", "--json"],
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
    const wrong = await store.baton("remember", "x", "--agent", "ada", "--importance", "high");
    expect(wrong.code).toBe(ERROR_CODES.invalid_input.exit);
    expect(wrong.stderr).toContain("from 0 to 1");
  });
});
