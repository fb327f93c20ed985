/** Looking at what waits for an agent or is under way, page by page, without touching it. */
import * as z from "zod";
import { type Envelope, Name } from "../envelope/schema.ts";
import { parseOr } from "../envelope/violations.ts";
import { checkLimit } from "../limits.ts";
import { type DeliveryRow, OPEN_STATES } from "../store/rows.ts";
import type { Workspace } from "../store/workspace.ts";
import { parseEnvelope } from "./accept.ts";

const WaitingSchema = z.strictObject({
  /** The `place` of the last delivery of the page before: the cursor for the next page. */
  after: z.int().min(0).default(0),
  limit: z.int().positive().optional(),
  task: Name.optional(),
});

export type WaitingQuery = z.input<typeof WaitingSchema>;

/** A handoff that waits, or is under way. */
export interface Waiting {
  readonly delivery: DeliveryRow;
  readonly envelope: Envelope;
}

export async function waitingFor(
  workspace: Workspace,
  receiver: string,
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
    receiver,
    states: OPEN_STATES,
    limit,
    after,
    ...(task === undefined ? {} : { task }),
  });
  return listed.map(({ delivery, envelope }) => ({
    delivery,
    envelope: parseEnvelope(envelope),
  }));
}
