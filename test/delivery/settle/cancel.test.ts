/** Cancelling: the holder is notified, later settlements are refused, and a record is kept. */

import { describe, expect, it } from "vitest";
import type { HubOptions, Work } from "../../../src/index.ts";
import { VirtualClock } from "../../../src/testing/index.ts";
import { twoHubs } from "../../support/hub/shared-store.ts";
import { contents, openFresh, refusal, STORES, take } from "../../support/hub/support.ts";
import { present } from "../../support/present.ts";

/** Resolves with the reason when the signal of the work is aborted. */
function abortReason(work: Work): Promise<unknown> {
  const { signal } = work;
  if (signal.aborted) return Promise.resolve(signal.reason);
  return new Promise((resolve) =>
    signal.addEventListener("abort", () => resolve(signal.reason), { once: true }),
  );
}

describe.each(STORES)("cancelling on %s", (store) => {
  async function team(options: HubOptions = {}) {
    const hub = await openFresh(store, options);
    const planner = await hub.agent("planner", {});
    const coder = await hub.agent("coder", {});
    const reviewer = await hub.agent("reviewer", {});
    return { hub, planner, coder, reviewer };
  }

  it("removes an unclaimed handoff from the inbox [DLV-18]", async () => {
    const { hub, planner, coder } = await team();
    const sent = await planner.handoff({ to: "coder", task: "t", intent: "Go" });
    expect(await sent.cancel("Not needed")).toBe(true);
    expect(await sent.status()).toMatchObject({ state: "cancelled", attempt: 0 });
    expect(await coder.accept()).toBeUndefined();
    expect((await coder.deliveries.waiting()).items).toEqual([]);
    expect(await hub.deliveries.attempts(sent.id)).toEqual([]); // No attempt was made.
  });

  it("aborts the holder's signal with the code cancelled [DLV-18]", async () => {
    const { planner, coder } = await team();
    const sent = await planner.handoff({ to: "coder", task: "t", intent: "Go" });
    const work = await take(coder);
    expect(work.signal.aborted).toBe(false);
    const reason = abortReason(work);
    await sent.cancel("Not needed");
    expect(await reason).toMatchObject({ code: "cancelled", path: "lease" });
    expect(work.signal.aborted).toBe(true);
  });

  it("aborts the signal of a holder in another hub [DLV-18]", async () => {
    const [here, there] = await twoHubs(store);
    const planner = await here.agent("planner", {});
    const coder = await there.agent("coder", {});
    const sent = await planner.handoff({ to: "coder", task: "t", intent: "Go" });
    const reason = abortReason(await take(coder));
    await sent.cancel("Not needed");
    expect(await reason).toMatchObject({ code: "cancelled" });
  });

  it("aborts a signal that the holder reads only afterwards [DLV-18]", async () => {
    const { planner, coder } = await team();
    const sent = await planner.handoff({ to: "coder", task: "t", intent: "Go" });
    const work = await take(coder);
    await sent.cancel("Not needed");
    expect(await abortReason(work)).toMatchObject({ code: "cancelled" });
  });

  it("aborts the signal of work resumed by its handle [DLV-18]", async () => {
    const { hub, planner } = await team();
    const session = await hub.agent("coder", undefined, { lease: "session" });
    const sent = await planner.handoff({ to: "coder", task: "t", intent: "Go" });
    const { handle } = await take(session);
    const reason = abortReason(await session.resume(handle));
    await sent.cancel("Not needed");
    expect(await reason).toMatchObject({ code: "cancelled" });
    expect((await refusal(session.resume(handle))).code).toBe("cancelled");
  });

  it("refuses every later settlement and keeps late notes [DLV-18]", async () => {
    const verbs: Record<string, (work: Work) => Promise<unknown>> = {
      complete: (work) => work.complete({ summary: "Too late" }),
      fail: (work) => work.fail({ message: "Too late" }),
      decline: (work) => work.decline("Too late"),
      release: (work) => work.release(),
      clarify: (work) => work.clarify("Too late?"),
      handoff: (work) => work.handoff({ to: "reviewer" }),
      renew: (work) => work.renew(),
    };
    const { hub, planner, coder } = await team();
    for (const [verb, act] of Object.entries(verbs)) {
      const sent = await planner.handoff({ to: "coder", task: verb, intent: "Go" });
      const work = await take(coder);
      await sent.cancel("Not needed");
      const before = await contents(hub);
      expect((await refusal(act(work))).code, verb).toBe("cancelled");
      expect((await refusal(act(work))).code, verb).toBe("cancelled");
      expect(await contents(hub), verb).toEqual(before);
      const note = await work.note("What I had found out");
      expect(note).toMatchObject({ kind: "kept", memory: { tags: ["stale-holder"] } });
    }
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("lets an await using block end without an error [DLV-18]", async () => {
    const { planner, coder } = await team();
    const sent = await planner.handoff({ to: "coder", task: "t", intent: "Go" });
    {
      await using work = await take(coder);
      await sent.cancel("Not needed");
      await abortReason(work);
    }
    expect((await sent.status()).state).toBe("cancelled");
  });

  it("is recorded in the chain, as an event and as the attempt's outcome [DLV-18]", async () => {
    const { hub, planner, coder } = await team();
    const sent = await planner.handoff({ to: "coder", task: "t", intent: "Go" });
    await take(coder);
    await sent.cancel("Changed my mind");
    const { settledBy } = await sent.status();
    const record = await hub.memories.read(present(settledBy));
    expect(record).toMatchObject({
      agent: "planner",
      task: "t",
      type: "decision",
      data: { reason: "Changed my mind" },
      relations: [{ kind: "continues-from", to: sent.memory }],
      trail: [{ verb: "cancel", delivery: sent.id, attempt: 1 }],
    });
    expect((await hub.events.list({ after: 0 })).items.at(-1)).toMatchObject({
      kind: "cancelled",
      agent: "planner",
      delivery: sent.id,
    });
    expect(await hub.deliveries.attempts(sent.id)).toMatchObject([
      { outcome: "cancelled", holder: "coder", reason: { reason: "Changed my mind" } },
    ]);
    expect(await sent.completed()).toMatchObject({
      kind: "cancelled",
      reason: "Changed my mind",
    });
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("closes every open handoff of a task, and no others [DLV-18]", async () => {
    const clock = new VirtualClock();
    const { hub, planner, coder, reviewer } = await team({ clock, random: () => 0.5 });
    const open: Record<string, string> = {};
    const send = async (to: string, draft: object = {}) =>
      planner.handoff({ to, task: "t", intent: "Go", ...draft });
    const done = await send("reviewer");
    await (await take(reviewer)).complete();
    open["ready"] = (await send("planner")).id;
    open["scheduled"] = (
      await reviewer.handoff({ to: "planner", task: "t", intent: "Later", delayMs: 9_999 })
    ).id;
    open["asked"] = (await send("coder")).id;
    await (await take(coder)).clarify("Which one?");
    open["held"] = (await send("reviewer", { next: ["Again"] })).id;
    const held = await take(reviewer);
    const reason = abortReason(held);
    const other = await planner.handoff({ to: "reviewer", task: "u", intent: "Go" });

    const closed = await coder.tasks.cancelHandoffs("t", "The customer left");
    expect(closed.map(({ id }) => id).toSorted()).toEqual(Object.values(open).toSorted());
    expect(closed.every(({ state }) => state === "cancelled")).toBe(true);
    expect(await reason).toMatchObject({ code: "cancelled" });
    expect((await done.status()).state).toBe("completed");
    expect((await other.status()).state).toBe("ready");
    expect((await take(reviewer)).id).toBe(other.id);
    expect(await planner.accept()).toBeUndefined();
    // One decision is one record that names all of them.
    const [record] = (await hub.memories.recent({ task: "t", limit: 1 })).items;
    expect(record).toMatchObject({ agent: "coder", data: { reason: "The customer left" } });
    expect(record?.trail).toHaveLength(4);
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("closes the current delivery of a task's line [DLV-18]", async () => {
    const { planner, coder, reviewer } = await team();
    const first = await planner.handoff({ to: "coder", task: "t", intent: "Go" });
    await (await take(coder)).handoff({ to: "reviewer" });
    const work = await take(reviewer);
    const closed = await planner.tasks.cancelHandoffs("t", "Not needed");
    expect(closed.map(({ id }) => id)).toEqual([work.id]);
    expect((await first.status()).state).toBe("completed");
  });

  it("has no effect on handoffs that are already closed, and throws nothing [DLV-18]", async () => {
    const { hub, planner, coder } = await team();
    const sent = await planner.handoff({ to: "coder", task: "t", intent: "Go" });
    expect(await planner.deliveries.cancel(sent.id, "Not needed")).toMatchObject([
      { id: sent.id, state: "cancelled" },
    ]);
    const before = await contents(hub);
    expect(await planner.deliveries.cancel(sent.id, "Not needed")).toEqual([]);
    expect(await planner.tasks.cancelHandoffs("t", "Not needed")).toEqual([]);
    expect(await planner.tasks.cancelHandoffs("no such task", "Not needed")).toEqual([]);
    expect(await sent.cancel("Not needed")).toBe(false);
    expect(await contents(hub)).toEqual(before);
    const done = await planner.handoff({ to: "coder", task: "u", intent: "Go" });
    await (await take(coder)).complete();
    expect(await done.cancel("Too late")).toBe(false);
    expect((await done.status()).state).toBe("completed");
  });

  it("takes effect once when called concurrently [DLV-18]", async () => {
    const { hub, planner, coder } = await team();
    const sent = await planner.handoff({ to: "coder", task: "t", intent: "Go" });
    const outcomes = await Promise.all(
      Array.from({ length: 6 }, (_, i) => sent.cancel(`Reason ${i}`)),
    );
    expect(outcomes.filter(Boolean)).toHaveLength(1);
    const events = (await hub.events.list({ after: 0 })).items.filter(
      ({ kind }) => kind === "cancelled",
    );
    expect(events).toHaveLength(1);
    expect(await coder.accept()).toBeUndefined();
  });

  it("succeeds only if a concurrent settlement does not [DLV-18]", async () => {
    const { hub, planner, coder } = await team();
    for (let i = 0; i < 8; i++) {
      const sent = await planner.handoff({ to: "coder", task: `t${i}`, intent: "Go" });
      const work = await take(coder);
      const [settled, cancelled] = await Promise.allSettled(
        i % 2
          ? [work.complete(), sent.cancel("Not needed")]
          : [sent.cancel("Not needed"), work.complete()].toReversed(),
      );
      const { state } = await sent.status();
      expect(settled?.status).toBe(state === "completed" ? "fulfilled" : "rejected");
      expect(cancelled).toEqual({ status: "fulfilled", value: state === "cancelled" });
    }
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("makes the next delivery of the task available to its receiver [DLV-18 DLV-13]", async () => {
    const { planner, coder, reviewer } = await team();
    const first = await planner.handoff({ to: "coder", task: "t", intent: "Go" });
    const second = await reviewer.handoff({ to: "coder", task: "t", intent: "And this" });
    await take(coder);
    const next = coder.accept({ wait: true });
    await first.cancel("Not needed");
    expect((await next)?.id).toBe(second.id);
  });
});
