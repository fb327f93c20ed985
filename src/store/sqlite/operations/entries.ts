/** Reads and writes entries: small shared values by kind and name, changed by compare-and-set. */

import { entryOf } from "../../codecs.ts";
import { BREAKER, type EntryRow, type EventKind, entryDigest } from "../../rows.ts";
import type { ListEntries, PutEntry, PutOutcome } from "../../store.ts";
import { entrySum } from "../row-sums.ts";
import type { Statements } from "../statements.ts";
import type { Transaction } from "../transaction.ts";
import { recordEvent } from "./deliveries.ts";

/** Returns an entry by kind and name. */
export function findEntry(
  sql: Statements,
  workspace: number,
  { kind, name }: Pick<EntryRow, "kind" | "name">,
): EntryRow | undefined {
  const row = sql.entry.get(workspace, kind, name);
  return row && entryOf(row);
}

/** Returns entries in the order of their names; reads at most one more than it returns. */
export function listEntries(
  sql: Statements,
  workspace: number,
  { kind, prefix = "", after = "", limit }: Omit<ListEntries, "workspace">,
): EntryRow[] {
  // Fetching all at once takes half as long as one by one; without a prefix no row is read in vain.
  if (prefix === "") return sql.entriesFrom.all(workspace, kind, "", after, limit).map(entryOf);
  const found: EntryRow[] = [];
  for (const row of sql.entriesFrom.iterate(workspace, kind, prefix, after, limit)) {
    const entry = entryOf(row);
    if (!entry.name.startsWith(prefix)) break; // Names with the prefix are adjacent.
    found.push(entry);
  }
  return found;
}

/** A change of an entry, with the event to write. */
export interface PutWithEvent {
  readonly workspace: string;
  readonly entry: PutEntry;
  readonly event: { readonly kind: EventKind; readonly agent: string } | undefined;
}

/** Changes an entry if it has the revision the change is based on. */
export function putEntry(tx: Transaction, { workspace: name, entry, event }: PutWithEvent) {
  const workspace = tx.workspace(name);
  const current = findEntry(tx.sql, workspace, entry);
  const outcome: PutOutcome =
    (current?.revision ?? 0) === entry.basedOn
      ? { kind: "put", entry: writeEntry(tx, workspace, entry) }
      : { kind: "changed", entry: current };
  if (outcome.kind === "put" && event !== undefined) recordEvent(tx, workspace, event);
  return outcome;
}

/** Writes an entry; the caller has compared its revision. Returns undefined if it was deleted. */
export function writeEntry(
  tx: Transaction,
  workspace: number,
  { kind, name, value, basedOn }: PutEntry,
): EntryRow | undefined {
  if (value === undefined) {
    tx.sql.dropEntry.run(workspace, kind, name);
    return undefined;
  }
  const entry = { kind, name, value, revision: basedOn + 1 };
  const stored: EntryRow = { ...entry, at: tx.now, digest: entryDigest(entry) };
  storeEntry(tx.sql, workspace, stored);
  if (kind === BREAKER) tx.addedBreaker(workspace);
  return stored;
}

/** Stores the row of an entry as it is given. */
export function storeEntry(sql: Statements, workspace: number, entry: EntryRow): void {
  const { kind, name, revision, at, value, digest } = entry;
  const sum = entrySum(workspace, entry);
  sql.putEntry.run(workspace, kind, name, revision, at, value, digest, sum);
}

/** Deletes the breaker entry of a receiver after a completion: earlier failures no longer count. */
export function closeBreaker(tx: Transaction, workspace: number, receiver: string): void {
  if (tx.hasBreakers(workspace)) tx.sql.dropEntry.run(workspace, BREAKER, receiver);
}
