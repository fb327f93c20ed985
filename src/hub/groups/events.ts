/** `hub.events`: the numbered log of what happened in a workspace, and its audit records. */

import * as z from "zod";
import { checkLimit } from "../../base/limits.ts";
import { mapPage, type Page, pageOf } from "../../base/page.ts";
import { parseOrThrow } from "../../envelope/violations.ts";
import { eventOf, type HubEvent } from "../../history/event.ts";
import {
  type AuditEntry,
  type AuditExportQuery,
  type AuditQuery,
  auditLines,
  listAudit,
} from "../../memory/audit/read-audit.ts";
import type { Workspace } from "../../workspace/workspace.ts";

/** The query of `hub.events.list()`. */
export const EventsQuerySchema = z.strictObject({
  /** Returns events with a larger number. Default: 0, from the beginning. */
  after: z.int().min(0).default(0),
  /** Events per page. Default: 100. At most `limits.pageSize`. */
  limit: z.int().positive().default(100),
});

export type EventsQuery = z.input<typeof EventsQuerySchema>;

/** `hub.events`: the numbered log of the workspace, and its audit records. */
export interface Events {
  /**
   * Returns events after a number, oldest first. `next` is the number of the last event returned; pass it as
   * `after`.
   */
  list(query?: EventsQuery): Promise<Page<HubEvent, number>>;
  /**
   * Returns matching audit records, newest first: changes of agents, tokens and settings, denied calls, and
   * what administrators read. A page can be short and still have a `next`. Over HTTP, requires access admin.
   */
  audit(query?: AuditQuery): Promise<Page<AuditEntry, number>>;
  /**
   * Yields all audit records as lines of JSON, oldest first, with their hash links: another program can verify
   * that none was changed or removed. Over HTTP, requires access admin.
   */
  exportAudit(query?: AuditExportQuery): AsyncGenerator<string, void, undefined>;
}

/** Returns `hub.events` for a workspace. */
export const events = (workspace: Workspace): Events => ({
  audit: async (query = {}) => listAudit(workspace, query),
  exportAudit: (query = {}) => auditLines(workspace, query),
  async list(query = {}) {
    const how = { code: "invalid_input", what: "The query" } as const;
    const { after, limit } = parseOrThrow(EventsQuerySchema, query, how);
    checkLimit(workspace.limits, "pageSize", { actual: limit, path: "limit" });
    const rows = await workspace.store.readEvents(workspace.name, after, limit + 1);
    return mapPage(
      pageOf(rows, limit, ({ number }) => number),
      eventOf,
    );
  },
});
