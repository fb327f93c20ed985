/**
 * The building blocks of a task's domain. A frame is one piece of information: how it is stated,
 * how it is asked about later in other words, and the key words of the answer. `{a|b}` is a choice
 * of wording, `$slot` a value drawn for the task (slots.ts).
 */
export const KINDS = ["must", "aside", "decision", "fact", "failed"] as const;

/** A labelled rule, a rule mentioned in passing, a decision with its reason, a fact, a dead end. */
export type Kind = (typeof KINDS)[number];

export interface Frame {
  readonly says: string;
  /** The question of a person who knows the project's term; everything else is reworded. */
  readonly near: string;
  /** The question of a person who does not know the term: no word in common. */
  readonly far: string;
  /** Words and slots that must occur together in one sentence to answer the question. */
  readonly key: readonly string[];
}

export interface Domain {
  readonly name: string;
  /** An intent has no question: it should be in the context of every agent. */
  readonly intents: readonly Pick<Frame, "says" | "key">[];
  readonly frames: Readonly<Record<Kind, readonly Frame[]>>;
  /** Steps to be done once, such as "checking the invoices"; at least one per agent of a line. */
  readonly steps: readonly string[];
  /** Things the work is about, for logs and small talk. */
  readonly things: readonly string[];
}

/** Creates a frame: statement, question with and without the project's term, key words. */
export const frame = (says: string, near: string, far: string, ...key: string[]): Frame => ({
  says,
  near,
  far,
  key,
});
