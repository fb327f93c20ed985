/** Builds the message for a task without handoffs, with similar task names. */

import { nearestNames } from "../../base/nearest-names.ts";
import type { Hub } from "../../hub/hub.ts";
import { oneLine } from "../terminal.ts";

/** Number of recent handoffs searched for similar task names. */
const RECENT_HANDOFFS = 200;

/** Returns the message; it suggests tasks with a similar name. */
export async function unknownTaskMessage(hub: Hub, task: string): Promise<string> {
  const handoffs = (await hub.memories.recent({ type: "handoff", limit: RECENT_HANDOFFS })).items;
  const near = nearestNames(task, [...new Set(handoffs.map((memory) => memory.task ?? ""))]);
  const hint = near.length === 0 ? "" : ` Did you mean ${near.join(" or ")}?`;
  return `No handoffs of task "${oneLine(task)}".${hint}`;
}
