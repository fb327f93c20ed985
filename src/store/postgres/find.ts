/**
 * Finding memories newest first: the records beyond the index's watermark are scanned, the ones
 * below come from the index and are checked again. The answer is exact as long as the index holds
 * everything up to its watermark.
 */

import { memoryOf } from "../codecs.ts";
import { facetsOf, findableText, passes } from "../filter.ts";
import type { MemoryRow } from "../rows.ts";
import type { MemoryFilter, RecentMemories, SearchCandidates } from "../store.ts";
import { wordsOf } from "../words.ts";
import type { Row, Statement } from "./connection.ts";
import { facetOf, INDEX_VERSION, wordToken } from "./indexer.ts";
import type { Statements } from "./statements.ts";

export interface Reader {
  readonly sql: Statements;
  read(statement: Statement, values: readonly unknown[]): Promise<Row[]>;
}

const ALL = 2 ** 53 - 1;

export async function recentMemories(
  reader: Reader,
  operation: RecentMemories,
): Promise<MemoryRow[]> {
  const { workspace, filter, limit, before = ALL } = operation;
  const { branch } = filter;
  const [first, ...others] = facetsIn(filter);
  if (first === undefined) {
    const values = [workspace, branch, before, limit];
    return (await reader.read(reader.sql.memoriesBackward, values)).map(memoryOf);
  }
  const { indexed } = await indexState(reader, workspace);
  const tail = await scan(reader, { workspace, branch, indexed, before });
  const found = tail.filter((row) => passes(row, filter)).slice(0, limit);
  if (found.length === limit || indexed === 0) return found;
  const values = [workspace, first, indexed, before, others, limit - found.length];
  const rows = (await reader.read(reader.sql.memoriesByFacet, values)).map(memoryOf);
  return [...found, ...rows.filter((row) => passes(row, filter))];
}

export async function searchCandidates(
  reader: Reader,
  operation: SearchCandidates,
): Promise<MemoryRow[]> {
  const { workspace, branch, words, limit } = operation;
  if (words.length === 0) return [];
  const wanted = new Set(words);
  const { indexed } = await indexState(reader, workspace);
  const tail = await scan(reader, { workspace, branch, indexed, before: ALL });
  const fits = (row: MemoryRow): boolean =>
    wordsOf(findableText(facetsOf(row))).some((word) => wanted.has(word));
  const found = tail.filter(fits).slice(0, limit);
  if (found.length === limit || indexed === 0) return found;
  const [key] = (await reader.read(reader.sql.workspaceKey, [workspace]))[0] as [number];
  const tokens = words.map((word) => wordToken(key, word));
  const values = [workspace, branch, tokens, indexed, limit - found.length];
  return [...found, ...(await reader.read(reader.sql.memoriesByWord, values)).map(memoryOf)];
}

async function scan(
  { sql, read }: Reader,
  of: { workspace: string; branch: string; indexed: number; before: number },
): Promise<MemoryRow[]> {
  const values = [of.workspace, of.branch, of.indexed, of.before];
  return (await read(sql.memoriesTail, values)).map(memoryOf);
}

export async function indexState(
  { sql, read }: Reader,
  workspace: string,
): Promise<{ records: number; indexed: number }> {
  const [row] = await read(sql.indexState, [workspace, INDEX_VERSION]);
  const [records, indexed] = row as [number, number];
  return { records, indexed };
}

/** The facets a filter asks for, the rarest kind first: its rows are the ones that are walked. */
function facetsIn({ branch, task, session, tag, type, agent }: MemoryFilter): string[] {
  return Object.entries({ session, task, tag, agent, type }).flatMap(([kind, value]) =>
    value === undefined ? [] : facetOf(branch, kind, value),
  );
}
