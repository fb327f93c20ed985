/**
 * What a world of the second generator is: a domain whose sentences have slots, with the pools the
 * slots are filled from and the people who write.
 *
 * A slot is `[name]`, filled from the pool of that name (a trailing digit is left off), or
 * `[name=spec]`, where the spec is another pool, `12..39`, `350..900/10`, `time 17-20` or `date`.
 * `{a|b}` is a choice of wording. A leading `~` asks for one of the leads of an aside.
 */

import type { Domain } from "../frame.ts";
import type { Item } from "../tasks.ts";

export type Kind = Item["kind"];
export type Frame = Domain["frames"][Kind][number];
export type Pools = Readonly<Record<string, readonly string[]>>;

export interface World extends Domain {
  readonly pools: Pools;
  /** Who writes the later messages, as in "from the verger". */
  readonly senders: readonly string[];
}

export function frame(says: string, near: string, far: string, key: readonly string[]): Frame {
  return { says, near, far, key };
}
