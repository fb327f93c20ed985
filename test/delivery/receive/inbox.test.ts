/** The inbox: offers in order, wake-ups, ending by signal, and listing without claiming. */
import { describe, expect, it } from "vitest";
import { stopTimers } from "../../support/hub/asleep.ts";
import { openFresh, refusal, STORES } from "../../support/hub/support.ts";

describe.each(STORES)("an inbox on %s", (store) => {
  async function team() {
    const hub = await openFresh(store);
    const planner = await hub.agent("planner", {});
    const coder = await hub.agent("coder", {});
    const send = (task: string, to = "coder") =>
      planner.handoff({ to, task, intent: `About ${task}` });
    return { hub, planner, coder, send };
  }

  it("offers deliveries in send order, and ends when empty with wait: false", async () => {
    const { coder, planner, send } = await team();
    for (const task of ["one", "two", "three"]) await send(task);
    await send("mine", "planner");
    const tasks: string[] = [];
    for await (const offer of coder.inbox({ wait: false })) {
      expect(offer).toMatchObject({ from: "planner", envelope: { intent: `About ${offer.task}` } });
      await (await offer.accept()).complete();
      tasks.push(offer.task);
    }
    expect(tasks).toEqual(["one", "two", "three"]);
    expect((await coder.deliveries.waiting()).items).toEqual([]);
    expect((await planner.deliveries.waiting()).items).toHaveLength(1);
  });

  it("offers only deliveries of the requested task", async () => {
    const { coder, send } = await team();
    await send("one");
    await send("two");
    const inbox = coder.inbox({ wait: false, task: "two" });
    expect((await inbox.next()).value?.task).toBe("two");
    expect((await inbox.next()).done).toBe(true);
  });

  it("is woken by a handoff in its own process without polling", async () => {
    const { coder, send } = await team();
    const inbox = coder.inbox();
    // With timers stopped, only a wake-up can bring the offers.
    const { asleep } = stopTimers();
    for (const task of ["one", "two"]) {
      const next = inbox.next();
      await asleep();
      await send(task);
      expect((await next).value?.task).toBe(task);
    }
    await inbox.return();
  });

  it("is woken by work that its agent releases", async () => {
    const { hub, coder, send } = await team();
    await send("one");
    const work = await coder.accept();
    const other = await hub.agent("coder");
    const inbox = other.inbox();
    const { asleep } = stopTimers();
    const next = inbox.next();
    await asleep();
    await work?.release();
    expect((await next).value).toMatchObject({ task: "one", delivery: { attempt: 2 } });
    await inbox.return();
  });

  it("offers a retry when its backoff ends", async () => {
    const hub = await openFresh(store, { random: () => 0.02 });
    const planner = await hub.agent("planner", {});
    const coder = await hub.agent("coder", {});
    await planner.handoff({ to: "coder", task: "again", intent: "Go" });
    const attempts: number[] = [];
    for await (const offer of coder.inbox()) {
      const work = await offer.accept();
      attempts.push(work.delivery.attempt);
      if (work.delivery.attempt === 3) {
        await work.complete();
        break;
      }
      await work.fail({ message: "not yet" });
    }
    expect(attempts).toEqual([1, 2, 3]);
  });

  it("ends when its signal is aborted before, while or after it waits", async () => {
    const { coder, send } = await team();
    const ended = AbortSignal.abort();
    expect((await coder.inbox({ signal: ended }).next()).done).toBe(true);

    const waiting = new AbortController();
    const { asleep, resume } = stopTimers();
    const next = coder.inbox({ signal: waiting.signal }).next();
    await asleep();
    waiting.abort();
    expect((await next).done).toBe(true);
    resume();

    await send("one");
    await send("two");
    const working = new AbortController();
    const seen: string[] = [];
    for await (const offer of coder.inbox({ signal: working.signal })) {
      seen.push(offer.task);
      await offer.release();
      working.abort();
    }
    expect(seen).toEqual(["one"]);
    expect((await coder.deliveries.waiting()).items.map(({ delivery }) => delivery.state)).toEqual([
      "ready",
      "ready",
    ]);
  });

  it("offers each delivery to only one session of its agent", async () => {
    const { hub, send } = await team();
    const tasks = Array.from({ length: 12 }, (_, i) => `task-${i}`);
    const done: string[] = [];
    const stop = new AbortController();
    const sessions = Array.from({ length: 3 }, async () => {
      const session = await hub.agent("coder");
      for await (const offer of session.inbox({ signal: stop.signal })) {
        await using work = await offer.accept();
        await work.complete();
        done.push(offer.task);
        if (done.length === tasks.length) stop.abort();
      }
    });
    for (const task of tasks) await send(task);
    await Promise.all(sessions);
    expect(done.toSorted()).toEqual(tasks.toSorted());
    expect((await hub.deliveries.totals()).byState).toMatchObject({
      completed: 12,
      ready: 0,
      claimed: 0,
    });
  });

  it("is not changed by listing it with waiting()", async () => {
    const { hub, coder, send } = await team();
    const sent = await send("one");
    const before = (await hub.events.list({ after: 0 })).items;
    const [seen] = (await coder.deliveries.waiting()).items;
    expect(seen).toEqual({ delivery: await sent.status(), envelope: sent.envelope });
    expect(seen?.delivery).toMatchObject({ state: "ready", attempt: 0 });
    expect(seen?.delivery).not.toHaveProperty("seenAt");
    expect((await hub.events.list({ after: 0 })).items).toEqual(before);
  });

  it("can be listed in pages and by task [DLV-13]", async () => {
    const { hub, coder, send } = await team();
    const critic = await hub.agent("critic", {});
    for (const task of ["one", "two", "three"]) await send(task);
    await critic.handoff({ to: "coder", task: "two", intent: "Once more" });
    const pages: string[][] = [];
    for (let after: string | undefined; ; ) {
      const { items, next } = await coder.deliveries.waiting({ limit: 3, after });
      pages.push(items.map(({ envelope }) => envelope.intent));
      if (next === undefined) break;
      after = next;
    }
    expect(pages).toEqual([["About one", "About two", "About three"], ["Once more"]]);
    const two = (await coder.deliveries.waiting({ task: "two" })).items;
    expect(two.map(({ envelope }) => envelope.from.agent)).toEqual(["planner", "critic"]);
  });

  it("records when a delivery was first offered, and to which session", async () => {
    const { coder, send } = await team();
    const sent = await send("one");
    await coder.inbox({ wait: false }).next();
    const { state, seenAt, acceptedAt, holder, instance } = await sent.status();
    expect({ state, holder, instance }).toEqual({
      state: "claimed",
      holder: "coder",
      instance: coder.instance,
    });
    expect(seenAt).toBeGreaterThan(0);
    expect(acceptedAt).toBeUndefined();
  });

  it("throws store_closed on a closed hub", async () => {
    const { hub, coder } = await team();
    await hub.close();
    expect(await refusal(coder.inbox().next())).toMatchObject({ code: "store_closed" });
  });
});
