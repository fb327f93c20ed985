/**
 * The public type of an event, and its conversion from the stored row: fields that are "" or 0 in the row are
 * absent.
 */
import type { EventKind, EventRow } from "../store/rows.ts";

/** One entry of the workspace's numbered log. */
export interface HubEvent {
  /** Increases with every event of the store; pass it as `after` to get the events that follow. */
  readonly number: number;
  /** Store time in milliseconds. */
  readonly at: number;
  readonly kind: EventKind;
  /** The agent that caused it; absent if the hub did. */
  readonly agent?: string;
  readonly task?: string;
  readonly delivery?: string;
  readonly envelope?: string;
  /** The attempt of the delivery it belongs to. */
  readonly attempt?: number;
}

/** Converts a stored event. */
export const eventOf = (row: EventRow): HubEvent => ({
  number: row.number,
  at: row.at,
  kind: row.kind,
  ...(row.agent !== "" && { agent: row.agent }),
  ...(row.task !== "" && { task: row.task }),
  ...(row.delivery !== "" && { delivery: row.delivery }),
  ...(row.envelope !== "" && { envelope: row.envelope }),
  ...(row.attempt > 0 && { attempt: row.attempt }),
});
