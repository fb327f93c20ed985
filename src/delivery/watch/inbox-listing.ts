/** Lists the open deliveries of an agent page by page, without claiming them. */

import * as z from "zod";
import { checkLimit } from "../../base/limits.ts";
import { type Page, pageOf } from "../../base/page.ts";
import { DeliveryId, type Envelope, Name } from "../../envelope/schema.ts";
import { parseOrThrow } from "../../envelope/violations.ts";
import { type Delivery, deliveryOf } from "../../history/delivery.ts";
import { parseEnvelope } from "../../store/parse-envelope.ts";
import { type DeliveryRow, OPEN_STATES, roleInbox } from "../../store/rows.ts";
import type { InboxCursor as InboxPlace } from "../../store/store.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { filterReadable } from "./unreadable-envelopes.ts";

/** The position of a delivery in its inbox, as text: `dlv_…@12`. */
export const InboxCursor = z.string().refine((text) => parseCursor(text) !== undefined, {
  error: "is not an inbox cursor",
  params: { rule: "cursor", hint: "Pass the next of the previous page." },
});

/** Returns the cursor of a delivery. */
export const cursorOf = ({ id, place }: Pick<DeliveryRow, "id" | "place">): string =>
  `${id}@${place}`;

/** Parses a cursor; undefined if it is invalid. */
export function parseCursor(cursor: string): Pick<DeliveryRow, "id" | "place"> | undefined {
  const [, id, place] = /^(.+)@(-?\d{1,15})$/.exec(cursor) ?? [];
  return DeliveryId.safeParse(id).success ? { id: id as string, place: Number(place) } : undefined;
}

/** Filters and page of an inbox listing. */
export const InboxQuerySchema = z.strictObject({
  /** The `next` of the previous page. */
  after: InboxCursor.optional(),
  limit: z.int().positive().optional(),
  task: Name.optional(),
});

/** Filters and page of an inbox listing. */
export type InboxQuery = z.input<typeof InboxQuerySchema>;

/** A delivery with its envelope. */
export interface DeliveryWithEnvelope {
  readonly delivery: Delivery;
  readonly envelope: Envelope;
}

/** The owner of inboxes: an agent and, if it has one, its role. */
export interface InboxOwner {
  readonly agent: string;
  readonly role?: string | undefined;
}

/** Returns the inboxes of an agent: its own, and that of its role. */
export const inboxesOf = ({ agent, role }: InboxOwner): string[] =>
  role === undefined ? [agent] : [agent, roleInbox(role)];

/** Returns a page of open deliveries, in claim order; default and largest limit: `limits.pageSize`. */
export async function listInbox(
  workspace: Workspace,
  receiver: InboxOwner,
  query: InboxQuery,
): Promise<Page<DeliveryWithEnvelope>> {
  const { name, limits, store } = workspace;
  const {
    after,
    task,
    limit = limits.pageSize,
  } = parseOrThrow(InboxQuerySchema, query, { code: "invalid_input", what: "The query" });
  checkLimit(limits, "pageSize", { actual: limit, path: "limit" });
  const listed = await store.listDeliveries({
    workspace: name,
    receivers: inboxesOf(receiver),
    states: OPEN_STATES,
    limit: limit + 1,
    ...(after === undefined ? {} : { after: parseCursor(after) as InboxPlace }),
    ...(task === undefined ? {} : { task }),
  });
  const { items, ...rest } = pageOf(listed, limit, ({ delivery }) => cursorOf(delivery));
  return {
    ...rest,
    items: filterReadable(workspace, items).map(({ delivery, envelope }) => ({
      delivery: deliveryOf(delivery),
      envelope: parseEnvelope(workspace, envelope),
    })),
  };
}
