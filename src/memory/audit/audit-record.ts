/** Writes audit records: what was done, by whom, on what, and the digests before and after. */

import type { AuditedChange } from "../../store/audited.ts";
import { AUDIT_RECORD } from "../../store/audited.ts";
import type { NewMemory } from "../../store/rows.ts";
import { AUDIT_BRANCH } from "../../store/visibility.ts";
import type { Actor } from "../../workspace/actor.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { type Author, writeRecord } from "../record.ts";

/** What an audit record is about. */
export const AUDIT_KINDS = ["change", "denied", "read"] as const;
export type AuditKind = (typeof AUDIT_KINDS)[number];

/** The data of an audit record. */
export interface AuditData extends Partial<AuditedChange> {
  readonly kind: AuditKind;
  /** The operation, such as `tokens.add`; `*` for several. */
  readonly action: string;
  readonly actor: Actor;
  /** The error code of a denied call. */
  readonly code?: string;
  /** How many calls the record stands for; absent: one. */
  readonly count?: number;
  /** When the first and the last of these calls were made, in ms since the epoch. */
  readonly from?: number;
  readonly until?: number;
}

/** Where audit records are appended. */
export const auditBranchOf = ({ name }: Workspace) => ({ workspace: name, branch: AUDIT_BRANCH });

/**
 * Returns an audit record that is ready to be stored. It is private to the hub's agent, as which no caller acts:
 * no read, query, export of memories or redaction of a caller reaches it.
 */
export function auditRecord(workspace: Workspace, author: Author, data: AuditData): NewMemory {
  const { ids, clock, limits } = workspace;
  const described = { content: sentenceOf(data), data: defined(data) };
  const input = { ...described, scope: "agent" as const, type: AUDIT_RECORD };
  return writeRecord(author, input, { ids, now: clock.now(), limits, branch: AUDIT_BRANCH }).record;
}

function sentenceOf({ kind, action, actor, target, code, count }: AuditData): string {
  const who = actor.agent ?? actor.token ?? actor.address ?? actor.via;
  const what = target === undefined ? "" : ` on ${target.kind} ${target.name}`;
  const times = count === undefined ? "" : `, ${count} calls`;
  return `${kind} ${action}${what} by ${who}${code === undefined ? "" : `: ${code}`}${times}`;
}

/** Removes undefined keys, because canonical JSON has no undefined. */
const defined = (data: AuditData): Record<string, unknown> =>
  JSON.parse(JSON.stringify(data)) as Record<string, unknown>;
