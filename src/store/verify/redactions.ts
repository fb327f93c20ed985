/**
 * Verifies redactions. A stub states the digest of its erased body; it is trusted while the chains are read,
 * so that they can be followed. Afterwards each stub must be exactly the one that a redaction record vouches
 * for, and no redacted body may have been restored.
 */
import { sha256 } from "../../base/digest.ts";
import { type Redaction, redactionOf } from "../redaction.ts";
import type { EnvelopeRow, MemoryRow } from "../rows.ts";
import type { Audit, RecordFields } from "./audit.ts";

/** Returns the digest a record was written with: from its stub if it was redacted, else from its text. */
export function writtenDigest(row: MemoryRow): string {
  return readRedaction(row)?.digest ?? sha256(row.text);
}

/** Returns undefined for an unreadable text, which is reported elsewhere. */
function readRedaction(row: MemoryRow): Redaction | undefined {
  try {
    return redactionOf(row);
  } catch {
    return undefined;
  }
}

/** Collects the bodies that a redaction record vouches for, and the record itself if it is a stub. */
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

/** Compares stubs with redaction records. Call it after all chains have been read. */
export async function auditStubs(audit: Audit): Promise<void> {
  for (const [id, { digest, stub }] of audit.stubs) {
    const vouched = audit.vouched.get(id);
    if (vouched === undefined) {
      audit.found(id, "redacted", "is marked as redacted, but no record vouches for it");
      continue;
    }
    audit.equal(id, "redacted.digest", { is: digest, was: vouched.digest });
    audit.equal(id, "text", { is: stub, was: vouched.stub });
  }
  for (const [id, { kind, record }] of audit.vouched) {
    if (kind !== "memory" || audit.stubs.has(id)) continue;
    // A record that is missing altogether is reported with its chain.
    if ((await audit.source.memory(id)) === undefined) continue;
    audit.found(id, "redacted", `${record} redacted it, but its body still exists`);
  }
}

/** Compares an envelope with the digest in its handoff record, or with the stub that a redaction left. */
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
