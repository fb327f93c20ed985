/**
 * Measures from the first send to the last acknowledged completion: one producer with 64 messages
 * in flight and four concurrent consumers, all in one process or each in its own.
 */
import type { Place } from "../../engines/engine.ts";
import { quantile } from "../../kit.ts";
import { now } from "../body.ts";
import type { Findings } from "../child.ts";
import type { Process } from "../processes.ts";
import type { System, Way } from "../system.ts";
import { until } from "./until.ts";
import { verifyCompleted } from "./verify.ts";

const CONSUMERS = 4;
const IN_FLIGHT = 64;
const POLL_MS = 20;

export interface EndToEnd {
  readonly system: System;
  readonly way: Way;
  readonly count: number;
  readonly bulk: boolean;
}

export interface EndToEndResult {
  readonly perSecond: number;
  /** Share of the messages completed by each consumer. */
  readonly shares: readonly number[];
  readonly operations: Tail | undefined;
  readonly lockWaits: Tail | undefined;
}

/** Percentiles of a distribution, in milliseconds. */
interface Tail {
  readonly p50: number;
  readonly p999: number;
  readonly max: number;
  readonly count: number;
}

export function inOneProcess(process: Process, place: Place, run: EndToEnd) {
  return endToEnd({ producer: process, consumers: [process], each: CONSUMERS }, place, run);
}

export const PROCESSES = CONSUMERS + 1;

export function inFiveProcesses(processes: readonly Process[], place: Place, run: EndToEnd) {
  const [producer, ...consumers] = processes;
  if (producer === undefined) throw new Error("no process");
  return endToEnd({ producer, consumers, each: 1 }, place, run);
}

interface Participants {
  readonly producer: Process;
  readonly consumers: readonly Process[];
  /** Consumers in each process. */
  readonly each: number;
}

async function endToEnd(
  participants: Participants,
  place: Place,
  run: EndToEnd,
): Promise<EndToEndResult> {
  const { producer, consumers, each } = participants;
  const { way, count, bulk } = run;
  const all = [...new Set([producer, ...consumers])];
  for (const process of all) await process.ask("open", { address: place.address, way });
  const consuming = { consumers: each, inFlight: IN_FLIGHT / CONSUMERS };
  await Promise.all(consumers.map((process) => process.ask("consume", consuming)));

  const warm = Math.ceil(count / 5);
  await producer.ask("send", { from: 0, count: warm, inFlight: IN_FLIGHT, bulk });
  await waitUntilDone(participants, run.system, warm);
  await Promise.all(all.map((process) => process.ask("forget")));

  const { startedAt } = await producer.ask("send", { from: 0, count, inFlight: IN_FLIGHT, bulk });
  const { endedAt, done } = await waitUntilDone(participants, run.system, count);
  const findings = await Promise.all(all.map((process) => process.ask("findings")));
  const totals = await producer.ask("totals");
  const completed = totals.completed === undefined ? undefined : totals.completed - warm;
  verifyCompleted({ ...totals, completed }, pooled(findings, "numbers"), count);
  await Promise.all(all.map((process) => process.ask("close")));
  return {
    perSecond: (count / (endedAt - startedAt)) * 1000,
    shares: done.map((own) => own / count),
    operations: tail(pooled(findings, "operations")),
    lockWaits: tail(pooled(findings, "lockWaits")),
  };
}

async function waitUntilDone({ producer, consumers }: Participants, system: System, count: number) {
  let done: number[] = [];
  let lastDoneAt = 0;
  await until("messages not done", POLL_MS, async () => {
    const progress = await Promise.all(consumers.map((process) => process.ask("progress")));
    done = progress.flatMap((own) => own.done);
    lastDoneAt = Math.max(...progress.map((own) => own.lastDoneAt));
    return count - done.reduce((sum, own) => sum + own, 0);
  });
  return {
    done,
    endedAt: system.acknowledgesCompletion
      ? lastDoneAt
      : await waitUntilEmpty(producer, lastDoneAt),
  };
}

/** Returns when the store became empty. If it already was, returns when the last handler ended. */
async function waitUntilEmpty(process: Process, lastHandledAt: number): Promise<number> {
  const retries = await until(
    "messages unfinished",
    1,
    async () => (await process.ask("totals")).left,
  );
  return retries === 0 ? lastHandledAt : now();
}

const pooled = (findings: readonly Findings[], what: keyof Findings): number[] =>
  findings.flatMap((own) => own[what]);

function tail(values: readonly number[]): Tail | undefined {
  if (values.length === 0) return undefined;
  return {
    p50: quantile(values, 0.5),
    p999: quantile(values, 0.999),
    max: quantile(values, 1),
    count: values.length,
  };
}
