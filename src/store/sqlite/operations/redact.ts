/**
 * Redacts bodies: appends the record that vouches for the redaction and erases the bodies, in one
 * transaction. From the first redaction on, what this connection deletes or shortens is overwritten with
 * zeros. Copies that SQLite left on other pages while tables grew are removed by scrub (archive/scrub.ts).
 */
import type { DatabaseSync } from "node:sqlite";
import { sha256 } from "../../../base/digest.ts";
import { assertNever } from "../../../base/errors.ts";
import { attemptOf } from "../../codecs.ts";
import { type AttemptRow, agentDigest } from "../../rows.ts";
import type { Erasure, RedactBodies, RedactOutcome } from "../../store.ts";
import { attemptSum } from "../row-sums.ts";
import { numberOf, scalarOf } from "../scalar.ts";
import type { Statements } from "../statements.ts";
import type { Transaction } from "../transaction.ts";
import { findAgent } from "./agents.ts";
import { append, refuseRecord, refuseTaken } from "./append.ts";
import { findEntry, writeEntry } from "./entries.ts";
import { readRedactionCount, setRedactionCount } from "./redaction-count.ts";

/** Redacts all bodies, or none if one of them is not as it was seen. */
export function redactBodies(
  tx: Transaction,
  operation: RedactBodies,
  db: DatabaseSync,
): RedactOutcome {
  const { memory, erasures } = operation;
  const workspace = tx.workspace(operation.workspace);
  const refused = refuseRecord(tx, workspace, memory) ?? refuseTaken(tx, workspace, memory);
  if (refused !== undefined) return refused;
  const changed = erasures.find((erasure) => !isAsSeen(tx, workspace, erasure));
  if (changed !== undefined) return { kind: "changed", erasure: changed };
  db.exec("pragma secure_delete = on");
  const { place } = append(tx, { name: operation, workspace }, memory);
  for (const erasure of erasures) erase(tx, workspace, erasure);
  setRedactionCount(db, readRedactionCount(db) + 1);
  return { kind: "redacted", place };
}

function isAsSeen({ sql }: Transaction, workspace: number, erasure: Erasure): boolean {
  switch (erasure.kind) {
    case "memory":
      return matchesDigest(sql.memoryText.get(workspace, erasure.id), erasure);
    case "envelope":
      return matchesDigest(sql.envelopeText.get(workspace, erasure.id), erasure);
    case "attempt":
      return sha256(findAttempt(sql, workspace, erasure)?.reason ?? "") === erasure.digest;
    case "entry":
      return findEntry(sql, workspace, erasure.entry)?.revision === erasure.entry.basedOn;
    case "agent":
      return findAgent(sql, workspace, erasure.agent)?.revision === erasure.basedOn;
    default:
      return assertNever(erasure);
  }
}

function matchesDigest(row: unknown, { digest }: { readonly digest: string }): boolean {
  const text = scalarOf<string>(row);
  return text !== undefined && sha256(text) === digest;
}

type AttemptErasure = Extract<Erasure, { kind: "attempt" }>;

function findAttempt(
  sql: Statements,
  workspace: number,
  { delivery, attempt }: AttemptErasure,
): AttemptRow | undefined {
  const row = sql.attempt.get(workspace, delivery, attempt);
  return row && attemptOf(row);
}

function eraseReason({ sql }: Transaction, workspace: number, erasure: AttemptErasure): void {
  const { delivery, attempt, reason } = erasure;
  const row = findAttempt(sql, workspace, erasure);
  if (row === undefined) throw new Error(`attempt ${attempt} of ${delivery} disappeared`);
  const sum = attemptSum(workspace, { ...row, reason });
  sql.eraseAttempt.run(reason, sum, workspace, delivery, attempt);
}

function erase(tx: Transaction, workspace: number, erasure: Erasure): void {
  const { sql } = tx;
  switch (erasure.kind) {
    case "memory":
      sql.eraseMemory.run(erasure.text, workspace, erasure.id);
      deleteVectors(tx, workspace, tx.position(workspace, erasure.id) ?? 0);
      return;
    case "envelope":
      // The envelope has the position of the record that vouches for it.
      deleteVectors(
        tx,
        workspace,
        numberOf(sql.eraseEnvelope.get(erasure.text, workspace, erasure.id)),
      );
      return;
    case "attempt":
      eraseReason(tx, workspace, erasure);
      return;
    case "entry":
      writeEntry(tx, workspace, erasure.entry);
      return;
    case "agent":
      eraseProfile(tx, workspace, erasure);
      return;
    default:
      assertNever(erasure);
  }
}

/** A vector is computed from the text and can reveal it. */
function deleteVectors({ sql }: Transaction, workspace: number, pos: number): void {
  sql.dropMeaning.run(pos, workspace);
  sql.dropSignature.run(pos, workspace);
}

function eraseProfile(
  { sql }: Transaction,
  workspace: number,
  { agent: id, basedOn, profile }: Extract<Erasure, { kind: "agent" }>,
): void {
  const agent = findAgent(sql, workspace, id);
  if (agent === undefined) throw new Error(`agent ${id} disappeared within the transaction`);
  const revision = basedOn + 1;
  const digest = agentDigest({ ...agent, profile, revision });
  sql.eraseProfile.run(profile, revision, digest, workspace, id);
}
