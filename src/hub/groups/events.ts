/** `hub.events`: the numbered log of what happened in a workspace. */
import * as z from "zod";
import { checkLimit } from "../../base/limits.ts";
import { parseOr } from "../../envelope/violations.ts";
import { eventOf, type HubEvent } from "../../history/event.ts";
import type { Workspace } from "../../workspace/workspace.ts";

export const EventsQuerySchema = z.strictObject({
  /** Returns events with a larger number. Default: 0, from the beginning. */
  after: z.int().min(0).default(0),
  /** Default: 100. At most `pageSize`. */
  limit: z.int().positive().default(100),
});

export type EventsQuery = z.input<typeof EventsQuerySchema>;

export interface Events {
  /** Returns what happened after an event, oldest first. */
  list(query?: EventsQuery): Promise<readonly HubEvent[]>;
}

export const events = (workspace: Workspace): Events => ({
  async list(query = {}) {
    const how = { code: "invalid_input", what: "The query" } as const;
    const { after, limit } = parseOr(EventsQuerySchema, query, how);
    checkLimit(workspace.limits, "pageSize", { actual: limit, path: "limit" });
    return (await workspace.store.readEvents(workspace.name, after, limit)).map(eventOf);
  },
});
