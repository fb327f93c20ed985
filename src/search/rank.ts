/**
 * Ranks records: takes candidates from the store, and returns the best with the parts of their scores. Scores
 * are computed only here, the same way for every store.
 *
 *   gather     words, dates, authors → a few hundred positions           gather-candidates.ts
 *   match      each of them exactly, by its best passage                 match.ts
 *   spread     words in neighbouring records of the session count here too
 *   connect    related records; a record that supersedes another takes its place
 *   mean       similarity in meaning: a small part, unless words match little of the query
 *   weigh      importance, confidence, recency
 */
import { type GatheredCandidates, gatherCandidates } from "./gather-candidates.ts";
import { type Match, Matcher } from "./match.ts";
import type { Query } from "./query.ts";
import type { PositionEdge, RankingSources } from "./ranking-sources.ts";
import type { Weights } from "./weights.ts";

/** A query and how to rank its results. */
export interface RankRequest {
  readonly query: Query;
  readonly weights: Weights;
  /** The current time, or the time that the query is about. */
  readonly now: number;
  /** Number of results. */
  readonly want: number;
  /** Positions of earlier pages, which are omitted. */
  readonly shown: ReadonlySet<number>;
  /** How far, and to how many records, relations are followed. */
  readonly graph: { readonly depth: number; readonly visits: number };
  /** Whether superseded or corrected records are omitted, or marked and ranked last. */
  readonly superseded: "left-out" | "marked";
  readonly effort: Effort;
}

/** How much is read for a query. With the default, it finds what an exhaustive search would. */
export interface Effort {
  /** Postings to read: about 0.15 µs each. */
  readonly postings: number;
  /** Records to match exactly: about 10 µs each. Twice as many find nothing more. */
  readonly candidates: number;
}

/** The default effort. */
export const EFFORT: Effort = { postings: 20_000, candidates: 160 };

/** The parts of a score, in the units of weights.ts. */
export interface ScoreParts {
  /** Words of the query in the record. */
  readonly words: number;
  /** Adjacent words of the query that are adjacent in the record. */
  readonly pairs: number;
  /** Author, date and time that the query names or asks for. */
  readonly author: number;
  readonly date: number;
  readonly time: number;
  /** Words of the query in neighbouring records. */
  readonly near: number;
  /** The best match of the session. */
  readonly session: number;
  /** Scores that passed along relations. */
  readonly graph: number;
  /** Similarity in meaning. */
  readonly meaning: number;
  /** Product of importance, confidence, recency and validity, which multiplies the sum of the other parts. */
  readonly factor: number;
}

/** One result of ranking. */
export interface RankedRecord {
  readonly pos: number;
  readonly score: number;
  readonly parts: ScoreParts;
  /** Indexes of the query's terms in the record, and of those in its neighbours. */
  readonly matchedTerms: readonly number[];
  readonly neighbourTerms: readonly number[];
  /** Positions of the record that the neighbouring words, or the relation, come from. */
  readonly nearest: number | undefined;
  readonly connected: { readonly pos: number; readonly kind: string } | undefined;
  /** True if its best passage is in its body (store/body-text.ts), not in its content. */
  readonly inBody: boolean;
  /** Positions of the records that supersede or correct it. */
  readonly supersededBy: readonly number[];
  /** Cosine similarity to the query; undefined if it was not compared. */
  readonly similarity: number | undefined;
}

/** Minimum number of candidates with a check of their neighbours. Twice as many find nothing more. */
const MIN_SPREAD_SOURCES = 32;
/** Weight of the second best match of a session: one chance match should not decide alone. */
const SECOND_BEST_WEIGHT = 0.3;
const MAX_VECTOR_CANDIDATES = 32;
/** Minimum number of the best by words that are also compared by meaning. */
const MIN_VECTOR_COMPARISONS = 64;
/** Maximum number of relations to read per step. */
const EDGES = 2_000;

interface Candidate {
  readonly match: Match;
  near: number;
  neighbourTerms: readonly number[];
  nearest: number | undefined;
  session: number;
  graph: number;
  connected: { readonly pos: number; readonly kind: string } | undefined;
  meaning: number;
  similarity: number | undefined;
  supersededBy: number[];
}

/** Ranks the records that match a query; returns the best `want`, best first. */
export async function rank(
  sources: RankingSources,
  ranking: RankRequest,
): Promise<readonly RankedRecord[]> {
  const { query, weights, effort } = ranking;
  const want = ranking.want + ranking.shown.size;
  const gathered = await gatherCandidates(sources, { query, weights, postings: effort.postings });
  const matcher = new Matcher(query, weights, gathered);
  const standings = new Map<number, Candidate>();
  const load = async (positions: readonly number[]): Promise<void> => {
    const unknown = [...new Set(positions)].filter((pos) => !standings.has(pos));
    if (unknown.length === 0) return;
    const found = await sources.records(unknown);
    for (const record of found) standings.set(record.pos, newCandidate(matcher.match(record)));
    for (const { pos, by } of await sources.replaced(found.map((record) => record.pos))) {
      standings.get(pos)?.supersededBy.push(by);
    }
  };
  await loadBestCandidates(gathered, {
    look: load,
    standings,
    want: Math.max(effort.candidates, want * 3),
  });
  const meant = await sources.nearest(MAX_VECTOR_CANDIDATES);
  await load(meant.map(({ pos }) => pos));
  await addNeighbourScores(sources, {
    standings,
    look: load,
    weights,
    most: Math.max(MIN_SPREAD_SOURCES, want),
  });
  addSessionScores(standings, weights);
  const { asked } = matcher;
  await addMeaningScores(sources, standings, {
    weights,
    meant: meant.map(({ pos }) => pos),
    want,
    asked,
  });
  await addGraphScores(sources, { standings, look: load, ranking });
  return sortCandidates(standings, ranking);
}

/** If the reader cannot see many of the best candidates, continues further down the gathered ones. */
async function loadBestCandidates(
  gathered: GatheredCandidates,
  { look, standings, want }: { look: LoadRecords; standings: Candidates; want: number },
): Promise<void> {
  const first = gathered.best(want);
  await look(first);
  if (first.length < want || standings.size >= want / 2) return;
  const all = gathered.best(Number.MAX_SAFE_INTEGER);
  for (let at = want; at < all.length && standings.size < want; at += want) {
    await look(all.slice(at, at + want));
  }
}

function newCandidate(match: Match): Candidate {
  return {
    match,
    near: 0,
    neighbourTerms: [],
    nearest: undefined,
    session: 0,
    graph: 0,
    connected: undefined,
    meaning: 0,
    similarity: undefined,
    supersededBy: [],
  };
}

type Candidates = Map<number, Candidate>;
type LoadRecords = (positions: readonly number[]) => Promise<void>;

/**
 * Adds scores for words in neighbouring records. An answer seldom repeats the words of the question, so a
 * word beside a record counts as if it were in it, with a lower weight. Each word counts once, from the
 * nearest record: adding up whole neighbours instead costs three points of recall.
 */
async function addNeighbourScores(
  sources: RankingSources,
  {
    standings,
    look,
    weights,
    most,
  }: { standings: Candidates; look: LoadRecords; weights: Weights; most: number },
): Promise<void> {
  const best = [...standings.values()]
    .toSorted((a, b) => b.match.own - a.match.own || b.match.record.pos - a.match.record.pos)
    .slice(0, most);
  const beside = await sources.beside(
    best.map(({ match }) => match.record),
    weights.near.length,
  );
  await look(beside.flatMap(({ before, after }) => [...before, ...after]));
  const pairs = new Map<number, Map<number, number>>();
  const join = (a: number, b: number, distance: number): void => {
    if (!standings.has(a) || !standings.has(b)) return;
    const known = pairs.get(a);
    if (known === undefined) pairs.set(a, new Map([[b, distance]]));
    else known.set(b, distance);
  };
  for (const { pos, before, after } of beside) {
    for (const side of [before, after]) {
      for (const [n, other] of side.entries()) {
        join(pos, other, n);
        join(other, pos, n);
      }
    }
  }
  for (const [pos, others] of pairs)
    addNeighbourTerms(standings, { pos, others, near: weights.near });
}

function addNeighbourTerms(
  standings: Candidates,
  { pos, others, near }: { pos: number; others: Map<number, number>; near: readonly number[] },
): void {
  const here = standings.get(pos);
  if (here === undefined) return;
  const speakers = [...others].flatMap(([other, distance]) => {
    const speaker = standings.get(other);
    const weight = near[distance] ?? 0;
    return speaker === undefined || isReplaced(speaker)
      ? []
      : [{ other, weight, terms: speaker.match.contentTerms, gain: 0 }];
  });
  const own = here.match.terms;
  const fromNeighbours: number[] = [];
  for (let place = 0; place < own.length; place++) {
    const ownWeight = own[place] as number;
    let best = ownWeight;
    let loudest: (typeof speakers)[number] | undefined;
    for (const speaker of speakers) {
      const weight = (speaker.terms[place] as number) * speaker.weight;
      if (weight > best) {
        best = weight;
        loudest = speaker;
      }
    }
    if (loudest === undefined) continue;
    here.near += best - ownWeight;
    loudest.gain += best - ownWeight;
    fromNeighbours.push(place);
  }
  here.neighbourTerms = fromNeighbours;
  here.nearest = speakers
    .filter(({ gain }) => gain > 0)
    .toSorted((a, b) => b.gain - a.gain)[0]?.other;
}

/** Adds scores for sessions: where much of the query matches, the rest probably does too. */
function addSessionScores(standings: Candidates, weights: Weights): void {
  const sessions = new Map<string, number[]>();
  for (const each of standings.values()) {
    if (isReplaced(each)) continue;
    const { match } = each;
    const { session } = match.record;
    const known = sessions.get(session);
    if (known === undefined) sessions.set(session, [match.own]);
    else known.push(match.own);
  }
  const scores = new Map<string, number>();
  for (const [session, own] of sessions) {
    const [best = 0, second = 0] = own.toSorted((a, b) => b - a);
    scores.set(session, best + SECOND_BEST_WEIGHT * (second - best));
  }
  for (const each of standings.values()) {
    each.session = weights.session * (scores.get(each.match.record.session) ?? 0);
  }
}

/** A replaced record does not contribute to other records. */
const isReplaced = ({ supersededBy }: Candidate): boolean => supersededBy.length > 0;

const lexicalScore = ({ match, near, session }: Candidate): number => match.own + near + session;

interface MeaningOptions {
  readonly weights: Weights;
  readonly meant: readonly number[];
  readonly want: number;
  /** Score of a record that contains every word of the query. */
  readonly asked: number;
}

async function addMeaningScores(
  sources: RankingSources,
  standings: Candidates,
  { weights, meant, want, asked }: MeaningOptions,
): Promise<void> {
  if (weights.meaning === 0 || meant.length === 0) return;
  const first = best(standings, Math.max(MIN_VECTOR_COMPARISONS, want));
  const top = first.reduce((most, pos) => {
    const found = standings.get(pos);
    return found === undefined ? most : Math.max(most, lexicalScore(found));
  }, 1);
  const scale = meaningScale(top, asked);
  const positions = [...new Set([...first, ...meant])];
  for (const { pos, similarity } of await sources.similarities(positions)) {
    const found = standings.get(pos);
    if (found === undefined || similarity <= 0) continue;
    found.similarity = similarity;
    // The vector of a whole handoff is near to many queries, but answers few.
    const part = found.match.hasBody ? weights.bodyMeaning : 1;
    found.meaning = part * weights.meaning * scale * similarity;
  }
}

/** If the best record by words matches less than this share of the query, words explain the query badly. */
const MIN_EXPLAINED_SHARE = 0.6;
/**
 * Upper bound in multiples of the full query score: by then meaning dominates, and scores stay in their
 * units.
 */
const MAX_MEANING_FACTOR = 3;

/**
 * Scales meaning by the best score by words, so that it neither drowns many words nor vanishes beside few. A
 * query in entirely different words matches frequent words by chance only: the less of the query the best
 * record explains, the more meaning counts, until it dominates. That finds seven more of a hundred such
 * records, and costs queries with shared words at most a fifth of a point; 0.5 to 0.67 and a fourth power do
 * about the same.
 */
function meaningScale(top: number, asked: number): number {
  const missed = Math.max(1, (MIN_EXPLAINED_SHARE * asked) / top);
  return Math.max(top, Math.min(top * missed ** 3, MAX_MEANING_FACTOR * asked));
}

/** Share of a score that passes along a relation. A replacement of a record is what the query wants. */
const EDGE_WEIGHTS: Readonly<Record<string, number>> = {
  supersedes: 2.5,
  corrects: 2.5,
  summarizes: 1.2,
  "continues-from": 1,
  "derived-from": 1,
  "caused-by": 1,
  supports: 1,
  contradicts: 1,
  references: 0.5,
  "branches-from": 0,
};

/** Number of best records from which relations are followed. */
const SEEDS = 24;
const REPLACING: ReadonlySet<string> = new Set(["supersedes", "corrects"]);

async function addGraphScores(
  sources: RankingSources,
  { standings, look, ranking }: { standings: Candidates; look: LoadRecords; ranking: RankRequest },
): Promise<void> {
  const { weights, graph } = ranking;
  let front = graph.depth === 0 ? [] : best(standings, SEEDS);
  let seeds = new Set(front);
  let visits = graph.visits;
  const followed = new Set<number>();
  for (let step = 0; step < graph.depth && front.length > 0; step++) {
    // In the same order for every store, because a score that passes along one edge continues along the next.
    const edges = (await sources.edges(front, EDGES)).toSorted(oldestFirst);
    const ends = edges.flatMap(({ source, target }) => [source, target]);
    const unseen = [...new Set(ends)].filter((pos) => !standings.has(pos)).slice(0, visits);
    visits -= unseen.length;
    await look(unseen);
    for (const pos of seeds) followed.add(pos);
    const share = weights.graph / 2 ** step;
    const reached = edges.flatMap((edge) => propagateScore(standings, { edge, seeds, share }));
    seeds = new Set(reached.filter((pos) => !followed.has(pos)));
    front = [...seeds];
  }
}

function best(standings: Candidates, most: number): number[] {
  return [...standings.values()]
    .toSorted(
      (a, b) =>
        lexicalScore(b) + b.meaning - lexicalScore(a) - a.meaning ||
        b.match.record.pos - a.match.record.pos,
    )
    .slice(0, most)
    .map(({ match }) => match.record.pos);
}

function oldestFirst(a: PositionEdge, b: PositionEdge): number {
  return a.source - b.source || a.target - b.target || (a.kind < b.kind ? -1 : 1);
}

function propagateScore(
  standings: Candidates,
  { edge, seeds, share }: { edge: PositionEdge; seeds: ReadonlySet<number>; share: number },
): number[] {
  const { kind, source, target } = edge;
  const reached: number[] = [];
  const give = (from: number, to: number): void => {
    const [giver, taker] = [standings.get(from), standings.get(to)];
    if (!seeds.has(from) || giver === undefined || taker === undefined) return;
    const worth = share * (EDGE_WEIGHTS[kind] ?? 0) * (giver.match.own + giver.near + giver.graph);
    reached.push(to);
    if (worth <= taker.graph) return;
    taker.graph = worth;
    taker.connected = { pos: from, kind };
  };
  give(target, source);
  if (!REPLACING.has(kind)) give(source, target);
  return reached;
}

/** Minimum similarity for a result that matches by meaning only: any two texts are slightly similar. */
const MIN_SIMILARITY = 0.3;

/**
 * Factor for repeated passages: each handoff of a line repeats what it carries, and one result with it is
 * enough.
 */
const REPEATED_FACTOR = 0.5;

/** Returns the candidates with the same best passage as a better candidate. */
function findRepeatedPassages(standings: Candidates): ReadonlySet<Candidate> {
  const known = new Set<number>();
  return new Set(
    [...standings.values()]
      .filter((each) => each.match.bodyPassage !== 0 && !isReplaced(each))
      .toSorted((a, b) => b.match.own - a.match.own || b.match.record.pos - a.match.record.pos)
      .filter(({ match }) => known.size === known.add(match.bodyPassage).size),
  );
}

function sortCandidates(standings: Candidates, ranking: RankRequest): RankedRecord[] {
  const repeated = findRepeatedPassages(standings);
  const ranked = [...standings.values()].flatMap((each): RankedRecord[] => {
    const factor = factorOf(each, ranking) * (repeated.has(each) ? REPEATED_FACTOR : 1);
    const sum = lexicalScore(each) + each.graph + each.meaning;
    const isFound = each.match.own + each.near + each.graph > 0;
    if (!isFound && (each.similarity ?? 0) < MIN_SIMILARITY) return [];
    if (ranking.shown.has(each.match.record.pos)) return [];
    if (each.supersededBy.length > 0 && ranking.superseded === "left-out") return [];
    return [resultOf(each, sum * factor, factor)];
  });
  return ranked
    .sort(
      (a, b) =>
        Number(a.supersededBy.length > 0) - Number(b.supersededBy.length > 0) ||
        b.score - a.score ||
        b.pos - a.pos,
    )
    .slice(0, ranking.want);
}

/** Factor for records after the end of their validity: they may still explain something. */
const OUTDATED_FACTOR = 0.5;

function factorOf({ match }: Candidate, { weights, now }: RankRequest): number {
  const { importance = 0.5, confidence = 1, storedAt, validUntil } = match.record;
  const age = Math.max(0, now - storedAt);
  return (
    (1 + weights.importance * (importance - 0.5)) *
    (1 - weights.confidence * (1 - confidence)) *
    (1 + weights.recency * 2 ** (-age / weights.recencyHalfLifeMs)) *
    (validUntil > 0 && validUntil <= now ? OUTDATED_FACTOR : 1)
  );
}

function resultOf(each: Candidate, score: number, factor: number): RankedRecord {
  const { match, near, session, graph, meaning, ...rest } = each;
  const { words, pairs, author, date, time } = match;
  return {
    pos: match.record.pos,
    score,
    parts: { words, pairs, author, date, time, near, session, graph, meaning, factor },
    matchedTerms: match.matchedTerms,
    neighbourTerms: rest.neighbourTerms,
    nearest: rest.nearest,
    connected: rest.connected,
    inBody: match.bodyPassage !== 0,
    supersededBy: rest.supersededBy,
    similarity: rest.similarity,
  };
}
