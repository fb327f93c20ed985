/**
 * Verifies tokens, settings and agents against the audit records: each must be as its last record left it.
 * A process that can write the store can change a row and its digest, but not the record on the chain.
 */

import {
  type AuditedChange,
  auditedAgentDigest,
  auditedValueDigest,
  isAuditedKind,
} from "../audited.ts";
import type { EntryRow, MemoryRow } from "../rows.ts";
import { AUDIT_BRANCH } from "../visibility.ts";
import type { Audit, RecordFields } from "./audit.ts";

/** The field that a problem of this check names. */
const FIELD = "audit";

/** The last record about one target. */
export interface LastChange {
  /** Id of the record. */
  readonly record: string;
  /** Digest of the value since; undefined if it was deleted. */
  readonly after: string | undefined;
  readonly storedAt: number;
}

const keyOf = ({ kind, name }: { readonly kind: string; readonly name: string }): string =>
  `${kind} ${name}`;

/** Collects the target of an audit record, and what a redaction record has masked in entries and agents. */
export function collectChanges(audit: Audit, row: MemoryRow, authored: RecordFields): void {
  for (const { kind, id } of authored.redacts ?? []) {
    if (kind !== "entry" && kind !== "agent") continue;
    const key = kind === "agent" ? keyOf({ kind, name: id }) : id;
    audit.masked.set(key, Math.max(row.storedAt, audit.masked.get(key) ?? 0));
  }
  if (row.branch !== AUDIT_BRANCH) return;
  audit.hasRecords = true;
  const { target, after } = (authored.data ?? {}) as Partial<AuditedChange>;
  if (target === undefined) return;
  audit.changes.set(keyOf(target), { record: row.id, after, storedAt: row.storedAt });
}

/**
 * Compares every audited row with its last record. Call it after all chains have been read. A workspace
 * without any audit record was never written through a hub that makes them, and is not compared.
 */
export async function auditChanges(audit: Audit): Promise<void> {
  if (!audit.hasRecords) return;
  const current = await currentDigests(audit);
  for (const [key, digest] of current) {
    const last = audit.changes.get(key);
    if (last === undefined) audit.found(key, FIELD, "was created without an audit record");
    else if (last.after !== digest && !wasMasked(audit, key, last)) {
      audit.found(key, FIELD, `was changed after its last audit record ${last.record}`);
    }
  }
  for (const [key, { after, record }] of audit.changes) {
    if (after === undefined || current.has(key)) continue;
    audit.found(key, FIELD, `is missing, but its last audit record ${record} did not delete it`);
  }
}

async function currentDigests(audit: Audit): Promise<Map<string, string>> {
  const digests = new Map<string, string>();
  for (const agent of audit.agents.values()) {
    digests.set(keyOf({ kind: "agent", name: agent.id }), auditedAgentDigest(agent));
  }
  for await (const entry of audit.source.entries()) {
    if (isAuditedKind(entry.kind)) digests.set(keyOf(entry), digestOf(entry));
  }
  return digests;
}

const digestOf = ({ value }: EntryRow): string => auditedValueDigest(value);

/** A redaction masks a text in a row without an audit record; its own record on the chain vouches for it. */
const wasMasked = (audit: Audit, key: string, { storedAt }: LastChange): boolean =>
  (audit.masked.get(key) ?? -1) >= storedAt;
