/** Sending only, one process: each send acknowledged before its caller's next. */
import type { Place } from "../../engines/engine.ts";
import type { Process } from "../processes.ts";
import type { Way } from "../system.ts";
import { verifySent } from "./verify.ts";

export interface Enqueue {
  readonly inFlight: number;
  readonly count: number;
  readonly bulk: boolean;
  readonly way: Way;
}

/** Messages per second. A tenth as many again are sent before, uncounted. */
export async function enqueue(process: Process, place: Place, how: Enqueue): Promise<number> {
  const { inFlight, bulk, count } = how;
  await process.ask("open", { address: place.address, way: how.way });
  const warm = Math.ceil(count / 10);
  await process.ask("send", { from: 0, count: warm, inFlight, bulk });
  const { startedAt, endedAt } = await process.ask("send", { from: warm, count, inFlight, bulk });
  verifySent(await process.ask("books"), warm + count);
  await process.ask("close");
  return (count / (endedAt - startedAt)) * 1000;
}
