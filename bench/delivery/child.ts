/**
 * A process of one system, which sends, consumes and reports on request. It lives for the whole
 * run, so that its code is compiled before measurements start; each measurement opens a new store
 * and closes it again.
 */
import { subscribe } from "node:diagnostics_channel";
import { setTimeout as sleep } from "node:timers/promises";
import { callersLoop } from "../kit.ts";
import { bodyOf, now } from "./body.ts";
import type { Connection, Consumption, Tally } from "./system.ts";
import { systemOf } from "./systems.ts";

export interface Sending {
  /** Number of the first message. */
  readonly from: number;
  readonly count: number;
  readonly inFlight: number;
  /** Uses the bulk call, with `inFlight` messages each. */
  readonly bulk?: boolean;
}

export interface Span {
  readonly startedAt: number;
  readonly endedAt: number;
}

export interface Progress {
  /** Completed messages of each consumer in this process. */
  readonly done: readonly number[];
  readonly lastDoneAt: number;
  readonly taken: number;
  readonly lastTakenAt: number;
}

export interface Findings {
  /** The numbers of the messages taken. */
  readonly numbers: readonly number[];
  /** Milliseconds from the send call until a consumer has the message, in order of arrival. */
  readonly latencies: readonly number[];
  readonly operations: readonly number[];
  /** Milliseconds each transaction waited for SQLite's write lock, if the store publishes it. */
  readonly lockWaits: readonly number[];
}

const system = systemOf(process.argv[2] ?? "");
let connection: Connection | undefined;
let consumption: Consumption | undefined;
let failure: unknown;
let seen = nothingSeen();

function nothingSeen() {
  return {
    done: [] as number[],
    lastDoneAt: 0,
    lastTakenAt: 0,
    numbers: [] as number[],
    latencies: [] as number[],
    operations: [] as number[],
    lockWaits: [] as number[],
  };
}

subscribe("batonpass:sqlite:lock", (message) => {
  seen.lockWaits.push((message as { waitedMs: number }).waitedMs);
});

function opened(): Connection {
  if (connection === undefined) throw new Error("The connection is not open");
  return connection;
}

/** The requests that the benchmark can make. */
const VERBS = {
  async open({ address, way }: { address: string; way: string }): Promise<void> {
    seen = nothingSeen();
    failure = undefined;
    connection = await system.open(address, way);
  },

  async consume(how: { consumers: number; inFlight: number; hold?: boolean }): Promise<void> {
    seen.done = Array.from({ length: how.consumers }, () => 0);
    consumption = await opened().consume({
      ...how,
      async take(body) {
        seen.lastTakenAt = now();
        seen.numbers.push(body.n);
        if (body.sent > 0) seen.latencies.push(seen.lastTakenAt - body.sent);
        if (how.hold) await new Promise(() => {});
      },
      done(consumer) {
        seen.done[consumer] = (seen.done[consumer] ?? 0) + 1;
        seen.lastDoneAt = now();
      },
      timed: (ms) => seen.operations.push(ms),
      failed(error) {
        failure ??= error;
      },
    });
  },

  async send({ from, count, inFlight, bulk }: Sending): Promise<Span> {
    const to = opened();
    const { sendMany } = to;
    const startedAt = now();
    if (bulk) {
      if (sendMany === undefined) throw new Error(`${system.title} has no bulk call`);
      for (let n = 0; n < count; n += inFlight) {
        const size = Math.min(inFlight, count - n);
        await sendMany(Array.from({ length: size }, (_, i) => bodyOf(from + n + i)));
      }
    } else {
      await callersLoop(inFlight, count, (n) => to.send(bodyOf(from + n)));
    }
    return { startedAt, endedAt: now() };
  },

  /** Sends a message every `everyMs` without waiting for the previous acknowledgement. */
  async pace({ count, everyMs }: { count: number; everyMs: number }): Promise<void> {
    const to = opened();
    const start = now();
    const sent: Promise<unknown>[] = [];
    for (let n = 0; n < count; n++) {
      const early = start + n * everyMs - now();
      if (early > 0) await sleep(early);
      sent.push(to.send(bodyOf(n, now())));
    }
    await Promise.all(sent);
  },

  async progress(): Promise<Progress> {
    if (failure !== undefined) throw failure;
    const { done, lastDoneAt, lastTakenAt, numbers } = seen;
    return { done, lastDoneAt, lastTakenAt, taken: numbers.length };
  },

  async findings(): Promise<Findings> {
    const { numbers, latencies, operations, lockWaits } = seen;
    return { numbers, latencies, operations, lockWaits };
  },

  /** Discards the results so far, after the warm-up. */
  async forget(): Promise<void> {
    seen = { ...nothingSeen(), done: seen.done.map(() => 0) };
  },

  totals: (): Promise<Tally> => opened().totals(),

  /** Returns the CPU usage of this process (all threads) in percent of one core. */
  async idle({ ms }: { ms: number }): Promise<number> {
    const before = process.cpuUsage();
    const start = now();
    await sleep(ms);
    const { user, system: kernel } = process.cpuUsage(before);
    return ((user + kernel) / 1000 / (now() - start)) * 100;
  },

  async close(): Promise<void> {
    await consumption?.stop();
    await connection?.close();
    consumption = undefined;
    connection = undefined;
  },
};

export type Verbs = typeof VERBS;

interface Question {
  readonly id: number;
  readonly verb: keyof Verbs;
  readonly given: unknown;
}

process.on("message", async ({ id, verb, given }: Question) => {
  try {
    const run = VERBS[verb] as (given: unknown) => Promise<unknown>;
    process.send?.({ id, answer: await run(given) });
  } catch (error) {
    process.send?.({ id, error: error instanceof Error ? error.message : String(error) });
  }
});
process.on("disconnect", () => process.exit());
