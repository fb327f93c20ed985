/**
 * The weights of ranking, in units of one rare word that occurs once. They were tuned on conversations, where
 * each has a flat optimum: half or double costs less than a point of recall.
 */
export interface Weights {
  /** Words that are adjacent both in the query and in the record. */
  readonly pair: number;
  /** The author's name occurs in the query. */
  readonly author: number;
  /** A name of an author inside a text: it mostly addresses that agent. */
  readonly authorsName: number;
  /** The record's date occurs in the query. */
  readonly date: number;
  /** A record that mentions a time, for a query that asks for one. */
  readonly time: number;
  /** Factor for records that are questions: a question is seldom the answer. */
  readonly question: number;
  /** A word that occurs one, two or three records away in the same session counts this much. */
  readonly near: readonly number[];
  /** The best match in the record's session. */
  readonly session: number;
  /** A connected record, one step away; each further step counts half. */
  readonly graph: number;
  /**
   * Perfect similarity in meaning, as a share of the best score by words; counts more if words match little
   * of the query.
   */
  readonly meaning: number;
  /** Words similar in meaning to those of the query. */
  readonly expansion: number;
  /**
   * A match in the body of a handoff or a result, relative to the same words in a content. With 1, handoffs
   * about other topics cost memories a tenth of a point; with 0.6, every fourth requested handoff is missed.
   */
  readonly body: number;
  /** Similarity to the vector of a record with a body, relative to one of a content. */
  readonly bodyMeaning: number;
  /** Importance, confidence and recency change a score by at most this share. */
  readonly importance: number;
  readonly confidence: number;
  readonly recency: number;
  /** Age at which the bonus for recency has halved, in milliseconds. */
  readonly recencyHalfLifeMs: number;
}

/** The default weights. */
export const WEIGHTS: Weights = {
  pair: 0.4,
  author: 2.5,
  authorsName: 0.3,
  date: 0.8,
  time: 1.5,
  question: 0.85,
  near: [0.7, 0.4, 0.25],
  session: 0.5,
  graph: 0.3,
  meaning: 0.4,
  expansion: 0.2,
  body: 0.9,
  bodyMeaning: 0.6,
  importance: 0.3,
  confidence: 0.3,
  recency: 0.1,
  recencyHalfLifeMs: 30 * 24 * 3_600_000,
};
