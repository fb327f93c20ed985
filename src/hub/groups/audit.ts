/** `hub.audit`: the records of changes to agents, tokens and settings, of denied calls and of admin reads. */
import type { Page } from "../../base/page.ts";
import {
  type AuditEntry,
  type AuditExportQuery,
  type AuditQuery,
  auditLines,
  listAudit,
} from "../../memory/audit/read-audit.ts";
import type { Workspace } from "../../workspace/workspace.ts";

/** `hub.audit`: reads the audit records of the workspace. Over HTTP, requires access admin. */
export interface HubAudit {
  /** Returns matching records, newest first. A page can be short and still have a `next`. */
  list(query?: AuditQuery): Promise<Page<AuditEntry, number>>;
  /**
   * Yields all records as lines of JSON, oldest first, with their hash links: another program can verify
   * that none was changed or removed.
   */
  export(query?: AuditExportQuery): AsyncGenerator<string, void, undefined>;
}

/** Returns `hub.audit` for a workspace. */
export const hubAudit = (workspace: Workspace): HubAudit => ({
  list: async (query = {}) => listAudit(workspace, query),
  export: (query = {}) => auditLines(workspace, query),
});
