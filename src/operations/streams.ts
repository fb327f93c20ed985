/** The routes that stream their response or request body; all other routes are operations. */
import type * as z from "zod";
import type { Access } from "../access/levels.ts";
import { MemoryExportQuerySchema } from "../archive/memory-export-query.ts";
import { AuditExportSchema } from "../memory/audit/read-audit.ts";
import type { Route } from "./operation.ts";

/** A streaming route. */
export interface Stream {
  readonly summary: string;
  readonly route: Route;
  readonly access: Access;
  readonly chapter: string;
  /** The content type of the response. */
  readonly type: string;
  /** The schema of the query; absent if the route takes none. */
  readonly query?: z.ZodObject;
}

const EVENTS = "text/event-stream";
const LINES = "application/x-ndjson";

/** Every streaming route by name. */
export const STREAMS: Readonly<Record<string, Stream>> = {
  "events.stream": {
    summary: "Streams the events of the workspace; resumes after Last-Event-ID.",
    route: "GET /v1/events/stream",
    access: "reader",
    chapter: "hub",
    type: EVENTS,
  },
  "inbox.stream": {
    summary: "Streams deliveries as they arrive for an agent. Claims nothing.",
    route: "GET /v1/inbox/stream",
    access: "agent",
    chapter: "inbox",
    type: EVENTS,
  },
  "archive.export": {
    summary: "Exports the whole workspace as NDJSON lines.",
    route: "GET /v1/export",
    access: "admin",
    chapter: "hub",
    type: LINES,
  },
  "archive.import": {
    summary: "Imports an export into an empty workspace: all of it, or nothing.",
    route: "POST /v1/import",
    access: "admin",
    chapter: "hub",
    type: "application/json",
  },
  "events.exportAudit": {
    summary: "Exports the audit records as NDJSON lines, with their hash links.",
    route: "GET /v1/audit/export",
    access: "admin",
    chapter: "hub",
    type: LINES,
    query: AuditExportSchema,
  },
  "memories.export": {
    summary: "Exports the memories the caller can see as NDJSON lines.",
    route: "GET /v1/memories-export",
    access: "reader",
    chapter: "memories",
    type: LINES,
    query: MemoryExportQuerySchema,
  },
};
