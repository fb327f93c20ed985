/** Envelopes: written once, beside the record that vouches for them, and never changed. */

import { envelopeOf } from "../../codecs.ts";
import type { DeliveryRow, EnvelopeRow, NewEnvelope } from "../../rows.ts";
import type { DeliveryWithEnvelopeRow } from "../../store.ts";
import type { Statements } from "../statements.ts";
import type { Transaction } from "../transaction.ts";

export function readEnvelope(sql: Statements, workspace: number, id: string): EnvelopeRow {
  return envelopeOf(sql.envelope.get(workspace, id));
}

/** A delivery together with the envelope it points to. */
export function withEnvelope(
  sql: Statements,
  workspace: number,
  delivery: DeliveryRow,
): DeliveryWithEnvelopeRow {
  return { delivery, envelope: readEnvelope(sql, workspace, delivery.envelope) };
}

export function envelopeExists(tx: Transaction, workspace: number, id: string): boolean {
  return tx.sql.envelopeExists.get(workspace, id) !== undefined;
}

/** The first envelope it names as a parent that does not exist. */
export function missingParent(
  tx: Transaction,
  workspace: number,
  { parents }: NewEnvelope,
): { readonly kind: "missing_parent"; readonly envelope: string } | undefined {
  const envelope = parents.find((id) => !envelopeExists(tx, workspace, id));
  return envelope === undefined ? undefined : { kind: "missing_parent", envelope };
}

/** At the position of its record. False, and nothing is written, when its id is taken. */
export function addEnvelope(
  tx: Transaction,
  at: { readonly workspace: number; readonly position: number },
  { id, task, sender, text }: NewEnvelope,
): boolean {
  const { position, workspace } = at;
  return tx.sql.addEnvelope.run(position, workspace, id, task, sender, text).changes > 0;
}
