/**
 * Gathering: from a question to a few hundred records worth a closer look, without looking at more
 * postings than a budget allows, however large the store is.
 *
 * Lists are read in two rounds. The first reads the newest few dozen of each: rare words are done
 * with it, and of frequent ones it tells how frequent they are, by how far back they reach.
 * The second spends what is left of the budget on the lists that weigh most, so that what a frequent
 * word would add to a record that has nothing else is what goes unread.
 */
import { BODY_CLASS, BODY_CLASS_WEIGHT, CLASS_WEIGHTS, rarity } from "./bm25.ts";
import type { Query } from "./query.ts";
import type { Census, RankingSources } from "./ranking-sources.ts";
import { ScoreAccumulator } from "./score-accumulator.ts";
import type { Weights } from "./weights.ts";

const FIRST_ROUND = 64;
/** A small store is read far enough to know its frequent words, whose records may all be of one day. */
const SMALL_STORE_RECORDS = 50_000;
const FIRST_ROUND_SMALL = 250;
const MIN_LIST_LENGTH = 32;
/** A near word that is said in passing leads nowhere. */
const MIN_EXPANSION_CLASS = 2;

/** How much each part of a question tells, in this workspace. */
export interface Rarities {
  /** By place in the query's terms: among contents, and among contents and bodies. */
  readonly terms: readonly number[];
  readonly bodies: readonly number[];
  readonly dates: ReadonlyMap<string, number>;
  /** Only words that are part of an author's name. */
  readonly names: ReadonlyMap<string, number>;
}

export interface GatheredCandidates {
  readonly census: Census;
  readonly rarities: Rarities;
  /** The best so many, the first of them first. */
  best(want: number): readonly number[];
}

type Part = { readonly kind: "term" | "body" | "date" | "name"; readonly place: number };

interface PostingList {
  readonly token: string;
  readonly part: Part;
  readonly classWeight: number;
  positions: readonly number[];
  /** How long it is, or would be. */
  count: number;
}

export interface GatherOptions {
  readonly query: Query;
  readonly weights: Weights;
  /** How many postings may be read. */
  readonly postings: number;
}

export async function gatherCandidates(
  sources: RankingSources,
  { query, weights, postings }: GatherOptions,
): Promise<GatheredCandidates> {
  const census = await sources.census();
  const lists = listsOf(query);
  // Of a question with many words less of each is read.
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

/** A list that was cut is judged by how far back its beginning reaches. */
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
    // What handoffs carry along says nothing about how telling a word is that memories use.
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

/** What is said by a name that many have still says who was meant. */
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

/** What a term is worth that is so rare: `rarities.terms` or `rarities.bodies`. */
export function termWeight(
  place: number,
  rare: readonly number[],
  { query, weights, rarities }: { query: Query; weights: Weights; rarities: Rarities },
): number {
  const term = query.terms[place];
  if (term === undefined) return 0;
  // A rare word says no more than the one it stands for.
  const telling = Math.min(rare[place] ?? 0, rare[term.of] ?? 0);
  const part = term.weight < 1 ? weights.expansion * term.weight : 1;
  return telling * part * (rarities.names.has(term.word) ? weights.authorsName : 1);
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
    // Read to its end: no need to guess any more.
    if (more.length < (requests[n]?.limit ?? 0)) list.count = list.positions.length;
  }
}
