/** Reads the audit records of a workspace: newest first as a list, or all of them as an export. */
import * as z from "zod";
import { checkLimit } from "../../base/limits.ts";
import type { Page } from "../../base/page.ts";
import { parseOrThrow } from "../../envelope/violations.ts";
import { genesis } from "../../store/chain.ts";
import { digestOf } from "../../store/redaction.ts";
import type { MemoryRow } from "../../store/rows.ts";
import { AUDIT_BRANCH, END_OF_BRANCH } from "../../store/visibility.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { memoryOf } from "../record.ts";
import { SYSTEM } from "../system-author.ts";
import { AUDIT_KINDS, type AuditData } from "./audit-record.ts";

const Word = z.string().min(1);
const Instant = z.int().min(0);

/** The query of `hub.events.audit()`. */
export const AuditQuerySchema = z.strictObject({
  /** Only records of this operation, such as `tokens.add`. */
  action: Word.optional(),
  /** The `next` of the previous page: returns records before this number. */
  after: z.int().positive().optional(),
  /** Only what this agent did, or what was done to it. */
  agent: Word.optional(),
  /** Only changes, denied calls, or reads of administrators. */
  kind: z.enum(AUDIT_KINDS).optional(),
  /** Records per page. Default: 100. At most `limits.pageSize`. */
  limit: z.int().positive().default(100),
  /** Only records stored at this time or later, in ms since the epoch. */
  since: Instant.optional(),
  /** Only records stored before this time, in ms since the epoch. */
  until: Instant.optional(),
});

export type AuditQuery = z.input<typeof AuditQuerySchema>;
type CheckedQuery = z.output<typeof AuditQuerySchema>;

/** The query of `hub.events.exportAudit()`. */
export const AuditExportSchema = z.strictObject({
  /** Only records after this number: continues an earlier export. Default: 0, all of them. */
  after: z.int().min(0).default(0),
});

export type AuditExportQuery = z.input<typeof AuditExportSchema>;

/** An audit record. */
export interface AuditEntry extends AuditData {
  readonly id: string;
  /** Its number, from 1 without gaps. */
  readonly seq: number;
  /** When it was stored, in ms since the epoch. */
  readonly at: number;
  /** The hash that links it to the record before. */
  readonly link: string;
}

/** How many records one page reads at most, matching or not; a page can be short and still have a next one. */
const MAX_VISITS = 10_000;

/** Returns the newest matching records, newest first. */
export async function listAudit(
  workspace: Workspace,
  query: AuditQuery,
): Promise<Page<AuditEntry, number>> {
  const how = { code: "invalid_input", what: "The query" } as const;
  const checked = parseOrThrow(AuditQuerySchema, query, how);
  const { limit, after = END_OF_BRANCH + 1, since = 0 } = checked;
  checkLimit(workspace.limits, "pageSize", { actual: limit, path: "limit" });
  const items: AuditEntry[] = [];
  let below = after;
  for (let visits = 0; visits < MAX_VISITS; ) {
    const rows = await rowsUpTo(workspace, below - 1, workspace.limits.pageSize);
    for (const row of rows) {
      if (row.storedAt < since) return { items };
      const entry = entryOf(row);
      if (matches(entry, checked)) {
        if (items.length === limit) return { items, next: below };
        items.push(entry);
      }
      below = row.seq;
    }
    visits += rows.length;
    if (below === 1 || rows.length === 0) return { items };
  }
  return { items, next: below };
}

function matches(entry: AuditEntry, { action, agent, kind, until }: CheckedQuery): boolean {
  const { actor, target } = entry;
  const isTarget = target?.kind === "agent" && target.name === agent;
  return (
    (action === undefined || entry.action === action) &&
    (agent === undefined || actor.agent === agent || isTarget) &&
    (kind === undefined || entry.kind === kind) &&
    (until === undefined || entry.at < until)
  );
}

function entryOf(row: MemoryRow): AuditEntry {
  const { data, id, link, seq, storedAt } = memoryOf(row);
  return { id, seq, at: storedAt, link, ...(data as unknown as AuditData) };
}

/** Returns the last records up to a position, newest first. */
const rowsUpTo = (
  { store, name }: Workspace,
  upTo: number,
  limit: number,
): Promise<readonly MemoryRow[]> =>
  store.recentMemories({
    workspace: name,
    sight: {
      lines: [{ branch: AUDIT_BRANCH, upTo }],
      reader: { agent: SYSTEM, session: "", user: "" },
      traces: false,
      quarantined: [],
    },
    filter: {},
    limit,
  });

/** The format that the first line of an export names. */
export const AUDIT_EXPORT_FORMAT = "baton-audit";

/**
 * Yields all records as lines of JSON, oldest first, each with what its link is computed from: a header, the
 * records, and a footer with their number.
 */
export async function* auditLines(
  workspace: Workspace,
  query: AuditExportQuery,
): AsyncGenerator<string, void, undefined> {
  const how = { code: "invalid_input", what: "The query" } as const;
  const { after } = parseOrThrow(AuditExportSchema, query, how);
  const { name, store, limits } = workspace;
  const [tip] = await store.findTips({ workspace: name, branches: [AUDIT_BRANCH] });
  const last = tip?.seq ?? 0;
  const [before] = after === 0 ? [] : await rowsUpTo(workspace, after, 1);
  const previous = before?.link ?? genesis(name, AUDIT_BRANCH);
  yield lineOf({
    ...{ kind: "header", format: AUDIT_EXPORT_FORMAT, version: 1, workspace: name },
    ...{ branch: AUDIT_BRANCH, after, previous },
  });
  for (let done = after; done < last; ) {
    const upTo = Math.min(done + limits.pageSize, last);
    for (const row of (await rowsUpTo(workspace, upTo, upTo - done)).toReversed()) {
      const { seq, storedAt, link, text } = row;
      yield lineOf({ kind: "record", seq, storedAt, digest: digestOf(row), link, text });
    }
    done = upTo;
  }
  yield lineOf({ kind: "footer", records: Math.max(0, last - after), last });
}

const lineOf = (value: object): string => `${JSON.stringify(value)}\n`;
