/**
 * Reads everything in a workspace from one snapshot, on a separate connection: concurrent writes are not
 * included and do not wait. The log cannot be reset before the last row was read, so it grows for as long as
 * the export takes.
 */
import type { DatabaseSync, StatementSync } from "node:sqlite";
import {
  type ArchiveSummary,
  byCodePoint,
  type ExportItem,
  inSlices,
  ROW_KINDS,
  type RowKind,
} from "../../archive.ts";
import { ARCHIVED_COLUMNS, ARCHIVED_TABLES, archivedRowOf } from "../../archive-codecs.ts";
import type { EventRow } from "../../rows.ts";
import { EVENT_GROUP_COLUMNS, eventGroupOf, eventsOf } from "../event-groups.ts";
import { numberOf } from "../scalar.ts";

const rows = (kind: RowKind, rest: string): string =>
  `select ${ARCHIVED_COLUMNS[kind]} from ${rest}`;

/**
 * `+` makes SQLite read in the order of positions, instead of by the index over ids with a sort afterwards.
 */
const ROWS: Readonly<Record<RowKind, string>> = {
  agent: rows("agent", "agents a where a.workspace = ? order by a.id"),
  memory: rows(
    "memory",
    "memories m join chains c on c.key = m.chain where +m.workspace = ? order by m.pos",
  ),
  envelope: rows(
    "envelope",
    "envelopes e join memories m on m.pos = e.pos where +e.workspace = ? order by e.pos",
  ),
  delivery: rows("delivery", "deliveries d where d.workspace = ? order by d.id"),
  attempt: rows("attempt", "attempts where workspace = ? order by delivery, key"),
  entry: rows("entry", "entries where workspace = ? order by kind, name"),
  event: `select ${EVENT_GROUP_COLUMNS} from event_groups where workspace = ? order by last`,
};

/** Yields the summary, then all rows, in the connection's transaction. Closes the connection at the end. */
export async function* exportWorkspace(
  db: DatabaseSync,
  workspace: string,
): AsyncGenerator<ExportItem> {
  try {
    db.exec("begin");
    const key = numberOf(statement(db, "select key from workspaces where name = ?").get(workspace));
    yield { kind: "summary", summary: summaryOf(db, key) };
    for (const kind of ROW_KINDS) {
      const rows = statement(db, ROWS[kind]).iterate(key);
      if (kind === "event") yield* inSlices(eventsIn(rows), (row) => ({ kind, row }));
      else yield* inSlices(rows, (row) => archivedRowOf(kind, row));
    }
  } finally {
    db.close();
  }
}

function* eventsIn(groups: Iterable<unknown>): Generator<EventRow> {
  for (const group of groups) yield* eventsOf(eventGroupOf(group));
}

/** Returns row counts, chain heads and the highest place of a workspace, without reading its rows. */
export function summaryOf(db: DatabaseSync, key: number): ArchiveSummary {
  const counts = ROW_KINDS.map((kind) => {
    const counted =
      kind === "event"
        ? "coalesce(sum(count), 0) from event_groups"
        : `count(*) from ${ARCHIVED_TABLES[kind]}`;
    const sql = `select ${counted} where workspace = ?`;
    return [kind, numberOf(statement(db, sql).get(key))] as const;
  });
  const places = statement(
    db,
    "select coalesce(max(place), 0) from deliveries where workspace = ?",
  );
  const chains = statement(
    db,
    "select branch, seq, stored_at, link from chains where workspace = ? and seq > 0",
  );
  const heads = chains.all(key) as unknown as [string, number, number, string][];
  return {
    counts: Object.fromEntries(counts) as ArchiveSummary["counts"],
    heads: heads
      .map(([branch, seq, storedAt, link]) => ({ branch, seq, storedAt, link }))
      .sort((a, b) => byCodePoint(a.branch, b.branch)),
    lastPlace: Math.max(0, numberOf(places.get(key))),
  };
}

function statement(db: DatabaseSync, sql: string): StatementSync {
  const prepared = db.prepare(sql);
  prepared.setReturnArrays(true);
  return prepared;
}
