/** Reads everything a workspace contains, page by page, in the caller's snapshot. */
import {
  type ArchiveSummary,
  byCodePoint,
  type ExportItem,
  ROW_KINDS,
  type RowKind,
} from "../../archive.ts";
import { ARCHIVED_COLUMNS, ARCHIVED_TABLES, archivedRowOf } from "../../archive-codecs.ts";
import type { Row } from "../connection.ts";

const PAGE = 500;

/** Runs a statement on one connection, in one transaction; `$schema` is replaced by the store's schema. */
export type ExecuteSql = (text: string, values: readonly unknown[]) => Promise<Row[]>;

const rows = (kind: RowKind, rest: string): string =>
  `select ${ARCHIVED_COLUMNS[kind]} from ${rest}`;

/**
 * Statements by kind of row. A cursor keeps its position in the snapshot, whatever the rows are sorted by.
 */
const ROWS: Readonly<Record<RowKind, string>> = {
  agent: rows("agent", "$schema.agents a where a.workspace = $1 order by a.id"),
  memory: rows(
    "memory",
    `$schema.memories m join $schema.chains c on c.workspace = m.workspace and c.key = m.chain
      where m.workspace = $1 order by m.pos`,
  ),
  envelope: rows(
    "envelope",
    `$schema.envelopes e join $schema.memories m on m.workspace = e.workspace and m.pos = e.pos
      where e.workspace = $1 order by e.pos`,
  ),
  delivery: rows("delivery", "$schema.deliveries d where d.workspace = $1 order by d.id"),
  attempt: rows("attempt", "$schema.attempts where workspace = $1 order by delivery, attempt"),
  entry: rows("entry", "$schema.entries where workspace = $1 order by kind, name"),
  event: rows("event", "$schema.events where workspace = $1 order by number"),
};

/** Yields the summary, then all rows by kind. */
export async function* exportWorkspace(
  ask: ExecuteSql,
  workspace: string,
): AsyncGenerator<ExportItem> {
  const key = await workspaceKey(ask, workspace);
  yield { kind: "summary", summary: await summaryOf(ask, key) };
  for (const kind of ROW_KINDS) {
    await ask(`declare baton_${kind} no scroll cursor for ${ROWS[kind]}`, [key]);
    for (;;) {
      const page = await ask(`fetch ${PAGE} from baton_${kind}`, []);
      for (const row of page) yield archivedRowOf(kind, row);
      if (page.length < PAGE) break;
    }
    await ask(`close baton_${kind}`, []);
  }
}

/**
 * Returns -1 for a workspace that has never been written to. (0 is the workspace of the placeholder rows.)
 */
async function workspaceKey(ask: ExecuteSql, workspace: string): Promise<number> {
  const [row] = await ask("select key from $schema.workspaces where name = $1", [workspace]);
  return (row?.[0] as number | undefined) ?? NO_WORKSPACE;
}

const NO_WORKSPACE = -1;

/** Returns counts and chain heads of a workspace, without reading its rows. */
export async function summaryOf(ask: ExecuteSql, key: number): Promise<ArchiveSummary> {
  const counted = ROW_KINDS.map(
    (kind) => `(select count(*) from $schema.${ARCHIVED_TABLES[kind]} where workspace = $1)`,
  );
  const place = "(select coalesce(max(place), 0) from $schema.deliveries where workspace = $1)";
  const [row] = await ask(`select ${[...counted, place].join(", ")}`, [key]);
  const numbers = row as number[];
  const heads = await ask(
    `select branch, seq, stored_at, link from $schema.chains where workspace = $1 and seq > 0`,
    [key],
  );
  return {
    counts: Object.fromEntries(
      ROW_KINDS.map((kind, i) => [kind, numbers[i]]),
    ) as unknown as ArchiveSummary["counts"],
    heads: (heads as [string, number, number, string][])
      .map(([branch, seq, storedAt, link]) => ({ branch, seq, storedAt, link }))
      .sort((a, b) => byCodePoint(a.branch, b.branch)),
    lastPlace: Math.max(0, numbers.at(-1) ?? 0),
  };
}
