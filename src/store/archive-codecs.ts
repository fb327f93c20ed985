/**
 * Converts database rows to archive rows, for every store that exports: the table and the columns to read
 * for each kind of row, and the function that turns the columns into a row.
 */
import type { ArchivedRow, RowKind } from "./archive.ts";
import {
  AGENT_COLUMNS,
  ATTEMPT_COLUMNS,
  agentOf,
  attemptOf,
  DELIVERY_COLUMNS,
  deliveryOf,
  ENTRY_COLUMNS,
  EVENT_COLUMNS,
  entryOf,
  eventOf,
  MEMORY_COLUMNS,
  memoryOf,
} from "./codecs.ts";

/** The table that holds the rows of each kind. */
export const ARCHIVED_TABLES: Readonly<Record<RowKind, string>> = {
  agent: "agents",
  memory: "memories",
  envelope: "envelopes",
  delivery: "deliveries",
  attempt: "attempts",
  entry: "entries",
  event: "events",
};

/** The columns that `archivedRowOf` expects, in order. Envelopes join their handoff record as `m`. */
export const ARCHIVED_COLUMNS: Readonly<Record<RowKind, string>> = {
  agent: AGENT_COLUMNS,
  memory: MEMORY_COLUMNS,
  envelope: "e.id, e.task, e.sender, m.id, e.text",
  delivery: DELIVERY_COLUMNS,
  attempt: ATTEMPT_COLUMNS,
  entry: ENTRY_COLUMNS,
  event: EVENT_COLUMNS,
};

/**
 * Returns the archive row for the columns of `ARCHIVED_COLUMNS[kind]`. Throws `store_corrupt` if it is
 * damaged.
 */
export function archivedRowOf(kind: RowKind, row: unknown): ArchivedRow {
  switch (kind) {
    case "agent":
      return { kind, row: agentOf(row) };
    case "memory": {
      const { pos: _, ...memory } = memoryOf(row);
      return { kind, row: memory };
    }
    case "envelope": {
      const [id, task, sender, memory, text] = row as [string, string, string, string, string];
      return { kind, row: { id, task, sender, memory, text } };
    }
    case "delivery":
      return { kind, row: deliveryOf(row) };
    case "attempt":
      return { kind, row: attemptOf(row) };
    case "entry":
      return { kind, row: entryOf(row) };
    case "event":
      return { kind, row: eventOf(row) };
  }
}
