/**
 * How a task stands, by what there is of it: its closing, its deliveries, its parts. Never stored, so it
 * cannot come to differ. The first line of this table that fits counts:
 *
 * | closed | of its deliveries, any is             | open parts | state                         |
 * |--------|---------------------------------------|------------|-------------------------------|
 * | yes    | (none held, asked, offered or waits)  |            | as it was closed              |
 * |        | held, asked                           |            | in_progress                   |
 * |        | offered                               |            | open                          |
 * |        | waits                                 |            | blocked, by other tasks       |
 * |        | undecided, given_up                   |            | blocked, by a failure         |
 * |        |                                       | yes        | in_progress, by its parts     |
 * |        |                                       |            | open: it is to be closed      |
 */

import { isForever } from "../../delivery/settings/policy.ts";
import type { Envelope } from "../../envelope/schema.ts";
import type { StoredClosing } from "../../memory/stored-ledger.ts";
import { type DeliveryRow, isOpen } from "../../store/rows.ts";

/** A task that is not closed has one of these. */
export const OPEN_TASK_STATES = ["open", "blocked", "in_progress"] as const;
export const TASK_STATES = [...OPEN_TASK_STATES, "done", "failed", "cancelled"] as const;
export type OpenTaskState = (typeof OPEN_TASK_STATES)[number];
export type TaskState = (typeof TASK_STATES)[number];

/** How one delivery stands, as far as its task goes. */
export const TASK_DELIVERY_STATUSES = [
  /** Somebody has it. */
  "held",
  /** Its holder asked back. */
  "asked",
  /** Somebody can take it, now or after a pause. */
  "offered",
  /** For other tasks or handoffs. */
  "waits",
  /** A failure that somebody is to decide about. */
  "undecided",
  /** Every try of it was in vain, and nobody has decided yet. */
  "given_up",
  /** Completed, taken back or replaced; or a failure that was decided about. */
  "over",
] as const;
export type TaskDeliveryStatus = (typeof TASK_DELIVERY_STATUSES)[number];

export function taskDeliveryStatusOf(
  { state, readyAt }: Pick<DeliveryRow, "state" | "readyAt">,
  { failure, after, joins, results }: Pick<Envelope, "after" | "failure" | "joins" | "results">,
): TaskDeliveryStatus {
  if (failure !== undefined) return isOpen(state) ? "undecided" : "over";
  switch (state) {
    case "claimed":
    case "accepted":
      return "held";
    case "waiting":
      return "asked";
    case "ready":
      return "offered";
    case "scheduled":
      if (results === undefined && (after ?? joins) !== undefined) return "waits";
      return isForever(readyAt) ? "given_up" : "offered";
    case "dead":
    case "declined":
    case "expired":
      return "given_up";
    case "cancelled":
    case "completed":
    case "superseded":
      return "over";
  }
}

export interface TaskStateInput {
  readonly closed: StoredClosing["as"] | undefined;
  readonly stands: readonly TaskDeliveryStatus[];
  /** Whether a part of it is not closed. */
  readonly hasOpenParts: boolean;
}

/** Why it is as it is: which line of the table. */
export type TaskStateReason =
  | "closed"
  | "held"
  | "asked"
  | "offered"
  | "waits"
  | "failure"
  | "parts"
  | "ended";

const STATE_PRECEDENCE: readonly (readonly [TaskDeliveryStatus, TaskStateReason, OpenTaskState])[] =
  [
    ["held", "held", "in_progress"],
    ["asked", "asked", "in_progress"],
    ["offered", "offered", "open"],
    ["waits", "waits", "blocked"],
    ["undecided", "failure", "blocked"],
    ["given_up", "failure", "blocked"],
  ];

/** Work that somebody does, or will do unless it is taken back. */
const ACTIVE_STATUSES: readonly TaskDeliveryStatus[] = ["held", "asked", "offered", "waits"];

export function stateOf({ closed, stands, hasOpenParts }: TaskStateInput): {
  readonly state: TaskState;
  readonly ground: TaskStateReason;
} {
  if (closed !== undefined && !stands.some((stand) => ACTIVE_STATUSES.includes(stand))) {
    return { state: closed, ground: "closed" };
  }
  const found = STATE_PRECEDENCE.find(([stand]) => stands.includes(stand));
  if (found !== undefined) return { state: found[2], ground: found[1] };
  return hasOpenParts
    ? { state: "in_progress", ground: "parts" }
    : { state: "open", ground: "ended" };
}
