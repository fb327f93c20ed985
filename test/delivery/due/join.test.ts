/** Joins: handoffs that become ready, with results, when the ones they wait for complete. */

import { describe, expect, it } from "vitest";
import { type Agent, type Hub, type HubOptions, LocalHub, type Sent } from "../../../src/index.ts";
import { VirtualClock } from "../../../src/testing/index.ts";
import { dyingAfter, hubOn, sharedStore } from "../../support/hub/shared-store.ts";
import { contents, openFresh, refusal, STORES, take } from "../../support/hub/support.ts";
import { present } from "../../support/present.ts";

describe.each(STORES)("a join on %s", (store) => {
  async function team(options: HubOptions = {}) {
    const hub = await openFresh(store, options);
    return { hub, ...(await parallel(hub)) };
  }

  /** Registers a lead and three workers, and sends each worker one handoff. */
  async function parallel(hub: Hub) {
    const lead = await hub.agent("lead", {});
    const workers: Agent[] = [];
    const sent: Sent<object>[] = [];
    for (const name of ["ann", "bob", "cat"]) {
      workers.push(await hub.agent(name, {}));
      sent.push(await lead.handoff({ to: name, task: `part of ${name}`, intent: "Do your part" }));
    }
    return { lead, workers, sent };
  }

  const finish = async (agent: Agent | undefined, outputs: Record<string, unknown>) =>
    (await take(agent as Agent)).complete({ summary: `${agent?.id} is done`, outputs });

  const MERGE = { to: "lead", task: "merge", intent: "Merge the parts" };

  it("becomes ready when all handoffs complete, with results and parents [DLV-16]", async () => {
    const { hub, lead, workers, sent } = await team();
    const join = await lead.handoffs.join(sent, MERGE);
    expect(await join.status()).toMatchObject({ state: "scheduled", receiver: "lead" });
    expect(join.envelope.joins).toEqual({ deliveries: sent.map(({ id }) => id), need: 3 });
    for (const [i, worker] of workers.entries()) {
      expect(await lead.accept()).toBeUndefined();
      await finish(worker, { part: i });
    }
    const work = await take(lead);
    expect(work.id).toBe(join.id);
    const settled = await Promise.all(sent.map((each) => each.status()));
    expect(work.envelope.results).toEqual(
      workers.map((worker, i) => ({
        agent: worker.id,
        delivery: sent[i]?.id,
        memory: settled[i]?.settledBy,
        outputs: { part: i },
        summary: `${worker.id} is done`,
        task: `part of ${worker.id}`,
      })),
    );
    const origins = sent.map(({ envelope }) => envelope.id);
    expect(work.envelope.parents).toEqual([join.envelope.id, ...origins]);
    // In the chain it continues from the join and is derived from each result.
    const [acceptedFrom] = (await lead.memories.relations(present(work.delivery.acceptedBy))).items;
    const edges = (await lead.memories.relations(acceptedFrom?.target ?? "")).items;
    expect(edges.map(({ kind, target }) => [kind, target])).toEqual([
      ["continues-from", join.memory],
      ...settled.map(({ settledBy }) => ["derived-from", settledBy]),
    ]);
    await work.complete();
    expect((await join.completed()).kind).toBe("completed");
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("wakes a waiting receiver when the last handoff completes [DLV-16]", async () => {
    const { lead, workers, sent } = await team();
    const join = await lead.handoffs.join(sent, MERGE);
    const waiting = lead.accept({ wait: true });
    for (const worker of workers) await finish(worker, {});
    expect((await waiting)?.id).toBe(join.id);
  });

  it("becomes ready when any handoff completes, with its result [DLV-16]", async () => {
    const { lead, workers, sent } = await team();
    await lead.handoffs.join(sent, { ...MERGE, need: "any" });
    await finish(workers[1], { part: "b" });
    const work = await take(lead);
    expect(work.envelope.results?.map(({ agent }) => agent)).toEqual(["bob"]);
    await finish(workers[0], {}); // The join does not open a second time.
    await work.complete();
    expect(await lead.accept()).toBeUndefined();
  });

  it("becomes ready when enough handoffs complete, even if one is declined [DLV-16]", async () => {
    const { lead, workers, sent } = await team();
    await lead.handoffs.join(
      sent.map(({ id }) => id),
      { ...MERGE, need: 2 },
    );
    await finish(workers[2], { part: "c" });
    await (await take(workers[0] as Agent)).decline("Not mine");
    expect(await lead.accept()).toBeUndefined();
    await finish(workers[1], { part: "b" });
    const { envelope } = await take(lead);
    expect(envelope.results?.map(({ agent }) => agent)).toEqual(["bob", "cat"]);
  });

  it("is ready at once when all handoffs have already completed [DLV-16]", async () => {
    const { lead, workers, sent } = await team();
    for (const worker of workers) await finish(worker, {});
    const join = await lead.handoffs.join([...sent, ...sent], MERGE); // Duplicates count once.
    expect(join.envelope.joins?.need).toBe(3);
    expect((await join.status()).state).toBe("ready");
    expect((await take(lead)).envelope.results).toHaveLength(3);
  });

  it("waits for the end of a line that is handed on [DLV-16]", async () => {
    const { lead, workers, sent } = await team();
    const [ann, bob, cat] = workers as [Agent, Agent, Agent];
    await lead.handoffs.join(sent, MERGE);
    await finish(bob, { part: "b" });
    await (await take(ann)).handoff({ to: "bob" });
    await finish(cat, { part: "c" });
    expect(await lead.accept()).toBeUndefined();
    await (await take(bob)).handoff({ to: "cat" });
    expect(await lead.accept()).toBeUndefined();
    await finish(cat, { part: "a, by cat" });
    const { results } = (await take(lead)).envelope;
    expect(results?.map(({ agent, outputs }) => [agent, outputs])).toEqual([
      ["cat", { part: "a, by cat" }],
      ["bob", { part: "b" }],
      ["cat", { part: "c" }],
    ]);
  });

  it("waits for the end of a line that was handed on before the join [DLV-16]", async () => {
    const { lead, workers, sent } = await team();
    const [ann, bob, cat] = workers as [Agent, Agent, Agent];
    await (await take(ann)).handoff({ to: "bob" });
    const join = await lead.handoffs.join(sent.slice(0, 1), MERGE);
    expect((await join.status()).state).toBe("scheduled");
    await finish(cat, {});
    await finish(bob, {}); // Bob's own part, which is another line.
    expect((await join.status()).state).toBe("scheduled");
    await finish(bob, { part: "a" });
    expect((await take(lead)).envelope.results).toMatchObject([{ outputs: { part: "a" } }]);
  });

  it("waits for the handoff that superseded one of its handoffs [DLV-16 ENV-11]", async () => {
    const clock = new VirtualClock();
    const { hub, lead, workers, sent } = await team({ clock });
    const join = await lead.handoffs.join(sent, MERGE);
    const task = "part of ann";
    const newer = await lead.handoff({ to: "ann", task, intent: "Do more", next: ["This too"] });
    expect(newer.joined).toBe("superseded");
    for (const worker of workers) await finish(worker, { by: worker.id });
    clock.advance(10_000);
    await hub.deliveries.runDue();
    expect((await join.status()).state).toBe("ready");
    expect((await take(lead)).envelope.results?.map(({ delivery }) => delivery)).toEqual([
      newer.id,
      sent[1]?.id,
      sent[2]?.id,
    ]);
  });

  it("is dead-lettered with the reason when it can no longer become ready [DLV-16]", async () => {
    const { hub, lead, workers, sent } = await team();
    const join = await lead.handoffs.join(sent, { ...MERGE, need: 2 });
    await (await take(workers[0] as Agent)).decline("Not mine");
    expect((await join.status()).state).toBe("scheduled");
    await sent[1]?.cancel("Not needed");
    const [letter, ...others] = (await hub.deadLetters.list()).items;
    expect(others).toEqual([]);
    expect(letter?.delivery.id).toBe(join.id);
    expect(letter?.attempts).toMatchObject([{ outcome: "stopped" }]);
    expect(letter?.attempts[0]?.reason).toEqual({
      reason: "join_impossible",
      states: {
        [sent[0]?.id ?? ""]: "declined",
        [sent[1]?.id ?? ""]: "cancelled",
        [sent[2]?.id ?? ""]: "ready",
      },
    });
    expect((await join.completed()).kind).toBe("dead");
    await finish(workers[2], {});
    expect(await lead.accept()).toBeUndefined();
    expect((await hub.verify()).problems).toEqual([]);
  });

  it.each(["dead", "expired"] as const)(
    "is dead-lettered when a handoff it needs is %s [DLV-16]",
    async (end) => {
      const clock = new VirtualClock();
      const { hub, lead, workers, sent } = await team({ clock });
      const [ann] = workers as [Agent];
      const short = await lead.handoff({
        to: "ann",
        task: "short",
        intent: "Be quick",
        policy: { deadlineMs: 60_000 },
      });
      const join = await lead.handoffs.join([...sent, short], MERGE);
      const work = await take(ann, { task: "short" });
      if (end === "dead") await work.fail({ message: "no", class: "permanent" });
      clock.advance(60_001);
      await hub.deliveries.runDue();
      expect((await short.status()).state).toBe(end);
      expect((await join.status()).state).toBe("dead");
    },
  );

  it("becomes ready even if the process that settled the last handoff dies [DLV-16]", async () => {
    const clock = new VirtualClock();
    const reopen = sharedStore(store, { clock });
    const hub = await hubOn(store, await reopen(), { clock });
    const { lead, workers, sent } = await parallel(hub);
    const join = await lead.handoffs.join(sent, MERGE);
    await finish(workers[0], { part: "a" });
    await finish(workers[1], { part: "b" });
    const dying = new LocalHub(dyingAfter("settleDelivery", await reopen()), { clock });
    await finish(await dying.agent("cat"), { part: "c" });
    expect((await sent[2]?.status())?.state).toBe("completed");
    expect((await join.status()).state).toBe("scheduled"); // The process died first.

    const other = await hubOn(store, await reopen(), { clock });
    clock.advance(4_999);
    await other.deliveries.runDue();
    expect((await join.status()).state).toBe("scheduled");
    clock.advance(1);
    await other.deliveries.runDue();
    expect((await join.status()).state).toBe("ready");
    expect((await take(await other.agent("lead"))).envelope.results).toHaveLength(3);
  });

  it("is checked only occasionally in a long wait, and still becomes ready [DLV-16]", async () => {
    const clock = new VirtualClock();
    const reopen = sharedStore(store, { clock });
    const hub = await hubOn(store, await reopen(), { clock });
    const { lead, workers, sent } = await parallel(hub);
    const join = await lead.handoffs.join(sent.slice(0, 1), MERGE);
    const checks = async () =>
      (await hub.events.list({ after: 0, limit: 1_000 })).items.filter(
        ({ kind }) => kind === "postponed",
      ).length;
    const first = await checks();
    for (let minute = 0; minute < 24 * 60; minute += 10) {
      clock.advance(10 * 60_000);
      await hub.deliveries.runDue();
    }
    const times = (await checks()) - first;
    expect(times).toBeGreaterThan(20); // About once an hour or more often …
    expect(times).toBeLessThan(60); // … but not on every run.
    const dying = new LocalHub(dyingAfter("settleDelivery", await reopen()), { clock });
    const ann = await dying.agent(workers[0]?.id ?? "");
    await finish(ann, {});
    clock.advance(3_600_000);
    await hub.deliveries.runDue();
    expect((await join.status()).state).toBe("ready");
  });

  it("becomes ready even if its results exceed the envelope size limit [DLV-16]", async () => {
    const { hub, lead, workers, sent } = await team();
    await lead.handoffs.join(sent, MERGE);
    const large = "x".repeat(100_000);
    for (const worker of workers) await finish(worker, { large });
    const work = await take(lead);
    expect(work.envelope.results).toHaveLength(3);
    // Outputs that do not fit are left out; the named memory holds each result in full.
    for (const { memory } of work.envelope.results ?? []) {
      expect((await work.read(memory)).data).toEqual({ outputs: { large } });
    }
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("is dead-lettered when its own content leaves no space for the results [DLV-16]", async () => {
    const clock = new VirtualClock();
    const { hub, lead, workers, sent } = await team({ clock, limits: { envelopeBytes: 4_000 } });
    const state = "x".repeat(3_200);
    const join = await lead.handoffs.join(sent, { ...MERGE, state });
    for (const worker of workers) await finish(worker, { part: worker.id });
    clock.advance(60_000);
    expect(await lead.accept()).toBeUndefined();
    expect((await join.status()).state).toBe("dead");
    expect(await hub.deliveries.attempts(join.id)).toMatchObject([
      { reason: { reason: "unsealable" } },
    ]);
  });

  it("becomes ready with the maximum number of parents [DLV-16]", async () => {
    const { lead, workers, sent } = await team();
    const own: string[] = [];
    for (let i = 0; i < 62; i++) {
      own.push((await lead.handoff({ to: "lead", task: `own ${i}`, intent: "Note" })).envelope.id);
    }
    const join = await lead.handoffs.join(sent, { ...MERGE, to: "ann", parents: own });
    for (const worker of workers) await finish(worker, {});
    expect((await join.status()).state).toBe("ready");
    const { parents } = (await take(workers[0] as Agent)).envelope;
    expect(parents).toHaveLength(64);
    expect(parents).toEqual(expect.arrayContaining(sent.map(({ envelope }) => envelope.id)));
  });

  it("can be joined, cancelled and sent to a role [DLV-16 DLV-18]", async () => {
    const { hub, lead, workers, sent } = await team();
    await hub.agent("tester", { role: "tester" });
    const inner = await lead.handoffs.join(sent, { ...MERGE, to: "role:tester" });
    const outer = await lead.handoffs.join([inner], { ...MERGE, task: "outer" });
    for (const worker of workers) await finish(worker, {});
    await finish(await hub.agent("tester"), { verdict: "good" });
    expect((await take(lead)).id).toBe(outer.id);

    const next = await lead.handoff({ to: "ann", task: "more", intent: "Go" });
    const taken = await lead.handoffs.join([next], { ...MERGE, task: "taken back" });
    expect(await taken.cancel("Not needed")).toBe(true);
    await finish(workers[0], {});
    expect((await taken.status()).state).toBe("cancelled");
  });

  it("becomes ready for each subscriber of a channel [DLV-16 DLV-3]", async () => {
    const { hub, lead, workers, sent } = await team();
    await hub.channels.set("results");
    const readers = [await hub.agent("rita", {}), await hub.agent("rob", {})];
    for (const reader of readers) await reader.channels.subscribe("results");
    const join = await lead.handoffs.join(sent, { ...MERGE, to: "channel:results" });
    expect(join.receivers).toEqual(["rita", "rob"]);
    for (const worker of workers) await finish(worker, {});
    for (const reader of readers) {
      expect((await take(reader)).envelope.results).toHaveLength(3);
    }
  });

  it("refuses an unknown delivery, an empty list and too high a need [DLV-16]", async () => {
    const { hub, lead, sent } = await team();
    const before = await contents(hub);
    const unknown = "dlv_01900000-0000-7000-8000-000000000000";
    expect(await refusal(lead.handoffs.join([...sent, unknown], MERGE))).toMatchObject({
      code: "unknown_delivery",
      details: { delivery: unknown },
    });
    expect(await refusal(lead.handoffs.join([], MERGE))).toMatchObject({ code: "invalid_input" });
    expect(await refusal(lead.handoffs.join(sent, { ...MERGE, need: 4 }))).toMatchObject({
      code: "invalid_input",
      path: "need",
    });
    expect(await contents(hub)).toEqual(before);
  });
});
