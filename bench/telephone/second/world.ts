/**
 * A world of the second generator: a domain whose sentences have slots, the pools that the slots
 * are filled from, and the senders of the messages.
 *
 * A slot is `[name]`, filled from the pool of that name (without a trailing digit), or
 * `[name=spec]`, where spec is another pool, `12..39`, `350..900/10`, `time 17-20` or `date`.
 * `{a|b}` is a choice of wording. A leading `~` is replaced by an introduction such as "By the way,
 * ".
 */

import type { Domain } from "../frame.ts";
import type { Item } from "../tasks.ts";

export type Kind = Item["kind"];
export type Frame = Domain["frames"][Kind][number];
export type Pools = Readonly<Record<string, readonly string[]>>;

export interface World extends Domain {
  readonly pools: Pools;
  /** Senders of the later messages, such as "the verger". */
  readonly senders: readonly string[];
}

export function frame(says: string, near: string, far: string, key: readonly string[]): Frame {
  return { says, near, far, key };
}
