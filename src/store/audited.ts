/**
 * Audit records: memories on a branch of their own, written together with the change that they describe. A
 * record contains the digest of what it describes before and after, so that `verify` finds an agent, token or
 * setting that was changed without one.
 */
import { sha256 } from "../base/digest.ts";
import type { AgentRow } from "./rows.ts";

/** The memory type of audit records. Search and embeddings leave it out. */
export const AUDIT_RECORD = "audit-record";

/**
 * The entry kinds whose changes are recorded: tokens, settings and rules of the team. Other entries are state
 * that changes with the work.
 */
export const AUDITED_KINDS = [
  ...(["token", "setting", "profile", "lint", "retention"] as const),
  ...(["allowed-text", "route", "failure-rule", "channel"] as const),
] as const;

export type AuditedKind = (typeof AUDITED_KINDS)[number];

const auditedKinds: ReadonlySet<string> = new Set(AUDITED_KINDS);

/** Returns whether changes of entries of this kind are recorded. */
export const isAuditedKind = (kind: string): kind is AuditedKind => auditedKinds.has(kind);

/** What a record is about: an agent, or an entry by its kind and name. */
export interface AuditTarget {
  readonly kind: AuditedKind | "agent";
  readonly name: string;
}

/** The part of an audit record's data that `verify` compares. */
export interface AuditedChange {
  readonly target: AuditTarget;
  /** Digest of the value before; absent if it did not exist. */
  readonly before?: string;
  /** Digest of the value after; absent if it was deleted. */
  readonly after?: string;
}

/** The digest of an entry's value. */
export const auditedValueDigest = (value: string): string => sha256(value);

/** The digest of an agent's registration, without what only the store knows (revision, time of the key). */
export function auditedAgentDigest(
  agent: Pick<AgentRow, "id" | "status" | "role" | "aliases" | "publicKey" | "profile">,
): string {
  const { id, status, role, aliases, publicKey, profile } = agent;
  return sha256(JSON.stringify([id, status, role, aliases, publicKey, profile]));
}
