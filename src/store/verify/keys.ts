/** Verifies the history of signing keys, and which key each record was signed with. */
import { verifySignature } from "../../base/signing-keys.ts";
import type { MemoryRow } from "../rows.ts";
import type { Audit, RecordFields } from "./audit.ts";
import { KEYS_BRANCH, KeyHistory, keyEventOf } from "./key-history.ts";
import { writtenDigest } from "./redactions.ts";

/** Reads the history, and reports invalid events and agents whose key differs from it. */
export async function auditKeys(audit: Audit): Promise<KeyHistory> {
  const history = new KeyHistory(audit.source.workspace);
  for await (const row of audit.source.memories(KEYS_BRANCH)) {
    const event = keyEventIn(row);
    const fault = event && history.add(event, row.storedAt);
    if (event === undefined) audit.found(row.id, "data", "does not describe a change of a key");
    else if (fault !== undefined) audit.found(row.id, "key", fault);
  }
  for (const { agent, key } of history.doubtfulRotations()) {
    const message = `the key set at ${new Date(key.since).toISOString()} was authorized by a key that was compromised by then`;
    audit.found(`agent ${agent}`, "publicKey", message);
  }
  for (const { id, publicKey } of audit.agents.values()) {
    audit.equal(`agent ${id}`, "publicKey", { is: publicKey, was: history.currentKey(id) });
  }
  return history;
}

/** Returns undefined for a damaged record, too; the damage is reported with its chain. */
function keyEventIn(row: MemoryRow) {
  try {
    return keyEventOf(JSON.parse(row.text) as RecordFields);
  } catch {
    return undefined;
  }
}

/**
 * Checks the signature, and that its key was valid. The digest covers the signed record's key, so neither can
 * be removed or swapped. The records of the history itself contain their own signatures.
 */
export function auditSignature(
  audit: Audit,
  row: MemoryRow,
  { authored, keys }: { readonly authored: RecordFields; readonly keys: KeyHistory },
): void {
  const { agent: author, key = "" } = authored;
  if (!audit.agents.has(author)) {
    audit.found(row.id, "agent", `"${author}" is not registered`);
    return;
  }
  const isSigned =
    key === "" ? row.signature === "" : verifySignature(key, writtenDigest(row), row.signature);
  const fault = row.branch === KEYS_BRANCH ? undefined : keys.fault(author, key, row.storedAt);
  if (!isSigned) audit.found(row.id, "signature", `is not a valid signature of ${author}`);
  else if (fault !== undefined) audit.found(row.id, "signature", fault);
}
