/**
 * Finds memories newest first: records after the index's watermark are scanned, earlier ones come from the
 * index and are checked again. The result is exact as long as the index covers everything up to its
 * watermark.
 */

import { memoryOf, type PositionedMemory } from "../../codecs.ts";
import { matchesMemoryFilter } from "../../memory-filter.ts";
import type { MemoryRow } from "../../rows.ts";
import type { RecentMemories } from "../../store.ts";
import { END_OF_BRANCH, isRowVisible } from "../../visibility.ts";
import { numberOf, scalarOf } from "../scalar.ts";
import type { IndexFile } from "../search/index-file.ts";
import { facetQuery } from "../search/index-tokens.ts";
import type { Statements } from "../statements.ts";
import { type ChainLine, linesIn, walkBackward } from "./lines.ts";

/** The store's statements, and its index if there is one. */
export interface IndexContext {
  readonly sql: Statements;
  readonly index: IndexFile | undefined;
}

interface Search {
  readonly workspace: number;
  readonly lines: readonly ChainLine[];
  /** Only records before this position. */
  readonly before: number;
  /** FTS5 query; empty: the index cannot help. */
  readonly query: string;
  readonly limit: number;
  /** Whether a record matches. */
  readonly fits: (row: PositionedMemory) => boolean;
}

/** Returns the newest memories that the reader sees and the filter matches. */
export function recentMemories(
  finder: IndexContext,
  workspace: number,
  operation: RecentMemories,
): MemoryRow[] {
  const { sql } = finder;
  const { sight, filter, limit } = operation;
  const before =
    operation.before === undefined
      ? END_OF_BRANCH
      : scalarOf<number>(sql.memoryPosition.get(workspace, operation.before));
  const lines = linesIn(sql, workspace, sight);
  if (before === undefined || lines.length === 0) return [];
  const branches = lines.map((line) => line.branch);
  return findMemories(finder, {
    ...{ workspace, lines, before, limit },
    query: facetQuery(workspace, branches, filter),
    fits: (row) => matchesMemoryFilter(row, filter) && isRowVisible(row, sight),
  });
}

/**
 * Returns the positions of a task's envelopes, oldest first. Each is the position of the record that vouches
 * for the envelope, whatever its type. The position is checked first, because most records vouch for no
 * envelope.
 */
export function envelopePositionsOf(
  finder: IndexContext,
  workspace: number,
  task: string,
): number[] {
  const { sql } = finder;
  const chains = sql.chains.all(workspace) as unknown as [number, string][];
  const found = chains.flatMap(([chain, branch]) => {
    const filter = { task };
    return findMemories(finder, {
      workspace,
      lines: [{ chain, branch, upTo: END_OF_BRANCH }],
      before: END_OF_BRANCH,
      query: facetQuery(workspace, [branch], filter),
      limit: Number.MAX_SAFE_INTEGER,
      fits: (row) => sql.isEnvelope.get(row.pos) !== undefined && matchesMemoryFilter(row, filter),
    });
  });
  return found.map((row) => row.pos).sort((a, b) => a - b);
}

function findMemories(finder: IndexContext, search: Search): PositionedMemory[] {
  const { limit, fits, before } = search;
  const indexed = search.query === "" ? 0 : watermark(finder);
  const found: PositionedMemory[] = [];
  if (before > indexed + 1) {
    for (const row of walkBackward(finder.sql, search)) {
      if (row.pos <= indexed || found.length === limit) break;
      if (fits(row)) found.push(row);
    }
  }
  if (indexed === 0 || finder.index === undefined) return found;
  for (const position of finder.index.find(search.query, Math.min(indexed + 1, before))) {
    if (found.length === limit) break;
    const raw = finder.sql.memoryAt.get(position);
    if (raw === undefined) continue;
    const row = memoryOf(raw);
    if (fits(row)) found.push(row);
  }
  return found;
}

/** Returns the position up to which the index is valid; 0 if it was made from another store. */
export function watermark({ sql, index }: IndexContext): number {
  if (index === undefined) return 0;
  // An index from before a redaction contains redacted words.
  if (index.redactions !== numberOf(sql.redactions.get())) return 0;
  const { position, link } = index.watermark();
  return scalarOf<string>(sql.linkAt.get(position)) === link ? position : 0;
}
