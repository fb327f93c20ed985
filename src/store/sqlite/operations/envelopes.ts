/** Reads and writes envelopes: written once, with the record that vouches for them, and never changed. */

import { damaged, envelopeOf, type Row } from "../../codecs.ts";
import type { DeliveryRow, EnvelopeRow, NewEnvelope } from "../../rows.ts";
import type { DeliveryWithEnvelopeRow } from "../../store.ts";
import type { Statements } from "../statements.ts";
import type { Transaction } from "../transaction.ts";

/** Returns the current envelope of a delivery. Throws `store_corrupt` if it does not exist. */
export function readEnvelope(
  sql: Statements,
  workspace: number,
  { id, envelope }: Pick<DeliveryRow, "id" | "envelope">,
): EnvelopeRow {
  return envelopeOf(envelopeRow(sql, workspace, { id, envelope }));
}

/**
 * Returns the current envelope of a delivery and caches the position of its handoff record, because the record
 * that is written next refers to it. Throws like `readEnvelope`.
 */
export function readEnvelopeCachingPosition(
  tx: Transaction,
  workspace: number,
  delivery: Pick<DeliveryRow, "id" | "envelope">,
): EnvelopeRow {
  const row = envelopeRow(tx.sql, workspace, delivery);
  const envelope = envelopeOf(row);
  tx.cachePosition(workspace, envelope.memory, row.at(-1) as number);
  return envelope;
}

function envelopeRow(
  sql: Statements,
  workspace: number,
  { id, envelope }: Pick<DeliveryRow, "id" | "envelope">,
): Row {
  const row = sql.envelope.get(workspace, envelope) as Row | undefined;
  if (row === undefined) throw damaged(id, `its envelope ${envelope} is missing`);
  return row;
}

/** Returns a delivery with its current envelope. */
export function withEnvelope(
  sql: Statements,
  workspace: number,
  delivery: DeliveryRow,
): DeliveryWithEnvelopeRow {
  return { delivery, envelope: readEnvelope(sql, workspace, delivery) };
}

/** Returns whether an envelope exists. */
export function envelopeExists(tx: Transaction, workspace: number, id: string): boolean {
  return tx.sql.envelopeExists.get(workspace, id) !== undefined;
}

/** Returns the first parent that does not exist. */
export function missingParent(
  tx: Transaction,
  workspace: number,
  { parents }: NewEnvelope,
): { readonly kind: "missing_parent"; readonly envelope: string } | undefined {
  const envelope = parents.find((id) => !envelopeExists(tx, workspace, id));
  return envelope === undefined ? undefined : { kind: "missing_parent", envelope };
}

/** Adds an envelope at the position of its record. Returns false and writes nothing if its id is taken. */
export function addEnvelope(
  tx: Transaction,
  at: { readonly workspace: number; readonly position: number },
  { id, task, sender, text }: NewEnvelope,
): boolean {
  const { position, workspace } = at;
  return tx.sql.addEnvelope.run(position, workspace, id, task, sender, text).changes > 0;
}
