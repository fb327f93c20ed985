/**
 * A consumer process that holds a message is killed with SIGKILL while another waits for work: how
 * long until that one has the message. Everything that decides it (leases, locks, sweeps) is as
 * the system comes.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Place } from "../../engines/engine.ts";
import { now } from "../body.ts";
import type { Process } from "../processes.ts";
import type { Way } from "../system.ts";
import { until } from "./until.ts";

/**
 * The other one waits for work by then. Who waits looks at intervals; without the random part every
 * kill would meet the same moment of them.
 */
const calmMs = () => 1_000 + Math.random() * 1_000;

interface Kill {
  readonly way: Way;
  readonly capMs: number;
}

/** Milliseconds, or undefined when it took longer than `capMs`. Both processes are gone after it. */
export async function kill(
  [holder, heir]: readonly [Process, Process],
  place: Place,
  { way, capMs }: Kill,
): Promise<number | undefined> {
  try {
    await holder.ask("open", { address: place.address, way });
    await holder.ask("consume", { consumers: 1, inFlight: 1, hold: true });
    await heir.ask("open", { address: place.address, way });
    await heir.ask("send", { from: 1, count: 1, inFlight: 1 });
    await until("messages not held", 5, async () => 1 - (await holder.ask("progress")).taken);
    await heir.ask("consume", { consumers: 1, inFlight: 1 });
    await sleep(calmMs());
    const killedAt = now();
    await holder.kill();
    return await taken(heir, killedAt, capMs);
  } finally {
    await Promise.all([holder.kill(), heir.kill()]);
  }
}

async function taken(heir: Process, since: number, capMs: number): Promise<number | undefined> {
  while (now() - since < capMs) {
    const { taken, lastTakenAt } = await heir.ask("progress");
    if (taken > 0) return lastTakenAt - since;
    await sleep(10);
  }
  return undefined;
}
