/**
 * Unreliable wake-ups: every handoff still arrives, once. A seed decides which wake-ups of the
 * store are lost, duplicated or delayed on their way to the hubs.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { Agent, Sent, Store } from "../../../src/index.ts";
import { hubOn, sharedStore } from "../../support/hub/shared-store.ts";
import { STORES } from "../../support/hub/support.ts";
import { chosenSeed, type Random, randomFrom } from "../../support/random.ts";
import { until } from "../../support/until.ts";

const seed = chosenSeed();
const HANDOFFS = 40;
const LATEST_MS = 40;

interface WakeUpFaults {
  lost: number;
  doubled: number;
  /** Delayed wake-ups that have not arrived yet. */
  pending: number;
  /** Drops every wake-up from now on. */
  dropAll: boolean;
}

/** Wraps a store so that its wake-ups are lost, duplicated or delayed. */
function withFaults(store: Store, random: Random, faults: WakeUpFaults): Store {
  return new Proxy(store, {
    get(target, name: keyof Store) {
      if (name !== "onWake") {
        const value = target[name];
        return typeof value === "function" ? value.bind(target) : value;
      }
      return (whom: Parameters<Store["onWake"]>[0], listener: () => void) =>
        target.onWake(whom, () => {
          const times = faults.dropAll ? 0 : random.below(3);
          if (times === 0) faults.lost++;
          if (times === 2) faults.doubled++;
          for (let n = 0; n < times; n++) {
            faults.pending++;
            setTimeout(() => {
              faults.pending--;
              listener();
            }, random.below(LATEST_MS));
          }
        });
    },
  });
}

describe.each(STORES)(`unreliable wake-ups on %s (BATON_SEED=${seed})`, (store) => {
  it("still deliver handoffs once, results and cancellations [DLV-5 DLV-12 DLV-18]", async () => {
    const random = randomFrom(seed);
    const faults = { lost: 0, doubled: 0, pending: 0, dropAll: false };
    const reopen = sharedStore(store);
    const open = async () => hubOn(store, withFaults(await reopen(), random, faults));
    const [here, there] = [await open(), await open()];
    const ada = await here.agent("ada", {});
    const crew = await Promise.all(
      [here, there].flatMap((hub) =>
        ["ben", "cyd"].map((name) => hub.agent(name, { role: "crew" })),
      ),
    );
    const over = new AbortController();
    const taken: string[] = [];
    const working = crew.map((agent) => work(agent, over.signal, taken));
    const sent: Sent<object>[] = [];
    for (let n = 0; n < HANDOFFS; n++) {
      const to = random.chance(0.5) ? "role:crew" : "ben";
      sent.push(await ada.handoff({ to, task: `task-${n}`, intent: "Look" }));
      if (random.chance(0.3)) await sleep(random.below(20));
      if (n === HANDOFFS - 2) {
        await Promise.all(sent.map((each) => each.completed({ timeoutMs: 60_000 })));
        faults.dropAll = true; // All agents are waiting by now; no wake-up will arrive.
        await until("what was put off has come", () => faults.pending === 0);
      }
    }
    const answers = await Promise.all(sent.map((each) => each.completed({ timeoutMs: 60_000 })));
    over.abort();
    await Promise.all(working);
    expect(answers.map(({ kind }) => kind)).toEqual(sent.map(() => "completed"));
    expect(taken.toSorted()).toEqual(sent.map(({ id }) => id).toSorted());

    const last = await ada.handoff({ to: "ben", task: "last", intent: "Stop" });
    const held = await crew[0]?.accept({ wait: true, signal: AbortSignal.timeout(60_000) });
    const stopped = new Promise((resolve) => held?.signal.addEventListener("abort", resolve));
    await last.cancel("Enough");
    await stopped;
    expect(held?.signal.reason).toMatchObject({ code: "cancelled" });
    expect(Math.min(faults.lost, faults.doubled), "something was spoiled").toBeGreaterThan(0);
  });
});

async function work(agent: Agent, signal: AbortSignal, taken: string[]): Promise<void> {
  for (;;) {
    const work = await agent.accept({ wait: true, signal });
    if (work === undefined) return;
    taken.push(work.id);
    await work.complete();
  }
}
