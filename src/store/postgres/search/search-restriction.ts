/**
 * Which records a filter lets through, from the index's lists of facets, for words that more records
 * have than are read. When few pass, those are taken apart themselves; when many do, the words' lists
 * are read deeper. Either way each record is checked again.
 */
import { LABEL_TIMES, unpackPassages } from "../../../search/analyse.ts";
import { BODY_CLASS, weightClass } from "../../../search/bm25.ts";
import { datesOf } from "../../../search/query.ts";
import type { PostingRequest, RecordFeatures } from "../../../search/ranking-sources.ts";
import { hashOf } from "../../../search/terms.ts";
import type { StatementRunner } from "../lines.ts";
import { readLists } from "./search-lists.ts";

/** So many of the newest are known of each facet (some 8 ms); what lies before is let through. */
const MAX_FACET_POSITIONS = 100_000;
/** So few are taken apart: some 10 ms. */
const MAX_SMALL_SET = 2_000;
/** How much deeper lists are read, at most, the fewer pass. */
const MAX_DEPTH_FACTOR = 16;

/** One thing that has to be so: the records of which it is. */
class Condition {
  readonly positions: readonly number[];
  /** All of which it is are known from here on. */
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

  holds(pos: number): boolean {
    const at = pos - this.from;
    return at < 0 || ((this.#bits[at >> 3] ?? 0) & (1 << (at & 7))) !== 0;
  }
}

export interface RestrictionOptions {
  readonly workspace: string;
  /** Of each, a record has to be in at least one list. */
  readonly conditions: readonly (readonly string[])[];
  readonly below: number;
  readonly records: (positions: readonly number[]) => Promise<readonly RecordFeatures[]>;
}

export class Restriction {
  readonly #conditions: readonly Condition[];
  /** When they are few: what their words are. */
  readonly few: SmallRecordSet | undefined;
  /** How much deeper lists are to be read, so that enough pass. */
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

  passes(pos: number): boolean {
    return this.#conditions.every((condition) => condition.holds(pos));
  }
}

/** By how much of what is known passes. */
function depthFactorFor(conditions: readonly Condition[], below: number): number {
  const parts = conditions.map(({ positions, from }) => positions.length / (below - from));
  return Math.min(MAX_DEPTH_FACTOR, Math.ceil(2 / Math.max(0.001, Math.min(1, ...parts))));
}

/** A few records, and the lists they would be in: the same as what analyse.ts puts them in. */
export class SmallRecordSet {
  readonly #records: readonly RecordFeatures[];
  /** By term: the class of its weight in each of the records. */
  readonly #classes = new Map<string, Int8Array>();

  constructor(records: readonly RecordFeatures[]) {
    this.#records = records.toSorted((a, b) => b.pos - a.pos);
  }

  posting({ token, before, limit }: PostingRequest): number[] {
    const has = this.#teller(token);
    const found: number[] = [];
    for (const [n, { pos }] of this.#records.entries()) {
      if (found.length === limit) break;
      if (pos < before && has(n)) found.push(pos);
    }
    return found;
  }

  /** Whether one of the records, by its place, is in a list. */
  #teller(token: string): (place: number) => boolean {
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

/** The class of a term's weight in the best passage of the content; -1 when it is not said at all. */
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
