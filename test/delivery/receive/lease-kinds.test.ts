/** Process leases, which end with their process; session leases, which calls renew; handles. */

import { describe, expect, it, onTestFinished, vi } from "vitest";
import { systemProcesses } from "../../../src/delivery/receive/process-identity.ts";
import {
  type Agent,
  BatonError,
  type Hub,
  type HubOptions,
  LocalHub,
  type SessionOptions,
  type Store,
} from "../../../src/index.ts";
import { VirtualClock } from "../../../src/testing/index.ts";
import { openReferenceStore } from "../../../store-contract/reference/open.ts";
import { type Child, startChild } from "../../support/child.ts";
import { freshAddress, open, openFresh, refusal, STORES, take } from "../../support/hub/support.ts";
import { present } from "../../support/present.ts";
import { until } from "../../support/until.ts";

const HOUR_MS = 3_600_000;

describe("a holder in another process", () => {
  /** Starts a holder and waits until it has accepted its work. */
  async function holder(address: string, lease: string): Promise<{ child: Child; handle: string }> {
    const script = new URL("./holder-child.ts", import.meta.url);
    const said = Promise.withResolvers<string>();
    const child = startChild(script, [address, lease], (line) => said.resolve(JSON.parse(line)));
    onTestFinished(async () => {
      child.kill();
      await child.ended;
    });
    const failed = child.ended.then(({ stderr }) => Promise.reject(new Error(stderr)));
    return { child, handle: await Promise.race([said.promise, failed]) };
  }

  async function team(lease: string, options: HubOptions = {}) {
    const address = freshAddress();
    const hub = await open(address, { limits: { leaseMs: HOUR_MS }, ...options });
    const planner = await hub.agent("planner", {});
    const coder = await hub.agent("coder", {});
    const sent = await planner.handoff({ to: "coder", task: "t", intent: "Go" });
    return { hub, planner, coder, sent, ...(await holder(address, lease)) };
  }

  it.runIf(process.platform === "linux")(
    "loses its work long before the lease expires when it is killed [DLV-6]",
    async () => {
      const { hub, coder, sent, child } = await team("process");
      const waiting = coder.accept({ wait: true });
      expect((await sent.status()).leaseUntil).toBeGreaterThan(Date.now() + HOUR_MS / 2);
      child.kill();
      const work = await waiting;
      expect(work).toMatchObject({ id: sent.id, delivery: { attempt: 2 } });
      expect(await hub.deliveries.attempts(sent.id)).toMatchObject([
        { outcome: "expired", instance: "in-child", reason: { reason: "process ended" } },
      ]);
      expect(
        (await coder.memories.recent({ task: "t", type: "step" })).items[0]?.content,
      ).toContain("Half");
      await work?.complete();
      expect((await hub.verify()).problems).toEqual([]);
    },
  );

  it("keeps a session lease while it lives and after it is killed", async () => {
    let checks = 0;
    const isGone = (other: string): boolean => {
      checks++;
      return other !== "self" && systemProcesses.isGone(other);
    };
    const processes = { self: "self", isGone };
    const { hub, planner, coder, sent, child, handle } = await team("session", { processes });
    // This process holds work too, so that there is a process to check.
    const tester = await hub.agent("tester", {});
    await planner.handoff({ to: "tester", task: "other", intent: "Go" });
    await take(tester);
    /** Waits until ended processes were checked; returns the result of the aborted accept(). */
    const waited = async () => {
      const control = new AbortController();
      const waiting = coder.accept({ wait: true, signal: control.signal });
      const before = checks;
      await until("a check of processes", () => checks > before);
      control.abort();
      return waiting;
    };
    expect(await waited()).toBeUndefined();
    child.kill();
    await child.ended;
    expect(await waited()).toBeUndefined();
    expect(await sent.status()).toMatchObject({ state: "accepted", attempt: 1, lease: "session" });
    const work = await coder.resume(handle);
    expect(await work.complete({ summary: "Finished elsewhere" })).toMatchObject({
      kind: "settled",
    });
  });
});

describe.each(STORES)("leases on %s", (store) => {
  async function team(options: HubOptions = {}, session: SessionOptions = {}) {
    const clock = new VirtualClock();
    const hub = await openFresh(store, { clock, limits: { leaseMs: 60_000 }, ...options });
    const planner = await hub.agent("planner", {});
    const coder = await hub.agent("coder", {}, session);
    const send = (task: string) => planner.handoff({ to: "coder", task, intent: "Go" });
    return { hub, clock, planner, coder, send };
  }

  it("are bound to a process or to a session [DLV-6]", async () => {
    const processes = { self: "this one", isGone: () => false };
    const { hub, coder, send } = await team({ processes });
    const [first, second] = [await send("one"), await send("two")];
    await take(coder);
    const session = await hub.agent("coder", undefined, { lease: "session" });
    await take(session);
    expect((await first.status()).lease).toBe("process");
    expect((await second.status()).lease).toBe("session");
  });

  it("end with their process when an agent waits on any inbox [DLV-6]", async () => {
    const gone = new Set<string>();
    const processes = { self: "mine", isGone: (each: string) => gone.has(each) };
    const { hub, planner, coder, send } = await team({ processes });
    const sent = await send("one");
    await take(coder);
    const elsewhere = planner.inbox();
    const offered = elsewhere.next(); // The inbox of another agent.
    gone.add("mine");
    await until("work that is ready again", async () => (await sent.status()).state === "ready");
    expect(await hub.deliveries.attempts(sent.id)).toMatchObject([
      { reason: { reason: "process ended" } },
    ]);
    await hub.close();
    expect((await offered).done).toBe(true);
  });

  it("are renewed for a session by every call of its agent [DLV-6]", async () => {
    const { clock, coder, send } = await team({}, { lease: "session" });
    const [one, two] = [await send("one"), await send("two")];
    await take(coder);
    await take(coder);
    const { id } = await coder.remember({ content: "known" });
    const calls: Record<string, (agent: Agent) => Promise<unknown>> = {
      remember: (agent) => agent.remember({ content: "a fact" }),
      read: (agent) => agent.memories.read(id),
      recent: (agent) => agent.memories.recent(),
      relations: (agent) => agent.memories.relations(id),
      pin: (agent) => agent.memories.pin(id),
      pins: (agent) => agent.memories.pins(),
      unpin: (agent) => agent.memories.unpin(id),
      catchUp: (agent) => agent.catchUp(),
      handoff: (agent) => agent.handoff({ to: "planner", task: "back", intent: "Look" }),
      accept: (agent) => agent.accept(),
      inbox: (agent) => agent.inbox({ wait: false }).next(),
      waiting: (agent) => agent.deliveries.waiting(),
      "a call that is refused": (agent) => refusal(agent.memories.recent({ limit: -1 })),
    };
    for (const [name, call] of Object.entries(calls)) {
      clock.advance(59_000);
      await call(coder);
      for (const sent of [one, two]) {
        expect((await sent.status()).leaseUntil, name).toBe(clock.now() + 60_000);
      }
    }
  });

  it("have no heartbeat for a session, and expire when it makes no calls [DLV-6]", async () => {
    const { clock, coder, send } = await team({ limits: { leaseMs: 30 } }, { lease: "session" });
    const sent = await send("one");
    vi.useFakeTimers({ toFake: ["setInterval"] });
    onTestFinished(() => void vi.useRealTimers());
    const work = await take(coder);
    expect(vi.getTimerCount()).toBe(0);
    clock.advance(30);
    expect(await refusal(work.complete())).toMatchObject({ code: "lease_lost" });
    expect((await sent.status()).attempt).toBe(1);
  });

  it("are not renewed by another session of the agent [DLV-6]", async () => {
    const { hub, clock, coder, send } = await team({}, { lease: "session", instance: "a" });
    const sent = await send("one");
    await take(coder);
    const { leaseUntil } = await sent.status();
    clock.advance(5);
    const other = await hub.agent("coder", undefined, { lease: "session", instance: "b" });
    await other.memories.recent();
    expect((await sent.status()).leaseUntil).toBe(leaseUntil);
    const same = await hub.agent("coder", undefined, { lease: "session", instance: "a" });
    await same.memories.recent();
    expect((await sent.status()).leaseUntil).toBe(present(leaseUntil) + 5);
  });
});

describe("a lease that cannot be renewed", () => {
  const failing = (error: Error): Hub => {
    const store = openReferenceStore({ clock: new VirtualClock() });
    onTestFinished(() => store.close());
    const get = (_: unknown, name: keyof typeof store) =>
      name === "renewSession" ? () => Promise.reject(error) : store[name];
    return new LocalHub(new Proxy(store, { get } as ProxyHandler<Store>));
  };

  it("does not fail the call when the store is busy", async () => {
    const error = new BatonError("store_busy", { message: "Others write.", hint: "Try again." });
    const coder = await failing(error).agent("coder", {}, { lease: "session" });
    const { id } = await coder.remember({ content: "known" });
    expect((await coder.memories.read(id)).content).toBe("known");
    expect(await refusal(coder.memories.recent({ limit: 0 }))).toMatchObject({
      code: "invalid_input",
    });
  });

  it("fails the call when the error is unexpected", async () => {
    const coder = await failing(new TypeError("a bug")).agent("coder", {}, { lease: "session" });
    await expect(coder.memories.recent()).rejects.toThrow("a bug");
  });
});

describe.each(STORES)("a handle on %s", (store) => {
  async function held(session: SessionOptions = {}) {
    const clock = new VirtualClock();
    const hub = await openFresh(store, { clock, limits: { leaseMs: 60_000 } });
    const planner = await hub.agent("planner", {});
    const coder = await hub.agent("coder", {}, session);
    const sent = await planner.handoff({ to: "coder", task: "t", intent: "Go" });
    const work = await take(coder);
    return { hub, clock, planner, coder, sent, work };
  }

  it("names delivery and fence, and resumes the work with a renewed lease [DLV-6]", async () => {
    const { hub, clock, sent, work } = await held({ lease: "session", instance: "a" });
    expect(work.handle).toBe(`${sent.id}#1`);
    clock.advance(59_000);
    const later = await hub.agent("coder", undefined, { lease: "session" });
    const resumed = await later.resume(work.handle);
    expect(await sent.status()).toMatchObject({
      leaseUntil: clock.now() + 60_000,
      instance: "a",
      attempt: 1,
    });
    const { id, envelope, handle } = resumed;
    const { task, attempt, acceptedBy } = resumed.delivery;
    expect({ id, task, envelope, attempt, acceptedBy, handle }).toEqual({
      id: work.id,
      task: work.delivery.task,
      envelope: work.envelope,
      attempt: work.delivery.attempt,
      acceptedBy: work.delivery.acceptedBy,
      handle: work.handle,
    });
    expect(await resumed.note("Going on.")).toMatchObject({ kind: "noted" });
    await resumed.fail({ message: "not today" });
    expect((await hub.verify()).problems).toEqual([]);
    expect(await refusal(work.complete())).toMatchObject({ code: "lease_lost" });
  });

  it("resumes with an envelope that the sender extended meanwhile [ENV-11]", async () => {
    const { planner, coder, work } = await held();
    await planner.handoff({ to: "coder", task: "t", intent: "Go further" });
    expect((await coder.resume(work.handle)).envelope.intent).toBe("Go further");
  });

  it.each<[string, (all: Held) => Promise<unknown>]>([
    ["was completed", ({ work }) => work.complete()],
    ["was released", ({ work }) => work.release()],
    ["expired", async ({ clock }) => clock.advance(60_000)],
    [
      "was claimed again",
      async ({ clock, coder }) => {
        clock.advance(60_000);
        await take(coder);
      },
    ],
  ])("is refused when the work %s [DLV-6]", async (_case, lose) => {
    const all = await held();
    await lose(all);
    const before = await all.sent.status();
    expect(await refusal(all.coder.resume(all.work.handle))).toMatchObject({ code: "lease_lost" });
    expect(await all.sent.status()).toEqual(before);
  });

  it("is refused for another agent's work, an unknown delivery or fence [DLV-6]", async () => {
    const { planner, coder, sent, work } = await held();
    const before = await sent.status();
    expect(await refusal(planner.resume(work.handle))).toMatchObject({ code: "lease_lost" });
    const none = work.handle.replace(/.#/, (end) => (end === "0#" ? "1#" : "0#"));
    expect(await refusal(coder.resume(none))).toMatchObject({ code: "lease_lost" });
    expect(await refusal(coder.resume(`${sent.id}#2`))).toMatchObject({ code: "lease_lost" });
    expect(await sent.status()).toEqual(before);
  });

  type Held = Awaited<ReturnType<typeof held>>;
});
