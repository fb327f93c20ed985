/**
 * Delivery policies: attempts, accept timeouts, deadlines, fallbacks and reminders, applied by any
 * hub that is open.
 */
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { Delivery, Hub, HubOptions, Sent, Store } from "../../../src/index.ts";
import { VirtualClock } from "../../../src/testing/index.ts";
import { hubOn, sharedStore } from "../../support/hub/shared-store.ts";
import { openFresh, openTwo, refusal, STORES, take } from "../../support/hub/support.ts";
import { until } from "../../support/until.ts";

const DRAFT = { to: "ben", task: "t", intent: "Go" };

/** Half of the maximum backoff before each retry. */
const random = () => 0.5;

const events = async (hub: Hub, sent: Sent): Promise<string[]> =>
  (await hub.events.list({ after: 0 })).items
    .filter((event) => event.delivery === sent.id)
    .map(({ kind }) => kind);

describe.each(STORES)("a policy on %s", (store) => {
  async function team(options: HubOptions = {}) {
    const clock = new VirtualClock();
    const hub = await openFresh(store, { clock, random, ...options });
    const ada = await hub.agent("ada", {});
    const ben = await hub.agent("ben", {});
    const cyd = await hub.agent("cyd", { role: "reviewer", aliases: ["cydney"] });
    /** Advances the clock and processes due deliveries. */
    const pass = async (ms: number) => {
      clock.advance(ms);
      await hub.deliveries.runDue();
    };
    return { hub, clock, ada, ben, cyd, pass };
  }

  it("is optional: without one, unclaimed work stays ready [DLV-2]", async () => {
    const { hub, ada, ben, pass } = await team();
    const sent = await ada.handoff(DRAFT);
    expect(sent.envelope.policy).toBeUndefined();
    await pass(365 * 24 * 3_600_000);
    const status = await sent.status();
    expect(status).toMatchObject({ state: "ready", attempt: 0 });
    expect(status).not.toHaveProperty("lapseAt");
    expect(await hub.deliveries.attempts(sent.id)).toEqual([]);
    expect((await take(ben)).delivery.attempt).toBe(1);
  });

  it("makes three attempts of 15 s when set to direct, then dead-letters [DLV-2]", async () => {
    const { hub, clock, ada, ben, cyd, pass } = await team();
    const sent = await ada.handoff({ ...DRAFT, policy: "direct" });
    expect(sent.envelope.policy).toEqual({ acceptMs: 15_000, attempts: 3 });
    await pass(14_999);
    expect(await sent.status()).toMatchObject({ state: "ready", attempt: 0 });
    for (const [attempt, ms, backoffMs] of [
      [1, 1, 500],
      [2, 15_000, 1_000],
    ] as const) {
      await pass(ms);
      expect(await sent.status()).toMatchObject({
        state: "scheduled",
        attempt,
        readyAt: clock.now() + backoffMs,
      });
      await pass(backoffMs);
      await cyd.accept(); // Another agent polls for work meanwhile.
      expect(await sent.status()).toMatchObject({ state: "ready", attempt });
    }
    await pass(14_999);
    expect((await sent.status()).state).toBe("ready");
    await pass(1);
    const unaccepted = { outcome: "accept_timeout", reason: { acceptMs: 15000 } };
    const attempts = [1, 2, 3].map((attempt) => ({ attempt, ...unaccepted }));
    expect(await sent.accepted()).toMatchObject({ kind: "dead", attempts });
    expect((await hub.deadLetters.list()).items).toMatchObject([
      { delivery: { id: sent.id }, attempts },
    ]);
    expect(await events(hub, sent)).toEqual(["sent", "accept_timeout", "accept_timeout", "dead"]);
    expect(await ben.accept()).toBeUndefined();
  });

  it("lets the receiver accept the next attempt after the backoff [DLV-2]", async () => {
    const { hub, ada, ben, pass } = await team();
    const sent = await ada.handoff({ ...DRAFT, policy: "direct" });
    await pass(15_000);
    expect(await ben.accept(), "while it waits").toBeUndefined();
    await pass(500);
    const work = await take(ben);
    expect(work.delivery.attempt).toBe(2);
    await pass(59_999);
    expect(await sent.status()).toMatchObject({ state: "accepted", attempt: 2 });
    expect(await work.complete()).toMatchObject({ kind: "settled" });
    expect(await hub.deliveries.attempts(sent.id)).toHaveLength(1);
  });

  it("counts an offer not accepted in time as an attempt of its receiver [DLV-2]", async () => {
    const { hub, ada, ben, pass } = await team();
    const sent = await ada.handoff({ ...DRAFT, policy: { acceptMs: 1_000 } });
    const { value: offer } = await ben.inbox({ wait: false }).next();
    await pass(1_000);
    expect(await sent.status()).toMatchObject({ state: "scheduled", attempt: 1 });
    expect(await hub.deliveries.attempts(sent.id)).toMatchObject([
      { attempt: 1, outcome: "accept_timeout", holder: "ben" },
    ]);
    expect(await refusal(offer?.accept() ?? Promise.resolve())).toMatchObject({
      code: "lease_lost",
    });
  });

  it("keeps the accept timeout running when an offer is released repeatedly [DLV-2]", async () => {
    const { hub, ada, ben, pass } = await team();
    const policy = { acceptMs: 1_000, attempts: 1 };
    const sent = await ada.handoff({ ...DRAFT, policy });
    const { lapseAt } = await sent.status();
    for (let round = 0; round < 4; round++) {
      await pass(240);
      const { value: offer } = await ben.inbox({ wait: false }).next();
      await offer?.release();
      expect(await sent.status()).toMatchObject({ state: "ready", lapseAt });
    }
    await pass(39);
    expect((await sent.status()).state).toBe("ready");
    await pass(1);
    expect((await sent.status()).state).toBe("dead");
    const attempts = await hub.deliveries.attempts(sent.id);
    expect(attempts.map(({ outcome }) => outcome)).toContain("accept_timeout");
    expect(await ben.accept()).toBeUndefined();
  });

  it("gives the fallback its own attempts and the same envelope [DLV-2 DLV-7]", async () => {
    const { hub, ada, ben, cyd, pass } = await team();
    const policy = { acceptMs: 1_000, attempts: 1, fallback: ["cydney"] };
    const sent = await ada.handoff({ ...DRAFT, policy });
    expect(sent.envelope.policy?.fallback, "as inboxes").toEqual(["cyd"]);
    await pass(1_000);
    expect(await sent.status()).toMatchObject({ state: "ready", receiver: "cyd", maxAttempts: 2 });
    expect(await ben.accept()).toBeUndefined();
    const work = await take(cyd);
    expect(work.envelope).toEqual(sent.envelope);
    expect(work.envelope).toMatchObject({ hop: 0, to: { agent: "ben" } });
    expect(await sent.accepted()).toMatchObject({ kind: "accepted", delivery: { holder: "cyd" } });
    expect(await events(hub, sent)).toEqual(["sent", "rerouted", "accepted"]);
    // The hub records in the chain why it went to another receiver.
    const [why] = (await ada.memories.recent({ agent: "baton" })).items;
    expect(why).toMatchObject({ type: "decision", task: "t" });
    expect(why?.content).toContain("ben has used all attempts");
    await work.complete();
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("uses each fallback, even a role, then dead-letters the work [DLV-2 DLV-7]", async () => {
    const { hub, ada, cyd, pass } = await team();
    await hub.agent("dan", {});
    const policy = { acceptMs: 1_000, attempts: 1, fallback: ["dan", "role:reviewer"] };
    const sent = await ada.handoff({ ...DRAFT, policy });
    const receivers: string[] = [];
    for (let round = 0; round < 2; round++) {
      await pass(1_000);
      receivers.push((await sent.status()).receiver);
    }
    expect(receivers).toEqual(["dan", "role:reviewer"]);
    await (await take(cyd)).fail({ message: "too hard" });
    const [dead] = (await hub.deadLetters.list()).items;
    expect(dead?.delivery).toMatchObject({ id: sent.id, state: "dead", receiver: "role:reviewer" });
    expect(dead?.attempts.map(({ outcome, holder }) => [outcome, holder])).toEqual([
      ["accept_timeout", undefined],
      ["accept_timeout", undefined],
      ["failed", "cyd"],
    ]);
  });

  it("uses the fallback after a failure, a release or an expired lease [DLV-7]", async () => {
    const { ada, ben, pass, ...all } = await team({ limits: { leaseMs: 1_000 } });
    const ends = {
      failure: async () => (await take(ben)).fail({ message: "no" }),
      release: async () => (await take(ben)).release(),
      silence: async () => {
        await take(ben);
        await pass(1_000);
      },
    };
    for (const [task, end] of Object.entries(ends)) {
      const policy = { attempts: 1, fallback: ["cyd"] };
      const sent = await ada.handoff({ ...DRAFT, task, policy });
      await end();
      expect(await sent.status(), task).toMatchObject({ state: "ready", receiver: "cyd" });
      expect((await take(all.cyd, { task })).delivery.attempt, task).toBe(2);
      await all.hub.agents.resetBreaker("ben");
    }
  });

  it("skips a fallback that was disabled [DLV-2]", async () => {
    const { hub, ada, cyd, pass } = await team();
    await hub.agent("dan", {});
    const policy = { acceptMs: 1_000, attempts: 1, fallback: ["dan", "cyd"] };
    const sent = await ada.handoff({ ...DRAFT, policy });
    await hub.agent("dan", { status: "disabled" });
    await pass(1_000);
    expect((await take(cyd)).id).toBe(sent.id);
  });

  it("is refused with an unknown agent or a channel as fallback [DLV-2]", async () => {
    const { hub, ada } = await team();
    await hub.channels.set("news");
    const wrong = (fallback: string[]) => refusal(ada.handoff({ ...DRAFT, policy: { fallback } }));
    const path = "policy.fallback[1]";
    expect(await wrong(["cyd", "nobody"])).toMatchObject({ code: "unknown_agent", path });
    expect(await wrong(["cyd", "channel:news"])).toMatchObject({ code: "invalid_envelope", path });
    expect((await hub.deliveries.totals()).deliveries).toBe(0);
  });

  it("can be set by workspace, profile and envelope; the most specific wins [DLV-2]", async () => {
    const { hub, ada } = await team({ policy: { acceptMs: 1_000, attempts: 7 } });
    await hub.agent("eve", { policy: { acceptMs: 2_000, remindMs: 500 } });
    await hub.agent("fay", { policy: "direct" });
    const sealed = async (to: string, policy?: { acceptMs: number }) =>
      (
        await ada.handoff({
          ...DRAFT,
          to,
          task: `${to} ${policy?.acceptMs}`,
          ...(policy && { policy }),
        })
      ).envelope.policy;
    expect(await sealed("ben")).toEqual({ acceptMs: 1_000, attempts: 7 });
    expect(await sealed("eve")).toEqual({ acceptMs: 2_000, attempts: 7, remindMs: 500 });
    expect(await sealed("fay")).toEqual({ acceptMs: 15_000, attempts: 3 });
    expect(await sealed("eve", { acceptMs: 3_000 })).toEqual({
      acceptMs: 3_000,
      attempts: 7,
      remindMs: 500,
    });
  });

  it("is applied from a workspace or profile like one on the envelope [DLV-2]", async () => {
    const { hub, ada, pass } = await team({ policy: { acceptMs: 1_000, attempts: 1 } });
    await hub.agent("eve", { policy: { acceptMs: 2_000 } });
    const [toBen, toEve] = [await ada.handoff(DRAFT), await ada.handoff({ ...DRAFT, to: "eve" })];
    const states = async () => [(await toBen.status()).state, (await toEve.status()).state];
    await pass(1_000);
    expect(await states()).toEqual(["dead", "ready"]);
    await pass(1_000);
    expect(await states()).toEqual(["dead", "dead"]);
  });

  it("expires unclaimed, held and waiting work at its deadline [DLV-2]", async () => {
    const { hub, ada, ben, pass } = await team();
    const send = (task: string) => ada.handoff({ ...DRAFT, task, policy: { deadlineMs: 10_000 } });
    const [waiting, held, asked, done] = [
      await send("waiting"),
      await send("held"),
      await send("asked"),
      await send("done"),
    ];
    const work = await take(ben, { task: "held" });
    await (await take(ben, { task: "asked" })).clarify("Which?");
    await (await take(ben, { task: "done" })).complete();
    await pass(9_999);
    expect((await waiting.status()).state).toBe("ready");
    expect(await hub.deliveries.totals()).toMatchObject({ byState: { expired: 0, completed: 1 } });
    await pass(1);
    for (const sent of [waiting, held, asked]) {
      expect(await sent.completed(), sent.task).toMatchObject({ kind: "expired" });
    }
    expect((await done.status()).state).toBe("completed");
    expect(await refusal(work.complete())).toMatchObject({
      code: "lease_lost",
      message: expect.stringContaining("it is expired"),
    });
    expect(await hub.deliveries.attempts(held.id)).toMatchObject([
      { outcome: "expired", holder: "ben", reason: { reason: "deadline" } },
    ]);
    expect(await events(hub, waiting)).toEqual(["sent", "deadline_passed"]);
    expect(await ben.accept()).toBeUndefined();
  });

  it("uses the earlier of a relative and an absolute deadline [DLV-2]", async () => {
    const { ada, clock, pass } = await team({ policy: { deadlineMs: 5_000 } });
    const soon = { deadline: clock.now() + 3_000 };
    const sooner = await ada.handoff({ ...DRAFT, task: "sooner", policy: soon });
    const later = await ada.handoff({ ...DRAFT, task: "later" });
    expect(later.envelope.policy).toEqual({ deadline: clock.now() + 5_000 });
    await pass(3_000);
    expect((await sooner.status()).state).toBe("expired");
    expect((await later.status()).state).toBe("ready");
  });

  it("starts when a delayed handoff becomes ready [DLV-2]", async () => {
    const { hub, ada, ben, pass } = await team();
    const policy = { acceptMs: 1_000, attempts: 1 };
    const [taken, missed] = [
      await ada.handoff({ ...DRAFT, task: "taken", delayMs: 5_000, policy }),
      await ada.handoff({ ...DRAFT, task: "missed", delayMs: 5_000, policy }),
    ];
    expect((await taken.status()).state).toBe("scheduled");
    await pass(4_999);
    expect(await ben.accept()).toBeUndefined();
    await pass(1);
    expect((await take(ben, { task: "taken" })).delivery.attempt).toBe(1);
    await pass(999);
    expect(await hub.deliveries.attempts(missed.id)).toEqual([]);
    await pass(1);
    expect((await missed.status()).state).toBe("dead");
  });

  it("starts when a join becomes ready, and counts its attempts [DLV-2 DLV-16]", async () => {
    const { hub, ada, ben, cyd, pass } = await team();
    const first = await ada.handoff({ ...DRAFT, task: "first" });
    const policy = { acceptMs: 1_000, attempts: 2, fallback: ["cyd"] };
    const joined = await ada.handoffs.join([first], { ...DRAFT, task: "joined", policy });
    await pass(10_000);
    expect(await joined.status()).toMatchObject({ state: "scheduled", attempt: 0 });
    await (await take(ben)).complete();
    expect((await joined.status()).state).toBe("ready");
    await pass(1_000);
    expect(await joined.status()).toMatchObject({ state: "scheduled", attempt: 1 });
    await pass(1_500);
    expect(await joined.status()).toMatchObject({ state: "ready", attempt: 2, receiver: "cyd" });
    expect((await take(cyd)).envelope.results).toHaveLength(1);
    expect(await hub.deliveries.attempts(joined.id)).toHaveLength(2);
  });

  it("repeats reminders until the work is accepted, without using an attempt [DLV-2]", async () => {
    const { hub, ada, ben, pass } = await team();
    const sent = await ada.handoff({ ...DRAFT, policy: { remindMs: 60_000 } });
    const before = await sent.status();
    await pass(59_999);
    expect(await events(hub, sent)).toEqual(["sent"]);
    await pass(1);
    await pass(60_000);
    expect(await events(hub, sent)).toEqual(["sent", "reminded", "reminded"]);
    const { lapseAt: _, ...after } = await sent.status();
    expect(before).toMatchObject(after);
    const work = await take(ben);
    expect(work.delivery.attempt).toBe(1);
    await pass(59_999);
    await work.complete();
    await pass(60_000);
    expect(await events(hub, sent)).toEqual([
      "sent",
      "reminded",
      "reminded",
      "accepted",
      "completed",
    ]);
  });

  it("notifies the coordinator if exhausted is escalate, not park [DLV-2 DLV-7]", async () => {
    const { hub, ada, ben, pass } = await team();
    const boss = await hub.agent("boss", { role: "coordinator" });
    const policy = { acceptMs: 1_000, attempts: 1, exhausted: "escalate" } as const;
    const sent = await ada.handoff({ ...DRAFT, policy });
    await ada.handoff({ ...DRAFT, task: "quiet", policy: { ...policy, exhausted: "park" } });
    await pass(1_000);
    const report = await take(boss);
    expect(report.envelope).toMatchObject({
      task: "t",
      action: "failed",
      intent: "Go",
      from: { agent: "baton" },
      parents: [sent.envelope.id],
    });
    expect(report.envelope.state).toContain("all attempts of ben were used up");
    expect(report.envelope.next[0]).toContain(sent.id);
    expect(await boss.accept(), "notified once, and of nothing else").toBeUndefined();
    expect(await ben.accept()).toBeUndefined();
  });
});

describe.each(STORES)("waiting for acceptance on %s", (store) => {
  async function team(hub?: Hub) {
    const opened = hub ?? (await openFresh(store));
    const ada = await opened.agent("ada", {});
    const ben = await opened.agent("ben", {});
    return { ada, ben, sent: await ada.handoff(DRAFT) };
  }

  it("returns when the work is accepted, not when it is offered [DLV-2]", async () => {
    const { ben, sent } = await team();
    const answer = sent.accepted({ timeoutMs: 60_000 });
    const { value: offer } = await ben.inbox({ wait: false }).next();
    const first = await Promise.race([answer, sent.accepted({ timeoutMs: 1 })]);
    expect(first).toMatchObject({ kind: "timeout", delivery: { state: "claimed" } });
    await offer?.accept();
    expect(await answer).toMatchObject({
      kind: "accepted",
      delivery: { state: "accepted", holder: "ben", attempt: 1 },
    });
  });

  it("returns accepted when the work is already completed [DLV-2]", async () => {
    const { ben, sent } = await team();
    await (await take(ben)).complete();
    expect(await sent.accepted()).toMatchObject({
      kind: "accepted",
      delivery: { state: "completed" },
    });
  });

  it("returns the current state on timeout or abort, and changes nothing [DLV-2]", async () => {
    const { ben, sent } = await team();
    const stood = { kind: "timeout", delivery: { state: "ready", attempt: 0 } };
    expect(await sent.accepted({ timeoutMs: 20 })).toMatchObject(stood);
    const controller = new AbortController();
    const answer = sent.accepted({ signal: controller.signal });
    controller.abort();
    expect(await answer).toMatchObject(stood);
    expect((await take(ben)).id).toBe(sent.id);
  });

  it("times out after 15 s by default [DLV-2]", async () => {
    let polls = 0;
    const counted = new Proxy(await sharedStore(store)(), {
      get(target, name: keyof Store) {
        const value = target[name];
        if (typeof value !== "function") return value;
        if (name === "findDelivery") polls++;
        return value.bind(target);
      },
    });
    const { sent } = await team(await hubOn(store, counted));
    vi.useFakeTimers({ toFake: ["performance"] });
    onTestFinished(() => {
      vi.useRealTimers();
    });
    let answer: string | undefined;
    const waiting = sent.accepted().then(({ kind }) => {
      answer = kind;
    });
    vi.advanceTimersByTime(14_999);
    const before = polls;
    await until("it has polled again", () => polls >= before + 5);
    expect(answer).toBeUndefined();
    vi.advanceTimersByTime(1);
    await waiting;
    expect(answer).toBe("timeout");
  });

  it("returns at once when the handoff is declined, superseded or cancelled [DLV-2]", async () => {
    const { ada, ben, sent } = await team();
    const declined = sent.accepted({ timeoutMs: 60_000 });
    const { value: offer } = await ben.inbox({ wait: false }).next();
    await offer?.decline("Not mine");
    expect(await declined).toMatchObject({ kind: "declined", reason: "Not mine" });

    const second = await ada.handoff({ ...DRAFT, task: "u" });
    const superseded = second.accepted({ timeoutMs: 60_000 });
    const third = await ada.handoff({ ...DRAFT, task: "u" });
    expect(await superseded).toMatchObject({ kind: "superseded" });

    const cancelled = third.accepted({ timeoutMs: 60_000 });
    await third.cancel("Changed my mind");
    expect(await cancelled).toMatchObject({ kind: "cancelled", reason: "Changed my mind" });
  });

  it("applies a policy while it waits [DLV-2]", async () => {
    const { ada } = await team();
    const policy = { acceptMs: 20, attempts: 1 };
    const sent = await ada.handoff({ ...DRAFT, task: "u", policy });
    expect(await sent.accepted({ timeoutMs: 60_000 })).toMatchObject({
      kind: "dead",
      attempts: [{ outcome: "accept_timeout" }],
    });
  });
});

describe.each(STORES)("a policy in several hubs on %s", (store) => {
  it("is applied by another hub after the sender's hub closed [DLV-2]", async () => {
    const clock = new VirtualClock();
    const [gone, alive] = await openTwo(store, { clock, random });
    const ada = await gone.agent("ada", {});
    await gone.agent("ben", {});
    const policy = { acceptMs: 1_000, attempts: 2, fallback: ["cyd"] };
    const cyd = await alive.agent("cyd", {});
    const sent = await ada.handoff({ ...DRAFT, policy });
    if (store !== "memory") await gone.close();
    clock.advance(1_000);
    await alive.deliveries.runDue();
    expect(await alive.deliveries.attempts(sent.id)).toMatchObject([{ outcome: "accept_timeout" }]);
    clock.advance(500 + 1_000);
    // Claiming processes due deliveries, too.
    expect(await take(cyd)).toMatchObject({ id: sent.id, delivery: { attempt: 3 } });
    expect(await alive.deliveries.attempts(sent.id)).toHaveLength(2);
  });

  it("is applied once when hubs process due deliveries concurrently [DLV-2]", async () => {
    const clock = new VirtualClock();
    const hubs = await openTwo(store, { clock, random });
    const [one, two] = hubs;
    const ada = await one.agent("ada", {});
    for (const name of ["ben", "cyd"]) await one.agent(name, {});
    const policy = { acceptMs: 1_000, attempts: 2, fallback: ["cyd"] };
    const sent: Sent[] = [];
    for (let i = 0; i < 10; i++) sent.push(await ada.handoff({ ...DRAFT, task: `t${i}`, policy }));
    for (const ms of [1_000, 1_500]) {
      clock.advance(ms);
      await Promise.all([
        one.deliveries.runDue(),
        two.deliveries.runDue(),
        one.deliveries.runDue(),
        two.deliveries.runDue(),
      ]);
    }
    for (const each of sent) {
      const row: Delivery = await each.status();
      expect(row).toMatchObject({ state: "ready", receiver: "cyd", attempt: 2, maxAttempts: 4 });
      expect(await two.deliveries.attempts(each.id)).toHaveLength(2);
      expect(await events(two, each)).toEqual(["sent", "accept_timeout", "rerouted"]);
    }
    expect((await two.verify()).problems).toEqual([]);
  });

  it("wakes a fallback that waits in another hub [DLV-2]", async () => {
    const [here, there] = await openTwo(store);
    const ada = await here.agent("ada", {});
    await here.agent("ben", {});
    const cyd = await there.agent("cyd", {});
    const signal = AbortSignal.timeout(60_000);
    const waiting = cyd.accept({ wait: true, signal });
    const policy = { acceptMs: 50, attempts: 1, fallback: ["cyd"] };
    const sent = await ada.handoff({ ...DRAFT, policy });
    const work = await waiting;
    expect(work?.id).toBe(sent.id);
    expect(await sent.accepted()).toMatchObject({ kind: "accepted", delivery: { holder: "cyd" } });
  });
});
