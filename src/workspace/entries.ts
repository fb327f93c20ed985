/** Entries as values: read, decided about, and changed only if nobody was quicker. */
import { canonicalJson } from "../base/digest.ts";
import { type EntryRow, type EventKind, parseText } from "../store/rows.ts";
import { RETRY, retryWrite } from "./retry.ts";
import type { Workspace } from "./workspace.ts";

export interface EntryName {
  readonly kind: string;
  readonly name: string;
}

export interface EntryChange<T> {
  readonly value: T | undefined;
  readonly event?: { readonly kind: EventKind; readonly agent: string };
}

export function entryValue<T>(entry: EntryRow | undefined): T | undefined {
  return entry && parseText<T>({ id: `${entry.kind} ${entry.name}`, text: entry.value });
}

export const toEntryText = (value: unknown): string => canonicalJson(value, "invalid_input");

/**
 * Changes an entry by what it is now; `change` answers with nothing when it shall stay as it is, and
 * with an undefined value to take it away. Returns the entry that counts afterwards.
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

/** Every entry of a kind whose name begins so, page by page; from a name on, only those after it. */
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
