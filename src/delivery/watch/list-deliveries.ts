/** Lists deliveries across all receivers, newest first, with filters, page by page. */

import * as z from "zod";
import { checkLimit } from "../../base/limits.ts";
import type { Page } from "../../base/page.ts";
import { AgentName, DeliveryId, Name, receiverOf } from "../../envelope/schema.ts";
import { parseOrThrow } from "../../envelope/violations.ts";
import { deliveryOf } from "../../history/delivery.ts";
import { unknownAgent } from "../../memory/agents.ts";
import { parseEnvelope } from "../../store/parse-envelope.ts";
import { DELIVERY_STATES, roleInbox } from "../../store/rows.ts";
import type { DeliveryPage } from "../../store/store.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import type { DeliveryWithEnvelope } from "./inbox-listing.ts";
import { filterReadable, isUnreadable } from "./unreadable-envelopes.ts";

/** An agent or a role; a channel has no inbox, only its subscribers have. */
const Inbox = z
  .string()
  .refine((address) => ["agent", "role"].includes(receiverOf(address)?.kind ?? ""), {
    error: "is not an agent or a role",
    params: { rule: "receiver", hint: 'Pass an agent\'s id or alias, or "role:<role>".' },
  });

/** A time; a date without a time is midnight UTC. */
const Time = z.union([z.int().min(0), z.iso.datetime({ offset: true }), z.iso.date()], {
  error: "must be milliseconds since 1970 or a time such as 2026-01-31T12:00:00Z",
});

/** Filters and page of a delivery listing. */
export const DeliveriesSchema = z.strictObject({
  states: z.array(z.enum(DELIVERY_STATES)).min(1).optional().meta({
    description: "Only deliveries in one of these states",
  }),
  from: AgentName.optional().meta({
    description: "Only deliveries sent by this agent (id or alias)",
  }),
  to: Inbox.optional().meta({
    description: "Only deliveries this receiver has now: an agent's id or alias, or role:…",
  }),
  task: Name.optional(),
  sentAfter: Time.optional().meta({ description: "Only deliveries sent at this time or later" }),
  sentBefore: Time.optional().meta({ description: "Only deliveries sent before this time" }),
  after: DeliveryId.optional().meta({ description: "The next of the previous page" }),
  limit: z.int().positive().optional().meta({ description: "Default: 50" }),
});
/** Filters and page of a delivery listing. Default limit: 50. */
export type DeliveriesQuery = z.input<typeof DeliveriesSchema>;
type Filter = Omit<z.output<typeof DeliveriesSchema>, "after" | "limit">;

const DEFAULT_LIMIT = 50;
/** Deliveries read per page, matching or not, so that a filter costs the same however long the history is. */
const VISITS = 5_000;

/**
 * Returns a page of deliveries, newest first. Throws `invalid_input`, `unknown_agent` and `limit_exceeded`.
 */
export async function listDeliveries(
  workspace: Workspace,
  query: DeliveriesQuery,
): Promise<Page<DeliveryWithEnvelope>> {
  const { limits, name, store } = workspace;
  const {
    after,
    limit = Math.min(DEFAULT_LIMIT, limits.pageSize),
    ...filter
  } = parseOrThrow(DeliveriesSchema, query, { code: "invalid_input", what: "The query" });
  checkLimit(limits, "pageSize", { actual: limit, path: "limit" });
  const page = await store.browseDeliveries({
    workspace: name,
    limit,
    visits: VISITS,
    ...(after !== undefined && { before: after }),
    ...(await storeFilter(workspace, filter)),
  });
  const items = readableRowsOf(workspace, page).map(({ delivery, envelope }) => ({
    delivery: deliveryOf(delivery),
    envelope: parseEnvelope(workspace, envelope),
  }));
  return page.next === undefined ? { items } : { items, next: page.next };
}

/**
 * Throws for a page without a readable envelope only if it is the last, so that a caller can skip the others.
 */
function readableRowsOf(workspace: Workspace, { rows, next }: DeliveryPage): DeliveryPage["rows"] {
  try {
    return filterReadable(workspace, rows);
  } catch (error) {
    if (next === undefined || !isUnreadable(error)) throw error;
    return [];
  }
}

/** Returns the filter with aliases resolved and times in milliseconds. */
async function storeFilter(
  workspace: Workspace,
  { states, from, to, task, sentAfter, sentBefore }: Filter,
) {
  return {
    ...(states !== undefined && { states }),
    ...(from !== undefined && { sender: await agentId(workspace, from, "from") }),
    ...(to !== undefined && { receiver: await inboxOf(workspace, to) }),
    ...(task !== undefined && { task }),
    ...(sentAfter !== undefined && { sentAfter: millisecondsOf(sentAfter) }),
    ...(sentBefore !== undefined && { sentBefore: millisecondsOf(sentBefore) }),
  };
}

async function inboxOf(workspace: Workspace, address: string): Promise<string> {
  const receiver = receiverOf(address);
  if (receiver?.kind === "role") return roleInbox(receiver.role);
  return agentId(workspace, receiver?.kind === "agent" ? receiver.agent : address, "to");
}

async function agentId(workspace: Workspace, alias: string, path: string): Promise<string> {
  const agent = await workspace.store.findAgent(workspace.name, alias);
  if (agent === undefined) throw await unknownAgent(workspace, alias, path);
  return agent.id;
}

const millisecondsOf = (time: z.output<typeof Time>): number =>
  typeof time === "number" ? time : Date.parse(time);
