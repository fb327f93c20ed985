/** `baton task`: adding, showing, taking, closing, reopening and cancelling tasks. */
import { describe, expect, it } from "vitest";
import { type TestStore, team, testStore } from "./baton.ts";

/** Adds a task with two parts, one of which waits for the other. */
async function planned(store: TestStore): Promise<void> {
  await team(store);
  await using hub = await store.open();
  const { tasks } = await hub.agent("ada");
  const part = { to: "role:coder", parent: "feature" };
  await tasks.add({ task: "feature", intent: "Users can be read", to: "ada" });
  await tasks.add({ ...part, task: "api", intent: "GET /users", priority: "high" });
  await tasks.add({ ...part, task: "docs", intent: "Say how", after: ["api"] });
}

describe("baton task", () => {
  it("adds tasks, and shows them as a board, as a tree and one by one [CRD-2]", async () => {
    using store = testStore();
    await team(store);
    for (const args of [
      ["feature", "Users can be read", "--to", "ada"],
      ["api", "GET /users", "--to", "role:coder", "--parent", "feature", "--priority", "high"],
      ["docs", "Say how", "--to", "role:coder", "--parent", "feature", "--after", "api"],
    ]) {
      expect((await store.baton("task", "add", ...args, "--as", "ada")).stderr).toBe("");
    }
    const board = await store.baton("task", "list");
    expect(board.stdout).toMatch(/^open \(2\)\n {2}api +high +role:coder +waits for role:coder/);
    expect(board.stdout).toMatch(/\nblocked \(1\)\n {2}docs +role:coder +waits for api\n/);
    const tree = await store.baton("task", "tree", "feature");
    expect(tree.stdout.split("\n").map((line) => line.split("  ")[0])).toEqual([
      "feature",
      "├─ api",
      "└─ docs",
      "",
    ]);
    const shown = await store.baton("task", "show", "docs");
    expect(shown.stdout).toMatch(/^docs {2}blocked\n/);
    expect(shown.stdout).toMatch(/why +waits for api\n/);
    expect(shown.stdout).toMatch(/part of +feature\n/);
    expect(shown.stdout).toMatch(/handoffs +dlv_\S+ scheduled, role:coder/);
    await using hub = await store.open();
    const data = JSON.parse((await store.baton("task", "show", "docs", "--json")).stdout);
    expect(data).toEqual(JSON.parse(JSON.stringify(await hub.tasks.get("docs"))));
    const blocked = await store.baton("task", "list", "--state", "blocked", "--json");
    expect(JSON.parse(blocked.stdout)).toMatchObject({
      items: [{ task: "docs", state: "blocked" }],
    });
  }, 240_000);

  it("hands out tasks in the order of their dependencies, and closes them [CRD-2]", async () => {
    using store = testStore();
    await planned(store);
    const none = await store.baton("task", "next", "--as", "pat");
    expect(none.stdout).toContain("No task of the queue is ready for pat");
    const first = await store.baton("task", "next", "--as", "ben", "--json");
    const { handle, envelope } = JSON.parse(first.stdout);
    expect(envelope.task).toBe("api");
    const waiting = await store.baton("inbox", "cyd");
    expect(waiting.stdout).toContain("scheduled  docs from ada for role:coder, after api");
    const early = await store.baton("task", "next", "--as", "cyd", "--json");
    expect(JSON.parse(early.stdout)).toBeNull();
    const refused = await store.baton("task", "close", "api", "--as", "ada", "--reason", "Enough");
    expect(refused.code).toBe(65);
    expect(refused.stderr).toContain("(accepted, ben)");
    expect(refused.stderr).toContain('baton task cancel "api"');
    expect((await store.baton("complete", handle, "It answers")).stderr).toBe("");
    const second = await store.baton("task", "next", "--as", "cyd", "--json");
    expect(JSON.parse(second.stdout).primer).toContain("- api, by ben: It answers");
    expect(JSON.parse(second.stdout).envelope).toMatchObject({
      task: "docs",
      results: [{ task: "api", agent: "ben", summary: "It answers" }],
    });
    const closed = await store.baton("task", "list", "--closed");
    expect(closed.stdout).toMatch(
      /^done +api +high +role:coder +closed as done by ben: It answers\n$/,
    );
    const [line] = (await store.baton("inbox", "cyd")).stdout.split("\n");
    expect(line).not.toContain("not before");
    const wrong = await store.baton("task", "list", "--closed", "--role", "coder");
    expect(wrong.stderr).toContain("--role applies only to tasks that are not closed");
    const neither = await store.baton("task", "list", "--closed", "--state", "blocked");
    expect(neither.stderr).toContain("--closed and --state blocked conflict");
  }, 240_000);

  it("closes, reopens and cancels tasks, each with a reason [CRD-2]", async () => {
    using store = testStore();
    await planned(store);
    const why = (reason: string) => ["--as", "ada", "--reason", reason];
    const cancelled = await store.baton("task", "cancel", "feature", ...why("No time"));
    expect(cancelled.stdout).toMatch(
      /^feature {2}cancelled\n.*closed as cancelled by ada: No time/s,
    );
    expect((await store.baton("task", "list")).stdout).toContain("No open tasks");
    const again = await store.baton("task", "add", "api", "Again", "--to", "ben", "--as", "ada");
    expect(again.code).toBe(65);
    expect(again.stderr).toContain("baton task reopen");
    const below = await store.baton("task", "reopen", "api", ...why("After all"));
    expect(below.stderr).toContain('"feature"');
    await store.baton("task", "reopen", "feature", ...why("There is time"));
    const reopened = await store.baton("task", "reopen", "api", ...why("After all"), "--json");
    expect(JSON.parse(reopened.stdout)).toMatchObject({ task: "api", state: "open" });
    const failed = await store.baton(
      "task",
      "close",
      "api",
      "--state",
      "failed",
      ...why("Too hard"),
    );
    expect(failed.stdout).toContain("closed as failed by ada: Too hard");
  }, 240_000);

  it("suggests the right task, command or state for a typo [CRD-2]", async () => {
    using store = testStore();
    await planned(store);
    const typo = await store.baton("task", "show", "dcos");
    expect(typo.code).toBe(66);
    expect(typo.stderr).toContain('Did you mean "docs"?');
    const role = await store.baton("inbox", "role:coder");
    expect(role.stderr).toContain("baton agents lists agents and roles");
    const word = await store.baton("task", "lsit");
    expect(word.stderr).toContain("task list");
    const again = ["task", "add", "docs", "x", "--to", "ben", "--as", "ada"];
    const twice = await store.baton(...again);
    expect(twice.stderr).toContain(
      "send a handoff for the existing task (baton handoff send --task docs)",
    );
    const state = await store.baton("task", "list", "--state", "blokced");
    expect(state.stderr).toContain("blocked");
  }, 240_000);
});
