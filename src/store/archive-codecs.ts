/** Rows of an engine as rows of an archive: which table, which columns, and what they become. */
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

export const ARCHIVED_TABLES: Readonly<Record<RowKind, string>> = {
  agent: "agents",
  memory: "memories",
  envelope: "envelopes",
  delivery: "deliveries",
  attempt: "attempts",
  entry: "entries",
  event: "events",
};

export const ARCHIVED_COLUMNS: Readonly<Record<RowKind, string>> = {
  agent: AGENT_COLUMNS,
  memory: MEMORY_COLUMNS,
  envelope: "e.id, e.task, e.sender, m.id, e.text",
  delivery: DELIVERY_COLUMNS,
  attempt: ATTEMPT_COLUMNS,
  entry: ENTRY_COLUMNS,
  event: EVENT_COLUMNS,
};

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
