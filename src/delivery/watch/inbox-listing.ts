/** Looking at what waits for an agent or is under way, page by page, without touching it. */
import * as z from "zod";
import { checkLimit } from "../../base/limits.ts";
import { DeliveryId, type Envelope, Name } from "../../envelope/schema.ts";
import { parseOr } from "../../envelope/violations.ts";
import { type Delivery, deliveryOf } from "../../history/delivery.ts";
import { parseEnvelope } from "../../store/parse-envelope.ts";
import { OPEN_STATES, roleInbox } from "../../store/rows.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { readableOf } from "./unreadable-envelopes.ts";

/** A delivery, or what of it says where it stands in line. */
export const InboxCursor = z.object({ id: DeliveryId, place: z.int() });

export const WaitingSchema = z.strictObject({
  /** The last delivery of the page before: the cursor for the next page. */
  after: InboxCursor.optional(),
  limit: z.int().positive().optional(),
  task: Name.optional(),
});

export type WaitingQuery = z.input<typeof WaitingSchema>;

/** A handoff that waits, or is under way. */
export interface Waiting {
  readonly delivery: Delivery;
  readonly envelope: Envelope;
}

/** Whose inboxes: an agent's own, and that of its role. */
export interface Inboxes {
  readonly agent: string;
  readonly role: string;
}

export const inboxesOf = ({ agent, role }: Inboxes): string[] =>
  role === "" ? [agent] : [agent, roleInbox(role)];

export async function waitingFor(
  workspace: Workspace,
  receiver: Inboxes,
  query: WaitingQuery,
): Promise<readonly Waiting[]> {
  const { name, limits, store } = workspace;
  const {
    after,
    task,
    limit = limits.pageSize,
  } = parseOr(WaitingSchema, query, { code: "invalid_input", what: "The query" });
  checkLimit(limits, "pageSize", { actual: limit, path: "limit" });
  const listed = await store.listDeliveries({
    workspace: name,
    receivers: inboxesOf(receiver),
    states: OPEN_STATES,
    limit,
    ...(after === undefined ? {} : { after }),
    ...(task === undefined ? {} : { task }),
  });
  return readableOf(workspace, listed).map(({ delivery, envelope }) => ({
    delivery: deliveryOf(delivery),
    envelope: parseEnvelope(workspace, envelope),
  }));
}
