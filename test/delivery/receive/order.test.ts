/** Order within a task: a receiver gets its deliveries one after the other. */
import { describe, expect, it } from "vitest";
import type { HubOptions } from "../../../src/index.ts";
import { VirtualClock } from "../../../src/testing/index.ts";
import { openFresh, STORES, take } from "../../support/hub/support.ts";

describe.each(STORES)("deliveries of one task on %s", (store) => {
  async function team(options: HubOptions = {}) {
    const hub = await openFresh(store, options);
    const senders = await Promise.all(["ann", "bob", "cat"].map((name) => hub.agent(name, {})));
    const coder = await hub.agent("coder", {});
    const other = await hub.agent("coder");
    const sent = [];
    for (const sender of senders) {
      sent.push(await sender.handoff({ to: "coder", task: "t", intent: `From ${sender.id}` }));
    }
    return { hub, coder, other, sent };
  }

  it("are not given to two sessions at once, or out of order [DLV-13]", async () => {
    const { coder, other, sent } = await team();
    const first = await take(coder);
    expect(first.envelope.from.agent).toBe("ann");
    expect(await other.accept()).toBeUndefined();
    expect(await other.accept({ task: "t" })).toBeUndefined();
    expect(await other.accept({ delivery: sent[1]?.id })).toBeUndefined();
    for await (const offer of other.inbox({ wait: false })) expect.fail(`offered ${offer.id}`);
    await first.complete();
    expect((await take(other)).envelope.from.agent).toBe("bob");
  });

  it("reach a waiting session when the one before is handed on [DLV-13]", async () => {
    const { coder, other } = await team();
    const first = await take(coder);
    const next = other.accept({ wait: true });
    await first.handoff({ to: "ann", intent: "Have a look" });
    expect((await next)?.envelope.from.agent).toBe("bob");
  });

  it("wait for a retry of the one before, until that is dead-lettered [DLV-13]", async () => {
    const clock = new VirtualClock();
    const limits = { attempts: 2 };
    const { hub, coder, other, sent } = await team({ clock, random: () => 0.5, limits });
    await (await take(coder)).fail({ message: "not yet" });
    expect((await sent[0]?.status())?.state).toBe("scheduled");
    expect(await other.accept()).toBeUndefined();
    const [first, second] = (await other.deliveries.waiting()).items;
    expect([first?.delivery.inTurn, second?.delivery.inTurn]).toEqual([true, false]);
    clock.advance(500);
    const retried = await take(other);
    expect([retried.id, retried.delivery.attempt]).toEqual([sent[0]?.id, 2]);
    expect(await coder.accept()).toBeUndefined();
    await retried.fail({ message: "never" });
    expect((await sent[0]?.status())?.state).toBe("dead");
    expect((await take(coder)).id).toBe(sent[1]?.id);
    expect(await other.accept()).toBeUndefined();
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("do not delay other tasks [DLV-13]", async () => {
    const { hub, coder, other } = await team();
    const ann = await hub.agent("ann");
    await ann.handoff({ to: "coder", task: "another", intent: "Go" });
    await take(coder);
    expect((await take(other)).delivery.task).toBe("another");
  });
});
