/**
 * Ranked search on PostgreSQL. Everything one search reads is from one snapshot, and records beyond the index
 * are analysed here (store/unindexed-tail.ts). The ranking itself is in search/rank.ts.
 *
 * Measured with 200,000 records, the server on the same machine, two busy cores: six words take 30 ms (16
 * of them in this process); with a filter that one in 2,000, 40 or 10 records passes, 25, 28 and 55 ms. The
 * index is filled with 2,600 records per second and takes 710 bytes per record.
 */
import { type RankedRecord, rank } from "../../../search/rank.ts";
import { memoryOf, type PositionedMemory } from "../../codecs.ts";
import { hitsOf, type IndexableRow, type SearchMemories, type SearchResult } from "../../search.ts";
import { type TailRecords, UnindexedTail } from "../../unindexed-tail.ts";
import { withEnvelopeTexts } from "../envelope-texts.ts";
import type { StatementRunner } from "../lines.ts";
import { INDEX_VERSION } from "./indexer.ts";
import { PostgresSources } from "./search-sources.ts";
import { SignatureCache } from "./signature-cache.ts";
import { VectorSearch } from "./vector-search.ts";

/** Rows of a tail read at once. */
const SLICE = 1_000;
/** Workspaces of which the tail is cached. */
const MAX_CACHED_TAILS = 16;

interface State {
  readonly key: number;
  readonly records: number;
  readonly indexed: number;
  /** Identifies the build of the index. */
  readonly made: number;
}

interface CachedTail {
  readonly tail: UnindexedTail;
  /** The last read; reads of one tail run one after the other. */
  following: Promise<unknown>;
}

/** Searches the workspaces of one store; caches tails and signatures between searches. */
export class Searcher {
  /** In order of use, the most recently used last. */
  readonly #tails = new Map<number, CachedTail>();
  readonly #signatures = new SignatureCache();

  /** Runs in the caller's transaction, on one snapshot. */
  async search(reader: StatementRunner, operation: SearchMemories): Promise<SearchResult> {
    const { workspace, limit, meant, shown = [] } = operation;
    const state = await stateOf(reader, workspace);
    if (state === undefined) return EMPTY_RESULT;
    const { key, records, indexed } = state;
    const upTo = Math.min(operation.upTo ?? records, records);
    const vectors = await VectorSearch.of({ reader, cache: this.#signatures, workspace, meant });
    const sources = new PostgresSources({
      ...{ reader, vectors, key },
      kept: await this.#keep(reader, workspace, state),
      watermark: indexed,
      operation: { ...operation, upTo },
    });
    const ranked = await rank(sources, {
      ...operation.ranking,
      want: limit + 1,
      shown: new Set(shown),
    });
    const page = ranked.slice(0, limit);
    const rows = await rowsOf(reader, workspace, page);
    const envelopes = await envelopesOf(reader, workspace, { page, rows });
    return {
      hits: hitsOf(page, operation.ranking.query, {
        rowAt: (pos) => rows.get(pos),
        envelopeAt: (pos) => envelopes.get(pos),
      }),
      more: ranked.length > limit,
      upTo,
      index: { records, indexed },
      vectors: vectors.compared,
    };
  }

  /** Returns the records beyond the index, up to date. */
  async #keep(reader: StatementRunner, workspace: string, state: State): Promise<TailRecords> {
    const followed = this.#followed(state.key);
    const follow = (): Promise<TailRecords> =>
      readTail(reader, workspace, { ...state, tail: followed.tail });
    // If an earlier read failed, for example because its connection broke, this search reads again.
    const kept = followed.following.then(follow, follow);
    followed.following = kept;
    return kept;
  }

  #followed(key: number): CachedTail {
    const known = this.#tails.get(key) ?? {
      tail: new UnindexedTail(),
      following: Promise.resolve(),
    };
    this.#tails.delete(key);
    this.#tails.set(key, known);
    const [oldest] = this.#tails.keys();
    if (this.#tails.size > MAX_CACHED_TAILS && oldest !== undefined) this.#tails.delete(oldest);
    return known;
  }
}

const EMPTY_RESULT: SearchResult = {
  hits: [],
  more: false,
  upTo: 0,
  index: { records: 0, indexed: 0 },
  vectors: "none",
};

async function stateOf(
  { sql, read }: StatementRunner,
  workspace: string,
): Promise<State | undefined> {
  const [row] = await read(sql.searchState, [workspace, INDEX_VERSION]);
  if (row === undefined) return undefined;
  const [key, records, indexed, made] = row as [number, number, number, number];
  return { key, records, indexed, made };
}

async function readTail(
  { sql, read }: StatementRunner,
  workspace: string,
  { key, records, indexed, made, tail }: State & { readonly tail: UnindexedTail },
): Promise<TailRecords> {
  tail.begin({ watermark: indexed, last: records, redactions: made });
  for (;;) {
    const rows = await read(sql.memoriesBeyond, [workspace, tail.after, records, SLICE]);
    const texts = (ids: readonly string[]) => read(sql.envelopeTexts, [workspace, ids]);
    const sealed = await withEnvelopeTexts(rows.map(memoryOf), texts);
    tail.add(sealed.map((row): IndexableRow => ({ ...row, workspace: key })));
    if (rows.length < SLICE) return tail.kept;
  }
}

/** Returns all records that a page refers to, by position. */
async function rowsOf(
  { sql, read }: StatementRunner,
  workspace: string,
  page: readonly RankedRecord[],
): Promise<Map<number, PositionedMemory>> {
  const named = page.flatMap(({ pos, nearest, connected, supersededBy }) => [
    ...[pos, ...supersededBy],
    ...(nearest === undefined ? [] : [nearest]),
    ...(connected === undefined ? [] : [connected.pos]),
  ]);
  if (named.length === 0) return new Map();
  const rows = await read(sql.memoriesAt, [workspace, [...new Set(named)]]);
  return new Map(rows.map(memoryOf).map((memory) => [memory.pos, memory]));
}

/** Returns the envelopes that hits quote from, by position. */
async function envelopesOf(
  { sql, read }: StatementRunner,
  workspace: string,
  of: {
    readonly page: readonly RankedRecord[];
    readonly rows: ReadonlyMap<number, PositionedMemory>;
  },
): Promise<ReadonlyMap<number, string | undefined>> {
  const quoted = of.page.flatMap(({ inBody, pos }) => (inBody ? (of.rows.get(pos) ?? []) : []));
  const sealed = await withEnvelopeTexts(quoted, (ids) =>
    read(sql.envelopeTexts, [workspace, ids]),
  );
  return new Map(sealed.map(({ pos, envelope }) => [pos, envelope]));
}
