/** Entries: small facts by kind and name, changed by compare-and-set. */

import { entryOf } from "../../codecs.ts";
import { BREAKER, type EntryRow, type EventKind, entryDigest } from "../../rows.ts";
import type { ListEntries, PutEntry, PutOutcome } from "../../store.ts";
import type { Statements } from "../statements.ts";
import type { Transaction } from "../transaction.ts";
import { recordEvent } from "./deliveries.ts";

export function findEntry(
  sql: Statements,
  workspace: number,
  { kind, name }: Pick<EntryRow, "kind" | "name">,
): EntryRow | undefined {
  const row = sql.entry.get(workspace, kind, name);
  return row && entryOf(row);
}

/** In the order of their names; reads one more than it answers with at most. */
export function listEntries(
  sql: Statements,
  workspace: number,
  { kind, prefix = "", after = "", limit }: Omit<ListEntries, "workspace">,
): EntryRow[] {
  // All at once takes half as long as one by one, where none can be one too many.
  if (prefix === "") return sql.entriesFrom.all(workspace, kind, "", after, limit).map(entryOf);
  const found: EntryRow[] = [];
  for (const row of sql.entriesFrom.iterate(workspace, kind, prefix, after, limit)) {
    const entry = entryOf(row);
    if (!entry.name.startsWith(prefix)) break; // All that begin with it stand together.
    found.push(entry);
  }
  return found;
}

export interface PutWithEvent {
  readonly workspace: string;
  readonly entry: PutEntry;
  readonly event: { readonly kind: EventKind; readonly agent: string } | undefined;
}

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

/** Writes an entry whose revision was compared before. */
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
  tx.sql.putEntry.run(
    workspace,
    kind,
    name,
    stored.revision,
    stored.at,
    stored.value,
    stored.digest,
  );
  return stored;
}

/** Work for this receiver was completed: what it failed at before counts no more. */
export function closeBreaker(tx: Transaction, workspace: number, receiver: string): void {
  tx.sql.dropEntry.run(workspace, BREAKER, receiver);
}
