/**
 * The entry that records the first handoff of a piece of work (memory/work-entry.ts). It is written in the
 * operation that sends the handoff, so that of two concurrent senders one is informed about the other.
 *
 * A new intent costs no read: the entry is written as one that must not exist yet, and the store answers with
 * the existing one if there is one. An intent that this process has seen before is looked up first.
 */
import { GenerationalCache } from "../../base/generational-cache.ts";
import { type FirstHandoff, WORK } from "../../memory/work-entry.ts";
import type { PutEntry } from "../../store/store.ts";
import { toEntryText } from "../../workspace/entries.ts";
import type { Workspace } from "../../workspace/workspace.ts";

/** An entry to be written with a handoff. */
export interface WorkSlot {
  readonly name: string;
  /** Its current revision; 0 if none is known. */
  readonly basedOn: number;
}

/** Returns the entry to write with a handoff. */
export function workEntry({ name, basedOn }: WorkSlot, first: FirstHandoff): PutEntry {
  const value = toEntryText({ delivery: first.delivery, task: first.task });
  return { kind: WORK, name, value, basedOn };
}

/** Pieces of work that a process remembers, in each of two generations. */
const KNOWN = 1_000;

interface KnownWork {
  /** The completed handoff recorded for it, once it cannot change any more. */
  readonly completed: unknown;
}

const known = new WeakMap<object, GenerationalCache<string, KnownWork>>();

/** Remembers a piece of work, with its handoff if that is completed. */
export function cacheWork<T>({ root }: Workspace, name: string, completed?: T): void {
  const names = known.get(root) ?? new GenerationalCache<string, KnownWork>(KNOWN);
  known.set(root, names);
  names.set(name, { completed });
}

/** Returns whether this process has seen the work before. */
export const isKnownWork = ({ root }: Workspace, name: string): boolean =>
  known.get(root)?.get(name) !== undefined;

/** Returns the completed handoff of a piece of work, if it is cached. */
export const completedWork = <T>({ root }: Workspace, name: string): T | undefined =>
  known.get(root)?.get(name)?.completed as T | undefined;
