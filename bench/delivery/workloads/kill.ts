/**
 * Measures redelivery after a crash: a consumer process that holds a message is killed with SIGKILL
 * while another waits for work. The result is the time until the other has the message. Leases,
 * locks and sweeps have the system's default settings.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Place } from "../../engines/engine.ts";
import { now } from "../body.ts";
import type { Process } from "../processes.ts";
import type { Way } from "../system.ts";
import { until } from "./until.ts";

/**
 * Time for the other consumer to start waiting. Waiting consumers poll at intervals; without the
 * random part, every kill would happen at the same point of the interval.
 */
const settleMs = () => 1_000 + Math.random() * 1_000;

interface Kill {
  readonly way: Way;
  readonly capMs: number;
}

/** Returns milliseconds, or undefined if it took longer than `capMs`. Kills both processes. */
export async function kill(
  [holder, successor]: readonly [Process, Process],
  place: Place,
  { way, capMs }: Kill,
): Promise<number | undefined> {
  try {
    await holder.ask("open", { address: place.address, way });
    await holder.ask("consume", { consumers: 1, inFlight: 1, hold: true });
    await successor.ask("open", { address: place.address, way });
    await successor.ask("send", { from: 1, count: 1, inFlight: 1 });
    await until("messages not held", 5, async () => 1 - (await holder.ask("progress")).taken);
    await successor.ask("consume", { consumers: 1, inFlight: 1 });
    await sleep(settleMs());
    const killedAt = now();
    await holder.kill();
    return await taken(successor, killedAt, capMs);
  } finally {
    await Promise.all([holder.kill(), successor.kill()]);
  }
}

async function taken(
  successor: Process,
  since: number,
  capMs: number,
): Promise<number | undefined> {
  while (now() - since < capMs) {
    const { taken, lastTakenAt } = await successor.ask("progress");
    if (taken > 0) return lastTakenAt - since;
    await sleep(10);
  }
  return undefined;
}
