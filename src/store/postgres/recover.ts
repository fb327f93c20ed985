/**
 * Reads the database after a group of operations was written: to explain why an operation was refused, and to
 * reconstruct the response to a group that was committed although the connection broke.
 */

import { deliveryOf, entryOf, envelopeOf } from "../codecs.ts";
import { BREAKER, type DeliveryRow, type EntryRow } from "../rows.ts";
import type {
  AppendMemories,
  DeliveryWithEnvelopeRow,
  MoveDeliveries,
  SendHandoff,
} from "../store.ts";
import type { Row } from "./connection.ts";
import { type Group, type GroupResponse, stillHeld } from "./group.ts";
import type { OperationRefusal } from "./group-writer.ts";
import type { StatementRunner } from "./lines.ts";
import type { Operation, Outcome } from "./operations.ts";

const DELIVERY_WIDTH = 27;
const DELIVERY_ID = 15;

/** Decodes a delivery and, from the columns after it, its envelope. */
export function deliveryWithEnvelopeOf(row: Row): DeliveryWithEnvelopeRow {
  return {
    delivery: deliveryOf(row),
    envelope: envelopeOf(row.slice(DELIVERY_WIDTH)),
  };
}

/** Returns the outcome of a refused operation, with the current state of what stands in its way. */
export async function explain(
  reader: StatementRunner,
  operation: Operation,
  [, why, what]: OperationRefusal,
): Promise<Outcome> {
  switch (why) {
    case "lease_lost":
    case "extended": {
      const found = await findDeliveryWithEnvelope(reader, operation.of.workspace, what);
      if (why === "extended" && found !== undefined) {
        return { kind: "extended", envelope: found.envelope };
      }
      return { kind: "lease_lost", delivery: found?.delivery };
    }
    case "changed":
      return explainChanged(reader, operation, what);
    case "entry_changed": {
      if (operation.kind === "put") {
        const { workspace, entry } = operation.of;
        return { kind: "changed", entry: await findEntry(reader, workspace, entry) };
      }
      const bringing = operation.of as AppendMemories | MoveDeliveries | SendHandoff;
      return { kind: why, entry: await findChangedEntry(reader, bringing) };
    }
    case "tip_moved":
      return { kind: why };
    case "branch_closed":
      return { kind: why, branch: what };
    case "breaker_changed": {
      const { workspace, deliveries } = operation.of as SendHandoff;
      const name = deliveries[0]?.receiver ?? "";
      return { kind: why, entry: await findEntry(reader, workspace, { kind: BREAKER, name }) };
    }
    case "unknown_agent":
    case "agent_disabled":
    case "key_changed":
      return { kind: why, agent: what };
    case "unknown_receiver":
    case "receiver_disabled":
      return { kind: why, receiver: what };
    case "missing_parent":
      return { kind: why, envelope: what };
    case "id_taken":
      return { kind: why, id: what };
    case "missing_reference": {
      const [memory = "", reference = ""] = what.split(" ");
      return { kind: why, memory, reference };
    }
    default:
      throw new Error(`the database refused for an unknown reason: ${why}`);
  }
}

async function explainChanged(
  reader: StatementRunner,
  operation: Operation,
  what: string,
): Promise<Outcome> {
  if (operation.kind === "send") {
    return { kind: "changed", open: await findOpen(reader, operation.of) };
  }
  const found = await findDeliveryWithEnvelope(reader, operation.of.workspace, what);
  return { kind: "changed", delivery: found?.delivery };
}

async function findEntry(
  { sql, read }: StatementRunner,
  workspace: string,
  { kind, name }: Pick<EntryRow, "kind" | "name">,
): Promise<EntryRow | undefined> {
  const [row] = await read(sql.entry, [workspace, kind, name]);
  return row && entryOf(row);
}

/** Returns the first entry that has changed since it was read. */
async function findChangedEntry(
  reader: StatementRunner,
  { workspace, entries = [] }: AppendMemories | MoveDeliveries | SendHandoff,
): Promise<EntryRow | undefined> {
  for (const entry of entries) {
    const found = await findEntry(reader, workspace, entry);
    if ((found?.revision ?? 0) !== entry.basedOn) return found;
  }
  return undefined;
}

async function findDeliveryWithEnvelope(
  { sql, read }: StatementRunner,
  workspace: string,
  id: string,
): Promise<DeliveryWithEnvelopeRow | undefined> {
  const [row] = await read(sql.delivery, [workspace, [id]]);
  return row && deliveryWithEnvelopeOf(row);
}

/** Returns the open work that a handoff would have to extend; none for publications, which are always new. */
async function findOpen({ sql, read }: StatementRunner, operation: SendHandoff) {
  const { workspace, deliveries, envelope, parent, settles } = operation;
  if (deliveries.length > 1) return undefined;
  const work = [deliveries[0]?.receiver, envelope.task, envelope.sender, parent];
  const [row] = await read(sql.openWork, [workspace, ...work, settles?.delivery ?? ""]);
  if (row === undefined) return undefined;
  const found = deliveryWithEnvelopeOf(row);
  return { delivery: found.delivery, memory: found.envelope.memory };
}

/** A claim of a group: its number, the delivery and the fence. */
type RecordedClaim = readonly [claim: number, delivery: string, fence: number];

/** Reads the rows that a committed group has written, and returns the response it would have had. */
export async function recover(
  { sql, read }: StatementRunner,
  workspace: string,
  lost: { readonly group: Group; readonly claimed: unknown },
): Promise<GroupResponse> {
  const { group } = lost;
  const places = new Map(
    (await read(sql.places, [workspace, group.recordIds])).map((row) => {
      const [id, seq, storedAt, link] = row as [string, number, number, string];
      return [id, [seq, storedAt, link] as const];
    }),
  );
  const claims = (Array.isArray(lost.claimed) ? lost.claimed : []) as RecordedClaim[];
  const named = [...group.posts, ...claims].map(([, id]) => id);
  const wanted = [...group.deliveries.values(), ...group.moves, ...named];
  const rows = new Map(
    (await read(sql.delivery, [workspace, wanted])).map((row) => [row[DELIVERY_ID] as string, row]),
  );
  const byOperation = Object.fromEntries([...group.deliveries].map(([i, id]) => [i, rows.get(id)]));
  return {
    at: typeof lost.claimed === "number" ? lost.claimed : 0,
    places: group.recordIds.map((id) => places.get(id) as [number, number, string]),
    settled: byOperation,
    sent: group.posts.map(([i, id]) => [i, rows.get(id)]),
    renewed: byOperation,
    moved: group.moves.map((id) => rows.get(id)),
    accepted: Object.fromEntries(rows),
    taken: Object.fromEntries(rows),
    claimed: claims
      .filter(([, id, fence]) => stillHeld(deliveryOf(rows.get(id)), fence))
      .map(([n, id]) => [n, rows.get(id), rows.get(id)?.slice(DELIVERY_WIDTH)]),
    due: 0,
    wakes: [...new Set([...rows.values()].map(deliveryOf).flatMap(concernedAgents))],
  };
}

/** Returns the agents to wake up: rather one too many than one too few. */
function concernedAgents({ sender, receiver, holder }: DeliveryRow): string[] {
  return [sender, receiver, ...(holder === "" ? [] : [holder])];
}
