/**
 * Finding memories newest first: the records beyond the index's watermark are scanned, the ones
 * below come from the index and are checked again. The answer is exact as long as the index holds
 * everything up to its watermark.
 */

import { memoryOf, type PositionedMemory } from "../codecs.ts";
import { facetsOf, findableText, passes } from "../filter.ts";
import type { MemoryRow } from "../rows.ts";
import type { RecentMemories, SearchCandidates } from "../store.ts";
import { wordsOf } from "../words.ts";
import { facetQuery, type IndexFile, wordQuery } from "./index-file.ts";
import { single } from "./scalar.ts";
import type { Statements } from "./statements.ts";

export interface Finder {
  readonly sql: Statements;
  readonly index: IndexFile | undefined;
}

interface Search {
  readonly chain: number;
  /** Only records before this sequence number. */
  readonly before: number;
  /** Empty: there is nothing the index could help with. */
  readonly query: string;
  readonly limit: number;
  readonly fits: (row: PositionedMemory) => boolean;
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
      wordsOf(findableText(facetsOf(row))).some((word) => wanted.has(word)),
  });
}

/**
 * Positions of the envelopes of a task, oldest first: each has that of the record that vouches for
 * it, whatever that record calls itself. Asked of the number first: most records vouch for none.
 */
export function envelopesOf(finder: Finder, workspace: number, task: string): number[] {
  const { sql } = finder;
  const chains = sql.chains.all(workspace) as unknown as [number, string][];
  const found = chains.flatMap(([chain, branch]) => {
    const filter = { branch, task };
    return find(finder, {
      chain,
      before: Number.MAX_SAFE_INTEGER,
      query: facetQuery(workspace, filter),
      limit: Number.MAX_SAFE_INTEGER,
      fits: (row) => sql.isEnvelope.get(row.pos) !== undefined && passes(row, filter),
    });
  });
  return found.map((row) => row.pos).sort((a, b) => a - b);
}

function chainKey(finder: Finder, workspace: number, branch: string): number | undefined {
  return single<number>(finder.sql.chain.get(workspace, branch));
}

function find(finder: Finder, search: Search): PositionedMemory[] {
  const indexed = search.query === "" ? 0 : watermark(finder);
  const found: PositionedMemory[] = [];
  // Where the page begins, seen from the end: nothing at or after it may come from the index.
  let end = Number.MAX_SAFE_INTEGER;
  for (const raw of finder.sql.memoriesBackward.iterate(search.chain, search.before)) {
    const row = memoryOf(raw);
    end = Math.min(end, row.pos + 1);
    if (row.pos <= indexed || found.length === search.limit) break;
    if (search.fits(row)) found.push(row);
  }
  if (indexed === 0 || finder.index === undefined) return found;
  for (const position of finder.index.find(search.query, Math.min(indexed + 1, end))) {
    if (found.length === search.limit) break;
    const raw = finder.sql.memoryAt.get(position);
    if (raw === undefined) continue;
    const row = memoryOf(raw);
    if (row.seq < search.before && search.fits(row)) found.push(row);
  }
  return found;
}

/** How far the index can be trusted: nothing of it when it was made from another store. */
export function watermark({ sql, index }: Finder): number {
  if (index === undefined) return 0;
  const { position, link } = index.watermark();
  return single<string>(sql.linkAt.get(position)) === link ? position : 0;
}
