/** Delivery status: sent, seen, accepted and settled each have a time of their own. */

import { describe, expect, it } from "vitest";
import type { Delivery, DeliveryState, Hub, Sent } from "../../../src/index.ts";
import { VirtualClock } from "../../../src/testing/index.ts";
import { openTwo, refusal, STORES, take } from "../../support/hub/support.ts";
import { present } from "../../support/present.ts";

const DRAFT = { to: "ben", task: "t", intent: "Go" };

const timesOf = ({ sentAt, seenAt, acceptedAt, settledAt }: Delivery) => ({
  sentAt,
  seenAt,
  acceptedAt,
  settledAt,
});

/** Returns the next change; fails when there is none. */
async function next(changes: AsyncGenerator<Delivery>): Promise<Delivery> {
  const { value, done } = await changes.next();
  expect(done, "there is a change").toBe(false);
  return value as Delivery;
}

describe.each(STORES)("a delivery on %s", (store) => {
  /** Opens sender and receiver in different hubs. */
  async function team() {
    const clock = new VirtualClock();
    const [here, there] = await openTwo(store, { clock, random: () => 0 });
    const ada = await here.agent("ada", {});
    const ben = await there.agent("ben", {});
    return { here, there, clock, ada, ben };
  }

  /** Returns the same handoff in another hub by sending it again with the same key. */
  async function sameIn(hub: Hub, key: string): Promise<Sent> {
    const again = await (await hub.agent("ada")).handoff({ ...DRAFT, key });
    expect(again.joined).toBe("repeated");
    return again;
  }

  it("records separate times for sent, seen, accepted and settled [DLV-12]", async () => {
    const { clock, ada, ben } = await team();
    const at: number[] = [];
    const tick = () => {
      clock.advance(1_000);
      at.push(clock.now());
    };
    tick();
    const sent = await ada.handoff(DRAFT);
    const truth = async () => {
      const row = await sent.status();
      return { state: row.state, ...timesOf(row) };
    };
    const none = { sentAt: at[0] };
    expect(await truth()).toEqual({ ...none, state: "ready" });
    await ben.deliveries.waiting();
    expect(await truth(), "peeked at, it is not seen").toEqual({ ...none, state: "ready" });
    tick();
    const { value: offer } = await ben.inbox({ wait: false }).next();
    expect(await truth()).toEqual({ ...none, seenAt: at[1], state: "claimed" });
    tick();
    const work = await offer?.accept();
    const accepted = { ...none, seenAt: at[1], acceptedAt: at[2] };
    expect(await truth()).toEqual({ ...accepted, state: "accepted" });
    tick();
    await work?.complete();
    expect(await truth()).toEqual({ ...accepted, settledAt: at[3], state: "completed" });
    expect(new Set(at).size).toBe(4);
  });

  it("has an event with agent and time for each step [DLV-12]", async () => {
    const { clock, there, ada, ben } = await team();
    await ada.handoff(DRAFT);
    clock.advance(1);
    const { value: offer } = await ben.inbox({ wait: false }).next();
    clock.advance(1);
    const work = await offer?.accept();
    clock.advance(1);
    await work?.complete();
    const start = clock.now() - 3;
    expect(
      (await there.events.list({ after: 0 })).items.map(({ kind, agent, at }) => [
        kind,
        agent,
        at - start,
      ]),
    ).toEqual([
      ["sent", "ada", 0],
      ["claimed", "ben", 1],
      ["accepted", "ben", 2],
      ["completed", "ben", 3],
    ]);
  });

  it("keeps the first seen time and updates the accepted time [DLV-12]", async () => {
    const { clock, ada, ben } = await team();
    const sent = await ada.handoff(DRAFT);
    clock.advance(1_000);
    await (await take(ben)).release();
    const first = await sent.status();
    expect(first).toMatchObject({ state: "ready", seenAt: clock.now() });
    expect(first).not.toHaveProperty("settledAt");
    clock.advance(1_000);
    await take(ben);
    expect(await sent.status()).toMatchObject({
      seenAt: first.seenAt,
      acceptedAt: present(first.seenAt) + 1_000,
    });
  });

  it("keeps the first seen time when it is offered again [DLV-12]", async () => {
    const { clock, ada, ben } = await team();
    const sent = await ada.handoff(DRAFT);
    const seenAt = clock.now() + 1_000;
    for (let round = 0; round < 2; round++) {
      clock.advance(1_000);
      const { value: offer } = await ben.inbox({ wait: false }).next();
      expect(await sent.status()).toMatchObject({ state: "claimed", seenAt });
      await offer?.release();
    }
    expect(await sent.status()).toMatchObject({ state: "ready", seenAt });
  });

  it("reports each change to its sender while another hub works on it [DLV-12]", async () => {
    const { ada, ben } = await team();
    const sent = await ada.handoff(DRAFT);
    const changes = sent.changes();
    expect(await next(changes)).toEqual(await sent.status());
    const offers = ben.inbox({ wait: false });
    const { value: offer } = await offers.next();
    expect(await next(changes)).toMatchObject({ state: "claimed", holder: "ben", attempt: 1 });
    const work = await offer?.accept();
    expect(await next(changes)).toMatchObject({ state: "accepted" });
    await ada.handoff({ ...DRAFT, next: ["More"] });
    expect((await next(changes)).envelope).not.toBe(sent.envelope.id);
    await work?.release();
    expect(await next(changes)).toMatchObject({ state: "ready", attempt: 1 });
    await (await take(ben)).complete();
    const rest: DeliveryState[] = [];
    for await (const { state } of changes) rest.push(state);
    expect(rest.at(-1)).toBe("completed");
    expect((await changes.next()).done).toBe(true);
  });

  it("reports changes in a hub other than the sender's [DLV-12]", async () => {
    const { there, ada, ben } = await team();
    await ada.handoff({ ...DRAFT, key: "k" });
    const same = await sameIn(there, "k");
    const changes = same.changes();
    expect((await next(changes)).state).toBe("ready");
    const work = await take(ben);
    expect((await next(changes)).state).toBe("accepted");
    const completed = same.completed();
    await work.complete({ summary: "Done." });
    expect((await next(changes)).state).toBe("completed");
    expect(await completed).toMatchObject({ kind: "completed", result: { summary: "Done." } });
  });

  it("returns its outcome to every waiting caller [DLV-12]", async () => {
    const { there, ada, ben } = await team();
    const sent = await ada.handoff({ ...DRAFT, key: "k" });
    const same = await sameIn(there, "k");
    const waiting = [sent, same, sent].map((each) => each.completed());
    await (await take(ben)).decline("Not mine");
    for (const answer of await Promise.all(waiting)) {
      expect(answer).toMatchObject({ kind: "declined", reason: "Not mine" });
    }
  });

  it("reports no change when only its lease is renewed [DLV-12]", async () => {
    const { clock, ada, ben } = await team();
    const sent = await ada.handoff(DRAFT);
    const work = await take(ben);
    const changes = sent.changes();
    const { leaseUntil } = await next(changes);
    const change = changes.next();
    for (let n = 1; n <= 3; n++) {
      clock.advance(10_000);
      await work.renew();
      await ada.handoff({ ...DRAFT, task: `other ${n}` }); // Wakes the subscriber, which polls.
      expect((await sent.status()).leaseUntil).toBe(present(leaseUntil) + n * 10_000);
    }
    await work.complete();
    expect(await change).toMatchObject({ value: { state: "completed" } });
  });

  it("ends a subscription by signal or timeout [DLV-12]", async () => {
    const { ada } = await team();
    const sent = await ada.handoff(DRAFT);
    const controller = new AbortController();
    for (const options of [{ timeoutMs: 20 }, { signal: controller.signal }]) {
      const changes = sent.changes(options);
      expect((await next(changes)).state).toBe("ready");
      const end = changes.next();
      if ("signal" in options) controller.abort();
      expect(await end).toEqual({ done: true, value: undefined });
    }
    const options = { timeout: 20 } as never;
    expect(await refusal(sent.changes(options).next())).toMatchObject({ code: "invalid_input" });
  });

  it("reports only its final state when it was settled before [DLV-12]", async () => {
    const { ada, ben } = await team();
    const sent = await ada.handoff(DRAFT);
    await (await take(ben)).complete();
    const states: DeliveryState[] = [];
    for await (const { state } of sent.changes()) states.push(state);
    expect(states).toEqual(["completed"]);
  });
});
