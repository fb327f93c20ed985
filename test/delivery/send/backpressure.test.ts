/** Inbox limits, order by priority, delayed handoffs and paused receivers. */
import { describe, expect, it } from "vitest";
import type { Agent, HubOptions, Priority } from "../../../src/index.ts";
import { VirtualClock } from "../../../src/testing/index.ts";
import { contents, openFresh, refusal, STORES, take } from "../../support/hub/support.ts";

describe.each(STORES)("an inbox on %s", (store) => {
  async function team(options: HubOptions = {}) {
    const hub = await openFresh(store, options);
    const planner = await hub.agent("planner", {});
    const coder = await hub.agent("coder", { role: "coder" });
    let tasks = 0;
    const send = (draft: object = {}) =>
      planner.handoff({ to: "coder", task: `t${++tasks}`, intent: "Go", ...draft });
    return { hub, planner, coder, send };
  }

  const waits = async (agent: Agent) =>
    (await agent.deliveries.waiting()).items.map(({ delivery }) => delivery.task);

  it("refuses a handoff when it holds exactly its limit, and stores nothing [DLV-13]", async () => {
    const { hub, coder, send } = await team({ limits: { inbox: 3 } });
    for (let i = 0; i < 3; i++) await send();
    const before = await contents(hub);
    const refused = await refusal(send());
    expect(refused).toMatchObject({
      code: "inbox_full",
      path: "to",
      retryable: true,
      details: { receiver: "coder", limit: "inbox", max: 3 },
    });
    expect(refused.hint).toContain("limits: { inbox");
    expect(await contents(hub)).toEqual(before);
    expect((await coder.deliveries.waiting()).items).toHaveLength(3);
  });

  it("accepts another handoff only after one of its deliveries is settled [DLV-13]", async () => {
    const { coder, send } = await team({ limits: { inbox: 2 } });
    await send();
    await send();
    const work = await take(coder);
    expect((await refusal(send())).code).toBe("inbox_full"); // Held work is open too.
    await work.complete();
    await send();
    expect((await refusal(send())).code).toBe("inbox_full");
    await (await take(coder)).decline("Too much");
    await send();
    expect((await refusal(send())).code).toBe("inbox_full");
  });

  it("does not exceed its limit when many handoffs are sent concurrently [DLV-13]", async () => {
    const { hub, planner, coder } = await team({ limits: { inbox: 5 } });
    const outcomes = await Promise.allSettled(
      Array.from({ length: 20 }, (_, i) =>
        planner.handoff({ to: "coder", task: `at once ${i}`, intent: "Go" }),
      ),
    );
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(5);
    for (const outcome of outcomes) {
      if (outcome.status === "rejected") expect(outcome.reason.code).toBe("inbox_full");
    }
    expect((await coder.deliveries.waiting()).items).toHaveLength(5);
    expect((await hub.deliveries.totals()).deliveries).toBe(5);
    await (await take(coder)).complete();
    await planner.handoff({ to: "coder", task: "one more", intent: "Go" });
  });

  it("does not affect other inboxes when it is full [DLV-13]", async () => {
    const { planner, send } = await team({ limits: { inbox: 1 } });
    await send();
    expect((await refusal(send())).code).toBe("inbox_full");
    await send({ to: "planner" });
    await send({ to: "role:coder" }); // A role has its own inbox.
    const refused = await refusal(send({ to: "role:coder" }));
    expect(refused).toMatchObject({ code: "inbox_full", details: { receiver: "role:coder" } });
    expect((await planner.deliveries.waiting()).items).toHaveLength(1);
  });

  it("refuses work handed on to it when it is full; the holder keeps it [DLV-13]", async () => {
    const { coder, planner, send } = await team({ limits: { inbox: 1 } });
    await send();
    await send({ to: "planner" });
    const work = await take(coder);
    expect((await refusal(work.handoff({ to: "planner" }))).code).toBe("inbox_full");
    await (await take(planner)).complete();
    expect(await work.handoff({ to: "planner" })).toMatchObject({ kind: "sent" });
  });

  it("returns the original handoff for a repeated key when full [DLV-13 DLV-9]", async () => {
    const { send } = await team({ limits: { inbox: 1 } });
    const draft = { task: "t", key: "k" };
    const first = await send(draft);
    expect((await refusal(send())).code).toBe("inbox_full");
    const again = await send(draft);
    expect(again).toMatchObject({ id: first.id, joined: "repeated" });
  });

  it("is ordered by priority, then by arrival [DLV-13]", async () => {
    const { coder, send } = await team();
    const order: Priority[] = ["low", "normal", "urgent", "high", "low", "urgent", "normal"];
    for (const [i, priority] of order.entries()) {
      await send({ task: `${priority} ${i}`, priority });
    }
    await send({ task: "unsaid" });
    const expected = [
      "urgent 2",
      "urgent 5",
      "high 3",
      "normal 1",
      "normal 6",
      "unsaid",
      "low 0",
      "low 4",
    ];
    expect(await waits(coder)).toEqual(expected);
    const { next: after } = await coder.deliveries.waiting({ limit: 3 });
    const rest = (await coder.deliveries.waiting({ after })).items;
    expect(rest.map(({ delivery }) => delivery.task)).toEqual(expected.slice(3));
    for (const task of expected) {
      const work = await take(coder);
      expect(work.delivery.task).toBe(task);
      await work.complete();
    }
  });

  it("keeps the order within a task regardless of priority [DLV-13]", async () => {
    const { hub, coder, send } = await team();
    const other = await hub.agent("other", {});
    await send({ task: "t", priority: "low" });
    await send({ task: "between" });
    const urgent = { to: "coder", task: "t", intent: "Now", priority: "urgent" as const };
    const later = await other.handoff(urgent);
    const order: string[] = [];
    for (let i = 0; i < 3; i++) {
      const work = await take(coder);
      order.push(`${work.delivery.task} of ${work.envelope.from.agent}`);
      if (work.id === later.id) expect(order).toContain("t of planner");
      await work.complete();
    }
    expect(order.indexOf("t of planner")).toBeLessThan(order.indexOf("t of other"));
    expect(order.toSorted()).toEqual(["between of planner", "t of other", "t of planner"]);
  });

  it("holds back a delayed handoff until its time [DLV-13]", async () => {
    const clock = new VirtualClock();
    const { hub, coder, send } = await team({ clock });
    const later = await send({ task: "later", delayMs: 60_000 });
    await send({ task: "now" });
    expect(await later.status()).toMatchObject({
      state: "scheduled",
      readyAt: clock.now() + 60_000,
    });
    expect((await take(coder)).delivery.task).toBe("now");
    clock.advance(59_999);
    expect(await coder.accept()).toBeUndefined();
    clock.advance(1);
    expect((await take(coder)).delivery.task).toBe("later");
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("wakes a waiting receiver when a delayed handoff becomes ready [DLV-13]", async () => {
    const { coder, send } = await team();
    const sent = await send({ delayMs: 150 });
    const work = await coder.accept({ wait: true });
    expect(work?.id).toBe(sent.id);
  });

  it("fills while its agent is paused, and delivers after it is unpaused [DLV-13]", async () => {
    const { hub, coder, send } = await team({ limits: { inbox: 2 } });
    await send();
    const held = await take(coder);
    await hub.agents.pause("coder");
    await hub.agents.pause("coder");
    await send();
    expect(await coder.accept()).toBeUndefined();
    for await (const offer of coder.inbox({ wait: false })) expect.fail(`offered ${offer.id}`);
    expect((await coder.deliveries.waiting()).items).toHaveLength(2); // Listing is allowed.
    expect((await refusal(send())).code).toBe("inbox_full"); // The limit still applies.
    expect(await held.complete()).toMatchObject({ kind: "settled" }); // Held work can be finished.
    await hub.agents.unpause("coder");
    expect((await hub.agents.list()).find(({ id }) => id === "coder")?.status).toBe("active");
    expect((await take(coder)).delivery.task).toBe("t2");
  });

  it("keeps a disabled agent disabled when it is paused or unpaused [DLV-13]", async () => {
    const { hub } = await team();
    await hub.agent("coder", { status: "disabled" });
    await hub.agents.unpause("coder");
    await hub.agents.pause("coder");
    expect((await hub.agents.list()).find(({ id }) => id === "coder")?.status).toBe("disabled");
  });
});
