/**
 * Measures the operations on one engine. Every number is the same on each machine and under any
 * load: operations run one at a time, ids and randomness come from a seed, and time stands still
 * unless a script lets it pass, so that no cache expires and no timer fires.
 *
 * What is measured is a warm hub: each script first runs without being counted, so that caches are
 * filled and statements are prepared. Then all runs must cost the same. Only log frames differ,
 * when a page of an index is split: their median counts.
 */
import { vi } from "vitest";
import { systemClock } from "../../../src/base/clock.ts";
import { type Agent, type Hub, LocalHub, type Store } from "../../../src/index.ts";
import { seededIds, seededRandom } from "../../../src/testing/seeded-ids.ts";
import { type Cost, differencesOf } from "./cost.ts";
import type { Counter } from "./counter.ts";
import { type Count, SCRIPTS, type Script, type Team } from "./operations.ts";
import { postgresCounter } from "./postgres-counter.ts";
import { sqliteCounter } from "./sqlite-counter.ts";

const COUNTERS = { sqlite: sqliteCounter, postgres: postgresCounter };

export type MeasuredStore = keyof typeof COUNTERS;

const WARM_RUNS = 2;
const COUNTED_RUNS = 5;
const SEED = 1;
const START = Date.UTC(2026, 0, 1);
/** Timers are advanced by this much at a time; the delays of all timers of a hub are multiples. */
const STEP_MS = 50;
/** Turns of the event loop without a pending operation, after which none is expected any more. */
const QUIET_TURNS = 10;

/** Returns the cost of each operation. */
export async function measure(store: MeasuredStore): Promise<Readonly<Record<string, Cost>>> {
  vi.useFakeTimers({
    toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "Date", "performance"],
  });
  try {
    await using counter = COUNTERS[store]();
    const costs = new Map<string, readonly Cost[]>();
    for (const [n, script] of SCRIPTS.entries()) {
      for (const [operation, runs] of await repeat(counter, script, `script-${n}`)) {
        costs.set(operation, runs);
      }
    }
    return Object.fromEntries([...costs].map(([name, runs]) => [name, costOf(name, runs)]));
  } finally {
    vi.useRealTimers();
  }
}

/** Runs a script until each of its operations was counted several times. */
async function repeat(
  counter: Counter,
  script: Script,
  name: string,
): Promise<Map<string, readonly Cost[]>> {
  if (!script.isAlone) {
    return runScript(counter, script, { workspace: name, warm: WARM_RUNS, counted: COUNTED_RUNS });
  }
  const all = new Map<string, readonly Cost[]>();
  for (let run = 0; run < COUNTED_RUNS; run++) {
    const how = { workspace: `${name}-run-${run}`, warm: 0, counted: 1 };
    for (const [operation, costs] of await runScript(counter, script, how)) {
      all.set(operation, [...(all.get(operation) ?? []), ...costs]);
    }
  }
  return all;
}

interface Runs {
  readonly workspace: string;
  /** The number of runs that are not counted. */
  readonly warm: number;
  readonly counted: number;
}

async function runScript(
  counter: Counter,
  script: Script,
  { workspace, warm, counted }: Runs,
): Promise<Map<string, readonly Cost[]>> {
  vi.setSystemTime(START);
  const pending = new PendingCalls(counter);
  const store = pending.watch(await counter.open(script.hasTimers === true));
  await using hub = new LocalHub(store, {
    ...(script.hasTimers ? {} : { clock: systemClock }),
    workspace,
    ids: seededIds(SEED, systemClock),
    random: seededRandom(SEED),
    processes: { self: "process-1", isGone: () => false },
    embedder: false,
    files: false,
  });
  const team = await openTeam(hub, pending);
  await script.prepare?.(team);
  const costs = new Map<string, readonly Cost[]>();
  let isWarm = false;
  const count: Count = async (operation, run) => {
    vi.advanceTimersByTime(1);
    await pending.settled();
    await counter.take();
    const outcome = await run();
    await pending.settled();
    const cost = await counter.take();
    if (isWarm) costs.set(operation, [...(costs.get(operation) ?? []), cost]);
    return outcome;
  };
  for (let run = 0; run < warm + counted; run++) {
    isWarm = run >= warm;
    await script.run(team, count);
  }
  return costs;
}

async function openTeam(hub: Hub, pending: PendingCalls): Promise<Team> {
  let last = 0;
  /** Waits for the index, which is filled when the first record was written. */
  const agent = async (name: string, lease: "process" | "session"): Promise<Agent> => {
    const opened = await hub.agent(name, { role: name }, { lease, instance: `${name}-1` });
    await pending.settled();
    return opened;
  };
  return {
    hub,
    planner: await agent("planner", "process"),
    coder: await agent("coder", "process"),
    critic: await agent("critic", "process"),
    runner: await agent("runner", "session"),
    next: () => ++last,
    settled: () => pending.settled(),
    async pass(ms) {
      for (let left = ms; left > 0; left -= STEP_MS) {
        vi.advanceTimersByTime(STEP_MS);
        await pending.settled();
      }
    },
  };
}

/** Follows the operations of a store, so that one can wait for what runs in the background. */
class PendingCalls {
  readonly #counter: Counter;
  #pending = 0;

  constructor(counter: Counter) {
    this.#counter = counter;
  }

  watch(store: Store): Store {
    return new Proxy(store, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name);
        if (typeof value !== "function") return value;
        return (...given: unknown[]): unknown => {
          const outcome: unknown = value.apply(target, given);
          if (outcome instanceof Promise) this.#follow(outcome);
          return outcome;
        };
      },
    });
  }

  async settled(): Promise<void> {
    for (let quiet = 0; quiet < QUIET_TURNS; quiet++) {
      await new Promise(setImmediate);
      if (this.#pending > 0 || this.#counter.isBusy()) quiet = -1;
    }
  }

  #follow(outcome: Promise<unknown>): void {
    this.#pending++;
    const done = (): void => {
      this.#pending--;
    };
    outcome.then(done, done);
  }
}

/** Returns the cost that all runs have in common. Throws if an operation is not repeatable. */
function costOf(operation: string, runs: readonly Cost[]): Cost {
  const [first, ...others] = runs as [Cost, ...Cost[]];
  const differences = others.flatMap((other) =>
    differencesOf(operation, withoutFrames(other), withoutFrames(first)),
  );
  if (differences.length > 0) {
    throw new Error(`Runs differ in their costs, against the first:\n${differences.join("\n")}`);
  }
  return first.logFrames === undefined ? first : { ...first, logFrames: medianOf(runs) };
}

function withoutFrames({ logFrames: _, ...cost }: Cost): Cost {
  return cost;
}

function medianOf(runs: readonly Cost[]): number {
  const frames = runs.map(({ logFrames = 0 }) => logFrames).sort((a, b) => a - b);
  return frames[Math.floor(frames.length / 2)] ?? 0;
}
