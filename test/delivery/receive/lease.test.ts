/** Work and its lease: unsettled work, expiry, late calls, renewal and heartbeats. */
import { once } from "node:events";
import { setImmediate as immediate } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import type { HubOptions } from "../../../src/index.ts";
import { VirtualClock } from "../../../src/testing/index.ts";
import { contents, openFresh, refusal, STORES, take } from "../../support/hub/support.ts";
import { until } from "../../support/until.ts";

/** Collects the warnings about this delivery; they are emitted on the next tick. */
function warningsOf(delivery: string): () => Promise<readonly Error[]> {
  const warnings: Error[] = [];
  const listener = (warning: Error): void => {
    if (warning.message.includes(delivery)) warnings.push(warning);
  };
  process.on("warning", listener);
  onTestFinished(() => void process.off("warning", listener));
  return async () => {
    await immediate();
    return warnings;
  };
}

describe.each(STORES)("work on %s", (store) => {
  async function team(limits: HubOptions["limits"] = {}) {
    const clock = new VirtualClock();
    const hub = await openFresh(store, { clock, limits: { leaseMs: 60_000, ...limits } });
    const planner = await hub.agent("planner", {});
    const first = await hub.agent("coder", {});
    const second = await hub.agent("coder");
    const sent = await planner.handoff({ to: "coder", task: "t", intent: "Go" });
    return { hub, clock, planner, first, second, sent };
  }

  it("is released as a counted attempt when its block ends without settling it", async () => {
    const { hub, first, second, sent } = await team();
    {
      await using work = await take(first);
      await work.note("Began.");
    }
    expect(await sent.status()).toMatchObject({ state: "ready", attempt: 1 });
    expect(await hub.deliveries.attempts(sent.id)).toMatchObject([
      { outcome: "released", holder: "coder" },
    ]);
    const again = await take(second);
    expect(again.delivery.attempt).toBe(2);
    {
      await using _work = again;
      await again.complete();
    }
    expect((await sent.status()).state).toBe("completed");
  });

  it("warns that it returns to the inbox, naming the delivery, when left unsettled", async () => {
    const { first, second, sent } = await team();
    const warnings = warningsOf(sent.id);
    {
      await using _work = await take(first);
    }
    expect(await warnings()).toMatchObject([{ name: "BatonWarning", code: "BATON_UNSETTLED" }]);
    const [{ message = "" } = {}] = await warnings();
    expect(message).toContain("counts as an attempt");
    expect(message).toContain("complete(), fail(), decline(), clarify(), release() or handoff()");
    expect(await sent.status()).toMatchObject({ state: "ready", attempt: 1 });
    expect((await take(second)).delivery.attempt).toBe(2);
  });

  it.each(["complete", "fail", "decline", "clarify", "release", "handoff"] as const)(
    "does not warn when %s settles it within its block",
    async (verb) => {
      const { first, sent } = await team();
      const warnings = warningsOf(sent.id);
      {
        await using work = await take(first);
        const acts = {
          complete: () => work.complete(),
          fail: () => work.fail({ message: "flaky" }),
          decline: () => work.decline("Not mine"),
          clarify: () => work.clarify("Why?"),
          release: () => work.release(),
          handoff: () => work.handoff({ to: "planner" }),
        };
        await acts[verb]();
      }
      expect(await warnings()).toEqual([]);
    },
  );

  it("warns and is released when it was extended and not settled again", async () => {
    const { planner, first, sent } = await team();
    const warnings = warningsOf(sent.id);
    {
      await using work = await take(first);
      await planner.handoff({ to: "coder", task: "t", intent: "Go", next: ["More"] });
      expect((await refusal(work.complete())).code).toBe("work_extended");
    }
    expect(await warnings()).toMatchObject([{ code: "BATON_UNSETTLED" }]);
    expect(await sent.status()).toMatchObject({ state: "ready", attempt: 1 });
  });

  it("is released when its block throws, and the error propagates", async () => {
    const { first, sent } = await team();
    const body = async () => {
      await using _work = await take(first);
      throw new Error("the model is down");
    };
    await expect(body()).rejects.toThrow("the model is down");
    expect((await sent.status()).state).toBe("ready");
  });

  it("lets its block end without an error after the lease expired", async () => {
    const { clock, first, second, sent } = await team();
    {
      await using lost = await take(first);
      clock.advance(60_000);
      expect((await take(second)).delivery.attempt).toBe(2);
      expect(lost.delivery.attempt).toBe(1);
    }
    expect(await sent.status()).toMatchObject({ state: "accepted", attempt: 2 });
  });

  it("is dead-lettered when it is released on its last attempt", async () => {
    const { first, sent } = await team({ attempts: 2 });
    for (const state of ["ready", "dead"]) {
      expect(await (await take(first)).release()).toMatchObject({ id: sent.id, state });
      expect((await sent.status()).state).toBe(state);
    }
    expect(await first.accept()).toBeUndefined();
  });

  it("goes to the next holder on expiry, and a late result is refused [DLV-6]", async () => {
    const { hub, clock, first, second, sent } = await team();
    const lost = await take(first);
    clock.advance(59_999);
    expect(await second.accept()).toBeUndefined();
    clock.advance(1);
    const work = await take(second);
    expect(work.delivery.attempt).toBe(2);
    const before = await contents(hub);
    const error = await refusal(lost.complete({ summary: "Too late" }));
    expect(error).toMatchObject({ code: "lease_lost", details: { state: "accepted", attempt: 2 } });
    expect(lost.signal.aborted).toBe(true);
    expect(lost.signal.reason).toBe(error);
    expect(await contents(hub)).toEqual(before);
    expect(await hub.deliveries.attempts(sent.id)).toMatchObject([
      { attempt: 1, outcome: "expired" },
    ]);
    expect(await work.complete()).toMatchObject({ kind: "settled" });
    expect(work.signal.aborted).toBe(false);
  });

  it("is dead-lettered when the lease expires on its last attempt", async () => {
    const { hub, clock, first, second, sent } = await team({ attempts: 1 });
    await take(first);
    clock.advance(60_000);
    expect(await second.accept()).toBeUndefined();
    expect(await sent.status()).toMatchObject({ state: "dead", settledAt: clock.now() });
    expect(await hub.deliveries.attempts(sent.id)).toMatchObject([
      { attempt: 1, outcome: "expired" },
    ]);
    expect((await hub.events.list({ after: 0 })).items.map(({ kind }) => kind)).toEqual([
      "sent",
      "accepted",
      "dead",
    ]);
  });

  it.each(["fail", "decline", "release", "handoff", "renew", "read"] as const)(
    "refuses %s after the lease expired [DLV-6]",
    async (verb) => {
      const { clock, first, second, sent } = await team();
      const lost = await take(first);
      clock.advance(60_000);
      await take(second);
      const acts = {
        fail: () => lost.fail({ message: "late" }),
        decline: () => lost.decline("late"),
        release: () => lost.release(),
        handoff: () => lost.handoff({ to: "planner" }),
        renew: () => lost.renew(),
        read: () => lost.read(sent.memory),
      };
      for (const _time of ["noticing", "knowing"]) {
        expect(await refusal(acts[verb]())).toMatchObject({ code: "lease_lost" });
      }
      expect(lost.signal.aborted).toBe(true);
      expect(await sent.status()).toMatchObject({ state: "accepted", attempt: 2 });
    },
  );

  it("keeps late notes after the lease expired, tagged stale-holder [DLV-6]", async () => {
    const { clock, first, second } = await team();
    const lost = await take(first);
    const early = await lost.note("In time.");
    expect(early).toMatchObject({ kind: "noted", memory: { task: "t", type: "step" } });
    clock.advance(60_000);
    const work = await take(second);
    const late = await lost.note({ type: "finding", content: "Too late.", tags: ["auth"] });
    expect(late).toMatchObject({
      kind: "kept",
      memory: { type: "finding", tags: ["auth", "stale-holder"] },
      delivery: { state: "accepted", attempt: 2 },
    });
    expect(lost.signal.aborted).toBe(true);
    expect((await first.memories.recent({ tag: "stale-holder" })).items).toEqual([late.memory]);
    // The late note continues from its own acceptance, not from the new holder's.
    expect((await first.memories.relations(late.memory.id)).items).toMatchObject([
      { target: lost.delivery.acceptedBy },
    ]);
    expect((await work.note("Mine.")).memory.tags ?? []).not.toContain("stale-holder");
  });

  it("reports the current holder after a late note and on every later call", async () => {
    const { clock, first, second } = await team();
    const lost = await take(first);
    clock.advance(60_000);
    await take(second);
    await lost.note("Too late.");
    const now = { code: "lease_lost", details: { state: "accepted", holder: "coder", attempt: 2 } };
    expect(lost.signal.reason).toMatchObject(now);
    expect(await refusal(lost.complete())).toMatchObject(now);
  });

  it("is not reported as lost after its holder settled it", async () => {
    const { first } = await team();
    const work = await take(first);
    await work.complete();
    expect(await work.note("One more thing.")).toMatchObject({ kind: "kept" });
    await work.renew();
    expect(work.signal.aborted).toBe(false);
    expect(await refusal(work.complete())).toMatchObject({ code: "already_settled" });
  });

  it("renews its lease with every call [DLV-6]", async () => {
    const { clock, first, sent } = await team();
    const work = await take(first);
    for (const act of [
      () => work.note("Still here"),
      () => work.renew(),
      () => work.read(sent.memory),
    ]) {
      clock.advance(59_000);
      await act();
      expect((await sent.status()).leaseUntil).toBe(clock.now() + 60_000);
    }
    expect(await work.complete()).toMatchObject({ kind: "settled" });
  });

  it("renews its lease by a heartbeat while its holder makes no calls [DLV-6]", async () => {
    const { clock, first, sent } = await team({ leaseMs: 60 });
    await take(first);
    for (let beat = 0; beat < 3; beat++) {
      clock.advance(40);
      const wanted = clock.now() + 60;
      await until("a heartbeat", async () => (await sent.status()).leaseUntil === wanted);
    }
  });

  it("aborts the signal of a holder that makes no calls when it is lost", async () => {
    const { clock, first, second } = await team({ leaseMs: 60 });
    const lost = await take(first);
    const aborted = once(lost.signal, "abort");
    clock.advance(60);
    await take(second);
    await aborted;
    expect(lost.signal.reason).toMatchObject({ code: "lease_lost" });
  });

  it("goes back to the inbox when the lease of an offer expires [DLV-6]", async () => {
    const { clock, first, second, sent } = await team();
    const { value: offer } = await first.inbox({ wait: false }).next();
    expect(await sent.status()).toMatchObject({ state: "claimed", attempt: 1 });
    clock.advance(60_000);
    await take(second);
    expect(await refusal(offer?.accept() ?? Promise.resolve())).toMatchObject({
      code: "lease_lost",
    });
  });
});
