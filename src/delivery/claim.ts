/** Claiming: the inbox offers what is ready, each delivery to one holder at a time. */
import { checkLimit } from "../limits.ts";
import { refusalError } from "../memory/refusals.ts";
import type { NewMemory } from "../store/rows.ts";
import type { Claimed } from "../store/store.ts";
import type { Workspace } from "../store/workspace.ts";
import type { Worker } from "./worker.ts";

export interface ClaimRequest {
  readonly limit: number;
  readonly task?: string | undefined;
  readonly delivery?: string | undefined;
  /** Accept at once: makes the receiver's continues-from record for what was claimed. */
  readonly accept?: ((claimed: Claimed) => NewMemory) | undefined;
  /** Processes that were seen to have ended. */
  readonly gone?: readonly string[];
}

export interface Claims {
  readonly claimed: readonly Claimed[];
  readonly nextDueMs: number;
}

export async function claim(
  workspace: Workspace,
  receiver: Worker,
  request: ClaimRequest,
): Promise<Claims> {
  const { limit, task, delivery, accept, gone = [] } = request;
  checkLimit(workspace.limits, "claimBatch", { actual: limit, path: "limit" });
  const outcome = await workspace.store.claimDeliveries({
    workspace: workspace.name,
    branch: workspace.branch,
    receiver: receiver.agent,
    instance: receiver.instance,
    publicKey: receiver.signer?.publicKey ?? "",
    leaseMs: workspace.limits.leaseMs,
    process: receiver.lease === "process" ? workspace.processes.self : "",
    gone,
    limit,
    ...(task === undefined ? {} : { task }),
    ...(delivery === undefined ? {} : { delivery }),
    ...(accept === undefined ? {} : { accept }),
  });
  if (outcome.kind === "claimed") return outcome;
  throw await refusalError(workspace, outcome);
}
