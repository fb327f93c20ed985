/** Tests who may quarantine and lift which records, and how the others propose a quarantine. */
import { describe, expect, it } from "vitest";
import type { Agent, Hub } from "../../../src/index.ts";
import { EMBEDDED_STORES, openFresh, refusal, STORES, take } from "../../support/hub/support.ts";
import { openTokenHub } from "../../support/hub/token-hub.ts";

const MAY = ["role:coordinator", "role:memory-keeper"];

/** A keeper and two agents that are not, as calls of an agent-level token on HTTP. */
async function teamOn(hub: Hub) {
  const keeper = await hub.agent("keeper", { role: "memory-keeper" });
  const coder = await hub.agent("coder", { role: "coder", aliases: ["dev"] });
  const tester = await hub.agent("tester", { role: "tester" });
  return { hub, keeper, coder, tester };
}

async function refusedToQuarantine(agent: Agent, attempt: () => Promise<unknown>) {
  const error = await refusal(attempt());
  expect(error).toMatchObject({
    code: "not_permitted",
    path: "what",
    details: { agent: agent.id, may: MAY },
  });
  return error;
}

const marked = async (hub: Hub) =>
  (await hub.memories.quarantined({ limit: 1_000 })).items.map(({ memory }) => memory);

describe.each(EMBEDDED_STORES)("the right to quarantine on %s", (store) => {
  it("covers what the agent wrote itself, by id, session or agent [MEM-16 OPS-5]", async () => {
    const { hub, coder } = await teamOn(await openFresh(store));
    const [one, two] = await coder.remember([{ content: "one" }, { content: "two" }]);
    const step = await coder.trace({ kind: "tool", name: "curl" });
    expect(one && two).toBeDefined();
    const first = await coder.memories.quarantine(one?.id ?? "", "It was wrong.");
    expect(first.memories).toEqual([one?.id]);
    const rest = await coder.memories.quarantine({ session: coder.instance }, "All of it.");
    expect(rest.memories.toSorted()).toEqual([two?.id, step.id, ...first.records].toSorted());
    const lifted = await coder.memories.lift({ agent: "dev" }, "It was right.");
    expect(lifted.memories.toSorted()).toEqual([...first.memories, ...rest.memories].toSorted());
    expect(await marked(hub)).toEqual([]);
  });

  it("does not cover records of other agents, and hides none of them [MEM-16 OPS-5]", async () => {
    const { hub, coder, tester } = await teamOn(await openFresh(store));
    const theirs = await tester.remember({ content: "The port is 80." });
    const own = await coder.remember({ content: "The port is 81." });
    const attempts = [
      () => coder.memories.quarantine(theirs.id, "x"),
      () => coder.memories.quarantine([own.id, theirs.id], "x"),
      () => coder.memories.quarantine({ agent: "tester" }, "x"),
      () => coder.memories.quarantine({ session: tester.instance }, "x"),
      () => coder.memories.quarantine(theirs.id, "x", { dryRun: true }),
    ];
    for (const attempt of attempts) {
      const error = await refusedToQuarantine(coder, attempt);
      expect(error.details).toMatchObject({ records: [theirs.id], hidden: 0 });
      expect(error.hint).toContain("agent.context.propose({ quarantine:");
    }
    expect(await marked(hub)).toEqual([]);
    expect((await hub.memories.recent({ type: "quarantine" })).items).toEqual([]);
  });

  it("covers downstream records only if the agent wrote them too [MEM-16 OPS-5]", async () => {
    const { hub, coder, tester } = await teamOn(await openFresh(store));
    const root = await coder.remember({ content: "root" });
    const near = await coder.remember({ content: "near", refs: [root.id] });
    const downstream = { downstream: true };
    const planned = await coder.memories.quarantine(root.id, "x", { ...downstream, dryRun: true });
    expect(planned.memories).toEqual([root.id, near.id]);
    const far = await tester.remember({ content: "far", refs: [near.id] });
    const error = await refusedToQuarantine(coder, () =>
      coder.memories.quarantine(root.id, "x", downstream),
    );
    expect(error.details).toMatchObject({ records: [far.id] });
    expect(await marked(hub)).toEqual([]);
    await coder.memories.quarantine(root.id, "only mine");
    expect(await marked(hub)).toEqual([root.id]);
  });

  it("does not cover the shared context, even what the agent wrote as a keeper [MEM-16 OPS-5]", async () => {
    const { hub, coder } = await teamOn(await openFresh(store));
    await hub.agent("coder", { role: "coordinator" });
    const rule = { section: "constraints", key: "fixtures", rule: "Change none." } as const;
    const { memory } = await coder.context.set(rule);
    await hub.agent("coder", { role: "coder" });
    const attempts = [
      () => coder.memories.quarantine(memory, "x"),
      () => coder.memories.quarantine({ agent: "coder" }, "x"),
    ];
    for (const attempt of attempts) await refusedToQuarantine(coder, attempt);
    expect(await hub.context.item("constraints", "fixtures")).toMatchObject({ rule: rule.rule });
  });

  it("covers everything for the roles that keep the shared context now [MEM-16 OPS-5]", async () => {
    const { hub, keeper, coder, tester } = await teamOn(await openFresh(store));
    const { id } = await tester.remember({ content: "The port is 80." });
    await keeper.memories.quarantine(id, "x");
    await keeper.memories.lift(id, "y");
    await hub.settings.update({ keepers: ["coder"] });
    await coder.memories.quarantine(id, "x");
    const error = await refusal(keeper.memories.quarantine(id, "x"));
    expect(error.details).toMatchObject({ may: ["role:coder"] });
    expect(await marked(hub)).toEqual([id]);
  });

  it("does not name records that the caller may not see [MEM-16 OPS-5]", async () => {
    const { coder, tester } = await teamOn(await openFresh(store));
    const own = await tester.remember({ content: "mine", scope: "agent" });
    const error = await refusedToQuarantine(coder, () =>
      coder.memories.quarantine({ agent: "tester" }, "x"),
    );
    expect(error.details).toMatchObject({ records: [], hidden: 1 });
    expect(JSON.stringify(error)).not.toContain(own.id);
  });

  it("does not include lifting what a keeper quarantined [MEM-16 OPS-5]", async () => {
    const { hub, keeper, coder, tester } = await teamOn(await openFresh(store));
    const { id } = await coder.remember({ content: "made up" });
    const { records } = await keeper.memories.quarantine(id, "made up");
    const attempts = [
      () => coder.memories.lift(id, "x"),
      () => coder.memories.lift({ agent: "coder" }, "x"),
      () => coder.memories.lift({ record: records[0] ?? "" }, "x"),
      () => tester.memories.lift(id, "x", { dryRun: true }),
    ];
    for (const attempt of attempts) {
      expect(await refusal(attempt())).toMatchObject({ code: "not_permitted", path: "what" });
    }
    expect(await marked(hub)).toEqual([id]);
    await keeper.memories.lift(id, "It was right.");
    await coder.memories.quarantine(id, "Its author says so.");
    expect(await refusal(tester.memories.lift(id, "x"))).toMatchObject({ code: "not_permitted" });
    expect((await coder.memories.lift(id, "No.")).memories).toEqual([id]);
  });
});

describe("the right to quarantine over HTTP", () => {
  it("needs a keeper role or a token with access coordinator [MEM-16 OPS-5]", async () => {
    const { local, as } = await openTokenHub();
    const { tester } = await teamOn(local);
    const { id } = await tester.remember({ content: "The port is 80." });
    const agent = await as("coder", "agent");
    await refusedToQuarantine(agent, () => agent.memories.quarantine(id, "x"));
    const keeper = await as("keeper", "agent");
    await keeper.memories.quarantine(id, "x");
    expect(await refusal(agent.memories.lift(id, "x"))).toMatchObject({ code: "not_permitted" });
    const coordinator = await as("coder", "coordinator");
    await coordinator.memories.lift(id, "y");
    await coordinator.memories.quarantine(id, "x");
    expect(await marked(local)).toEqual([id]);
  });

  it("lets a token with access coordinator adopt a proposed quarantine [MEM-16 OPS-5]", async () => {
    const { local, as } = await openTokenHub();
    const { coder, tester } = await teamOn(local);
    const { id } = await tester.remember({ content: "The port is 80." });
    await coder.context.propose({ quarantine: id }, { reason: "It is 81." });
    const held = await as("keeper", "agent");
    const work = await take(held);
    await local.settings.update({ keepers: ["nobody"] });
    expect(await refusal(held.context.adopt(work))).toMatchObject({ code: "not_permitted" });
    const coordinator = await as("keeper", "coordinator");
    expect(await coordinator.context.adopt(work)).toMatchObject({ kind: "quarantined" });
    expect(await marked(local)).toEqual([id]);
  });
});

describe.each(STORES)("a proposed quarantine on %s", (store) => {
  it("is made by the keeper that adopts it [MEM-16 OPS-5]", async () => {
    const { hub, keeper, coder, tester } = await teamOn(await openFresh(store));
    const root = await tester.remember({ content: "The port is 80." });
    const near = await coder.remember({ content: "So it is HTTP.", refs: [root.id] });
    const change = { quarantine: root.id, downstream: true };
    const { sent, contradictions } = await coder.context.propose(change, { reason: "It is 81." });
    expect(contradictions).toEqual([]);
    expect(sent.envelope).toMatchObject({
      action: "proposed",
      intent: `Quarantine ${root.id} and everything that builds on it.`,
      payload: { type: "context-change", data: { change, reason: "It is 81." } },
    });
    expect(await marked(hub)).toEqual([]);
    const adopted = await keeper.context.adopt(await take(keeper));
    expect(adopted).toMatchObject({
      kind: "quarantined",
      quarantine: { memories: [root.id, near.id], hidden: 0 },
      delivery: { id: sent.id, state: "completed" },
    });
    expect((await marked(hub)).toSorted()).toEqual([root.id, near.id].toSorted());
    expect((await hub.memories.read(root.id)).quarantined).toMatchObject({
      by: "keeper",
      reason: "It is 81.",
    });
    expect((await sent.status()).state).toBe("completed");
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("hides nothing when the keeper declines it [MEM-16 OPS-5]", async () => {
    const { hub, keeper, coder, tester } = await teamOn(await openFresh(store));
    await tester.remember({ content: "The port is 80." });
    await coder.context.propose({ quarantine: { agent: "tester" } }, { reason: "It lies." });
    await (await take(keeper)).decline("It does not.");
    expect(await marked(hub)).toEqual([]);
  });

  it("is one handoff when it is proposed twice [MEM-16 OPS-5]", async () => {
    const { keeper, coder, tester } = await teamOn(await openFresh(store));
    const { id } = await tester.remember({ content: "The port is 80." });
    const propose = () => coder.context.propose({ quarantine: id }, { reason: "It is 81." });
    const [first, second] = [await propose(), await propose()];
    expect(second.sent.envelope.task).toBe(first.sent.envelope.task);
    await keeper.context.adopt(await take(keeper));
    expect(await keeper.accept()).toBeUndefined();
  });

  it("is refused for unknown memories and agents, and with basedOn [MEM-16 OPS-5]", async () => {
    const { keeper, coder, tester } = await teamOn(await openFresh(store));
    const { id } = await tester.remember({ content: "The port is 80." });
    const own = await coder.remember({ content: "mine", scope: "agent" });
    const unknown = "mem_00000000-0000-7000-8000-000000000000";
    const why = { reason: "x" };
    for (const [attempt, code] of [
      [() => coder.context.propose({ quarantine: unknown }, why), "unknown_memory"],
      [() => coder.context.propose({ quarantine: [id, own.id] }, why), "unknown_memory"],
      [() => coder.context.propose({ quarantine: { agent: "nobody" } }, why), "unknown_agent"],
      [() => coder.context.propose({ quarantine: "x" }, why), "invalid_input"],
      [() => coder.context.propose({ quarantine: id }, { ...why, basedOn: 1 }), "invalid_input"],
      [
        () => coder.context.propose({ quarantine: id, retire: true } as never, why),
        "invalid_input",
      ],
    ] as const) {
      expect(await refusal(attempt())).toMatchObject({ code });
    }
    expect(await keeper.accept()).toBeUndefined();
  });
});
