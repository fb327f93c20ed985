/**
 * The interface between ranking and a store. Each store implements these reads in its own way; the code that
 * ranks the results is shared, so two stores with the same records return the same ranking.
 *
 * A position identifies a record in its store; a larger position is newer.
 */

/** Totals of the indexed records. */
export interface Census {
  readonly records: number;
  /** Passages and terms of all records, from which the average passage length follows. */
  readonly passages: number;
  readonly terms: number;
  /** The smallest and the largest position. */
  readonly first: number;
  readonly last: number;
}

/**
 * A read of one posting list. Tokens are a digit and a term (the weight class, bm25.ts), `d` and a date, or
 * `n` and a word of the author's name.
 */
export interface PostingRequest {
  readonly token: string;
  /** Only positions below this one. */
  readonly before: number;
  readonly limit: number;
}

/** What the index stores about a record. */
export interface RecordFeatures {
  readonly pos: number;
  /** The same for all records of one session, in the form of the store. */
  readonly session: string;
  /** Words of the author's name. */
  readonly names: readonly string[];
  /** The time the record is about, or else the time it was written. */
  readonly when: number;
  readonly storedAt: number;
  /** End of its validity; 0 if it has none. */
  readonly validUntil: number;
  /** From 0 to 1; undefined if not set. */
  readonly importance: number | undefined;
  readonly confidence: number | undefined;
  /** True if the content is a question. */
  readonly isQuestion: boolean;
  /** True if the content mentions a time. */
  readonly mentionsTime: boolean;
  /** Its packed terms (analyse.ts). */
  readonly packed: Uint32Array;
}

/** The records before and after a record in its session, nearest first. */
export interface SessionNeighbours {
  readonly pos: number;
  readonly before: readonly number[];
  readonly after: readonly number[];
}

/** A relation between two records, by position. */
export interface PositionEdge {
  readonly kind: string;
  readonly source: number;
  readonly target: number;
}

/** A record, and another that supersedes or corrects it. */
export interface Replacement {
  readonly pos: number;
  readonly by: number;
}

/** A record and its similarity to the query. */
export interface SimilarRecord {
  readonly pos: number;
  /** Cosine similarity to the query. */
  readonly similarity: number;
}

/** The reads that a store implements for ranking. */
export interface RankingSources {
  /** Returns the totals of all indexed records. */
  census(): Promise<Census>;
  /**
   * Returns the positions of each list, newest first. May include records that the reader cannot see;
   * `records` omits those.
   */
  postings(requests: readonly PostingRequest[]): Promise<readonly (readonly number[])[]>;
  /** Returns those records that the reader can see and that pass the filter, in any order. */
  records(positions: readonly number[]): Promise<readonly RecordFeatures[]>;
  /** Returns up to `reach` neighbours of each record on either side. */
  beside(records: readonly RecordFeatures[], reach: number): Promise<readonly SessionNeighbours[]>;
  /** Returns relations from or to any of the records that are valid now, oldest first. */
  edges(positions: readonly number[], limit: number): Promise<readonly PositionEdge[]>;
  /**
   * Returns those records that were replaced by a record the reader can see, whether that passes the filter
   * or not.
   */
  replaced(positions: readonly number[]): Promise<readonly Replacement[]>;
  /** Returns the records nearest in meaning to the query; none if there are no vectors. */
  nearest(limit: number): Promise<readonly SimilarRecord[]>;
  /** Returns the similarity of those records that have a vector. */
  similarities(positions: readonly number[]): Promise<readonly SimilarRecord[]>;
}
