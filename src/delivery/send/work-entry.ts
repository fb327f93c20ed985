/**
 * The entry of a piece of work (memory/work.ts), as a handoff writes it: in the operation that sends it,
 * so that of two senders at the same moment one learns of the other.
 *
 * A new intent costs no read: the entry is written as one that should not exist yet, and the store
 * answers with the one there is. An intent this process has met before is looked up first.
 */
import { GenerationalCache } from "../../base/generational-cache.ts";
import { type FirstHandoff, WORK } from "../../memory/work-entry.ts";
import type { PutEntry } from "../../store/store.ts";
import { toEntryText } from "../../workspace/entries.ts";
import type { Workspace } from "../../workspace/workspace.ts";

/** An entry to be written with a handoff. */
export interface WorkSlot {
  readonly name: string;
  /** Its revision now; 0: none is known. */
  readonly basedOn: number;
}

export function workEntry({ name, basedOn }: WorkSlot, first: FirstHandoff): PutEntry {
  const value = toEntryText({ delivery: first.delivery, task: first.task });
  return { kind: WORK, name, value, basedOn };
}

/** Pieces of work that a process remembers it has met, in each of two generations. */
const KNOWN = 1_000;

interface KnownWork {
  /** The handoff that stands for it, once nothing about that changes any more. */
  readonly completed: unknown;
}

const known = new WeakMap<object, GenerationalCache<string, KnownWork>>();

export function cacheWork<T>({ root }: Workspace, name: string, completed?: T): void {
  const names = known.get(root) ?? new GenerationalCache<string, KnownWork>(KNOWN);
  known.set(root, names);
  names.set(name, { completed });
}

export const isKnownWork = ({ root }: Workspace, name: string): boolean =>
  known.get(root)?.get(name) !== undefined;

export const completedWork = <T>({ root }: Workspace, name: string): T | undefined =>
  known.get(root)?.get(name)?.completed as T | undefined;
