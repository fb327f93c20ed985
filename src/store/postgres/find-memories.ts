/**
 * Finds memories, newest first. Records beyond the index's watermark are scanned; the others come from the
 * index and are checked again. The result is exact as long as the index contains everything up to its
 * watermark.
 */

import { memoryOf } from "../codecs.ts";
import type { MemoryFilter } from "../memory-filter.ts";
import { matchesMemoryFilter } from "../memory-filter.ts";
import type { MemoryRow } from "../rows.ts";
import type { RecentMemories } from "../store.ts";
import { type BranchRange, isRowVisible } from "../visibility.ts";
import type { Row } from "./connection.ts";
import { lastSeqs, linesIn, positionOf, type StatementRunner } from "./lines.ts";
import { facetOf, INDEX_VERSION } from "./search/indexer.ts";

const MAX_POSITION = 2 ** 53 - 1;
/** With more lines than this, most records are on one of them: the whole workspace is read instead. */
const MAX_MERGED_LINES = 64;
/** Maximum number of rows fetched at once. */
const MAX_PAGE_ROWS = 1_000;

/** Returns the newest memories that match a filter and that the reader may see. */
export async function recentMemories(
  reader: StatementRunner,
  operation: RecentMemories,
): Promise<MemoryRow[]> {
  const { workspace, filter, limit, sight } = operation;
  const lines = await linesIn(reader, workspace, sight);
  const before =
    operation.before === undefined
      ? MAX_POSITION
      : await positionOf(reader, workspace, operation.before);
  if (before === undefined || lines.length === 0) return [];
  const fits = (row: MemoryRow): boolean =>
    matchesMemoryFilter(row, filter) && isRowVisible(row, sight);
  const first = facetsIn(lines[0]?.branch ?? "", filter);
  const search = { workspace, lines, before, limit, fits };
  if (first.length === 0) return walk(reader, search);
  const { indexed } = await indexState(reader, workspace);
  const tail = before > indexed + 1 ? await scan(reader, { workspace, indexed, before }) : [];
  const found = tail.filter(fits).slice(0, limit);
  if (found.length === limit || indexed === 0) return found;
  const rest = { ...search, before: Math.min(before, indexed + 1), limit: limit - found.length };
  return [...found, ...(await byFacets(reader, rest, filter))];
}

interface Search {
  readonly workspace: string;
  readonly lines: readonly BranchRange[];
  /** Only records before this position. */
  readonly before: number;
  readonly limit: number;
  readonly fits: (row: MemoryRow) => boolean;
}

/** Returns the newest memories of the lines. */
async function walk(
  reader: StatementRunner,
  { workspace, lines, ...search }: Search,
): Promise<MemoryRow[]> {
  const { sql, read } = reader;
  const page = async (before: number, limit: number): Promise<Row[]> => {
    if (lines.length > MAX_MERGED_LINES)
      return read(sql.memoriesBefore, [workspace, before, limit]);
    const upTo =
      before === MAX_POSITION
        ? lines.map((line) => line.upTo)
        : await lastSeqs(reader, { workspace, lines, before });
    const branches = lines.map((line) => line.branch);
    return read(sql.memoriesBackward, [workspace, branches, upTo, limit]);
  };
  return pageUntil(search, page);
}

/** Finds memories by one facet of each line and checks the others. */
function byFacets(
  { sql, read }: StatementRunner,
  { workspace, lines, ...search }: Search,
  filter: MemoryFilter,
): Promise<MemoryRow[]> {
  const facets = lines.map((line) => facetsIn(line.branch, filter));
  const first = facets.map(([rarest]) => rarest);
  const others = facets.flatMap(([, ...rest]) => rest);
  const each = others.length / lines.length;
  return pageUntil(search, (before, limit) =>
    read(sql.memoriesByFacet, [workspace, first, before, others, limit, each]),
  );
}

/** Fetches pages until enough rows match: some are not visible to this reader. */
async function pageUntil(
  { before, limit, fits }: Pick<Search, "before" | "limit" | "fits">,
  page: (before: number, limit: number) => Promise<Row[]>,
): Promise<MemoryRow[]> {
  const found: MemoryRow[] = [];
  let from = before;
  for (
    let size = limit;
    found.length < limit;
    size = Math.max(size, Math.min(size * 2, MAX_PAGE_ROWS))
  ) {
    const rows = (await page(from, size)).map(memoryOf);
    found.push(...rows.filter(fits));
    const last = rows.at(-1);
    if (last === undefined || rows.length < size) break;
    from = last.pos;
  }
  return found.slice(0, limit);
}

async function scan(
  { sql, read }: StatementRunner,
  of: { workspace: string; indexed: number; before: number },
): Promise<MemoryRow[]> {
  const values = [of.workspace, of.indexed, of.before];
  return (await read(sql.memoriesTail, values)).map(memoryOf);
}

/** Returns how many records a workspace has, and how many of them are indexed. */
export async function indexState(
  { sql, read }: StatementRunner,
  workspace: string,
): Promise<{ records: number; indexed: number }> {
  const [row] = await read(sql.indexState, [workspace, INDEX_VERSION]);
  const [records, indexed] = row as [number, number];
  return { records, indexed };
}

/** Returns the facets of a filter, the rarest kind first: its rows are the ones that are read. */
function facetsIn(branch: string, filter: MemoryFilter): string[] {
  const { task, session, tag, type, agent } = filter;
  return Object.entries({ session, task, tag, agent, type }).flatMap(([kind, value]) =>
    value === undefined ? [] : facetOf(branch, kind, value),
  );
}
