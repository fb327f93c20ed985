/** The ledger of child tasks: what they inherit from one or several parents. */
import { describe, expect, it } from "vitest";
import type { Envelope } from "../../src/index.ts";
import { openFresh, refusal, STORES } from "../support/hub/support.ts";
import { BEGIN, FIXTURES, INTENT, idsOf, musts, pass, teamOn } from "./ledger-team.ts";

describe.each(STORES)("the ledger of a child task on %s", (store) => {
  const team = async (options = {}) => teamOn(await openFresh(store, options));

  it("has its parents' current items, and releases them for itself only [ENV-10]", async () => {
    const { hub, planner, coder, tester, reviewer } = await team();
    await planner.handoff(BEGIN);
    const child = await pass(coder, tester, { task: "auth/tests", intent: "Write the tests" });
    expect(child.origin).toBe(INTENT);
    expect(musts(child)).toEqual([FIXTURES.rule]);
    expect(await hub.tasks.ledger("auth/tests")).toMatchObject({
      intent: "Write the tests",
      from: ["auth"],
      constraints: [{ id: "no-fixtures", by: "planner", task: "auth" }],
      origins: [{ task: "auth", intent: INTENT }],
    });
    // Later additions of the parent are inherited; a third intent carries both originals.
    await planner.handoff({ ...BEGIN, constraints: [{ id: "late", rule: "Ask before merging" }] });
    const next = await pass(tester, reviewer, { intent: "Review the tests" });
    expect(idsOf(next.constraints)).toEqual(["no-fixtures", "late"]);
    expect(next.origin).toBe(`${INTENT}\n\nWrite the tests`);
    await planner.tasks.releaseItem("auth/tests", { id: "no-fixtures", reason: "Tests own them" });
    expect(idsOf((await hub.tasks.ledger("auth/tests"))?.constraints ?? [])).toEqual(["late"]);
    expect(idsOf((await hub.tasks.ledger("auth"))?.constraints ?? [])).toEqual([
      "no-fixtures",
      "late",
    ]);
    await planner.tasks.releaseItem("auth", { id: "late", reason: "Merging is automatic" });
    expect((await hub.tasks.ledger("auth/tests"))?.constraints).toEqual([]);
    const [parent] = await hub.tasks.line("auth");
    const other = await planner.handoff({
      ...{ to: "coder", task: "docs", intent: "Write it down" },
      parents: [parent?.envelope.id ?? ""],
    });
    expect(other.envelope.origin).toBe(INTENT);
    expect((await hub.tasks.ledger("docs"))?.from).toEqual(["auth"]);
  });

  it("is resolved even if tasks are each other's parents [ENV-10]", async () => {
    const { hub, planner, coder, tester } = await team();
    await planner.handoff({ ...BEGIN, task: "one" });
    await pass(coder, tester, { task: "two", constraints: [{ id: "two", rule: "Of two" }] });
    await pass(tester, coder, { task: "one", constraints: [{ id: "one", rule: "Of one" }] });
    const both = ["no-fixtures", "one", "two"];
    expect(idsOf((await hub.tasks.ledger("one"))?.constraints ?? []).toSorted()).toEqual(both);
    expect(idsOf((await hub.tasks.ledger("two"))?.constraints ?? []).toSorted()).toEqual(both);
  });

  it("keeps both items if two parents use the same id [ENV-10]", async () => {
    const { hub, planner } = await team();
    const of = (task: string, rule: string) =>
      planner.handoff({ to: "coder", task, intent: task, constraints: [{ id: "same", rule }] });
    const parts = [await of("a", "Do it by hand"), await of("b", "Use the generator")];
    const join = await planner.handoffs.join(parts, {
      to: "reviewer",
      task: "all",
      intent: "Join them",
    });
    expect(musts(join.envelope as Envelope)).toEqual(["Do it by hand", "Use the generator"]);
    const [, second] = idsOf(join.envelope.constraints);
    await planner.tasks.releaseItem("all", { id: second ?? "", reason: "By hand then" });
    expect((await hub.tasks.ledger("all"))?.constraints.map(({ rule }) => rule)).toEqual([
      "Do it by hand",
    ]);
  });

  it("keeps both items if the child and its parent use the same id [ENV-10]", async () => {
    const { hub, planner, coder, tester, reviewer } = await team();
    const of = (rule: string) => [{ id: "deps", rule }];
    await planner.handoff({ to: "coder", task: "p", intent: "Build it" });
    await pass(coder, tester, { task: "c", constraints: of("Only what is there") });
    await planner.handoff({ to: "coder", task: "p", intent: "x", constraints: of("Ask before") });
    const envelope = await pass(tester, reviewer);
    expect(musts(envelope)).toEqual(["Ask before", "Only what is there"]);
    const [inherited, own] = idsOf(envelope.constraints);
    expect(own).toBe("deps");
    // The agent that set one of them may not release the other.
    const release = { id: inherited ?? "", reason: "Done" };
    expect((await refusal(coder.tasks.releaseItem("c", release))).code).toBe("not_permitted");
    await planner.tasks.releaseItem("c", release);
    expect((await hub.tasks.ledger("c"))?.constraints).toMatchObject([{ id: "deps", by: "coder" }]);
    expect((await hub.tasks.ledger("p"))?.constraints).toMatchObject([{ rule: "Ask before" }]);
  });

  it("inherits an item that only one of two parents released [ENV-10]", async () => {
    const { hub, planner } = await team();
    const begin = async (task: string, parents: string[] = []): Promise<string> =>
      (await planner.handoff({ to: "coder", task, intent: task, parents })).envelope.id;
    const top = await planner.handoff({ ...BEGIN, task: "top" });
    const [a, b] = [await begin("a", [top.envelope.id]), await begin("b", [top.envelope.id])];
    await planner.tasks.releaseItem("a", { id: "no-fixtures", reason: "Not here" });
    await begin("both", [a, b]);
    expect(idsOf((await hub.tasks.ledger("both"))?.constraints ?? [])).toEqual(["no-fixtures"]);
    expect((await hub.tasks.ledger("both"))?.origins).toEqual([{ task: "top", intent: INTENT }]);
    await planner.tasks.releaseItem("b", { id: "no-fixtures", reason: "Not here either" });
    expect((await hub.tasks.ledger("both"))?.constraints).toEqual([]);
    expect(idsOf((await hub.tasks.ledger("top"))?.constraints ?? [])).toEqual(["no-fixtures"]);
  });

  it("inherits an item once, however many paths lead to it [ENV-10]", async () => {
    const { hub, planner } = await team();
    let parents = [(await planner.handoff({ ...BEGIN, task: "top" })).envelope.id];
    for (let layer = 0; layer < 40; layer++) {
      const sent = ["a", "b"].map((name) =>
        planner.handoff({ to: "coder", task: `${name}${layer}`, intent: "On", parents }),
      );
      parents = (await Promise.all(sent)).map(({ envelope }) => envelope.id);
    }
    expect(await hub.tasks.ledger("a39")).toMatchObject({
      constraints: [{ id: "no-fixtures", task: "top" }],
      origins: [{ task: "top" }],
    });
  });
});
