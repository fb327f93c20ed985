/**
 * `baton ledger`: showing a task's ledger, releasing items, and the roles that may release them.
 */
import { describe, expect, it } from "vitest";
import { testStore, withHandoff } from "./baton.ts";

const RULE = /must +(con-[0-9a-f]+): Keep the fixtures \(planner, /;

describe("baton ledger", () => {
  it("shows intent and binding constraints with their author, also as JSON [ENV-10]", async () => {
    using store = testStore();
    await withHandoff(store);
    const { code, stdout } = await store.baton("ledger", "auth");
    expect(code).toBe(0);
    expect(stdout).toContain("auth, begun by planner");
    expect(stdout).toMatch(/intent +Refactor auth/);
    expect(stdout).toMatch(RULE);
    expect(stdout).not.toContain("Stay small");
    const shown = JSON.parse((await store.baton("ledger", "auth", "--json")).stdout);
    await using hub = await store.open();
    expect(shown).toEqual(JSON.parse(JSON.stringify(await hub.tasks.ledger("auth"))));
  });

  it("suggests a task for a misspelled name [ENV-10]", async () => {
    using store = testStore();
    await withHandoff(store);
    expect((await store.baton("ledger", "auht")).stdout).toContain("Did you mean auth?");
    expect((await store.baton("ledger", "auht", "--json")).stdout.trim()).toBe("null");
  });

  it("shows and sets the roles that may release items [ENV-10]", async () => {
    using store = testStore();
    await withHandoff(store);
    const usual = await store.baton("ledger", "releasers");
    expect(usual).toMatchObject({ code: 0, stdout: "coordinator\nplanner\nlead\n" });
    const set = await store.baton("ledger", "releasers", "coder", "--json");
    expect(JSON.parse(set.stdout)).toEqual(["coder"]);
    await using hub = await store.open();
    expect((await hub.settings.get()).releasers).toEqual(["coder"]);
    const none = await store.baton("ledger", "releasers", "--none");
    expect(none.stdout).toContain("Only the author of an item");
    expect((await hub.settings.get()).releasers).toEqual([]);
    const both = await store.baton("ledger", "releasers", "lead", "--none");
    expect(both.code).toBe(64);
  }, 240_000);

  it("releases an item with a reason, if the agent may release it [ENV-10]", async () => {
    using store = testStore();
    await withHandoff(store);
    await using hub = await store.open();
    const id = (await hub.tasks.ledger("auth"))?.constraints[0]?.id ?? "";
    const why = ["--reason", "They are generated now"];
    const denied = await store.baton("ledger", "release", "auth", id, ...why, "--as", "coder");
    expect(denied.code).toBe(77);
    expect(denied.stderr).toContain("planner, role:coordinator");
    expect(denied.stderr).toContain("baton ledger releasers names the roles");
    const typo = await store.baton(
      "ledger",
      "release",
      "auth",
      `${id}0`,
      ...why,
      "--as",
      "planner",
    );
    expect(typo.code).toBe(66);
    expect(typo.stderr).toContain(`Did you mean ${id}?`);
    const done = await store.baton("ledger", "release", "auth", id, ...why, "--as", "planner");
    expect(done.code).toBe(0);
    expect(done.stdout).toMatch(
      /released +con-[0-9a-f]+: Keep the fixtures; They are generated now/,
    );
    expect(done.stdout).not.toMatch(RULE);
    expect(await hub.tasks.ledger("auth")).toMatchObject({
      constraints: [],
      released: [{ id, by: "planner" }],
    });
  }, 240_000);
});
