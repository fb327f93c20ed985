/**
 * Redactions: a stub says which digest its body had, and is believed for the moment, so that the chain
 * can be followed. When all chains are read, each stub must be the very one that a redaction record
 * vouches for, and nothing that was redacted may be back.
 */
import { sha256 } from "../../base/digest.ts";
import { type Redaction, redactionOf } from "../redaction.ts";
import type { EnvelopeRow, MemoryRow } from "../rows.ts";
import type { Audit, RecordFields } from "./audit.ts";

/** The digest a record was written with, as far as the record itself can tell. */
export function writtenDigest(row: MemoryRow): string {
  return readRedaction(row)?.digest ?? sha256(row.text);
}

/** A text that cannot be read is named elsewhere. */
function readRedaction(row: MemoryRow): Redaction | undefined {
  try {
    return redactionOf(row);
  } catch {
    return undefined;
  }
}

/** What a record says about redactions: that it is one, or was redacted itself. */
export function collectRedactions(
  audit: Audit,
  row: MemoryRow,
  { redacts = [] }: RecordFields,
): void {
  for (const redacted of redacts) {
    if (redacted.kind !== "memory" && redacted.kind !== "envelope") continue;
    const { id, kind, digest, stub } = redacted;
    audit.vouched.set(id, { kind, digest, stub, record: row.id });
  }
  const redaction = readRedaction(row);
  if (redaction === undefined) return;
  audit.stubs.set(row.id, { digest: redaction.digest, stub: sha256(row.text) });
}

/** After all chains. */
export async function auditStubs(audit: Audit): Promise<void> {
  for (const [id, { digest, stub }] of audit.stubs) {
    const vouched = audit.vouched.get(id);
    if (vouched === undefined) {
      audit.found(id, "redacted", "is marked as redacted, and no record vouches for it");
      continue;
    }
    audit.equal(id, "redacted.digest", { is: digest, was: vouched.digest });
    audit.equal(id, "text", { is: stub, was: vouched.stub });
  }
  for (const [id, { kind, record }] of audit.vouched) {
    if (kind !== "memory" || audit.stubs.has(id)) continue;
    // One that is gone altogether is missed on its chain.
    if ((await audit.source.memory(id)) === undefined) continue;
    audit.found(id, "redacted", `${record} redacted it, and it is not redacted`);
  }
}

/** An envelope as its handoff record vouches for it, or the stub that a redaction left. */
export function auditBody(audit: Audit, row: EnvelopeRow, sealed: string | undefined): void {
  const is = sha256(row.text);
  const vouched = audit.vouched.get(row.id);
  if (vouched === undefined) {
    audit.equal(row.id, "text", { is, was: sealed });
    return;
  }
  audit.equal(row.id, "redacted.digest", { is: vouched.digest, was: sealed });
  audit.equal(row.id, "text", { is, was: vouched.stub });
}
