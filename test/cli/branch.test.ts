/**
 * Branches on the command line: create, write, diff, merge and abandon; reads of private and past
 * memories.
 */
import { describe, expect, it } from "vitest";
import { ERROR_CODES } from "../../src/index.ts";
import { batonInProcess, type TestStore, team, testStore } from "./baton.ts";

/** Returns the memory id in a command's output. */
const idIn = (stdout: string): string => /mem_[0-9a-f-]+/.exec(stdout)?.[0] ?? "";

const remember = async (store: TestStore, text: string, ...more: string[]): Promise<string> =>
  idIn((await store.baton("remember", text, "--as", "ada", ...more)).stdout);

/** Creates a branch as ada. */
async function createBranch(store: TestStore, name: string): Promise<void> {
  await using hub = await store.open();
  await (await hub.agent("ada")).branches.create(name);
}

describe("baton branch", () => {
  it("isolates what is written to a branch until it is merged [MEM-10]", async () => {
    using store = testStore();
    await team(store);
    const created = await store.baton("branch", "create", "run-42/ada", "--as", "ada");
    expect(created).toMatchObject({ code: 0, stdout: "run-42/ada  from main\n" });
    await remember(store, "Found it.", "--branch", "run-42/ada");
    expect((await store.baton("recent")).stdout).not.toContain("Found it.");
    const on = ["--as", "ben", "--branch", "run-42/ada"];
    expect((await store.baton("recent", ...on)).stdout).toContain("Found it.");
    const diff = await store.baton("branch", "diff", "run-42/ada");
    expect(diff.stdout).toMatch(/run-42\/ada {2}open, 2 records over main[\s\S]*Found it\./);
    const merged = await store.baton("branch", "merge", "run-42/ada", "--as", "ben");
    expect(merged.stdout).toMatch(/^Merged run-42\/ada into main {2}mem_/);
    expect((await store.baton("recent")).stdout).toContain("Found it.");
    expect((await store.baton("branch", "list")).stdout).toBe(
      "run-42/ada  merged  from main at 0, by ada\n",
    );
    const late = await store.baton(
      ...["remember", "Too late.", "--as", "ada", "--branch", "run-42/ada"],
    );
    expect(late).toMatchObject({ code: ERROR_CODES.branch_closed.exit, stdout: "" });
    expect(late.stderr).toContain("was merged or abandoned");
  });

  it("reports conflicts without merging, and merges with --keep [MEM-10]", async () => {
    using store = testStore();
    await team(store);
    let known = "";
    const ids: string[] = [];
    {
      await using hub = await store.open();
      const ada = await hub.agent("ada");
      known = (await ada.remember({ content: "Ten minutes." })).id;
      const relations = [{ kind: "supersedes" as const, to: known }];
      const branch = await ada.branches.create("try");
      const ours = await branch.remember({ content: "Five minutes.", relations });
      const theirs = await ada.remember({ content: "Twenty minutes.", relations });
      ids.push(ours.id, theirs.id);
    }
    const stuck = await store.baton("branch", "merge", "try", "--as", "ben");
    expect(stuck.code).toBe(65);
    expect(stuck.stdout).toMatch(/Not merged[\s\S]*1 conflict[\s\S]*both sides replaced/);
    for (const id of [known, ...ids]) expect(stuck.stdout).toContain(id);
    const data = JSON.parse((await store.baton("branch", "diff", "try", "--json")).stdout);
    expect(data.conflicts).toEqual([
      { kind: "both_replaced", about: known, branch: ids[0], base: ids[1] },
    ]);
    const slip = await store.baton("branch", "merge", "try", "--as", "ben", "--keep", "mem_1");
    expect(slip.code).toBe(ERROR_CODES.invalid_input.exit);
    expect(slip.stderr).toContain("--keep mem_…=mem_…");
    const keep = `${ids[0]}=${ids[1]}`;
    const merged = await store.baton(
      ...["branch", "merge", "try", "--as", "ben", "--keep", keep, "--json"],
    );
    expect(JSON.parse(merged.stdout)).toMatchObject({ kind: "merged", into: "main" });
    expect(merged.code).toBe(0);
  });

  it("counts conflicts between private records, and refers to their author [MEM-10]", async () => {
    using store = testStore();
    await team(store);
    let secret = "";
    {
      await using hub = await store.open();
      const ada = await hub.agent("ada");
      const known = await ada.remember({ content: "Ten minutes." });
      const relations = [{ kind: "supersedes" as const, to: known.id }];
      const branch = await ada.branches.create("try");
      secret = (await branch.remember({ content: "Five.", scope: "agent", relations })).id;
      await (await hub.agent("ben")).remember({ content: "Twenty.", relations });
    }
    const stuck = await store.baton("branch", "merge", "try", "--as", "ben");
    expect(stuck.code).toBe(65);
    expect(stuck.stdout).toMatch(
      /Not merged[\s\S]*1 conflict between private records[\s\S]*author/,
    );
    expect(stuck.stdout).not.toMatch(new RegExp(`--keep|${secret}`));
    const diff = await store.baton("branch", "diff", "try", "--as", "ben");
    expect(diff.stdout).toContain("1 conflict between private records");
    expect((await store.baton("branch", "diff", "try", "--as", "ada")).stdout).toContain(secret);
  });

  it("abandons a branch with a reason, and suggests a name for a typo [MEM-10]", async () => {
    using store = testStore();
    await team(store);
    await createBranch(store, "try");
    const wrong = await store.baton("branch", "abandon", "tri", "--as", "ada", "--reason", "No.");
    expect(wrong.code).toBe(ERROR_CODES.unknown_branch.exit);
    expect(wrong.stderr).toContain('Did you mean "try"?');
    const done = await store.baton("branch", "abandon", "try", "--as", "ada", "--reason", "No.");
    expect(done.stdout).toMatch(/^Abandoned try {2}mem_/);
    const open = await store.baton("branch", "list", "--state", "open");
    expect(open.stdout).toBe("No matching branches.\n");
    const list = JSON.parse((await store.baton("branch", "list", "--json")).stdout);
    expect(list).toMatchObject({ items: [{ name: "try", state: "abandoned", base: "main" }] });
  });
});

describe("hints and help texts", () => {
  it("name commands, not functions of the library [MEM-10]", async () => {
    using store = testStore();
    await team(store);
    await createBranch(store, "try");
    for (const [words, hint] of [
      [["branch", "diff", "other"], "Create it first: baton branch create other --as <agent>"],
      [["branch", "create", "try", "--as", "ada"], "Use it (--branch try)"],
      [["branch", "create", "a b", "--as", "ada"], "run-42/planner"],
      [["read", "nope"], "baton recent"],
      [["recent", "--after", "nope"], "baton recent"],
      [["branch", "merge", "try", "--as", "ada", "--keep", "a=b"], "baton recent"],
      [["handoff", "show", "nope"], "baton inbox"],
      [["recent", "--as-of", "nope"], "dlv_…"],
    ] as const) {
      const { stderr } = await store.baton(...words);
      expect(stderr, words.join(" ")).toContain(hint);
      expect(stderr, words.join(" ")).not.toMatch(/schema|agent\.|hub\./);
    }
  });

  it.each(["branch", "trace"])("list only the commands of the group: baton %s", async (word) => {
    for (const words of [[word], [word, "--help"], ["help", word]]) {
      const { code, stdout } = await batonInProcess(words);
      expect(code).toBe(0);
      expect(stdout).toContain(`baton ${word} list`);
      expect(stdout).toContain(`baton help ${word} <command>`);
      expect(stdout).not.toMatch(/Baton hands|baton handoff/);
    }
  });
});

describe("work on a branch", () => {
  it("merges the branch when it is completed with --merge-on-complete [MEM-10]", async () => {
    using store = testStore();
    await team(store);
    await createBranch(store, "run-1");
    const send = ["handoff", "send", "Try it", "--as", "ada", "--to", "ben"];
    await store.baton(...send, "--branch", "run-1", "--merge-on-complete");
    const accepted = await store.baton("accept", "--as", "ben", "--json");
    const handle = /dlv_[0-9a-f-]+#\d+/.exec(accepted.stdout)?.[0] ?? accepted.stdout;
    const completed = await store.baton("complete", handle, "It works.");
    expect(completed.stdout).toContain("Merged run-1 into main");
    expect((await store.baton("recent")).stdout).toContain("It works.");
  });
});

describe("baton read and baton recent", () => {
  it("show a private memory only to its agent [MEM-11]", async () => {
    using store = testStore();
    await team(store);
    const id = await remember(store, "Mine.", "--scope", "agent");
    expect((await store.baton("read", id, "--as", "ada")).stdout).toMatch(
      /fact {2}ada, .* 1 of main, visible to the agent only\nMine\./,
    );
    for (const as of [[], ["--as", "ben"]]) {
      const hidden = await store.baton("read", id, ...as);
      expect(hidden).toMatchObject({ code: ERROR_CODES.unknown_memory.exit, stdout: "" });
      expect((await store.baton("recent", ...as)).stdout).not.toContain("Mine.");
    }
    expect((await store.baton("recent", "--as", "ada")).stdout).toContain("Mine.");
  });

  it("read memories as of a time or as of the acceptance of a handoff [MEM-15]", async () => {
    using store = testStore();
    await team(store);
    const id = await remember(store, "Early.");
    let delivery = "";
    {
      await using hub = await store.open();
      const sent = await (await hub.agent("ada")).handoff({ to: "ben", task: "t", intent: "Go" });
      await (await hub.agent("ben")).accept();
      delivery = sent.id;
    }
    await remember(store, "Late.");
    const then = await store.baton("recent", "--as-of", delivery);
    expect(then.stdout).toContain("Early.");
    expect(then.stdout).not.toContain("Late.");
    const before = await store.baton("recent", "--as-of", "2020-01-01T00:00:00Z");
    expect(before.stdout).toBe("No matching memories.\n");
    expect((await store.baton("read", id, "--as-of", delivery)).stdout).toContain("Early.");
    const never = await store.baton("read", id, "--as-of", "2020-01-01T00:00:00Z");
    expect(never.code).toBe(ERROR_CODES.unknown_memory.exit);
    const slip = await store.baton("recent", "--as-of", "yesterday");
    expect(slip.code).toBe(ERROR_CODES.invalid_input.exit);
    expect(slip.stderr).toContain("asOf");
    const lone = await store.baton("recent", "--branch", "try");
    expect(lone.stderr).toContain("Add the agent to read as");
  });
});
