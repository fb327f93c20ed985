/** The circuit breaker: stops sending to a receiver that lost several deliveries in a row. */
import { describe, expect, it } from "vitest";
import {
  type Agent,
  ERROR_CODES,
  type Hub,
  type HubOptions,
  type Sent,
} from "../../../src/index.ts";
import { VirtualClock } from "../../../src/testing/index.ts";
import { openFresh, openTwo, refusal, STORES, take } from "../../support/hub/support.ts";

/** A single attempt: work that fails once is given up. */
const ONCE = { attempts: 1 };

let tasks = 0;
const draft = (to = "ben") => ({ to, task: `t${tasks++}`, intent: "Go", policy: ONCE });

/** Sends work that is given up after its only attempt. */
async function lose(ada: Agent, ben: Agent): Promise<Sent> {
  const sent = await ada.handoff(draft(ben.id));
  await (await take(ben, { delivery: sent.id })).fail({ message: "no" });
  expect((await sent.status()).state).toBe("dead");
  return sent;
}

const stateOf = async (hub: Hub, receiver = "ben") =>
  (await hub.agents.breakers()).find((breaker) => breaker.receiver === receiver)?.state ?? "closed";

describe.each(STORES)("a receiver's circuit breaker on %s", (store) => {
  async function team(options: HubOptions = {}) {
    const clock = new VirtualClock();
    const hub = await openFresh(store, { clock, random: () => 0, ...options });
    const ada = await hub.agent("ada", {});
    const ben = await hub.agent("ben", {});
    const cyd = await hub.agent("cyd", {});
    const open = async () => {
      const lost: Sent[] = [];
      while ((await stateOf(hub)) !== "open") lost.push(await lose(ada, ben));
      return lost;
    };
    return { hub, clock, ada, ben, cyd, open };
  }

  it("opens when three handoffs in a row were given up, and refuses more [DLV-8]", async () => {
    const { hub, clock, ada, ben } = await team();
    expect(await hub.agents.breakers()).toEqual([]);
    const lost = [await lose(ada, ben), await lose(ada, ben)];
    expect(await hub.agents.breakers()).toEqual([
      { receiver: "ben", state: "closed", deliveries: lost.map(({ id }) => id) },
    ]);
    lost.push(await lose(ada, ben));
    const passesAt = clock.now() + 60_000;
    const deliveries = lost.map(({ id }) => id);
    expect(await hub.agents.breakers()).toEqual([
      { receiver: "ben", state: "open", deliveries, passesAt },
    ]);
    expect(
      (await hub.events.list({ after: 0 })).items.filter(({ kind }) => kind === "breaker_opened"),
    ).toMatchObject([{ agent: "ben" }]);
    const { deliveries: sent } = await hub.deliveries.totals();
    const error = await refusal(ada.handoff(draft()));
    expect(error).toMatchObject({
      code: "circuit_open",
      path: "to",
      retryable: true,
      message: 'The circuit breaker of "ben" is open: 3 handoffs in a row were given up.',
      hint: `Retry after ${new Date(passesAt).toISOString()}, set policy.fallback, or reset it: hub.agents.resetBreaker("ben").`,
      details: { receiver: "ben", deliveries, passesAt },
    });
    expect(ERROR_CODES[error.code].http).toBe(503);
    expect((await hub.deliveries.totals()).deliveries).toBe(sent);
  });

  it("does not affect other receivers, or what its receiver sends [DLV-8]", async () => {
    const { ada, ben, cyd, open } = await team();
    await open();
    expect(await ada.handoff(draft("cyd"))).toMatchObject({ joined: "new" });
    expect(await ben.handoff(draft("cyd"))).toMatchObject({ joined: "new" });
    expect(await refusal(cyd.handoff(draft()))).toMatchObject({ code: "circuit_open" });
  });

  it("counts unaccepted work, lost leases and releases like failures [DLV-8]", async () => {
    const { hub, clock, ada, ben } = await team();
    await ada.handoff({ ...draft(), policy: { attempts: 1, acceptMs: 1_000 } });
    clock.advance(1_000);
    await hub.deliveries.runDue();
    await ada.handoff(draft());
    await take(ben);
    clock.advance(60_000);
    await hub.deliveries.runDue();
    expect((await hub.agents.breakers())[0]?.deliveries).toHaveLength(2);
    await ada.handoff(draft());
    await (await take(ben)).release();
    expect(await stateOf(hub)).toBe("open");
  });

  it("counts a handoff when its attempts are used up, not each attempt [DLV-8]", async () => {
    const { hub, ada, ben } = await team();
    await ada.handoff({ ...draft(), policy: { attempts: 4 } });
    for (let n = 0; n < 3; n++) await (await take(ben)).fail({ message: "no" });
    expect(await hub.agents.breakers()).toEqual([]);
    await (await take(ben)).fail({ message: "no" });
    expect((await hub.agents.breakers())[0]?.deliveries).toHaveLength(1);
  });

  it("counts a handoff once, no matter how often it is redriven [DLV-8]", async () => {
    const { hub, ada, ben } = await team();
    const sent = await lose(ada, ben);
    await lose(ada, ben);
    for (let n = 0; n < 3; n++) {
      await ada.deadLetters.redrive(sent.id);
      await (await take(ben)).fail({ message: "no" });
    }
    expect(await stateOf(hub)).toBe("closed");
    await lose(ada, ben);
    expect(await stateOf(hub)).toBe("open");
  });

  it("ignores work declined, cancelled, past its deadline or failed for good [DLV-8]", async () => {
    const { hub, clock, ada, ben } = await team();
    for (let n = 0; n < 3; n++) {
      await ada.handoff(draft());
      await (await take(ben)).decline("not mine");
      await ada.handoff(draft());
      await (await take(ben)).fail({ message: "no such thing", class: "permanent" });
      const cancelled = await ada.handoff(draft());
      await take(ben);
      await cancelled.cancel("not needed");
      await ada.handoff({ ...draft(), policy: { attempts: 1, deadlineMs: 1_000 } });
      clock.advance(1_000);
      await hub.deliveries.runDue();
    }
    expect(await hub.agents.breakers()).toEqual([]);
    expect(await hub.deliveries.totals()).toMatchObject({
      byState: { declined: 3, dead: 3, cancelled: 3, expired: 3 },
    });
  });

  it("resets its count when work is completed or handed on [DLV-8]", async () => {
    const { hub, ada, ben } = await team();
    await lose(ada, ben);
    await lose(ada, ben);
    await ada.handoff(draft());
    await (await take(ben)).complete();
    expect(await hub.agents.breakers()).toEqual([]);
    await lose(ada, ben);
    await lose(ada, ben);
    expect(await stateOf(hub)).toBe("closed");
    // Handing work on completes it, too.
    await ada.handoff(draft());
    await (await take(ben)).handoff({ to: "cyd" });
    expect(await hub.agents.breakers()).toEqual([]);
  });

  it("lets one probe through after a minute, and closes if it completes [DLV-8]", async () => {
    const { hub, clock, ada, ben, open } = await team();
    await open();
    clock.advance(59_999);
    expect(await refusal(ada.handoff(draft()))).toMatchObject({ code: "circuit_open" });
    clock.advance(1);
    const [due] = await hub.agents.breakers();
    expect(due).toMatchObject({ state: "half-open" });
    expect(due).not.toHaveProperty("passesAt");
    await ada.handoff(draft());
    expect(await hub.agents.breakers()).toMatchObject([
      { state: "half-open", passesAt: clock.now() + 60_000 },
    ]);
    expect(await refusal(ada.handoff(draft()))).toMatchObject({ code: "circuit_open" });
    await (await take(ben)).complete();
    expect(await hub.agents.breakers()).toEqual([]);
    for (let n = 0; n < 3; n++) expect(await ada.handoff(draft())).toMatchObject({ joined: "new" });
  });

  it("stays open for another minute when the probe is given up too [DLV-8]", async () => {
    const { hub, clock, ada, ben, open } = await team();
    const lost = await open();
    clock.advance(60_000);
    const probe = await lose(ada, ben);
    expect(await hub.agents.breakers()).toEqual([
      {
        receiver: "ben",
        state: "open",
        deliveries: [...lost.slice(1), probe].map(({ id }) => id),
        passesAt: clock.now() + 60_000,
      },
    ]);
    clock.advance(59_999);
    expect(await refusal(ada.handoff(draft()))).toMatchObject({ code: "circuit_open" });
    clock.advance(1);
    expect(await ada.handoff(draft())).toMatchObject({ joined: "new" });
  });

  it("lets another probe through a minute after one was declined [DLV-8]", async () => {
    const { clock, ada, ben, open } = await team();
    await open();
    clock.advance(60_000);
    await ada.handoff(draft());
    await (await take(ben)).decline("not mine");
    expect(await refusal(ada.handoff(draft()))).toMatchObject({ code: "circuit_open" });
    clock.advance(60_000);
    await ada.handoff(draft());
    expect(await refusal(ada.handoff(draft()))).toMatchObject({ code: "circuit_open" });
  });

  it("lets one probe through when many handoffs are sent concurrently [DLV-8]", async () => {
    const { clock, ada, open } = await team();
    await open();
    clock.advance(60_000);
    const outcomes = await Promise.allSettled(
      Array.from({ length: 10 }, () => ada.handoff(draft())),
    );
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    for (const outcome of outcomes) {
      if (outcome.status === "fulfilled") continue;
      expect(outcome.reason).toMatchObject({ code: "circuit_open" });
    }
  });

  it("does not affect earlier work, and closes when that is completed [DLV-8]", async () => {
    const { hub, ada, ben, open } = await team();
    const before = await ada.handoff({ to: "ben", task: "before", intent: "Go" });
    await open();
    const added = await ada.handoff({ to: "ben", task: "before", intent: "Go", next: ["More"] });
    expect(added.joined, "adding to it is no new work").toBe("superseded");
    await (await take(ben, { task: "before" })).complete();
    expect((await before.status()).state).toBe("superseded");
    expect(await hub.agents.breakers()).toEqual([]);
  });

  it("sends to the fallback at once while it is open [DLV-8 DLV-2]", async () => {
    const { hub, clock, ada, ben, cyd, open } = await team();
    await open();
    const policy = { attempts: 1, fallback: ["cyd"] };
    const sent = await ada.handoff({ ...draft(), policy });
    expect(sent.receivers).toEqual(["cyd"]);
    expect(sent.envelope.to).toEqual({ kind: "agent", agent: "ben" });
    expect(await hub.deliveries.attempts(sent.id)).toEqual([]);
    expect((await take(cyd)).id).toBe(sent.id);
    clock.advance(60_000);
    const probe = await ada.handoff({ ...draft(), policy });
    expect(probe.receivers).toEqual(["ben"]);
    await (await take(ben)).complete();
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("refuses a handoff when the breaker of its fallback is open too [DLV-8]", async () => {
    const { ada, cyd, open } = await team();
    await open();
    for (let n = 0; n < 3; n++) await lose(ada, cyd);
    const policy = { attempts: 1, fallback: ["cyd"] };
    expect(await refusal(ada.handoff({ ...draft(), policy }))).toMatchObject({
      code: "circuit_open",
      details: { receiver: "cyd" },
    });
  });

  it("can be reset manually [DLV-8]", async () => {
    const { hub, ada, open } = await team();
    await open();
    await hub.agents.resetBreaker("ben");
    expect(await hub.agents.breakers()).toEqual([]);
    expect((await hub.events.list({ after: 0 })).items.at(-1)).toMatchObject({
      kind: "breaker_reset",
      agent: "ben",
    });
    expect(await ada.handoff(draft())).toMatchObject({ joined: "new" });
    const { length } = (await hub.events.list({ after: 0 })).items;
    await hub.agents.resetBreaker("ben");
    expect((await hub.events.list({ after: 0 })).items, "nothing to reset").toHaveLength(length);
  });

  it("has configurable limits [DLV-8]", async () => {
    const { hub, clock, ada, ben } = await team({ limits: { breakerStrikes: 1, breakerMs: 500 } });
    await lose(ada, ben);
    expect(await stateOf(hub)).toBe("open");
    clock.advance(500);
    expect(await ada.handoff(draft())).toMatchObject({ joined: "new" });
  });

  it("is shared by all hubs on the store [DLV-8]", async () => {
    const clock = new VirtualClock();
    const [one, two] = await openTwo(store, { clock, random: () => 0 });
    const ada = await one.agent("ada", {});
    const ben = await one.agent("ben", {});
    const eve = await two.agent("eve", {});
    const benThere = await two.agent("ben");
    await lose(ada, ben);
    await lose(eve, benThere);
    await lose(ada, benThere);
    expect(await two.agents.breakers()).toEqual(await one.agents.breakers());
    for (const sender of [ada, eve]) {
      expect(await refusal(sender.handoff(draft()))).toMatchObject({ code: "circuit_open" });
    }
    clock.advance(60_000);
    const probes = await Promise.allSettled(
      [ada, eve, ada, eve].map((sender) => sender.handoff(draft())),
    );
    expect(probes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    await (await take(benThere)).complete();
    expect(await one.agents.breakers()).toEqual([]);
    expect(await ada.handoff(draft())).toMatchObject({ joined: "new" });
  });
});
