/**
 * The numbers of ranking, in units of one rare word that is said once. Chosen on conversations,
 * where every one of them has a flat top: half or double costs less than a point of recall.
 */
export interface Weights {
  /** Words asked next to each other that are said next to each other. */
  readonly pair: number;
  readonly author: number;
  /** An author's name inside a text mostly addresses somebody. */
  readonly authorsName: number;
  readonly date: number;
  /** A text that tells a time, for a question about one. */
  readonly time: number;
  /** A question is seldom the answer. */
  readonly question: number;
  /** A word said one, two, three records away in the same session counts this much here. */
  readonly near: readonly number[];
  /** The best of a record's session. */
  readonly session: number;
  /** A connected record, one step away; each step further counts half. */
  readonly graph: number;
  /** Meaning, for a perfect likeness, as a part of the best score by words; of more where words say little. */
  readonly meaning: number;
  /** Words near in meaning to those asked. */
  readonly expansion: number;
  /**
   * What is said in the body of a handoff or a result, beside the same words in a content. With 1 handoffs
   * about other matters cost memories a tenth of a point; 0.6 loses every fourth handoff asked for.
   */
  readonly body: number;
  /** Likeness to the vector of a record with a body, beside that to one of a content. */
  readonly bodyMeaning: number;
  readonly importance: number;
  readonly confidence: number;
  readonly recency: number;
  readonly recencyHalfLifeMs: number;
}

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
