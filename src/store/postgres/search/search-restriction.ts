/**
 * Determines which records pass a filter, from the index's lists of facets. It is used for words that more
 * records contain than are read. If few records pass, their words are examined directly; if many pass, the
 * words' lists are read deeper. Either way each record is checked again.
 */
import { LABEL_TIMES, unpackPassages } from "../../../search/analyse.ts";
import { BODY_CLASS, weightClass } from "../../../search/bm25.ts";
import { datesOf } from "../../../search/query.ts";
import type { PostingRequest, RecordFeatures } from "../../../search/ranking-sources.ts";
import { hashOf } from "../../../search/terms.ts";
import type { StatementRunner } from "../lines.ts";
import { readLists } from "./search-lists.ts";

/** The newest positions read of each facet (about 8 ms); older records are not excluded. */
const MAX_FACET_POSITIONS = 100_000;
/** Maximum number of records that are examined directly (about 10 ms). */
const MAX_SMALL_SET = 2_000;
/** Maximum factor by which lists are read deeper, the fewer records pass. */
const MAX_DEPTH_FACTOR = 16;

/** One condition of a filter: the set of records that meet it. */
class Condition {
  readonly positions: readonly number[];
  /** Position from which on all matching records are known. */
  readonly from: number;
  readonly #bits: Uint8Array;

  constructor(lists: readonly (readonly number[])[], below: number) {
    this.positions = lists.flat();
    const cut = lists.filter((list) => list.length === MAX_FACET_POSITIONS);
    this.from = Math.max(0, ...cut.map((list) => list.at(-1) ?? 0));
    this.#bits = new Uint8Array(((below - this.from) >> 3) + 1);
    for (const pos of this.positions) {
      const at = pos - this.from;
      if (at >= 0) this.#bits[at >> 3] = (this.#bits[at >> 3] as number) | (1 << (at & 7));
    }
  }

  /** Returns whether a record meets the condition; true if that is unknown. */
  holds(pos: number): boolean {
    const at = pos - this.from;
    return at < 0 || ((this.#bits[at >> 3] ?? 0) & (1 << (at & 7))) !== 0;
  }
}

/** What a restriction is loaded from. */
export interface RestrictionOptions {
  readonly workspace: string;
  /** Lists of keys: a record has to be in at least one list of each condition. */
  readonly conditions: readonly (readonly string[])[];
  /** Only positions below this one. */
  readonly below: number;
  readonly records: (positions: readonly number[]) => Promise<readonly RecordFeatures[]>;
}

/** The records that pass all conditions of a filter. */
export class Restriction {
  readonly #conditions: readonly Condition[];
  /** The passing records with their words, if they are few. */
  readonly few: SmallRecordSet | undefined;
  /** Factor by which to read lists deeper, so that enough records pass. */
  readonly deeper: number;

  private constructor(
    conditions: readonly Condition[],
    few: SmallRecordSet | undefined,
    below: number,
  ) {
    this.#conditions = conditions;
    this.few = few;
    this.deeper = depthFactorFor(conditions, below);
  }

  /** Reads the lists of the conditions, and the records themselves if few pass. */
  static async load(reader: StatementRunner, of: RestrictionOptions): Promise<Restriction> {
    const { below } = of;
    const requests = of.conditions.flat().map((key) => ({ key, below, most: MAX_FACET_POSITIONS }));
    const lists = await readLists(reader, of.workspace, requests);
    let at = 0;
    const conditions = of.conditions.map((keys) => {
      at += keys.length;
      return new Condition(lists.slice(at - keys.length, at), below);
    });
    const all = new Restriction(conditions, undefined, below);
    const [narrowest] = conditions
      .filter(({ from }) => from === 0)
      .sort((a, b) => a.positions.length - b.positions.length);
    const passing = narrowest?.positions.filter((pos) => all.passes(pos));
    if (passing === undefined || passing.length > MAX_SMALL_SET) return all;
    return new Restriction(conditions, new SmallRecordSet(await of.records(passing)), below);
  }

  /** Returns whether a record may pass; the caller checks it again. */
  passes(pos: number): boolean {
    return this.#conditions.every((condition) => condition.holds(pos));
  }
}

/** Returns the depth factor, according to the fraction of known records that pass. */
function depthFactorFor(conditions: readonly Condition[], below: number): number {
  const parts = conditions.map(({ positions, from }) => positions.length / (below - from));
  return Math.min(MAX_DEPTH_FACTOR, Math.ceil(2 / Math.max(0.001, Math.min(1, ...parts))));
}

/** A few records with the lists they would be in: the same lists as analyse.ts computes. */
export class SmallRecordSet {
  readonly #records: readonly RecordFeatures[];
  /** By term: the class of its weight in each record. */
  readonly #classes = new Map<string, Int8Array>();

  constructor(records: readonly RecordFeatures[]) {
    this.#records = records.toSorted((a, b) => b.pos - a.pos);
  }

  /** Returns the positions of the records that contain a token, newest first. */
  posting({ token, before, limit }: PostingRequest): number[] {
    const has = this.#matcherOf(token);
    const found: number[] = [];
    for (const [n, { pos }] of this.#records.entries()) {
      if (found.length === limit) break;
      if (pos < before && has(n)) found.push(pos);
    }
    return found;
  }

  /** Returns a function that checks whether the record with a given index is in a list. */
  #matcherOf(token: string): (place: number) => boolean {
    const [kind = "", value] = [token[0], token.slice(1)];
    const records = this.#records as RecordFeatures[];
    switch (kind) {
      case "d":
        return (n) => datesOf((records[n] as RecordFeatures).when).includes(value);
      case "n":
        return (n) => (records[n] as RecordFeatures).names.includes(value);
      default: {
        const classes = this.#classesOf(value);
        const wanted = Number(kind);
        return (n) => classes[n] === wanted;
      }
    }
  }

  #classesOf(term: string): Int8Array {
    const known = this.#classes.get(term);
    if (known !== undefined) return known;
    const hash = hashOf(term);
    const classes = Int8Array.from(this.#records, ({ packed }) => classOf(packed, hash));
    this.#classes.set(term, classes);
    return classes;
  }
}

/** Returns the class of a term's weight in the best passage of the content; -1 if it does not occur. */
function classOf(packed: Uint32Array, hash: number): number {
  if (!packed.includes(hash)) return -1;
  const { labels, passages, body } = unpackPassages(packed);
  const timesIn = (terms: Uint32Array): number =>
    terms.reduce((times, term) => (term === hash ? times + 1 : times), 0);
  const asLabel = timesIn(labels) * LABEL_TIMES;
  const found = passages.reduce((best, passage) => {
    const times = timesIn(passage) + asLabel;
    return times === 0 ? best : Math.max(best, weightClass(times, passage.length));
  }, -1);
  return found === -1 && body.some((passage) => passage.includes(hash)) ? BODY_CLASS : found;
}
