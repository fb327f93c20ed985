/**
 * Appending: each record gets the next place on its chain and a link that follows from the one
 * before. Words, tags and tasks are indexed later, by the housekeeper.
 */
import { nextLink } from "../chain.ts";
import type { NewMemory } from "../rows.ts";
import type { AppendMemories, AppendOutcome, Place, RecordRefusal } from "../store.ts";
import { refuseAuthor } from "./agents.ts";
import { refuseLease, renew } from "./lease.ts";
import { Refusal } from "./refusal.ts";
import type { Transaction } from "./transaction.ts";

/** Where on which chain a record goes. */
export interface Target {
  readonly name: { readonly workspace: string; readonly branch: string };
  readonly workspace: number;
}

export function appendMemories(tx: Transaction, operation: AppendMemories): AppendOutcome {
  const workspace = tx.workspace(operation.workspace);
  const target = { name: operation, workspace };
  const { lease } = operation;
  if (lease !== undefined) {
    const lost = refuseLease(tx, workspace, { ...lease, envelope: "" });
    if (lost !== undefined) return lost;
  }
  const refused = operation.memories.length === 1 ? refuseFirst(tx, target, operation) : undefined;
  if (refused !== undefined) return refused;
  const places = operation.memories.map((memory) => appendOrRefuse(tx, target, memory));
  const envelope = lease === undefined ? "" : renew(tx, workspace, lease).envelope;
  return { kind: "appended", places, envelope };
}

/** A single record is judged before anything is written, which saves redoing its neighbours. */
function refuseFirst(
  tx: Transaction,
  target: Target,
  operation: AppendMemories,
): RecordRefusal | undefined {
  const [memory] = operation.memories;
  return memory === undefined ? undefined : refuseRecord(tx, target.workspace, memory);
}

export function refuseRecord(
  tx: Transaction,
  workspace: number,
  memory: NewMemory,
): RecordRefusal | undefined {
  const refused = refuseAuthor(tx, workspace, memory);
  if (refused !== undefined) return refused;
  for (const reference of memory.mentions) {
    if (tx.sql.memoryPosition.get(reference, workspace) === undefined) {
      return { kind: "missing_reference", memory: memory.id, reference };
    }
  }
  return undefined;
}

/** Appends a record of a larger operation; a refusal takes the whole operation back. */
export function appendOrRefuse(tx: Transaction, target: Target, memory: NewMemory): Place {
  const refused = refuseRecord(tx, target.workspace, memory);
  if (refused !== undefined) throw new Refusal(refused);
  return append(tx, target, memory).place;
}

/** Writes a record that was judged before. */
export function append(
  tx: Transaction,
  { name, workspace }: Target,
  memory: NewMemory,
): { readonly place: Place; readonly position: number } {
  const head = tx.head(workspace, name);
  const seq = head.seq + 1;
  // Time never runs backwards along a chain, whatever the clock does.
  const storedAt = Math.max(tx.now, head.storedAt);
  const link = nextLink(head.link, { seq, storedAt, digest: memory.digest });
  const { changes, lastInsertRowid } = tx.sql.addMemory.run(
    workspace,
    head.key,
    seq,
    storedAt,
    memory.id,
    memory.agent,
    memory.task,
    memory.session,
    memory.type,
    memory.digest,
    link,
    memory.signature,
    memory.text,
  );
  if (changes === 0) throw new Refusal<RecordRefusal>({ kind: "id_taken", id: memory.id });
  const position = Number(lastInsertRowid);
  relate(tx, workspace, { memory, position });
  head.seq = seq;
  head.storedAt = storedAt;
  head.link = link;
  head.changed = true;
  tx.appended++;
  return { place: { id: memory.id, seq, storedAt, link }, position };
}

function relate(
  tx: Transaction,
  workspace: number,
  { memory, position }: { memory: NewMemory; position: number },
): void {
  for (const [n, edge] of memory.relations.entries()) {
    const target = tx.sql.memoryPosition.get(edge.target, workspace) as { pos: number };
    tx.sql.addRelation.run(position, n, target.pos, edge.validFrom, edge.validUntil, edge.kind);
  }
}
