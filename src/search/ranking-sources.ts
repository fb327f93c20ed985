/**
 * What ranking asks of an engine. Each store answers in its own way; what is made of the answers is
 * the same code everywhere, so two stores with the same records rank them alike.
 *
 * A position says where a record is in its store: larger is newer.
 */

export interface Census {
  readonly records: number;
  /** Passages and terms of all of them together: what a usual passage is. */
  readonly passages: number;
  readonly terms: number;
  /** The positions they lie between. */
  readonly first: number;
  readonly last: number;
}

/**
 * Tokens: a digit and a term (its weight class, bm25.ts), `d` and a date, `n` and a word of the
 * author's name.
 */
export interface PostingRequest {
  readonly token: string;
  /** Only positions below this one. */
  readonly before: number;
  readonly limit: number;
}

/** What the index knows of a record. */
export interface RecordFeatures {
  readonly pos: number;
  /** The same for records of one session, in whatever form the store has it. */
  readonly session: string;
  /** Of the author's name. */
  readonly names: readonly string[];
  /** When it is true, or else when it was written. */
  readonly when: number;
  readonly storedAt: number;
  /** Until when it holds; 0: no end is known. */
  readonly validUntil: number;
  /** From 0 to 1; undefined where nothing was said. */
  readonly importance: number | undefined;
  readonly confidence: number | undefined;
  readonly isQuestion: boolean;
  readonly tellsTime: boolean;
  /** Its terms (analyse.ts). */
  readonly packed: Uint32Array;
}

/** The records before and after one in its session, nearest first. */
export interface SessionNeighbours {
  readonly pos: number;
  readonly before: readonly number[];
  readonly after: readonly number[];
}

export interface PositionEdge {
  readonly kind: string;
  readonly source: number;
  readonly target: number;
}

/** A record and one that supersedes or corrects it. */
export interface Replacement {
  readonly pos: number;
  readonly by: number;
}

export interface SimilarRecord {
  readonly pos: number;
  /** Cosine with what was asked. */
  readonly similarity: number;
}

export interface RankingSources {
  census(): Promise<Census>;
  /** Newest first. May name records that cannot be seen; `records` leaves those out. */
  postings(requests: readonly PostingRequest[]): Promise<readonly (readonly number[])[]>;
  /** Those of them that may be seen and pass the filter, in no order. */
  records(positions: readonly number[]): Promise<readonly RecordFeatures[]>;
  beside(records: readonly RecordFeatures[], reach: number): Promise<readonly SessionNeighbours[]>;
  /** Edges from or to any of them that hold now, oldest first. */
  edges(positions: readonly number[], limit: number): Promise<readonly PositionEdge[]>;
  /** Those of them that were replaced, by what the reader can see, whether it passes the filter or not. */
  replaced(positions: readonly number[]): Promise<readonly Replacement[]>;
  /** The nearest in meaning to what was asked; empty when there are no vectors. */
  nearest(limit: number): Promise<readonly SimilarRecord[]>;
  /** Of those that have a vector. */
  similarities(positions: readonly number[]): Promise<readonly SimilarRecord[]>;
}
