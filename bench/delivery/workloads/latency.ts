/**
 * Measures wake-up latency: a producer process sends one message every 10 ms, and a consumer
 * process waits for them. Latency is the time from the send call until the consumer has the
 * message. Then measures the CPU usage of the waiting consumer while no messages arrive.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Place } from "../../engines/engine.ts";
import { quantile } from "../../kit.ts";
import type { Process } from "../processes.ts";
import type { Way } from "../system.ts";
import { until } from "./until.ts";
import { verifyCompleted } from "./verify.ts";

const EVERY_MS = 10;
/** Warm-up messages at the start, not counted. */
const WARM = 100;
const SETTLE_MS = 2_000;

export interface Latency {
  readonly way: Way;
  readonly seconds: number;
  /** Duration of the idle CPU measurement; 0 to skip it. */
  readonly idleSeconds: number;
}

export interface LatencyResult {
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly max: number;
  readonly idleCpuPercent: number | undefined;
}

export async function latency(
  [producer, consumer]: readonly [Process, Process],
  place: Place,
  { way, seconds, idleSeconds }: Latency,
): Promise<LatencyResult> {
  for (const process of [producer, consumer]) {
    await process.ask("open", { address: place.address, way });
  }
  await consumer.ask("consume", { consumers: 1, inFlight: 4 });
  const count = WARM + (seconds * 1000) / EVERY_MS;
  await producer.ask("pace", { count, everyMs: EVERY_MS });
  const untaken = async () => count - (await consumer.ask("progress")).taken;
  await until("messages not taken", 20, untaken);
  await until("messages unfinished", 20, async () => (await producer.ask("totals")).left);
  const { latencies, numbers } = await consumer.ask("findings");
  verifyCompleted(await producer.ask("totals"), numbers, count);
  const idleCpuPercent = await idle([producer, consumer], idleSeconds);
  await Promise.all([producer.ask("close"), consumer.ask("close")]);
  const counted = latencies.slice(WARM);
  return {
    p50: quantile(counted, 0.5),
    p95: quantile(counted, 0.95),
    p99: quantile(counted, 0.99),
    max: quantile(counted, 1),
    idleCpuPercent,
  };
}

async function idle(
  [producer, consumer]: readonly [Process, Process],
  seconds: number,
): Promise<number | undefined> {
  if (seconds === 0) return undefined;
  await sleep(SETTLE_MS);
  const percent = await consumer.ask("idle", { ms: seconds * 1000 });
  const { left } = await producer.ask("totals");
  if (left !== 0) throw new Error("A message arrived during the idle measurement");
  return percent;
}
