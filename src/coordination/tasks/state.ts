/**
 * Derives the state of a task from its closing, its deliveries and its parts. The state is never stored, so
 * it cannot become inconsistent. The first matching row of this table applies:
 *
 * | closed | of its deliveries, any is             | open parts | state                         |
 * |--------|---------------------------------------|------------|-------------------------------|
 * | yes    | (none held, asked, offered or waits)  |            | as it was closed              |
 * |        | held, asked                           |            | in_progress                   |
 * |        | offered                               |            | open                          |
 * |        | waits                                 |            | blocked, by other tasks       |
 * |        | undecided, given_up                   |            | blocked, by a failure         |
 * |        |                                       | yes        | in_progress, by its parts     |
 * |        |                                       |            | open: an agent must close it  |
 */

import { isForever } from "../../delivery/settings/policy.ts";
import type { Envelope } from "../../envelope/schema.ts";
import type { StoredClosing } from "../../memory/stored-ledger.ts";
import { type DeliveryRow, isOpen } from "../../store/rows.ts";

/** The states of a task that is not closed. */
export const OPEN_TASK_STATES = ["open", "blocked", "in_progress"] as const;
/** Every state of a task, in the order of the board. */
export const TASK_STATES = [...OPEN_TASK_STATES, "done", "failed", "cancelled"] as const;
export type OpenTaskState = (typeof OPEN_TASK_STATES)[number];
export type TaskState = (typeof TASK_STATES)[number];

/** The status of one delivery, as far as its task is concerned. */
export const TASK_DELIVERY_STATUSES = [
  /** An agent holds it. */
  "held",
  /** Its holder asked a question. */
  "asked",
  /** It can be claimed, now or after a delay. */
  "offered",
  /** It waits for other tasks or handoffs. */
  "waits",
  /** It reports a failure that waits for a decision. */
  "undecided",
  /** Every attempt failed, and no decision was made yet. */
  "given_up",
  /** Completed, cancelled or replaced; or a failure that was decided. */
  "over",
] as const;
export type TaskDeliveryStatus = (typeof TASK_DELIVERY_STATUSES)[number];

/** Returns the status that a delivery has for its task. */
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

/** What the state of a task is derived from. */
export interface TaskStateInput {
  readonly closed: StoredClosing["as"] | undefined;
  readonly stands: readonly TaskDeliveryStatus[];
  /** True if a part of it is not closed. */
  readonly hasOpenParts: boolean;
}

/** Why a task has its state: one per row of the table. */
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

/** Statuses of work that is in progress, or will be unless it is cancelled. */
const ACTIVE_STATUSES: readonly TaskDeliveryStatus[] = ["held", "asked", "offered", "waits"];

/** Returns the state of a task and the row of the table that decided it. */
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
