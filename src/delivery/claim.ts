/** Claiming: the inbox offers what is ready, each delivery to one holder at a time. */
import * as z from "zod";
import { DeliveryId, Name } from "../envelope/schema.ts";
import { parseOr } from "../envelope/violations.ts";
import { checkLimit } from "../limits.ts";
import type { Author } from "../memory/record.ts";
import { refusalError } from "../memory/refusals.ts";
import type { NewMemory } from "../store/rows.ts";
import type { Claimed } from "../store/store.ts";
import type { Workspace } from "../store/workspace.ts";

const WhichSchema = z.strictObject({
  delivery: DeliveryId.optional(),
  task: Name.optional(),
});

/** Which of the waiting handoffs: of a task, or one by its id. */
export type Which = z.input<typeof WhichSchema>;

export function checkWhich(which: unknown): Which {
  return parseOr(WhichSchema, which, { code: "invalid_input", what: "The choice" });
}

export interface ClaimRequest {
  readonly limit: number;
  readonly task?: string | undefined;
  readonly delivery?: string | undefined;
  /** Accept at once: makes the receiver's continues-from record for what was claimed. */
  readonly accept?: (claimed: Claimed) => NewMemory;
}

export interface Claims {
  readonly claimed: readonly Claimed[];
  readonly nextDueAt: number;
}

export async function claim(
  workspace: Workspace,
  receiver: Author,
  request: ClaimRequest,
): Promise<Claims> {
  const { limit, task, delivery, accept } = request;
  checkLimit(workspace.limits, "claimBatch", { actual: limit, path: "limit" });
  const outcome = await workspace.store.claimDeliveries({
    workspace: workspace.name,
    branch: workspace.branch,
    receiver: receiver.agent,
    instance: receiver.instance,
    publicKey: receiver.signer?.publicKey ?? "",
    leaseMs: workspace.limits.leaseMs,
    limit,
    ...(task === undefined ? {} : { task }),
    ...(delivery === undefined ? {} : { delivery }),
    ...(accept === undefined ? {} : { accept }),
  });
  if (outcome.kind === "claimed") return outcome;
  throw await refusalError(workspace, outcome);
}
