/** Roles as receivers: one agent of the role gets each handoff; waiting agents take turns. */
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { Agent, HubOptions, Store } from "../../../src/index.ts";
import { hubOn, sharedStore, twoHubs } from "../../support/hub/shared-store.ts";
import { contents, openFresh, refusal, STORES, take } from "../../support/hub/support.ts";
import { until } from "../../support/until.ts";

describe.each(STORES)("a role on %s", (store) => {
  async function team(options: HubOptions = {}) {
    const hub = await openFresh(store, options);
    const ada = await hub.agent("ada", { role: "planner" });
    const ben = await hub.agent("ben", { role: "coder" });
    const cyd = await hub.agent("cyd", { role: "coder" });
    const send = (task: string, to = "role:coder") => ada.handoff({ to, task, intent: "Go" });
    return { hub, ada, ben, cyd, send };
  }

  it("delivers a handoff to one of its agents only [DLV-5]", async () => {
    const { hub, ada, ben, cyd, send } = await team();
    const sent = await send("t");
    expect(sent.envelope.to).toEqual({ kind: "role", role: "coder" });
    expect(await ada.accept()).toBeUndefined(); // Ada has another role.
    const work = await take(ben);
    expect(work.id).toBe(sent.id);
    expect(await cyd.accept()).toBeUndefined();
    expect(await cyd.accept({ delivery: sent.id })).toBeUndefined();
    expect(await sent.status()).toMatchObject({ receiver: "role:coder", holder: "ben" });
    await work.complete({ summary: "Done" });
    expect(await sent.completed({ timeoutMs: 60_000 })).toMatchObject({
      kind: "completed",
      delivery: { holder: "ben" },
      result: { summary: "Done" },
    });
    expect(await cyd.accept()).toBeUndefined();
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("delivers released work to another of its agents [DLV-5]", async () => {
    const { ben, cyd, send } = await team();
    const sent = await send("t");
    await (await take(ben)).release();
    const work = await take(cyd);
    expect(work).toMatchObject({ id: sent.id, delivery: { attempt: 2 } });
  });

  it("delivers each handoff to one agent across two hubs on one store [DLV-5]", async () => {
    const hubs = await twoHubs(store);
    const ada = await hubs[0].agent("ada", {});
    const coders: Agent[] = [];
    for (const [i, hub] of [...hubs, ...hubs].entries()) {
      coders.push(await hub.agent(`coder-${i}`, { role: "coder" }));
    }
    const tasks = Array.from({ length: 20 }, (_, i) => `t${i}`);
    for (const task of tasks) await ada.handoff({ to: "role:coder", task, intent: "Go" });
    const taken: string[] = [];
    const work = async (coder: Agent): Promise<void> => {
      for (;;) {
        const next = await coder.accept();
        if (next === undefined) return;
        taken.push(next.delivery.task);
        expect(next.delivery.attempt).toBe(1);
        await next.complete();
      }
    };
    await Promise.all(coders.map(work));
    expect(taken.toSorted()).toEqual(tasks.toSorted());
    expect((await hubs[0].deliveries.totals()).byState).toMatchObject({ completed: 20, ready: 0 });
  });

  it("shares work among waiting agents, so that none is starved [DLV-5]", async () => {
    const idle = new Set<string>();
    const hub = await hubOn(store, withIdle(await sharedStore(store)(), idle));
    const ada = await hub.agent("ada", {});
    const closing = new AbortController();
    onTestFinished(() => closing.abort());
    const shares = new Map<string, number>();
    const work = async (agent: Agent): Promise<void> => {
      for (;;) {
        const next = await agent.accept({ wait: true, signal: closing.signal });
        if (next === undefined) return;
        shares.set(agent.id, (shares.get(agent.id) ?? 0) + 1);
        await next.complete();
      }
    };
    const names = ["ben", "cyd", "dan"];
    const coders: Agent[] = [];
    for (const name of names) coders.push(await hub.agent(name, { role: "coder" }));
    const loops = coders.map(work);
    let passed = 0;
    const now = performance.now.bind(performance);
    const clock = vi.spyOn(performance, "now").mockImplementation(() => now() + passed);
    onTestFinished(() => clock.mockRestore());
    for (const betweenMs of [0, 1_000]) {
      shares.clear();
      for (let i = 0; i < 12; i++) {
        await until("all of them wait", () => names.every((name) => idle.has(name)));
        passed += betweenMs;
        const draft = { to: "role:coder", task: `t${betweenMs} ${i}`, intent: "Go" };
        const sent = await ada.handoff(draft);
        expect((await sent.completed({ timeoutMs: 300_000 })).kind).toBe("completed");
      }
      const pace = `${betweenMs} ms between two handoffs`;
      expect([...shares.keys()].toSorted(), pace).toEqual(names);
      for (const share of shares.values()) expect(share, pace).toBeGreaterThanOrEqual(2);
    }
    closing.abort();
    await Promise.all(loops);
  });

  it("is refused when no agent has it, with similar names [DLV-5]", async () => {
    const { hub, ada, send } = await team();
    const before = await contents(hub);
    const near = await refusal(send("t", "role:codr"));
    expect(near).toMatchObject({ code: "unknown_role", path: "to", details: { near: ["coder"] } });
    expect(near.hint).toContain('"role:coder"');
    const far = await refusal(ada.handoff({ to: "role:astronaut", intent: "Fly" }));
    expect(far).toMatchObject({ code: "unknown_role", details: { role: "astronaut", near: [] } });
    expect(far.hint).toContain("hub.agent(");
    expect(await refusal(send("t", "benn"))).toMatchObject({ code: "unknown_agent", path: "to" });
    expect(await contents(hub)).toEqual(before);
  });

  it("is refused while all its agents are disabled, and keeps earlier work [DLV-5]", async () => {
    const { hub, ben, send } = await team();
    await hub.agent("ben", { status: "disabled" });
    await send("one");
    await hub.agent("cyd", { status: "disabled" });
    const before = await contents(hub);
    const refused = await refusal(send("two"));
    expect(refused).toMatchObject({ code: "unknown_role", path: "to" });
    expect(refused.message).toContain("disabled");
    expect(await contents(hub)).toEqual(before);
    expect(await refusal(ben.accept())).toMatchObject({ code: "agent_disabled" });
    await hub.agent("ben", { status: "active" });
    await send("two");
    expect((await take(ben)).delivery.task).toBe("one"); // It stayed in the inbox.
    expect((await take(ben)).delivery.task).toBe("two");
  });

  it("delivers nothing to a paused agent until it is unpaused [DLV-5]", async () => {
    const { hub, ben, cyd, send } = await team();
    await hub.agents.pause("ben");
    await send("own", "ben"); // A paused agent keeps its inbox.
    await send("shared");
    expect(await ben.accept()).toBeUndefined();
    expect((await ben.deliveries.waiting()).items).toHaveLength(2);
    const work = await take(cyd);
    expect(work.delivery.task).toBe("shared");
    await work.release();
    await hub.agents.pause("cyd");
    await send("also shared"); // Accepted: both agents are paused, not disabled.
    expect(await cyd.accept()).toBeUndefined();
    await hub.agents.unpause("ben");
    expect((await take(ben)).delivery.task).toBe("own");
    expect((await take(ben)).delivery.task).toBe("shared");
    expect((await take(ben)).delivery.task).toBe("also shared");
  });

  it("wakes a waiting agent when it is unpaused [DLV-5 DLV-13]", async () => {
    const { hub, ben, send } = await team();
    await hub.agents.pause("ben");
    const sent = await send("t", "ben");
    const waiting = ben.accept({ wait: true, signal: AbortSignal.timeout(60_000) });
    await hub.agents.unpause("ben");
    expect((await waiting)?.id).toBe(sent.id);
  });

  it("shares one order with an agent's own inbox, oldest first [DLV-5]", async () => {
    const { ben, cyd, send } = await team();
    await send("one");
    await send("two", "ben");
    await send("three");
    await send("four", "ben");
    const waits = async (agent: Agent) =>
      (await agent.deliveries.waiting()).items.map(({ delivery }) => delivery.task);
    expect(await waits(ben)).toEqual(["one", "two", "three", "four"]);
    expect(await waits(cyd)).toEqual(["one", "three"]);
    const { next: after } = await ben.deliveries.waiting({ limit: 1 });
    const rest = (await ben.deliveries.waiting({ after, limit: 2 })).items;
    expect(rest.map(({ delivery }) => delivery.task)).toEqual(["two", "three"]);
    for (const task of ["one", "two", "three", "four"]) {
      const work = await take(ben);
      expect(work.delivery.task).toBe(task);
      await work.complete();
    }
  });

  it("keeps the order within a task across its agents [DLV-5 DLV-13]", async () => {
    const { hub, ben, cyd, send } = await team();
    const dan = await hub.agent("dan", { role: "planner" });
    await send("t");
    const second = await dan.handoff({ to: "role:coder", task: "t", intent: "And this" });
    const first = await take(ben);
    expect(await cyd.accept()).toBeUndefined();
    await first.complete();
    expect((await take(cyd)).id).toBe(second.id);
  });

  it("delivers its open work to an agent that changes to it [DLV-5]", async () => {
    const { hub, ada, send } = await team();
    await send("t");
    expect(await ada.accept()).toBeUndefined();
    const coding = await hub.agent("ada", { role: "coder" });
    expect((await take(coding)).delivery.task).toBe("t");
  });

  it("aborts the holder's signal when the work is cancelled [DLV-5 DLV-18]", async () => {
    const { ben, send } = await team();
    const sent = await send("t");
    const work = await take(ben);
    const { signal } = work;
    const aborted = new Promise((resolve) => signal.addEventListener("abort", resolve));
    await sent.cancel("Not needed");
    await aborted;
    expect(signal.reason).toMatchObject({ code: "cancelled" });
  });
});

/** Wraps a store and collects the agents whose last claim returned nothing. */
function withIdle(store: Store, idle: Set<string>): Store {
  return new Proxy(store, {
    get(target, name: keyof Store) {
      const value = target[name];
      if (typeof value !== "function") return value;
      if (name !== "claimDeliveries") return value.bind(target);
      return async (...[claim]: Parameters<Store["claimDeliveries"]>) => {
        idle.delete(claim.receiver);
        const outcome = await target.claimDeliveries(claim);
        if (outcome.kind === "claimed" && outcome.claimed.length === 0) idle.add(claim.receiver);
        return outcome;
      };
    },
  });
}
