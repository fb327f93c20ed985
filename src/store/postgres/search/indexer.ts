/**
 * Fills the index behind `recent` and `search`: facets, lists of positions by term, and what ranking needs
 * to know about each record, up to a watermark. It runs after writes are acknowledged, in the hub that gets
 * the lock, in small transactions and short slices of event loop time. Records beyond the watermark are
 * scanned, so they are found at once.
 */
import { setImmediate as breathe, setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import { sha256 } from "../../../base/digest.ts";
import { appendCensus } from "../../../search/in-memory-sources.ts";
import type { Census } from "../../../search/ranking-sources.ts";
import { memoryOf } from "../../codecs.ts";
import { featureColumns } from "../../feature-row.ts";
import { type Facets, facetsOf, sessionOf } from "../../memory-filter.ts";
import type { MemoryRow } from "../../rows.ts";
import { type IndexableRow, type IndexedRecord, indexedRecord, spaceOf } from "../../search.ts";
import type { Row, Statement } from "../connection.ts";
import { withEnvelopeTexts } from "../envelope-texts.ts";
import type { Statements } from "../statements.ts";
import { keysOf, POSITION_BYTES, packPositions, type Space } from "./search-tokens.ts";

/** Increase it when the content of the index changes: the index is then rebuilt. */
export const INDEX_VERSION = 3;
/**
 * Records per transaction. The more there are, the fewer lists are written twice: 1,600 records/s with 200
 * per transaction, 2,800 with 1,000.
 */
const SLICE = 1_000;
/** Records analysed before yielding to the event loop: a few milliseconds. */
const YIELD_EVERY = 100;
/** Number of unindexed records from which on the index is filled. */
const FILL_BACKLOG = 256;
/** Returned while another hub fills the index; checked again after a pause. */
const BUSY = -1;
const BUSY_MS = 200;
/** Positions in a full block; its row is as long as a short text. */
const BLOCK = 256;

/** What the indexer needs from the store. */
export interface IndexerOptions {
  readonly sql: Statements;
  run(client: pg.ClientBase, statement: Statement, values: readonly unknown[]): Promise<Row[]>;
  /** Runs a function with a connection, which is released afterwards; closed if the function throws. */
  withClient<T>(use: (client: pg.ClientBase) => Promise<T>): Promise<T>;
}

/** Runs a statement for the workspace that is being indexed. */
type RunInWorkspace = (statement: Statement, ...values: unknown[]) => Promise<Row[]>;

/** Fills the index of all workspaces of a store. */
export class Indexer {
  readonly #options: IndexerOptions;
  readonly #backlog = new Map<string, number>();
  #filling: Promise<void> | undefined;
  #closed = false;

  constructor(options: IndexerOptions) {
    this.#options = options;
  }

  /** Counts new records after a commit, and fills the index if there are enough. */
  committed(workspace: string, records: number): void {
    const backlog = (this.#backlog.get(workspace) ?? FILL_BACKLOG) + records;
    this.#backlog.set(workspace, backlog);
    if (backlog >= FILL_BACKLOG) this.#filling ??= this.#fillAll();
  }

  /** Called after a search that scanned `records` records: rebuilds an index of an earlier version. */
  scanned(workspace: string, records: number): void {
    if (records >= FILL_BACKLOG) this.committed(workspace, records);
  }

  /** Stops after the current slice. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#filling;
  }

  /** Fills one workspace after the other, including those that become due meanwhile. */
  async #fillAll(): Promise<void> {
    const worthIt = (): string | undefined =>
      [...this.#backlog].find(([, backlog]) => backlog >= FILL_BACKLOG)?.[0];
    try {
      for (let next = worthIt(); next !== undefined && !this.#closed; next = worthIt()) {
        this.#backlog.set(next, 0);
        await this.#fill(next);
      }
    } catch {
      // The backlog remains: the next commit starts again.
    } finally {
      this.#filling = undefined;
    }
  }

  async #fill(workspace: string): Promise<void> {
    try {
      for (;;) {
        if (this.#closed) return;
        const added = await this.#slice(workspace);
        // The other hub may have read before this hub's records were written.
        if (added === BUSY) await sleep(BUSY_MS);
        else if (added < SLICE) return;
      }
    } catch (error) {
      this.#backlog.set(workspace, FILL_BACKLOG);
      throw error;
    }
  }

  /** Indexes one slice. Returns the number of records, or BUSY while another hub fills the index. */
  #slice(workspace: string): Promise<number> {
    const { sql, run, withClient } = this.#options;
    return withClient(async (client) => {
      const act: RunInWorkspace = (statement, ...values) =>
        run(client, statement, [workspace, ...values]);
      await client.query("begin");
      const [locked] = await act(sql.indexLock);
      const added = locked?.[0] === true ? await this.#add(act) : BUSY;
      await client.query("commit");
      return added;
    });
  }

  async #add(act: RunInWorkspace): Promise<number> {
    const { sql } = this.#options;
    const [state] = await act(sql.indexState, INDEX_VERSION);
    const [, indexed] = state as [number, number];
    if (indexed === 0) {
      for (const clear of [sql.clearFacets, sql.clearPostings, sql.clearFound, sql.clearCensus]) {
        await act(clear);
      }
    }
    const [key] = (await act(sql.workspaceKey))[0] as [number];
    const rows = await act(sql.memoriesAfter, indexed, SLICE);
    if (rows.length === 0) return 0;
    const read = (ids: readonly string[]) => act(sql.envelopeTexts, ids);
    const sealed = await withEnvelopeTexts(rows.map(memoryOf), read);
    const memories = sealed.map((row): IndexableRow => ({ ...row, workspace: key }));
    await this.#addFacets(act, memories);
    await this.#addRecords(act, await analyseRecords(memories));
    await act(sql.moveIndex, INDEX_VERSION, memories.at(-1)?.pos);
    return rows.length;
  }

  async #addFacets(act: RunInWorkspace, memories: readonly IndexableRow[]): Promise<void> {
    const pairs = memories.flatMap((row) =>
      facetsIn(row).map((facet) => [facet, row.pos] as const),
    );
    const [facets, positions] = [pairs.map(([facet]) => facet), pairs.map(([, pos]) => pos)];
    await act(this.#options.sql.addFacets, facets, positions);
  }

  async #addRecords(act: RunInWorkspace, records: readonly IndexedRecord[]): Promise<void> {
    if (records.length === 0) return;
    const { sql } = this.#options;
    await act(sql.addFound, ...columnsOf(records));
    for (const [space, census] of censusOf(records)) {
      const { records: count, passages, terms, first, last } = census;
      await act(sql.addCensus, SPACES.indexOf(space), count, passages, terms, first, last);
    }
    const lists = listsOf(records);
    // Sorted by key, so that pages are written in order.
    const tokens = [...lists.keys()].sort();
    const packed = tokens.map((token) => packPositions(lists.get(token) ?? []));
    const full = await act(sql.addPostings, tokens, packed, BLOCK * POSITION_BYTES);
    if (full.length === 0) return;
    const first = full.map(([, start]) => (start as Buffer).readUIntBE(0, POSITION_BYTES));
    await act(
      sql.closePostings,
      full.map(([token]) => token),
      first,
    );
  }
}

/** Analyses records, yielding to the event loop from time to time. */
async function analyseRecords(memories: readonly IndexableRow[]): Promise<IndexedRecord[]> {
  const records: IndexedRecord[] = [];
  for (const [n, row] of memories.entries()) {
    if (n % YIELD_EVERY === YIELD_EVERY - 1) await breathe();
    const indexed = indexedRecord(row);
    if (indexed !== undefined) records.push(indexed);
  }
  return records;
}

/** All spaces; the number of a space in the census is its index here. */
export const SPACES = ["known", "traced"] as const satisfies readonly Space[];

function listsOf(records: readonly IndexedRecord[]): Map<string, number[]> {
  const lists = new Map<string, number[]>();
  for (const record of records) {
    for (const key of keysOf(record.row, record)) {
      const list = lists.get(key);
      if (list === undefined) lists.set(key, [record.row.pos]);
      else list.push(record.row.pos);
    }
  }
  return lists;
}

function censusOf(records: readonly IndexedRecord[]): Map<Space, Census> {
  const counted = new Map<Space, Census>();
  for (const { row, passages, terms } of records) {
    const space = spaceOf(row.branch);
    const one = { records: 1, passages, terms, first: row.pos, last: row.pos };
    const known = counted.get(space);
    counted.set(space, known === undefined ? one : appendCensus(known, one));
  }
  return counted;
}

/** Returns one list per column. */
function columnsOf(records: readonly IndexedRecord[]): unknown[][] {
  const rows = records.map(featureColumns);
  return (rows[0] ?? []).map((_, column) => rows.map((row) => row[column]));
}

/** Returns no facets for a record that cannot be read: the records after it must still be indexed. */
function facetsIn(row: MemoryRow): string[] {
  let facets: Facets;
  try {
    facets = facetsOf(row);
  } catch {
    return [];
  }
  const { agent, task, type, tags = [] } = facets;
  const named = { session: sessionOf(facets), task, agent, type };
  return [
    ...Object.entries(named).flatMap(([kind, value]) =>
      value === undefined ? [] : facetOf(row.branch, kind, value),
    ),
    ...tags.map((tag) => facetOf(row.branch, "tag", tag)),
  ];
}

/** Returns 64 bits of a hash as the database writes them. Collisions are harmless: rows are checked again. */
export function facetOf(branch: string, kind: string, value: string): string {
  const hash = sha256(JSON.stringify([branch, kind, value])).slice(0, 16);
  return BigInt.asIntN(64, BigInt(`0x${hash}`)).toString();
}
