/**
 * Entries (the key-value records of a workspace) as JSON values: reading, listing, and changing one only if
 * no other process changed it in the meantime.
 */
import { canonicalJson } from "../base/digest.ts";
import { type EntryRow, type EventKind, parseText } from "../store/rows.ts";
import { RETRY, retryWrite } from "./retry.ts";
import type { Workspace } from "./workspace.ts";

/** Identifies an entry within its workspace. */
export interface EntryName {
  readonly kind: string;
  readonly name: string;
}

/** A new value for an entry, and the event to record with it. */
export interface EntryChange<T> {
  /** Undefined deletes the entry. */
  readonly value: T | undefined;
  /** Recorded in the same transaction. */
  readonly event?: { readonly kind: EventKind; readonly agent: string };
}

/** Returns the parsed value of an entry; undefined if there is no entry. */
export function entryValue<T>(entry: EntryRow | undefined): T | undefined {
  return entry && parseText<T>({ id: `${entry.kind} ${entry.name}`, text: entry.value });
}

/** Returns the text of a value, as an entry stores it. */
export const toEntryText = (value: unknown): string => canonicalJson(value, "invalid_input");

/**
 * Changes an entry based on its current value. `change` returns undefined to leave it as it is, and an
 * undefined `value` to delete it. Returns the entry after the change. Throws `store_busy` if other processes
 * changed it at every attempt.
 */
export async function changeEntry<T>(
  { store, name: workspace }: Workspace,
  { kind, name }: EntryName,
  change: (now: T | undefined) => EntryChange<T> | undefined,
): Promise<EntryRow | undefined> {
  let current = await store.findEntry(workspace, kind, name);
  return retryWrite({ what: `The ${kind} of "${name}" was changed` }, async () => {
    const changed = change(entryValue<T>(current));
    if (changed === undefined) return current;
    if (changed.value === undefined && current === undefined) return undefined;
    const value = changed.value === undefined ? undefined : toEntryText(changed.value);
    const put = { kind, name, value, basedOn: current?.revision ?? 0 };
    const outcome = await store.putEntry(workspace, put, changed.event);
    if (outcome.kind === "put") return outcome.entry;
    current = outcome.entry;
    return RETRY;
  });
}

/**
 * Returns every entry of a kind with a name that begins with `prefix`, page by page; with `from`, only those
 * after that name.
 */
export async function* entriesOf(
  { store, name: workspace, limits }: Workspace,
  kind: string,
  prefix = "",
  from?: string,
): AsyncGenerator<EntryRow, void, undefined> {
  const limit = limits.pageSize;
  let after = from;
  for (;;) {
    const cursor = after === undefined ? {} : { after };
    const page = await store.listEntries({ workspace, kind, prefix, limit, ...cursor });
    yield* page;
    if (page.length < limit) return;
    after = page.at(-1)?.name;
  }
}
