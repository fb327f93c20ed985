/** Ranked search over records in memory. Indexes every record again for each query. */
import { cosine, quantise } from "../../src/search/embedding/quantise.ts";
import { InMemorySources } from "../../src/search/in-memory-sources.ts";
import { rank } from "../../src/search/rank.ts";
import type {
  PositionEdge,
  RankingSources,
  RecordFeatures,
  Replacement,
  SimilarRecord,
} from "../../src/search/ranking-sources.ts";
import { isEdgeValid } from "../../src/store/memory-filter.ts";
import type { EnvelopeRow, MemoryRow, RelationEdge } from "../../src/store/rows.ts";
import {
  hitsOf,
  type IndexableRow,
  type IndexedRecord,
  indexedRecord,
  isRecordVisible,
  matchesSearchFilter,
  type SearchMemories,
  type SearchResult,
  spaceOf,
} from "../../src/store/search.ts";
import { isRowVisible } from "../../src/store/visibility.ts";

export interface SearchData {
  /** Oldest first; the first one has position 1. */
  readonly memories: readonly MemoryRow[];
  readonly relations: readonly RelationEdge[];
  readonly envelopes: readonly EnvelopeRow[];
  /** The vectors of the model that is searched, by memory. */
  readonly vectors: ReadonlyMap<string, Float32Array> | undefined;
}

export async function search(data: SearchData, operation: SearchMemories): Promise<SearchResult> {
  const { memories, vectors } = data;
  const { limit, shown = [] } = operation;
  const texts = textsOf(data);
  const upTo = operation.upTo ?? memories.length;
  const ranked = await rank(sourcesOf(data, { ...operation, upTo }), {
    ...operation.ranking,
    want: limit + 1,
    shown: new Set(shown),
  });
  return {
    hits: hitsOf(ranked.slice(0, limit), operation.ranking.query, {
      rowAt: (pos) => memories[pos - 1],
      envelopeAt: (pos) => texts.get(memories[pos - 1]?.id ?? ""),
    }),
    more: ranked.length > limit,
    upTo,
    index: { records: memories.length, indexed: memories.length },
    vectors: vectors === undefined || operation.meant === undefined ? "none" : "exact",
  };
}

/** Returns the texts of envelopes by the memories that vouch for them. */
const textsOf = ({ envelopes }: SearchData): ReadonlyMap<string, string> =>
  new Map(envelopes.map(({ memory, text }) => [memory, text]));

function sourcesOf(data: SearchData, operation: SearchMemories): RankingSources {
  const { sight, filter, upTo = 0 } = operation;
  const texts = textsOf(data);
  const known = new InMemorySources();
  const visible = new Map<number, RecordFeatures>();
  const positions = new Map<string, number>();
  for (const [n, row] of data.memories.entries()) {
    const pos = n + 1;
    positions.set(row.id, pos);
    const homed: IndexableRow = { ...row, pos, workspace: 0, envelope: texts.get(row.id) };
    const indexed = indexedRecord(homed);
    if (indexed === undefined || (!sight.traces && spaceOf(row.branch) === "traced")) continue;
    known.add(indexed);
    if (pos <= upTo && isShown(indexed, operation)) visible.set(pos, indexed.found);
  }
  const similar = (of: readonly number[]): SimilarRecord[] => similarities(data, operation, of);
  return {
    census: async () => known.census(),
    postings: async (requests) =>
      requests.map((request) => {
        const before = Math.min(request.before, upTo + 1);
        const list = known.posting({ ...request, before });
        if (list.length < request.limit) return list;
        // There are more than the limit: return only those that can be hits.
        const all = known.posting({ ...request, before, limit: Number.MAX_SAFE_INTEGER });
        return all.filter((pos) => visible.has(pos)).slice(0, request.limit);
      }),
    records: async (wanted) => wanted.flatMap((pos) => visible.get(pos) ?? []),
    beside: async (records, reach) => records.map((record) => known.beside(record, reach)),
    edges: async (wanted) => edgesAround(data, { wanted, positions, at: operation.ranking.now }),
    replaced: async (wanted) => replacedAmong(data, { wanted, positions, operation }),
    nearest: async (limit) =>
      similar([...visible.keys()])
        .sort((a, b) => b.similarity - a.similarity || b.pos - a.pos)
        .slice(0, limit),
    similarities: async (wanted) => similar(wanted),
  };

  function isShown({ row, record }: IndexedRecord, { sight: seen }: SearchMemories): boolean {
    return isRecordVisible(row, record, seen) && matchesSearchFilter(row, record, filter);
  }
}

function replacedAmong(
  { memories, relations }: SearchData,
  of: {
    wanted: readonly number[];
    positions: ReadonlyMap<string, number>;
    operation: SearchMemories;
  },
): Replacement[] {
  const { sight, ranking, upTo = 0 } = of.operation;
  const wanted = new Set(of.wanted);
  const kinds = ["supersedes", "corrects"];
  return relations
    .filter((edge) => isEdgeValid(edge, { kinds, at: ranking.now }))
    .flatMap((edge): Replacement[] => {
      const [pos = 0, by = 0] = [of.positions.get(edge.target), of.positions.get(edge.source)];
      const row = memories[by - 1];
      const isShown = row !== undefined && by <= upTo && isRowVisible(row, sight);
      return wanted.has(pos) && isShown ? [{ pos, by }] : [];
    })
    .sort((a, b) => b.by - a.by);
}

function edgesAround(
  { relations }: SearchData,
  of: { wanted: readonly number[]; positions: ReadonlyMap<string, number>; at: number },
): PositionEdge[] {
  const wanted = new Set(of.wanted);
  return relations.flatMap((edge): PositionEdge[] => {
    const [source, target] = [of.positions.get(edge.source), of.positions.get(edge.target)];
    if (source === undefined || target === undefined || !isEdgeValid(edge, { at: of.at }))
      return [];
    return wanted.has(source) || wanted.has(target) ? [{ kind: edge.kind, source, target }] : [];
  });
}

function similarities(
  { memories, vectors }: SearchData,
  { meant }: SearchMemories,
  positions: readonly number[],
): SimilarRecord[] {
  if (vectors === undefined || meant === undefined) return [];
  const asked = quantise(meant.vector);
  return positions.flatMap((pos): SimilarRecord[] => {
    const vector = vectors.get(memories[pos - 1]?.id ?? "");
    if (vector === undefined || vector.length !== meant.vector.length) return [];
    return [{ pos, similarity: cosine(asked, quantise(vector)) }];
  });
}
