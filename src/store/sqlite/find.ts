/**
 * Finding memories newest first: the records beyond the index's watermark are scanned, the ones
 * below come from the index and are checked again. The answer is exact whatever the index holds.
 */
import { passes } from "../filter.ts";
import type { MemoryRow } from "../rows.ts";
import type { RecentMemories, SearchCandidates } from "../store.ts";
import { findableText, wordsOf } from "../words.ts";
import { facetQuery, type IndexFile, wordQuery } from "./index-file.ts";
import type { Statements } from "./statements.ts";

export interface Finder {
  readonly sql: Statements;
  readonly index: IndexFile | undefined;
}

type PositionedRow = MemoryRow & { readonly pos: number };

interface Search {
  readonly chain: number;
  /** Only records before this sequence number. */
  readonly before: number;
  /** Empty: there is nothing the index could help with. */
  readonly query: string;
  readonly limit: number;
  readonly fits: (row: MemoryRow) => boolean;
}

export function recentMemories(
  finder: Finder,
  workspace: number,
  operation: RecentMemories,
): MemoryRow[] {
  const chain = chainKey(finder, workspace, operation.filter.branch);
  if (chain === undefined) return [];
  return find(finder, {
    chain,
    before: operation.before ?? Number.MAX_SAFE_INTEGER,
    query: facetQuery(workspace, operation.filter),
    limit: operation.limit,
    fits: (row) => passes(row, operation.filter),
  });
}

export function searchCandidates(
  finder: Finder,
  workspace: number,
  operation: SearchCandidates,
): MemoryRow[] {
  const chain = chainKey(finder, workspace, operation.branch);
  if (chain === undefined || operation.words.length === 0) return [];
  const wanted = new Set(operation.words);
  return find(finder, {
    chain,
    before: Number.MAX_SAFE_INTEGER,
    query: wordQuery(operation.words),
    limit: operation.limit,
    fits: (row) =>
      row.branch === operation.branch &&
      wordsOf(findableText(row).text).some((word) => wanted.has(word)),
  });
}

/** Handoff records of a task, oldest first. */
export function handoffsOf(finder: Finder, workspace: number, task: string): number[] {
  const positions: number[] = [];
  for (const { key, branch } of finder.sql.chains.all(workspace) as {
    key: number;
    branch: string;
  }[]) {
    const filter = { branch, task, type: "handoff" };
    const found = find(finder, {
      chain: key,
      before: Number.MAX_SAFE_INTEGER,
      query: facetQuery(workspace, filter),
      limit: Number.MAX_SAFE_INTEGER,
      fits: (row) => passes(row, filter),
    });
    for (const row of found) positions.push((row as PositionedRow).pos);
  }
  return positions.sort((a, b) => a - b);
}

function chainKey(finder: Finder, workspace: number, branch: string): number | undefined {
  return (finder.sql.chain.get(workspace, branch) as { key: number } | undefined)?.key;
}

function find(finder: Finder, search: Search): MemoryRow[] {
  const indexed = search.query === "" ? 0 : watermark(finder);
  const found: MemoryRow[] = [];
  let start = Number.MAX_SAFE_INTEGER;
  for (const raw of finder.sql.memoriesBackward.iterate(search.chain, search.before)) {
    const row = raw as unknown as PositionedRow;
    start = Math.min(start, row.pos + 1);
    if (row.pos <= indexed || found.length === search.limit) break;
    if (search.fits(row)) found.push(row);
  }
  if (indexed === 0 || finder.index === undefined) return found;
  // `start` is where the chain (or the page asked for) begins, seen from its end.
  for (const pos of finder.index.find(search.query, Math.min(indexed + 1, start))) {
    if (found.length === search.limit) break;
    const row = finder.sql.memoryAt.get(pos) as unknown as MemoryRow | undefined;
    if (row !== undefined && row.seq < search.before && search.fits(row))
      found.push({ ...row, pos } as PositionedRow);
  }
  return found;
}

/** How far the index can be trusted: nothing of it when it was made from another store. */
function watermark({ sql, index }: Finder): number {
  if (index === undefined) return 0;
  const { position, link } = index.watermark();
  const row = sql.linkAt.get(position) as { link: string } | undefined;
  return row?.link === link ? position : 0;
}
