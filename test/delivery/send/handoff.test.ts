/** Sending handoffs: atomic writes, one connected graph of records, counted attempts. */

import { describe, expect, it } from "vitest";
import type { Agent, DraftOf } from "../../../src/index.ts";
import type { Relation } from "../../../src/memory/read.ts";
import { VirtualClock } from "../../../src/testing/index.ts";
import { contents, openFresh, refusal, STORES, take } from "../../support/hub/support.ts";
import { present } from "../../support/present.ts";

const UNKNOWN_MEMORY = "mem_01900000-0000-7000-8000-000000000000";
const UNKNOWN_ENVELOPE = "env_01900000-0000-7000-8000-000000000000";

describe.each(STORES)("a handoff on %s", (store) => {
  async function team(options: Parameters<typeof openFresh>[1] = {}) {
    const hub = await openFresh(store, options);
    const planner = await hub.agent("planner", { role: "planner" });
    const coder = await hub.agent("coder", { role: "coder" });
    const reviewer = await hub.agent("reviewer", { role: "reviewer" });
    return { hub, planner, coder, reviewer };
  }

  it("stores record, relations, envelope, delivery and event together [DLV-1]", async () => {
    const { hub, planner, coder } = await team();
    const plan = await planner.remember({ type: "plan", content: "The plan." });
    const before = await hub.verify();
    const sent = await planner.handoff({ to: "coder", task: "t", intent: "Go", refs: [plan.id] });
    expect(await hub.verify()).toEqual({
      ...before,
      memories: before.memories + 1,
      relations: before.relations + 1,
      envelopes: before.envelopes + 1,
      deliveries: before.deliveries + 1,
    });
    expect((await hub.events.list({ after: 0 })).items).toMatchObject([
      { kind: "sent", agent: "planner", delivery: sent.id, envelope: sent.envelope.id },
    ]);
    const delivery = await sent.status();
    expect((await coder.deliveries.waiting()).items).toEqual([
      { delivery, envelope: sent.envelope },
    ]);
    expect(await coder.memories.read(sent.memory)).toMatchObject({ type: "handoff", task: "t" });
  });

  const FLAWS: Record<string, Partial<DraftOf<Record<string, unknown>>>> = {
    "an unknown receiver": { to: "nobody" },
    "a disabled receiver": { to: "retired" },
    "a role that no agent has": { to: "role:astronaut" },
    "a channel that does not exist": { to: "channel:news" },
    "an unknown reference": { refs: [UNKNOWN_MEMORY] },
    "an unknown parent": { parents: [UNKNOWN_ENVELOPE] },
    "a malformed field": { next: [""] },
    "a character no store may keep": { state: "a\0b" },
    "a payload against its schema": { payload: { type: "strict", data: { n: "one" } } },
    "more bytes than the limit": { payload: { type: "big", data: { x: "y".repeat(9_000) } } },
  };

  it("leaves nothing in the store when it is refused, sent or handed on [DLV-1]", async () => {
    const { hub, planner, coder, reviewer } = await team({ limits: { envelopeBytes: 8_000 } });
    await hub.agent("retired", { status: "disabled" });
    await hub.payloadTypes.set("strict", { type: "object", properties: { n: { type: "number" } } });
    const held = await planner.handoff({ to: "coder", task: "held", intent: "Hold it" });
    const work = await take(coder);
    const before = await contents(hub);
    for (const [what, flaw] of Object.entries(FLAWS)) {
      const draft = { to: "reviewer", task: "flawed", intent: "Go", ...flaw };
      const sending = await refusal(planner.handoff(draft));
      const handingOn = await refusal(work.handoff(draft));
      expect(handingOn.code, what).toBe(sending.code);
      expect(await contents(hub), what).toEqual(before);
    }
    expect(await hub.tasks.line("flawed")).toEqual([]);
    expect((await reviewer.deliveries.waiting()).items).toEqual([]);
    // Handing on completes and sends in one step: when it is refused, the holder keeps the work.
    expect((await held.status()).state).toBe("accepted");
    expect(await work.complete()).toMatchObject({ kind: "settled" });
  });

  it("does not affect concurrent handoffs when it is refused [DLV-1]", async () => {
    const { hub, planner, coder } = await team();
    await hub.agent("retired", { status: "disabled" });
    const outcomes = await Promise.allSettled(
      Array.from({ length: 40 }, (_, i) =>
        planner.handoff({ to: i % 2 ? "retired" : "coder", task: `t${i}`, intent: `Go ${i}` }),
      ),
    );
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(20);
    // And one audit record for each of five agents, the hub's own included.
    const report = { memories: 20 + 5, envelopes: 20, deliveries: 20, problems: [] };
    expect(await hub.verify()).toMatchObject(report);
    expect((await hub.events.list({ after: 0 })).items.map(({ kind }) => kind)).toEqual(
      Array(20).fill("sent"),
    );
    expect((await coder.deliveries.waiting()).items).toHaveLength(20);
  });

  it("completes the sender's work with the record that hands it on [DLV-1]", async () => {
    const { hub, planner, coder, reviewer } = await team();
    const sent = await planner.handoff({ to: "coder", task: "t", intent: "Go" });
    const work = await take(coder);
    const last = (await hub.events.list({ after: 0 })).items.at(-1)?.number ?? 0;
    const before = await hub.verify();
    const onward = await work.handoff({ to: "reviewer", next: ["Review it"] });
    if (onward.kind !== "sent") throw new Error("the handoff was not sent as an extension");
    expect((await hub.verify()).memories).toBe(before.memories + 1);
    expect(await sent.status()).toMatchObject({ state: "completed", settledBy: onward.memory });
    expect(
      (await hub.events.list({ after: last })).items.map(({ kind }) => kind).toSorted(),
    ).toEqual(["completed", "sent"]);
    expect(onward.envelope).toMatchObject({ task: "t", intent: "Go", next: ["Review it"], hop: 1 });
    expect((await take(reviewer)).envelope).toEqual(onward.envelope);
    expect(await refusal(work.handoff({ to: "reviewer" }))).toMatchObject({
      code: "already_settled",
    });
  });

  it("links the plan, three agents and the last record in one graph [DLV-10]", async () => {
    const { planner, coder, reviewer } = await team();
    const plan = await planner.remember({ type: "plan", content: "The plan." });
    const first = await planner.handoff({ to: "coder", task: "t", intent: "Go", refs: [plan.id] });
    const coding = await take(coder);
    const finding = (await coding.note({ type: "finding", content: "It leaks." })).memory;
    const second = await coding.handoff({ to: "reviewer", refs: [finding.id] });
    if (second.kind !== "sent") throw new Error("the handoff was not sent as an extension");
    const reviewing = await take(reviewer);
    const remark = (await reviewing.note("Looks right.")).memory;
    const settled = await reviewing.complete({ summary: "Approved." });
    if (settled.kind !== "settled") throw new Error("the handoff was not sent as an extension");
    const last = settled.delivery.settledBy;

    const out = (id: string) => planner.memories.relations(id);
    const edge = ({ kind, target }: Relation) => [kind, target];
    const edges = async (id: string) => (await out(id)).items.map(edge);
    expect(await edges(first.memory)).toEqual([["summarizes", plan.id]]);
    expect(await edges(present(coding.delivery.acceptedBy))).toEqual([
      ["continues-from", first.memory],
    ]);
    expect(await edges(finding.id)).toEqual([["continues-from", coding.delivery.acceptedBy]]);
    expect(await edges(second.memory)).toEqual([
      ["summarizes", finding.id],
      ["continues-from", coding.delivery.acceptedBy],
    ]);
    expect(await edges(present(reviewing.delivery.acceptedBy))).toEqual([
      ["continues-from", second.memory],
    ]);
    expect(await edges(remark.id)).toEqual([["continues-from", reviewing.delivery.acceptedBy]]);
    expect(await edges(present(last))).toEqual([["continues-from", reviewing.delivery.acceptedBy]]);

    // Each end is reachable from the other: along the edges, and against them.
    expect(await walk(planner, present(last), "out")).toContain(plan.id);
    expect(await walk(planner, plan.id, "in")).toEqual(
      new Set(
        (await planner.memories.recent({ task: "t" })).items.map(({ id }) => id).concat(plan.id),
      ),
    );
  });

  it("is linked the same way when it is accepted from the inbox [DLV-10]", async () => {
    const { planner, coder } = await team();
    const sent = await planner.handoff({ to: "coder", task: "t", intent: "Go" });
    const { value: offer } = await coder.inbox({ wait: false }).next();
    const work = await offer?.accept();
    expect((await coder.memories.relations(work?.delivery.acceptedBy ?? "")).items).toMatchObject([
      { kind: "continues-from", target: sent.memory },
    ]);
    expect(await coder.memories.read(work?.delivery.acceptedBy ?? "")).toMatchObject({
      agent: "coder",
      task: "t",
    });
  });

  it("is claimed by one session only when several accept concurrently", async () => {
    const { hub, planner } = await team();
    const sessions = await Promise.all(Array.from({ length: 8 }, () => hub.agent("coder")));
    await planner.handoff({ to: "coder", task: "one", intent: "Go" });
    await planner.handoff({ to: "coder", task: "two", intent: "Go" });
    const taken = (await Promise.all(sessions.map((session) => session.accept()))).filter(
      (work) => work !== undefined,
    );
    expect(taken.map(({ delivery }) => delivery.task).toSorted()).toEqual(["one", "two"]);
  });

  it("is retried with growing backoff, then dead-lettered with every attempt", async () => {
    const clock = new VirtualClock();
    const { hub, planner, coder } = await team({
      clock,
      random: () => 0.5,
      limits: { attempts: 3 },
    });
    const sent = await planner.handoff({ to: "coder", task: "t", intent: "Go" });
    for (const wait of [500, 1_000]) {
      const work = await take(coder);
      await work.fail({ message: `after ${wait}`, type: "timeout", hints: ["wait"] });
      const { state, readyAt } = await sent.status();
      expect({ state, wait: present(readyAt) - clock.now() }).toEqual({ state: "scheduled", wait });
      clock.advance(wait - 1);
      expect(await coder.accept()).toBeUndefined();
      clock.advance(1);
    }
    await (await take(coder)).fail({ message: "once more" });
    expect(await sent.status()).toMatchObject({
      state: "dead",
      attempt: 3,
      settledAt: clock.now(),
    });
    clock.advance(1e9);
    expect(await coder.accept()).toBeUndefined();
    const attempts = await hub.deliveries.attempts(sent.id);
    expect(attempts.map(({ attempt, outcome }) => [attempt, outcome])).toEqual([
      [1, "failed"],
      [2, "failed"],
      [3, "failed"],
    ]);
    expect(attempts[0]?.reason).toEqual({
      class: "retryable",
      hints: ["wait"],
      message: "after 500",
      type: "timeout",
    });
    expect((await hub.events.list({ after: 0 })).items.map(({ kind }) => kind)).toEqual([
      "sent",
      "accepted",
      "failed",
      "accepted",
      "failed",
      "accepted",
      "dead",
    ]);
    expect(await hub.verify()).toMatchObject({ problems: [] });
  });

  it("is dead-lettered at once after a permanent failure", async () => {
    const { hub, planner, coder } = await team();
    const sent = await planner.handoff({ to: "coder", intent: "Go" });
    await (await take(coder)).fail({ message: "no such repository", class: "permanent" });
    expect(await sent.status()).toMatchObject({ state: "dead", attempt: 1 });
    expect((await hub.deliveries.totals()).byState).toMatchObject({ dead: 1, ready: 0 });
  });

  it("ends when it is declined, with the reason in the chain", async () => {
    const { hub, planner, coder } = await team();
    const sent = await planner.handoff({ to: "coder", task: "t", intent: "Go" });
    await (await take(coder)).decline("Not my repository");
    expect((await sent.status()).state).toBe("declined");
    expect(await hub.deliveries.attempts(sent.id)).toMatchObject([
      { outcome: "declined", reason: { reason: "Not my repository" } },
    ]);
    const [record] = (await planner.memories.recent({ task: "t", limit: 1 })).items;
    expect(record).toMatchObject({
      agent: "coder",
      content: expect.stringContaining("repository"),
    });
  });

  it("leaves its result in the chain for the sender when it is completed", async () => {
    const { planner, coder } = await team();
    const sent = await planner.handoff({ to: "coder", task: "t", intent: "Go" });
    const outputs = { patch: "--- a\n+++ b" };
    await (await take(coder)).complete({ summary: "Done.", outputs, confidence: 0.9 });
    const { state, settledBy, settledAt } = await sent.status();
    expect(state).toBe("completed");
    const record = await planner.memories.read(present(settledBy));
    expect(record).toMatchObject({ content: "Done.", confidence: 0.9, storedAt: settledAt });
    expect(record.data).toEqual({ outputs });
    expect(record.trail).toEqual([{ verb: "complete", delivery: sent.id, attempt: 1 }]);
  });
});

/** Returns every record that can be reached from one, along its edges or against them. */
async function walk(agent: Agent, from: string, direction: "in" | "out"): Promise<Set<string>> {
  const seen = new Set([from]);
  for (const id of seen) {
    for (const { source, target } of (await agent.memories.relations(id, { direction })).items) {
      seen.add(direction === "out" ? target : source);
    }
  }
  return seen;
}
