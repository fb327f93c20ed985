/**
 * Appends memories: each record gets the next sequence number of its chain and a link computed from the
 * previous one. Words, tags and tasks are indexed later, by the housekeeper.
 */
import { nextLink } from "../../chain.ts";
import type { NewMemory } from "../../rows.ts";
import {
  type AppendMemories,
  type AppendOutcome,
  type ChainPosition,
  CLOSED_BRANCH,
  type RecordRefusal,
} from "../../store.ts";
import { isTraceBranch, MAIN_BRANCH } from "../../visibility.ts";
import { Refusal } from "../refusal.ts";
import type { Transaction } from "../transaction.ts";
import { refuseAuthor } from "./agents.ts";
import { findEntry, writeEntry } from "./entries.ts";
import { checkLease, renew } from "./lease.ts";

/** The chain that a record is appended to. */
export interface Target {
  readonly name: { readonly workspace: string; readonly branch: string };
  readonly workspace: number;
}

/** Appends all records or none. */
export function appendMemories(tx: Transaction, operation: AppendMemories): AppendOutcome {
  const { lease, memories } = operation;
  const workspace = tx.workspace(operation.workspace);
  const held = lease && checkLease(tx, workspace, lease);
  if (held !== undefined && held.kind !== "held") return held;
  const target = { name: operation, workspace };
  const places: ChainPosition[] = [];
  for (const memory of memories) {
    const refused = refuseRecord(tx, workspace, memory);
    // Nothing is written before the first record, so only a later refusal has to roll back.
    if (refused !== undefined && places.length === 0) return refused;
    if (refused !== undefined) throw new Refusal(refused);
    places.push(append(tx, target, memory).place);
  }
  const outdated = findConflict(tx, workspace, operation);
  if (outdated !== undefined) throw new Refusal(outdated);
  for (const entry of operation.entries ?? []) writeEntry(tx, workspace, entry);
  const envelope = lease && held ? renew(tx, workspace, held.delivery, lease.leaseMs).envelope : "";
  return { kind: "appended", places, envelope };
}

/** Returns the first difference between the store and what the author assumed. */
function findConflict(
  tx: Transaction,
  workspace: number,
  { workspace: name, entries = [], tip, branch, memories }: AppendMemories,
): AppendOutcome | undefined {
  for (const entry of entries) {
    const current = findEntry(tx.sql, workspace, entry);
    if ((current?.revision ?? 0) !== entry.basedOn)
      return { kind: "entry_changed", entry: current };
  }
  if (tip === undefined) return undefined;
  const added = tip.branch === branch ? memories.length : 0;
  const { seq } = tx.head(workspace, { workspace: name, branch: tip.branch });
  return seq - added === tip.seq ? undefined : { kind: "tip_moved" };
}

/** Checks the author of a record, and that every memory it mentions exists. */
export function refuseRecord(
  tx: Transaction,
  workspace: number,
  memory: NewMemory,
): RecordRefusal | undefined {
  const refused = refuseAuthor(tx, workspace, memory);
  if (refused !== undefined) return refused;
  for (const reference of memory.mentions) {
    if (tx.position(workspace, reference) === undefined) {
      return { kind: "missing_reference", memory: memory.id, reference };
    }
  }
  return undefined;
}

/**
 * Checks whether the id is taken. Needed only where the outcome depends on it: `append` checks it as well.
 */
export function refuseTaken(
  tx: Transaction,
  workspace: number,
  { id }: NewMemory,
): RecordRefusal | undefined {
  return tx.position(workspace, id) === undefined ? undefined : { kind: "id_taken", id };
}

/** Returns every reason for which `append` would not write a record, for callers that cannot roll back. */
export function refuseAppend(
  tx: Transaction,
  { name, workspace }: Target,
  memory: NewMemory,
): RecordRefusal | undefined {
  const refused = refuseRecord(tx, workspace, memory) ?? refuseTaken(tx, workspace, memory);
  if (refused !== undefined) return refused;
  return isClosed(tx, workspace, name.branch)
    ? { kind: "branch_closed", branch: name.branch }
    : undefined;
}

/** Writes a record that was checked before. Throws a `Refusal` if its id is taken or the branch is closed. */
export function append(
  tx: Transaction,
  { name, workspace }: Target,
  memory: NewMemory,
  now: number = tx.now,
): { readonly place: ChainPosition; readonly position: number } {
  const head = tx.head(workspace, name);
  const seq = head.seq + 1;
  // Time never goes backwards along a chain, whatever the clock does.
  const storedAt = Math.max(now, head.storedAt);
  const link = nextLink(head.link, { seq, storedAt, digest: memory.digest });
  const { changes, lastInsertRowid } = tx.sql.addMemory.run(
    workspace,
    head.key,
    seq,
    storedAt,
    memory.id,
    link,
    memory.signature,
    memory.text,
  );
  if (changes === 0) throw new Refusal<RecordRefusal>({ kind: "id_taken", id: memory.id });
  if (isClosed(tx, workspace, name.branch)) {
    throw new Refusal<RecordRefusal>({ kind: "branch_closed", branch: name.branch });
  }
  const position = Number(lastInsertRowid);
  for (const [n, edge] of memory.relations.entries()) {
    const target = tx.position(workspace, edge.target) as number;
    tx.sql.addRelation.run(position, n, target, edge.validFrom, edge.validUntil, edge.kind);
  }
  tx.appended(head, { seq, storedAt, link });
  return { place: { id: memory.id, seq, storedAt, link }, position };
}

/** Returns whether a branch is closed. Main and traces never are, so most records need no query. */
function isClosed({ sql }: Transaction, workspace: number, branch: string): boolean {
  if (branch === MAIN_BRANCH || isTraceBranch(branch)) return false;
  return findEntry(sql, workspace, { kind: CLOSED_BRANCH, name: branch }) !== undefined;
}
