/**
 * What a task's world is written with. A frame is one thing worth knowing: how people say it, how
 * somebody else would ask about it later, in other words, and the telling words of the answer.
 * `{a|b}` is a choice of wording, `$slot` a value drawn for the task (slots.ts).
 */
export const KINDS = ["must", "aside", "decision", "fact", "failed"] as const;

/** A rule that is labelled, a rule said in passing, a choice with its reason, a fact, a dead end. */
export type Kind = (typeof KINDS)[number];

export interface Frame {
  readonly says: string;
  /** As somebody asks who knows the project: its word for the thing, everything else in other words. */
  readonly near: string;
  /** As somebody asks who does not: no word of it. */
  readonly far: string;
  /** Words and slots that must stand together in one sentence for the question to be answered. */
  readonly key: readonly string[];
}

export interface Domain {
  readonly name: string;
  /** The intent has no question: it is to stand in front of every agent. */
  readonly intents: readonly Pick<Frame, "says" | "key">[];
  readonly frames: Readonly<Record<Kind, readonly Frame[]>>;
  /** What has to be done once, as "checking the invoices": at least one for each agent of a line. */
  readonly steps: readonly string[];
  /** What the work is about, for logs and small talk. */
  readonly things: readonly string[];
}

/** How it is said, how it is asked for by those who know the project and by others, the key. */
export const frame = (says: string, near: string, far: string, ...key: string[]): Frame => ({
  says,
  near,
  far,
  key,
});
