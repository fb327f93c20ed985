/** Verifies the entries: compares each one with its digest. */
import { entryDigest } from "../rows.ts";
import type { Audit } from "./audit.ts";

/** Reports every entry that does not match its digest. */
export async function auditEntries(audit: Audit): Promise<void> {
  for await (const entry of audit.source.entries()) {
    const record = `${entry.kind} ${entry.name}`;
    audit.equal(record, "digest", { is: entry.digest, was: entryDigest(entry) });
  }
}
