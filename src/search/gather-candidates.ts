/**
 * Gathers candidates for ranking: from a query to a few hundred records, reading no more postings than a
 * budget allows, however large the store is.
 *
 * Posting lists are read in two rounds. The first reads the newest few dozen entries of each: that exhausts
 * rare words, and shows how frequent the others are, by how far back those entries reach. The second round
 * spends the rest of the budget on the lists with the highest weights. What remains unread is what a frequent
 * word would add to records that match nothing else.
 */
import { BODY_CLASS, BODY_CLASS_WEIGHT, CLASS_WEIGHTS, rarity } from "./bm25.ts";
import type { Query } from "./query.ts";
import type { Census, RankingSources } from "./ranking-sources.ts";
import { ScoreAccumulator } from "./score-accumulator.ts";
import type { Weights } from "./weights.ts";

/** Entries read from each list in the first round. */
const FIRST_ROUND = 64;
/**
 * A small store is read further in the first round, to learn its frequent words: the records of such a word
 * may all be of one day.
 */
const SMALL_STORE_RECORDS = 50_000;
const FIRST_ROUND_SMALL = 250;
/** Shortest useful read of a list. */
const MIN_LIST_LENGTH = 32;
/** A similar word only counts from this weight class on: mentioned in passing, it leads nowhere. */
const MIN_EXPANSION_CLASS = 2;

/** How rare each part of a query is in this workspace; rarer parts carry more weight. */
export interface Rarities {
  /** By index in the query's terms: among contents, and among contents and bodies. */
  readonly terms: readonly number[];
  readonly bodies: readonly number[];
  /** By date, in the form of `Query.dates`. */
  readonly dates: ReadonlyMap<string, number>;
  /** Only for words that are part of an author's name. */
  readonly names: ReadonlyMap<string, number>;
}

/** The gathered candidates and what was learned about the query. */
export interface GatheredCandidates {
  readonly census: Census;
  readonly rarities: Rarities;
  /** Returns the `want` best positions, best first. */
  best(want: number): readonly number[];
}

type Part = { readonly kind: "term" | "body" | "date" | "name"; readonly place: number };

interface PostingList {
  readonly token: string;
  readonly part: Part;
  readonly classWeight: number;
  positions: readonly number[];
  /** Length of the list; estimated if it was not read to its end. */
  count: number;
}

/** The query, and how much to read for it. */
export interface GatherOptions {
  readonly query: Query;
  readonly weights: Weights;
  /** Maximum number of postings to read. */
  readonly postings: number;
}

/** Reads posting lists within the budget and scores the positions in them. */
export async function gatherCandidates(
  sources: RankingSources,
  { query, weights, postings }: GatherOptions,
): Promise<GatheredCandidates> {
  const census = await sources.census();
  const lists = listsOf(query);
  // The more words a query has, the less is read of each.
  const first = census.records < SMALL_STORE_RECORDS ? FIRST_ROUND_SMALL : FIRST_ROUND;
  const each = Math.max(MIN_LIST_LENGTH, Math.min(first, Math.floor(postings / lists.length)));
  await readPostings(sources, lists, each);
  for (const list of lists) list.count = estimateLength(list, { census, limit: each });
  const guessed = raritiesOf(query, lists, census);
  await readMore(sources, lists, {
    weigh: (list) => weightOf(list, { query, weights, rarities: guessed }),
    budget: postings,
  });
  const rarities = raritiesOf(query, lists, census);
  const tally = new ScoreAccumulator(lists.reduce((sum, list) => sum + list.positions.length, 0));
  for (const list of lists) tally.add(list.positions, weightOf(list, { query, weights, rarities }));
  return { census, rarities, best: (want) => tally.best(want, weights.near) };
}

function listsOf({ terms, dates, names }: Query): PostingList[] {
  const list = (token: string, part: Part, classWeight = 1): PostingList => ({
    token,
    part,
    classWeight,
    positions: [],
    count: 0,
  });
  return [
    ...terms.flatMap(({ term, weight: asked }, place) =>
      CLASS_WEIGHTS.flatMap((weight, n) =>
        asked < 1 && n < MIN_EXPANSION_CLASS
          ? []
          : list(`${n}${term}`, { kind: "term", place }, weight),
      ),
    ),
    ...terms.flatMap(({ term, weight: asked }, place) =>
      asked < 1 ? [] : list(`${BODY_CLASS}${term}`, { kind: "body", place }, BODY_CLASS_WEIGHT),
    ),
    ...dates.map((date, place) => list(`d${date}`, { kind: "date", place })),
    ...names.map((name, place) => list(`n${name}`, { kind: "name", place })),
  ];
}

async function readPostings(
  sources: RankingSources,
  lists: readonly PostingList[],
  limit: number,
): Promise<void> {
  const before = Number.MAX_SAFE_INTEGER;
  const found = await sources.postings(lists.map(({ token }) => ({ token, before, limit })));
  for (const [n, list] of lists.entries()) list.positions = found[n] ?? [];
}

/** The length of a list that was cut is estimated from how far back its beginning reaches. */
function estimateLength(
  { positions }: PostingList,
  { census: { first, last }, limit }: { census: Census; limit: number },
): number {
  if (positions.length < limit) return positions.length;
  const reached = last - (positions.at(-1) ?? last) + 1;
  return Math.round((positions.length * (last - first + 1)) / reached);
}

function raritiesOf(query: Query, lists: readonly PostingList[], { records }: Census): Rarities {
  const sums: Readonly<Record<Part["kind"], Map<number, number>>> = {
    ...{ term: new Map(), body: new Map(), date: new Map(), name: new Map() },
  };
  for (const { part, count: length } of lists) {
    const sum = sums[part.kind];
    sum.set(part.place, (sum.get(part.place) ?? 0) + length);
  }
  const count = (kind: Part["kind"], place: number): number => sums[kind].get(place) ?? 0;
  const rare = (among: number): number => rarity(Math.min(among, records), records);
  const all = query.terms.map((_, place) => count("term", place) + count("body", place));
  return {
    // Text that handoffs carry along must not change how rare a word is among memories.
    terms: all.map((either, place) => rare(count("term", place) || either)),
    bodies: all.map(rare),
    dates: new Map(
      query.dates.map((date, n) => [date, rarity(Math.min(count("date", n), records), records)]),
    ),
    names: new Map(
      query.names.flatMap((name, n): [string, number][] => {
        const among = Math.min(count("name", n), records);
        return among === 0 ? [] : [[name, rarity(among, records)]];
      }),
    ),
  };
}

/** Returns the weight of an author's name: even a frequent name identifies whom the query means. */
export const nameWeight = (rare: number): number => Math.max(rare, 0.7);

function weightOf(
  { part, classWeight }: PostingList,
  { query, weights, rarities }: { query: Query; weights: Weights; rarities: Rarities },
): number {
  switch (part.kind) {
    case "term":
      return classWeight * termWeight(part.place, rarities.terms, { query, weights, rarities });
    case "body": {
      const weight = termWeight(part.place, rarities.bodies, { query, weights, rarities });
      return weights.body * classWeight * weight;
    }
    case "date":
      return weights.date * (rarities.dates.get(query.dates[part.place] ?? "") ?? 0);
    case "name":
      return (
        (weights.author * nameWeight(rarities.names.get(query.names[part.place] ?? "") ?? 0)) / 2
      );
  }
}

/** Returns the weight of a term of the query. `rare` is `rarities.terms` or `rarities.bodies`. */
export function termWeight(
  place: number,
  rare: readonly number[],
  { query, weights, rarities }: { query: Query; weights: Weights; rarities: Rarities },
): number {
  const term = query.terms[place];
  if (term === undefined) return 0;
  // A rare similar word must not outweigh the word it stands for.
  const rarity = Math.min(rare[place] ?? 0, rare[term.of] ?? 0);
  const part = term.weight < 1 ? weights.expansion * term.weight : 1;
  return rarity * part * (rarities.names.has(term.word) ? weights.authorsName : 1);
}

async function readMore(
  sources: RankingSources,
  lists: readonly PostingList[],
  { weigh, budget }: { weigh: (list: PostingList) => number; budget: number },
): Promise<void> {
  let left = budget - lists.reduce((sum, list) => sum + list.positions.length, 0);
  const longer = lists
    .filter((list) => list.count > list.positions.length)
    .sort((a, b) => weigh(b) - weigh(a));
  const asked: PostingList[] = [];
  const requests = [];
  for (const list of longer) {
    const limit = Math.min(left, list.count * 2);
    if (limit < MIN_LIST_LENGTH) break;
    requests.push({ token: list.token, before: list.positions.at(-1) ?? 0, limit });
    asked.push(list);
    left -= Math.min(limit, list.count);
  }
  if (asked.length === 0) return;
  const found = await sources.postings(requests);
  for (const [n, list] of asked.entries()) {
    const more = found[n] ?? [];
    list.positions = list.positions.concat(more);
    // The list was read to its end, so its length is exact.
    if (more.length < (requests[n]?.limit ?? 0)) list.count = list.positions.length;
  }
}
