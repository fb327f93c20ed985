/** Measures sending only, in one process: each caller awaits every acknowledgement. */
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

/** Returns messages per second, after a warm-up with a tenth as many. */
export async function enqueue(process: Process, place: Place, how: Enqueue): Promise<number> {
  const { inFlight, bulk, count } = how;
  await process.ask("open", { address: place.address, way: how.way });
  const warm = Math.ceil(count / 10);
  await process.ask("send", { from: 0, count: warm, inFlight, bulk });
  const { startedAt, endedAt } = await process.ask("send", { from: warm, count, inFlight, bulk });
  verifySent(await process.ask("totals"), warm + count);
  await process.ask("close");
  return (count / (endedAt - startedAt)) * 1000;
}
