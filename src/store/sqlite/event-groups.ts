/**
 * The events of one transaction in one workspace share a row: under load, dozens of handoffs are committed
 * together, and a row for each of their events would be a third of all rows. Event numbers increase through the
 * whole file; those of a row follow one another, so the row has the number of the last one.
 */
import { type EventKind, type EventRow, parseText } from "../rows.ts";

/** An event without its number and its time, which its row has. */
export type NewEvent = Omit<EventRow, "number" | "at">;

/** The columns of `eventsOf`. */
export const EVENT_GROUP_COLUMNS = "last, at, count, text";

/** A row of `event_groups`. */
export interface EventGroup {
  /** The number of its last event. */
  readonly last: number;
  readonly at: number;
  readonly count: number;
  /** The events as JSON, each a list. */
  readonly text: string;
}

type StoredEvent = [
  ...[attempt: number, kind: EventKind, agent: string, task: string],
  ...[delivery: string, envelope: string],
];

/** Returns the row for events that were recorded at the same time. */
export function eventGroup(
  events: readonly NewEvent[],
  { last, at }: Pick<EventGroup, "last" | "at">,
): EventGroup {
  const stored = events.map(
    ({ attempt, kind, agent, task, delivery, envelope }): StoredEvent => [
      ...([attempt, kind, agent, task] as const),
      ...([delivery, envelope] as const),
    ],
  );
  return { last, at, count: events.length, text: JSON.stringify(stored) };
}

/** Converts a row of `EVENT_GROUP_COLUMNS`. */
export function eventGroupOf(row: unknown): EventGroup {
  const [last, at, count, text] = row as [number, number, number, string];
  return { last, at, count, text };
}

/** Returns the events of a row, oldest first. Throws `store_corrupt` if the row is damaged. */
export function eventsOf({ last, at, text }: EventGroup): EventRow[] {
  const stored = parseText<StoredEvent[]>({ id: `event ${last}`, text });
  return stored.map(([attempt, kind, agent, task, delivery, envelope], i) => {
    const number = last - stored.length + 1 + i;
    return { number, at, kind, agent, task, delivery, envelope, attempt };
  });
}
