/** Holding work: the hold limit, what counts as an attempt, and errors after the work is lost. */

import { once } from "node:events";
import { describe, expect, it } from "vitest";
import type { Agent, HubOptions, Offer, Work } from "../../../src/index.ts";
import { VirtualClock } from "../../../src/testing/index.ts";
import { contents, openFresh, openTwo, refusal, STORES, take } from "../../support/hub/support.ts";
import { present } from "../../support/present.ts";

const DRAFT = { to: "ben", task: "t", intent: "Go" };

async function offered(agent: Agent): Promise<Offer> {
  const { value: offer } = await agent.inbox({ wait: false }).next();
  expect(offer, `${agent.id} is offered something`).toBeDefined();
  return offer as Offer;
}

describe.each(STORES)("holding work on %s", (store) => {
  async function team(limits: HubOptions["limits"] = {}) {
    const clock = new VirtualClock();
    const hub = await openFresh(store, { clock, random: () => 0, limits });
    const ada = await hub.agent("ada", {});
    const ben = await hub.agent("ben", {});
    const other = await hub.agent("ben");
    const sent = await ada.handoff(DRAFT);
    return { hub, clock, ada, ben, other, sent };
  }

  it("ends at the hold limit, no matter how often the lease is renewed [DLV-6]", async () => {
    const { hub, clock, ben, other, sent } = await team({ leaseMs: 60_000, holdMs: 150_000 });
    const work = await take(ben);
    const { holdUntil } = await sent.status();
    expect(holdUntil).toBe(clock.now() + 150_000);
    for (const act of [
      () => work.renew(),
      () => work.note("Still at it."),
      () => work.read(sent.memory),
    ]) {
      clock.advance(49_999);
      await act();
      const { leaseUntil } = await sent.status();
      expect(leaseUntil).toBe(Math.min(clock.now() + 60_000, present(holdUntil)));
    }
    expect(await other.accept()).toBeUndefined();
    clock.advance(3);
    const next = await take(other);
    expect(next.delivery.attempt).toBe(2);
    expect(await hub.deliveries.attempts(sent.id)).toMatchObject([
      { attempt: 1, outcome: "expired", reason: { reason: "held too long" } },
    ]);
    expect(await refusal(work.renew())).toMatchObject({ code: "lease_lost" });
    // The next holder has its own limit.
    expect((await sent.status()).holdUntil).toBe(clock.now() + 150_000);
  });

  it("ends at the hold limit for a session too, no matter how often it calls [DLV-6]", async () => {
    const { hub, clock, other, sent } = await team({ leaseMs: 60_000, holdMs: 100_000 });
    const session = await hub.agent("ben", {}, { lease: "session" });
    await take(session);
    for (let call = 0; call < 2; call++) {
      clock.advance(49_999);
      await session.memories.recent();
    }
    expect((await sent.status()).state).toBe("accepted");
    clock.advance(2);
    expect((await take(other)).delivery.attempt).toBe(2);
  });

  it("expires when the holder stopped responding long before the hold limit [DLV-6]", async () => {
    const { hub, clock, ben, other, sent } = await team({ leaseMs: 60_000, holdMs: 150_000 });
    await take(ben);
    clock.advance(7 * 24 * 3_600_000);
    await take(other);
    const [attempt] = await hub.deliveries.attempts(sent.id);
    expect(attempt).toMatchObject({ outcome: "expired" });
    expect(attempt?.reason).toEqual({});
  });

  it("does not start by reading: lists, catch-up and status change nothing [DLV-6]", async () => {
    const { hub, clock, ada, ben, sent } = await team();
    const before = await contents(hub);
    for (let time = 0; time < 5; time++) {
      clock.advance(3_600_000);
      const [seen] = (await ben.deliveries.waiting()).items;
      expect(seen?.envelope).toEqual(sent.envelope);
      expect(seen?.delivery).toMatchObject({ state: "ready", attempt: 0 });
      expect(seen?.delivery).not.toHaveProperty("seenAt");
      await Promise.all([
        ben.deliveries.waiting({ task: "t" }),
        ben.catchUp(),
        ada.catchUp({ task: "t" }),
        sent.status(),
        sent.accepted({ timeoutMs: 0 }),
        hub.tasks.line("t"),
        hub.deadLetters.list(),
        hub.deliveries.runDue(),
      ]);
    }
    expect(await contents(hub)).toEqual(before);
    expect((await take(ben)).delivery.attempt).toBe(1);
  });

  it("counts released work as an attempt, but not a released offer [DLV-6]", async () => {
    const { hub, ben, sent } = await team({ attempts: 2 });
    for (let time = 0; time < 5; time++) {
      await (await offered(ben)).release();
      expect((await sent.status()).state).toBe("ready");
    }
    await (await take(ben)).release();
    expect((await sent.status()).state).toBe("ready");
    await (await offered(ben)).release();
    expect((await sent.status()).state).toBe("ready");
    await (await take(ben)).release();
    expect((await sent.status()).state).toBe("dead");
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("counts an expired offer as an attempt [DLV-6]", async () => {
    const { hub, clock, ben, sent } = await team({ attempts: 2 });
    for (const state of ["ready", "dead"]) {
      await offered(ben);
      clock.advance(60_000);
      await hub.deliveries.runDue();
      expect((await sent.status()).state).toBe(state);
    }
  });

  it("is exclusive when sessions of two hubs accept concurrently [DLV-6]", async () => {
    const clock = new VirtualClock();
    const [one, two] = await openTwo(store, { clock });
    const ada = await one.agent("ada", {});
    const agents = [await one.agent("ben", {}), await two.agent("ben"), await one.agent("ben")];
    await ada.handoff(DRAFT);
    for (let attempt = 1; attempt <= 3; attempt++) {
      const taken = await Promise.all(agents.map((agent) => agent.accept()));
      const works = taken.filter((work) => work !== undefined);
      expect(works.map((work) => work.delivery.attempt)).toEqual([attempt]);
      clock.advance(60_000);
    }
  });

  /** What happens to work while its first holder is away, and the error the holder then gets. */
  const MEANWHILE: Record<
    string,
    { happens: (team: Team, lost: Work) => Promise<unknown>; message: string; code?: string }
  > = {
    "the lease expired": {
      happens: async ({ clock, hub }) => {
        clock.advance(60_000);
        await hub.deliveries.runDue();
      },
      message: "its lease expired and it is back in the inbox",
    },
    "another session holds it": {
      happens: async ({ clock, other }) => {
        clock.advance(60_000);
        await take(other);
      },
      message: "ben holds it (attempt 2), or its lease expired",
    },
    "another session completed it": {
      happens: async ({ clock, other }) => {
        clock.advance(60_000);
        await (await take(other)).complete();
      },
      message: "it is completed",
    },
    "all attempts were used up": {
      happens: async ({ clock, other }) => {
        clock.advance(60_000);
        for (let n = 0; n < 2; n++) await (await take(other)).fail({ message: "no" });
      },
      message: "it is dead",
    },
    "the sender cancelled it": {
      happens: async ({ sent }) => sent.cancel("Changed my mind"),
      message: "was cancelled",
      code: "cancelled",
    },
  };
  type Team = Awaited<ReturnType<typeof team>>;

  it.each(Object.entries(MEANWHILE))(
    "throws the reason and changes nothing when %s [DLV-6]",
    async (_, { happens, message, code = "lease_lost" }) => {
      const all = await team();
      const lost = await take(all.ben);
      await happens(all, lost);
      const before = await contents(all.hub);
      for (const act of [
        () => lost.complete({ summary: "Too late." }),
        () => lost.fail({ message: "Too late." }),
        () => lost.renew(),
      ]) {
        expect(await refusal(act())).toMatchObject({
          code,
          message: expect.stringContaining(message),
        });
      }
      expect(await contents(all.hub)).toEqual(before);
      expect(lost.signal.reason).toMatchObject({ code });
    },
  );

  it("ends at once when the sender cancels in another hub [DLV-6 DLV-18]", async () => {
    const [here, there] = await openTwo(store);
    const ada = await here.agent("ada", {});
    const ben = await there.agent("ben", {});
    const sent = await ada.handoff(DRAFT);
    const work = await take(ben);
    const aborted = once(work.signal, "abort");
    expect(await sent.cancel("Changed my mind")).toBe(true);
    await aborted;
    expect(work.signal.reason).toMatchObject({ code: "cancelled" });
    expect(await there.deliveries.attempts(sent.id)).toMatchObject([
      { outcome: "cancelled", holder: "ben", reason: { reason: "Changed my mind" } },
    ]);
    expect(await sent.completed()).toMatchObject({ kind: "cancelled", reason: "Changed my mind" });
    expect(await sent.cancel("Again"), "it was over already").toBe(false);
  });
});
