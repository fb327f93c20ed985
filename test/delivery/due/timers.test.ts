/**
 * An open hub carries out what falls due by itself: no test here claims, waits or calls `runDue()`. States are
 * read with `deliveries.get()`, which carries out nothing.
 */
import { describe, expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../../src/base/clock.ts";
import { type Hub, type HubOptions, LocalHub, type Store } from "../../../src/index.ts";
import { openReferenceStore } from "../../../store-contract/reference/open.ts";
import { startChild } from "../../support/child.ts";
import {
  EMBEDDED_STORES,
  freshAddress,
  open,
  openFresh,
  openTwo,
  STORES,
  take,
} from "../../support/hub/support.ts";
import { until } from "../../support/until.ts";

/** Half of the longest backoff, instead of a random part of it. */
const EVEN: HubOptions = { random: () => 0.5 };
/** A hub with an injected clock sets no timers: it only reads and writes. */
const PASSIVE: HubOptions = { clock: systemClock };

async function team(hub: Hub) {
  const ada = await hub.agent("ada", { role: "planner" });
  const ben = await hub.agent("ben", { role: "coder" });
  await hub.agent("cyd", { role: "tester" });
  return { ada, ben };
}

const TASK = { to: "ben", task: "auth", intent: "Refactor auth" };

/** Resolves when a delivery is in a state; reads only. */
const inState = (hub: Hub, id: string, state: string) =>
  until(`${id} is ${state}`, async () => {
    const { delivery } = await hub.deliveries.get(id);
    return delivery.state === state && delivery;
  });

const countOf = async (hub: Hub, kind: string): Promise<number> =>
  (await hub.events.list({ after: 0 })).items.filter((event) => event.kind === kind).length;

describe.each(STORES)("an open hub on %s, with no agent that polls,", (store) => {
  it("carries out a missed accept timeout, and what follows it [DLV-19]", async () => {
    const hub = await openFresh(store, EVEN);
    const { ada } = await team(hub);
    const policy = { acceptMs: 50, attempts: 2, backoff: { firstMs: 20, longestMs: 20 } };
    const { id } = await ada.handoff({ ...TASK, policy });
    await inState(hub, id, "dead");
    const { attempts } = await hub.deliveries.get(id);
    expect(attempts.map(({ outcome }) => outcome)).toEqual(["accept_timeout", "accept_timeout"]);
  });

  it("moves a delivery to its fallback [DLV-19]", async () => {
    const hub = await openFresh(store);
    const { ada } = await team(hub);
    const policy = { acceptMs: 50, attempts: 1, fallback: ["cyd"] };
    const { id } = await ada.handoff({ ...TASK, policy });
    await until("cyd has it", async () => {
      const { delivery } = await hub.deliveries.get(id);
      return delivery.receiver === "cyd" || delivery.state === "dead";
    });
    expect(await countOf(hub, "rerouted")).toBe(1);
  });

  it("expires a delivery at its deadline [DLV-19]", async () => {
    const hub = await openFresh(store);
    const { ada } = await team(hub);
    const { id } = await ada.handoff({ ...TASK, policy: { deadlineMs: 50 } });
    await inState(hub, id, "expired");
  });

  it("makes a retry ready after its backoff [DLV-19]", async () => {
    const hub = await openFresh(store, EVEN);
    const { ada, ben } = await team(hub);
    const policy = { attempts: 2, backoff: { firstMs: 100, longestMs: 100 } };
    const { id } = await ada.handoff({ ...TASK, policy });
    await (await take(ben)).fail({ message: "The network is down" });
    await inState(hub, id, "ready");
  });

  it("reminds, again and again [DLV-19]", async () => {
    const hub = await openFresh(store);
    const { ada } = await team(hub);
    await ada.handoff({ ...TASK, policy: { remindMs: 50 } });
    await until("two reminders", async () => (await countOf(hub, "reminded")) >= 2);
  });

  it("decides about a failure and closes its task [DLV-19]", async () => {
    const hub = await openFresh(store);
    const { ada } = await team(hub);
    await hub.failures.setRule("end", { then: { abort: true } });
    const policy = { acceptMs: 50, attempts: 1 };
    await ada.tasks.add({ ...TASK, policy });
    await until("the task is closed", async () => (await hub.tasks.get("auth")).state === "failed");
    const { items } = await hub.failures.list({ task: "auth" });
    expect(items.at(-1)).toMatchObject({ decision: { by: "baton", decision: "abort" } });
  });
});

describe.each(EMBEDDED_STORES)("hubs on %s", (store) => {
  it("carry out what another process set, also if it has closed [DLV-19]", async () => {
    const [sender, other] = await openTwo(store, PASSIVE, {});
    const { ada } = await team(sender);
    // The other hub has read that nothing is due, and is woken by what follows.
    const first = await ada.handoff({ ...TASK, task: "first", policy: { deadlineMs: 20 } });
    await inState(sender, first.id, "expired");
    const second = await ada.handoff({ ...TASK, task: "second", policy: { deadlineMs: 20 } });
    await inState(other, second.id, "expired");
  });

  it("carry out the timers of their own workspace, and a server those of all [DLV-19]", async () => {
    const address = freshAddress(store === "memory" ? "sqlite" : store);
    const first = await open(address, { ...PASSIVE, workspace: "first" });
    const second = await open(address, { ...PASSIVE, workspace: "second" });
    const policy = { deadlineMs: 20 };
    const inFirst = await (await team(first)).ada.handoff({ ...TASK, policy });
    const inSecond = await (await team(second)).ada.handoff({ ...TASK, policy });
    const embedded = await open(address, { workspace: "first" });
    await inState(first, inFirst.id, "expired");
    expect((await second.deliveries.get(inSecond.id)).delivery.state).toBe("ready");
    await embedded.close();
    const serving = (await open(address)) as LocalHub;
    serving.coverAllWorkspaces();
    await inState(second, inSecond.id, "expired");
  });

  it("do not keep a program alive [DLV-19]", { timeout: 120_000 }, async () => {
    const script = new URL("timers-child.ts", import.meta.url);
    const lines: string[] = [];
    const address = freshAddress(store);
    const child = startChild(script, [address], (line) => lines.push(line));
    expect(await child.ended).toEqual({ code: 0, signal: null, stderr: "" });
    expect(lines).toEqual(['"listening"']);
  });
});

describe("several hubs of one store", () => {
  /** A store that records which hub's decisions are under way at the same time. */
  function observed(shared: Store, hub: number, active: Map<number, number>, overlaps: string[]) {
    return new Proxy(shared, {
      get(target, name: keyof Store) {
        const value = target[name];
        if (typeof value !== "function") return value;
        if (name !== "moveDeliveries") return value.bind(target);
        return async (...given: Parameters<Store["moveDeliveries"]>) => {
          active.set(hub, (active.get(hub) ?? 0) + 1);
          const others = [...active].filter(([other, count]) => other !== hub && count > 0);
          if (others.length > 0) overlaps.push(`${hub} with ${others.map(([other]) => other)}`);
          await new Promise(setImmediate); // As long as a real store takes, others could start.
          const outcome = await target.moveDeliveries(...given);
          active.set(hub, (active.get(hub) ?? 0) - 1);
          return outcome;
        };
      },
    });
  }

  it("carry out what is due one at a time, each once, in order of due time [DLV-19]", async () => {
    const shared = openReferenceStore({ clock: systemClock });
    const active = new Map<number, number>();
    const overlaps: string[] = [];
    const writer = new LocalHub(shared, PASSIVE);
    const { ada } = await team(writer);
    const dueAt = Date.now() + 2_000;
    const expected: string[] = [];
    for (let n = 0; n < 300; n++) {
      const policy = { deadline: new Date(dueAt + n).toISOString() };
      expected.push((await ada.handoff({ ...TASK, task: `task ${n}`, policy })).id);
    }
    const hubs = [1, 2, 3].map((n) => new LocalHub(observed(shared, n, active, overlaps)));
    onTestFinished(async () => {
      for (const hub of hubs) await hub.close();
    });
    await until("all are expired", async () => {
      const { byState } = await writer.deliveries.totals();
      return byState.expired === expected.length;
    });
    expect(overlaps).toEqual([]);
    const events = (await shared.readEvents("default", 0, 10_000)).filter(
      ({ kind }) => kind === "deadline_passed",
    );
    expect(events.map(({ delivery }) => delivery)).toEqual(expected);
  });
});
