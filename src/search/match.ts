/** Scores how well one record matches a query, exactly, by its best passage. */
import { isBodyPassage, LABEL_TIMES, passageLength } from "./analyse.ts";
import { saturation } from "./bm25.ts";
import { type GatheredCandidates, nameWeight, termWeight } from "./gather-candidates.ts";
import { datesOf, type Query } from "./query.ts";
import type { RecordFeatures } from "./ranking-sources.ts";
import type { Weights } from "./weights.ts";

/** How well a record matches a query. */
export interface Match {
  readonly record: RecordFeatures;
  /** The highest contribution of each term anywhere in the record. */
  readonly terms: Float64Array;
  /** The same for the content alone. Only this counts for neighbouring records, because a body is long. */
  readonly contentTerms: Float64Array;
  /** Indexes of the terms in the best passage. */
  readonly matchedTerms: readonly number[];
  /** A key that identifies the best passage if it is in the body; 0 if it is in the content. */
  readonly bodyPassage: number;
  /** True if the record has a body. */
  readonly hasBody: boolean;
  /** Scores by words, adjacent words, author, date and time. */
  readonly words: number;
  readonly pairs: number;
  readonly author: number;
  readonly date: number;
  readonly time: number;
  /** The sum of all parts. */
  readonly own: number;
}

const NOTHING_SAID = { at: 0, inBody: false, words: 0, pairs: 0, said: [] as readonly number[] };

/** Matches records against one query. */
export class Matcher {
  readonly #query: Query;
  readonly #weights: Weights;
  readonly #gathered: GatheredCandidates;
  readonly #places: TermLookup;
  readonly #termWeights: readonly number[];
  readonly #bodyWeights: readonly number[];
  readonly #average: number;
  readonly #follows: ReadonlySet<number>;
  /** Reused counters for the current record and the current passage. */
  readonly #labelTimes: Float64Array;
  readonly #times: Float64Array;

  constructor(query: Query, weights: Weights, gathered: GatheredCandidates) {
    this.#query = query;
    this.#weights = weights;
    this.#gathered = gathered;
    const { census, rarities } = gathered;
    this.#places = new TermLookup(query.terms.map(({ hash }) => hash));
    const weightsBy = (rare: readonly number[]): number[] =>
      query.terms.map((_, place) => termWeight(place, rare, { query, weights, rarities }));
    this.#termWeights = weightsBy(rarities.terms);
    this.#bodyWeights = weightsBy(rarities.bodies).map((weight) => weights.body * weight);
    this.#average = Math.max(1, census.terms / Math.max(1, census.passages));
    this.#follows = new Set(query.pairs.map(([first, second]) => pairKey(first, second)));
    this.#labelTimes = new Float64Array(query.terms.length);
    this.#times = new Float64Array(query.terms.length);
  }

  /** The score of an average passage that contains every word of the query once. */
  get asked(): number {
    return this.#query.terms.reduce(
      (sum, { weight }, place) => (weight < 1 ? sum : sum + (this.#termWeights[place] as number)),
      0,
    );
  }

  /**
   * Matches one record in a few microseconds: loops by index over the packed terms, without allocating
   * anything temporary.
   */
  match(record: RecordFeatures): Match {
    const { packed } = record;
    const labelled = 1 + (packed[0] ?? 0);
    this.#labelTimes.fill(0);
    for (let at = 1; at < labelled; at++) {
      const place = this.#places.of(packed[at] as number);
      if (place !== -1) this.#labelTimes[place] = (this.#labelTimes[place] as number) + LABEL_TIMES;
    }
    const contentTerms = new Float64Array(this.#termWeights.length);
    let terms = contentTerms;
    let best = NOTHING_SAID;
    for (let at = labelled; at < packed.length; ) {
      const head = packed[at] as number;
      const length = passageLength(head);
      const inBody = isBodyPassage(head);
      if (inBody && terms === contentTerms) terms = contentTerms.slice();
      const pairs = this.#count(packed, at + 1, length) * (inBody ? this.#weights.body : 1);
      // A line of a few words must not rank above a sentence with the same words.
      const usual = inBody ? Math.max(length, this.#average) : length;
      const words = this.#weigh(usual, inBody ? this.#bodyWeights : this.#termWeights, terms);
      if (words + pairs > best.words + best.pairs) {
        best = { at, inBody, words, pairs, said: this.#saidNow() };
      }
      at += 1 + length;
    }
    // A question is seldom the answer, so its words count less for itself; for its neighbours they count in full.
    const { at, inBody, said: matchedTerms } = best;
    const part = record.isQuestion && !inBody ? this.#weights.question : 1;
    const words = best.words * part;
    const pairs = best.pairs * part;
    const bodyPassage = inBody ? passageKey(packed, at) : 0;
    const around = this.#around(record, words + pairs, part);
    const hasBody = terms !== contentTerms;
    return {
      record,
      terms,
      contentTerms,
      matchedTerms: matchedTerms,
      bodyPassage,
      hasBody,
      words,
      pairs,
      ...around,
    };
  }

  /** Counts how often each term occurs in a passage; returns the score of the pairs in it. */
  #count(packed: Uint32Array, from: number, length: number): number {
    const times = this.#times;
    times.set(this.#labelTimes);
    let pairs = 0;
    let previous = -1;
    let counted: Set<number> | undefined;
    for (let at = from; at < from + length; at++) {
      const place = this.#places.of(packed[at] as number);
      if (place !== -1) {
        times[place] = (times[place] as number) + 1;
        const key = pairKey(previous, place);
        if (previous !== -1 && this.#follows.has(key) && !counted?.has(key)) {
          counted ??= new Set();
          counted.add(key);
          pairs += this.#pairWeight(previous, place);
        }
      }
      previous = place;
    }
    return pairs;
  }

  /** Returns the score of the counted terms; keeps the highest contribution of each in `terms`. */
  #weigh(length: number, weights: readonly number[], terms: Float64Array): number {
    let words = 0;
    for (let place = 0; place < this.#times.length; place++) {
      const n = this.#times[place] as number;
      if (n === 0) continue;
      const weight = (weights[place] as number) * saturation(n, length, this.#average);
      words += weight;
      if (weight > (terms[place] as number)) terms[place] = weight;
    }
    return words;
  }

  #saidNow(): number[] {
    const said: number[] = [];
    for (let place = 0; place < this.#times.length; place++) {
      if (this.#times[place] !== 0) said.push(place);
    }
    return said;
  }

  #pairWeight(first: number, second: number): number {
    const { rarities } = this.#gathered;
    const isName = (place: number): boolean =>
      rarities.names.has(this.#query.terms[place]?.word ?? "");
    if (isName(first) || isName(second)) return 0;
    const both = (rarities.terms[first] ?? 0) + (rarities.terms[second] ?? 0);
    return (this.#weights.pair * both) / 2;
  }

  /** Scores author, date and time, and adds up the total. */
  #around(
    record: RecordFeatures,
    spoken: number,
    part: number,
  ): Pick<Match, "author" | "date" | "time" | "own"> {
    const { rarities } = this.#gathered;
    const weights = this.#weights;
    let date = 0;
    if (rarities.dates.size > 0) {
      for (const each of datesOf(record.when)) {
        date += part * weights.date * (rarities.dates.get(each) ?? 0);
      }
    }
    const score = spoken + date;
    let author = 0;
    for (const name of new Set(record.names)) {
      const rare = rarities.names.get(name);
      if (rare === undefined) continue;
      author += part * weights.author * nameWeight(rare) * (score > 0 ? 1 : 0.5);
    }
    const sum = score + author;
    const time = this.#query.asksWhen && record.mentionsTime && sum > 0 ? weights.time : 0;
    return { author, date, time, own: sum + time };
  }
}

/** Returns the same key for passages with the same terms. */
function passageKey(packed: Uint32Array, at: number): number {
  let key = 0x811c9dc5;
  const end = at + 1 + passageLength(packed[at] as number);
  for (let n = at + 1; n < end; n++) key = Math.imul(key ^ (packed[n] as number), 0x01000193);
  return (key >>> 0) + 1;
}

const pairKey = (first: number, second: number): number => first * 4_096 + second;

/**
 * Finds the query term of a hash. Most terms of a record are not in the query: checking one byte rules them
 * out, at a tenth of the cost of a Map with such large keys.
 */
class TermLookup {
  readonly #hashes: readonly number[];
  readonly #maybe = new Uint8Array(4_096);

  constructor(hashes: readonly number[]) {
    this.#hashes = hashes;
    for (const hash of hashes) this.#maybe[hash & 4_095] = 1;
  }

  /** Returns -1 if the hash is not a term of the query. */
  of(hash: number): number {
    return this.#maybe[hash & 4_095] === 0 ? -1 : this.#hashes.indexOf(hash);
  }
}
