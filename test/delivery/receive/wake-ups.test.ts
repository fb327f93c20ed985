/**
 * Wake-ups are hints: lost, doubled, late or out of order, everything still reaches who waits for it,
 * once. The calls of the store are spoiled on their way to the hubs, by a seed.
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

interface Spoils {
  lost: number;
  doubled: number;
  /** Put off, and not come yet. */
  pending: number;
  /** From now on nothing is heard any more. */
  deaf: boolean;
}

/** The same store, whose calls are lost, doubled and put off. */
function spoiled(store: Store, random: Random, spoils: Spoils): Store {
  return new Proxy(store, {
    get(target, name: keyof Store) {
      if (name !== "onWake") {
        const value = target[name];
        return typeof value === "function" ? value.bind(target) : value;
      }
      return (whom: Parameters<Store["onWake"]>[0], listener: () => void) =>
        target.onWake(whom, () => {
          const times = spoils.deaf ? 0 : random.below(3);
          if (times === 0) spoils.lost++;
          if (times === 2) spoils.doubled++;
          for (let n = 0; n < times; n++) {
            spoils.pending++;
            setTimeout(() => {
              spoils.pending--;
              listener();
            }, random.below(LATEST_MS));
          }
        });
    },
  });
}

describe.each(STORES)(`with spoiled wake-ups on %s (BATON_SEED=${seed})`, (store) => {
  it("every handoff reaches one of those who wait, once; senders hear of it, holders of a cancellation [DLV-5 DLV-12 DLV-18]", async () => {
    const random = randomFrom(seed);
    const spoils = { lost: 0, doubled: 0, pending: 0, deaf: false };
    const reopen = sharedStore(store);
    const open = async () => hubOn(store, spoiled(await reopen(), random, spoils));
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
        spoils.deaf = true; // All agents wait by now; no wake-up will come.
        await until("what was put off has come", () => spoils.pending === 0);
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
    expect(Math.min(spoils.lost, spoils.doubled), "something was spoiled").toBeGreaterThan(0);
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
