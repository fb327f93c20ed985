/**
 * The index behind `recent` and `search`: facets and words per record, up to a watermark. Filled
 * after the acknowledgement by whichever hub gets the lock, in small transactions and small slices
 * of its event loop's time; a record beyond the watermark is scanned, so it is found at once.
 */
import type pg from "pg";
import { sha256 } from "../../canonical.ts";
import { memoryOf } from "../codecs.ts";
import { type Facets, facetsOf, findableText, sessionOf } from "../filter.ts";
import type { MemoryRow } from "../rows.ts";
import { wordsOf } from "../words.ts";
import type { Row, Statement } from "./connection.ts";
import type { Statements } from "./statements.ts";

/** Changes when what is put into the index changes: it is then made anew. */
export const INDEX_VERSION = 1;
/** Records per transaction: a few milliseconds of tokenising. */
const SLICE = 200;
/** What may be left to scan. */
const WORTH_FILLING = 256;

export interface IndexerOptions {
  readonly sql: Statements;
  run(client: pg.ClientBase, statement: Statement, values: readonly unknown[]): Promise<Row[]>;
  /** A connection for one transaction, given back when it is over. */
  withClient<T>(use: (client: pg.ClientBase) => Promise<T>): Promise<T>;
}

export class Indexer {
  readonly #options: IndexerOptions;
  readonly #backlog = new Map<string, number>();
  #filling: Promise<void> | undefined;
  #closed = false;

  constructor(options: IndexerOptions) {
    this.#options = options;
  }

  /** After a commit: counts what has piled up, and fills when it is worth it. */
  committed(workspace: string, records: number): void {
    const backlog = (this.#backlog.get(workspace) ?? WORTH_FILLING) + records;
    this.#backlog.set(workspace, backlog);
    if (backlog >= WORTH_FILLING) this.#filling ??= this.#fill(workspace);
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#filling;
  }

  /** The next commit tries again when this does not work out. */
  async #fill(workspace: string): Promise<void> {
    this.#backlog.set(workspace, 0);
    try {
      while (!this.#closed && (await this.#slice(workspace)) === SLICE);
    } catch {
      this.#backlog.set(workspace, WORTH_FILLING);
    } finally {
      this.#filling = undefined;
    }
  }

  /** How many records were added; 0 when another hub is at it. */
  #slice(workspace: string): Promise<number> {
    const { sql, run, withClient } = this.#options;
    return withClient(async (client) => {
      const act = (statement: Statement, ...values: unknown[]): Promise<Row[]> =>
        run(client, statement, [workspace, ...values]);
      await client.query("begin");
      try {
        const [locked] = await act(sql.indexLock);
        const added = locked?.[0] === true ? await this.#add(act) : 0;
        await client.query("commit");
        return added;
      } catch (error) {
        await client.query("rollback");
        throw error;
      }
    });
  }

  async #add(act: (statement: Statement, ...values: unknown[]) => Promise<Row[]>): Promise<number> {
    const { sql } = this.#options;
    const [state] = await act(sql.indexState, INDEX_VERSION);
    const [, indexed] = state as [number, number];
    if (indexed === 0) {
      await act(sql.clearFacets);
      await act(sql.clearWords);
    }
    const [key] = (await act(sql.workspaceKey))[0] as [number];
    const rows = await act(sql.memoriesAfter, indexed, SLICE);
    if (rows.length === 0) return 0;
    const facets: string[] = [];
    const positions: number[] = [];
    const words: { pos: number; words: string[] }[] = [];
    for (const row of rows) {
      const memory = memoryOf(row);
      const { pos } = memory;
      const tokens = tokensOf(memory, key);
      for (const facet of tokens.facets) {
        facets.push(facet);
        positions.push(pos);
      }
      words.push({ pos, words: tokens.words });
    }
    await act(sql.addFacets, facets, positions);
    await act(sql.addWords, JSON.stringify(words));
    await act(sql.moveIndex, INDEX_VERSION, rows.at(-1)?.[0]);
    return rows.length;
  }
}

/** Nothing of a record that cannot be read: the ones after it must still be found. */
function tokensOf(row: MemoryRow, key: number): { facets: string[]; words: string[] } {
  let facets: Facets;
  try {
    facets = facetsOf(row);
  } catch {
    return { facets: [], words: [] };
  }
  const { agent, task, type, tags = [] } = facets;
  const named = { session: sessionOf(facets), task, agent, type };
  return {
    facets: [
      ...Object.entries(named).flatMap(([kind, value]) =>
        value === undefined ? [] : facetOf(row.branch, kind, value),
      ),
      ...tags.map((tag) => facetOf(row.branch, "tag", tag)),
    ],
    words: [...new Set(wordsOf(findableText(facets)))].map((word) => wordToken(key, word)),
  };
}

/** 64 bits of a hash, as the database writes them: the row is checked again anyway. */
export function facetOf(branch: string, kind: string, value: string): string {
  const hash = sha256(JSON.stringify([branch, kind, value])).slice(0, 16);
  return BigInt.asIntN(64, BigInt(`0x${hash}`)).toString();
}

export const wordToken = (key: number, word: string): string => `${key}:${word.slice(0, 200)}`;
