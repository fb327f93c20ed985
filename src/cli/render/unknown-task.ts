/** What is said of a task that nobody has handed over: perhaps another was meant. */

import { nearestNames } from "../../base/nearest-names.ts";
import type { Hub } from "../../hub/hub.ts";
import { oneLine } from "../terminal.ts";

/** How many handoffs back to look for a task that may have been meant. */
const RECENT_HANDOFFS = 200;

export async function unknownTaskMessage(hub: Hub, task: string): Promise<string> {
  const handoffs = (await hub.memories.recent({ type: "handoff", limit: RECENT_HANDOFFS })).items;
  const near = nearestNames(task, [...new Set(handoffs.map((memory) => memory.task ?? ""))]);
  const hint = near.length === 0 ? "" : ` Did you mean ${near.join(" or ")}?`;
  return `No handoffs of task "${oneLine(task)}".${hint}`;
}
