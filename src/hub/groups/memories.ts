/**
 * `hub.memories` and `agent.memories`: read, list, relate, pin, quarantine, redact, import and export
 * records.
 */

import { renderDocument } from "../../archive/markdown/export-document.ts";
import {
  type DocumentOptions,
  type DocumentReport,
  importDocument,
} from "../../archive/markdown/import-document.ts";
import type { MemoryExportQuery } from "../../archive/memory-export-query.ts";
import { memoryLines } from "../../archive/memory-lines.ts";
import type { Page } from "../../base/page.ts";
import { type ReadMemory, type ReadOptions, readRecord } from "../../delivery/work/read-record.ts";
import {
  type PinnedMemory,
  type PinsQuery,
  pin,
  pinnedMemories,
  unpin,
} from "../../memory/pins.ts";
import { type Impact, type ImpactQuery, impactOf } from "../../memory/quarantine/blast-radius.ts";
import {
  type LiftOptions,
  type LiftTarget,
  lift,
  listQuarantined,
  type QuarantinedMemory,
  type QuarantineOptions,
  type QuarantineQuery,
  type QuarantineResult,
  type QuarantineTarget,
  quarantine,
} from "../../memory/quarantine/quarantine.ts";
import {
  type RecentMemory,
  type RecentQuery,
  type Relation,
  type RelationsQuery,
  recentMemories,
  relationsOf,
} from "../../memory/read.ts";
import { findSimilarMemories } from "../../memory/recall/remember-checked.ts";
import type { SimilarMemory } from "../../memory/recall/similar-memories.ts";
import type { Author, MemoryInput } from "../../memory/record.ts";
import { allowText } from "../../memory/redaction/allowed-texts.ts";
import {
  type RedactOptions,
  type RedactReport,
  type RedactTarget,
  redact,
} from "../../memory/redaction/redact.ts";
import { redactSecrets } from "../../memory/redaction/secret-policy.ts";
import {
  reportSecrets,
  type SecretsQuery,
  type SecretsReport,
} from "../../memory/redaction/secrets-report.ts";
import { runSql, type SqlOptions, type SqlResult } from "../../memory/sql.ts";
import { type PruneOptions, type PruneReport, prune } from "../../memory/traces/prune.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { type Call, plainCall } from "./call.ts";

/** What a hub and an agent have in common: reading. A hub sees what the whole team sees. */
export interface Memories {
  /**
   * Returns a record by its id, exactly as stored. With `freshest`, returns the record that replaced it, if
   * any; with `level`, also its text at that length. Throws `unknown_memory`.
   */
  read(id: string, options?: ReadOptions): Promise<ReadMemory>;
  /** Returns the newest memories of a task, agent, session, tag or type. */
  recent(query?: RecentQuery): Promise<Page<RecentMemory>>;
  /**
   * Returns everything derived from a memory: records, handoffs that carried it, agents that saw it. Follows
   * at most `limits.impactDepth` steps and `limits.impactVisits` records.
   */
  impact(id: string, query?: ImpactQuery): Promise<Impact>;
  /** Returns quarantined memories, with the agent that quarantined each and the reason. */
  quarantined(query?: QuarantineQuery): Promise<Page<QuarantinedMemory>>;
  /**
   * Runs one read-only query over the SQL views of the workspace (docs/SQL.md). Throws `sql_refused`,
   * `sql_failed`, `sql_timeout`.
   */
  sql(query: string, options?: SqlOptions): Promise<SqlResult>;
  /** Applies the retention settings: deletes old traces and events. */
  prune(options?: PruneOptions): Promise<PruneReport>;
  /**
   * Yields memories as lines of JSON, for reading. For an export that can be imported, use
   * `archive.export()`.
   */
  export(query?: MemoryExportQuery): AsyncGenerator<string, void, undefined>;
  /** Returns the memories as a Markdown document for people (MEMORY.md). */
  exportMarkdown(query?: MemoryExportQuery): Promise<string>;
}

/** `hub.memories`: also reports where secrets were removed. */
export interface HubMemories extends Memories {
  /** Returns where secrets were removed before storing: their kind, the time and the agent that sent them. */
  secretsFound(query?: SecretsQuery): Promise<SecretsReport>;
}

/** `agent.memories`: also relates, pins, quarantines, redacts and imports memories. */
export interface AgentMemories extends Memories {
  /** Returns records that state the same as this input, or contradict it. Writes nothing. */
  similar(input: MemoryInput): Promise<readonly SimilarMemory[]>;
  /** Returns the relations of a memory: outgoing ("out", default) or incoming ("in"). */
  relations(id: string, query?: RelationsQuery): Promise<Page<Relation>>;
  /** Pins a memory: includes it in every handoff and catch-up. */
  pin(id: string): Promise<void>;
  /** Removes a pin. */
  unpin(id: string): Promise<void>;
  /** Returns the pinned memories. */
  pins(query?: PinsQuery): Promise<PinnedMemory[]>;
  /**
   * Hides records from every read: by id, or everything an agent or session wrote; with `downstream`, also
   * what was derived from them. Holders of handoffs that carry any of them are warned. An agent may quarantine
   * what it wrote itself; the shared context and records of other agents are for the roles in
   * `settings.keepers`, others throw `not_permitted` and propose it: `context.propose({ quarantine }, …)`.
   */
  quarantine(
    what: QuarantineTarget,
    reason: string,
    options?: QuarantineOptions,
  ): Promise<QuarantineResult>;
  /**
   * Ends a quarantine: by record, by agent or session, or everything one quarantine hid. An agent may lift
   * what it quarantined of its own records; everything else throws `not_permitted` without a keeper role.
   */
  lift(what: LiftTarget, reason: string, options?: LiftOptions): Promise<QuarantineResult>;
  /**
   * Erases content permanently: records and envelopes by id, or a text wherever it occurs. Digests stay, so
   * the chain still verifies, and a record states which agent redacted and why.
   */
  redact(target: RedactTarget, reason: string, options?: RedactOptions): Promise<RedactReport>;
  /**
   * Declares a text harmless that was redacted for the word beside it: from the next call on it is stored as
   * written. Throws `invalid_input` if it has the format of a provider's key.
   */
  allowText(text: string, reason: string): Promise<void>;
  /**
   * Imports a Markdown document: remembers new entries, supersedes changed ones, deletes nothing. Throws
   * `document_stale` if the document changes memories that changed since it was written.
   */
  importMarkdown(text: string, options?: DocumentOptions): Promise<DocumentReport>;
}

/**
 * Returns the calls that hub and agent share. `author`: the author of the pruning record; undefined: the hub.
 */
function memoriesOf(workspace: Workspace, author: Author | undefined, call: Call): Memories {
  return {
    read: (id, options = {}) => call(async () => readRecord(workspace, id, options)),
    recent: (query = {}) => call(async () => recentMemories(workspace, query)),
    impact: (id, query = {}) => call(async () => impactOf(workspace, id, query)),
    quarantined: (query = {}) => call(async () => listQuarantined(workspace, query)),
    sql: (query, options = {}) => call(async () => runSql(workspace, query, options)),
    prune: (options = {}) => call(async () => prune(workspace, author, options)),
    export: (query = {}) => memoryLines(workspace, query),
    exportMarkdown: (query = {}) => call(async () => renderDocument(workspace, query)),
  };
}

/** Returns `hub.memories` for a workspace. */
export const hubMemories = (workspace: Workspace): HubMemories => ({
  ...memoriesOf(workspace, undefined, plainCall),
  secretsFound: (query = {}) => reportSecrets(workspace, query),
});

/** Returns `agent.memories` for a session. */
export const agentMemories = (workspace: Workspace, self: Author, call: Call): AgentMemories => ({
  ...memoriesOf(workspace, self, call),
  similar: (input) => call(() => findSimilarMemories(workspace, input)),
  relations: (id, query = {}) => call(() => relationsOf(workspace, id, query)),
  pin: (id) => call(() => pin(workspace, self, id)),
  unpin: (id) => call(() => unpin(workspace, self, id)),
  pins: (query = {}) => call(() => pinnedMemories(workspace, query)),
  quarantine: (what, reason, options = {}) =>
    call(() => quarantine(workspace, self, what, { ...options, reason })),
  lift: (what, reason, options = {}) =>
    call(() => lift(workspace, self, what, { ...options, reason })),
  redact: (target, reason, options = {}) =>
    call(() => redact(workspace, self, { target, reason }, options)),
  allowText: (text, reason) =>
    call(async () => {
      const redacted = await redactSecrets(workspace, { reason });
      await allowText(workspace, self.agent, { text, ...redacted });
    }),
  importMarkdown: (text, options = {}) =>
    call(() => importDocument(workspace, self, text, options)),
});
