/** What streams instead of answering once: served beside the operations. */
import type * as z from "zod";
import type { Access } from "../access/levels.ts";
import { MemoryExportQuerySchema } from "../archive/memory-export-query.ts";
import type { Route } from "./operation.ts";

export interface Stream {
  readonly summary: string;
  readonly route: Route;
  readonly access: Access;
  readonly chapter: string;
  /** The content type of the answer. */
  readonly type: string;
  /** What may be given in the query. */
  readonly query?: z.ZodObject;
}

const EVENTS = "text/event-stream";
const LINES = "application/x-ndjson";

export const STREAMS: Readonly<Record<string, Stream>> = {
  "events.stream": {
    summary: "Streams what happens in the workspace; resumed by Last-Event-ID.",
    route: "GET /v1/events/stream",
    access: "reader",
    chapter: "hub",
    type: EVENTS,
  },
  "inbox.stream": {
    summary: "Streams what arrives for an agent. Claims nothing.",
    route: "GET /v1/inbox/stream",
    access: "agent",
    chapter: "inbox",
    type: EVENTS,
  },
  "archive.export": {
    summary: "Exports everything the workspace holds, as lines.",
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
  "memories.export": {
    summary: "Lists the memories a reader may see, as lines.",
    route: "GET /v1/memories-export",
    access: "reader",
    chapter: "memories",
    type: LINES,
    query: MemoryExportQuerySchema,
  },
};
