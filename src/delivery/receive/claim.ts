/**
 * Claiming: the inbox offers what is ready, each delivery to one holder at a time. Whoever claims
 * also carries out what is due in the workspace: no daemon does.
 */
import { checkLimit } from "../../base/limits.ts";
import { refusalError } from "../../memory/refusals.ts";
import type { NewMemory } from "../../store/rows.ts";
import type { Claimed } from "../../store/store.ts";
import { followUp } from "../../workspace/follow-up.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { carryOut } from "../due/due.ts";
import type { Worker } from "./worker.ts";

export interface ClaimRequest {
  readonly limit: number;
  readonly task?: string | undefined;
  readonly delivery?: string | undefined;
  /** Accept at once: makes the receiver's continues-from record for what was claimed. */
  readonly accept?: ((claimed: Claimed) => NewMemory) | undefined;
}

export interface Claims {
  readonly claimed: readonly Claimed[];
  /** Milliseconds until something falls due; 0: something is. */
  readonly nextDueMs: number;
}

/** While there is always something to claim nobody is told what is due: asked this often. */
const ASK_EVERY_MS = 500;
const askedAt = new WeakMap<object, number>();

export async function claim(
  workspace: Workspace,
  receiver: Worker,
  request: ClaimRequest,
): Promise<Claims> {
  checkLimit(workspace.limits, "claimBatch", { actual: request.limit, path: "limit" });
  // Claims before it carries out what is due: otherwise agents woken later would claim first.
  const claims = await claimOnce(workspace, receiver, request);
  const isDue = claims.nextDueMs <= 0;
  if (!isTimeToAsk(workspace) && !isDue) return claims;
  if (claims.claimed.length > 0) {
    await followUp("carry out what is due", () => carryOut(workspace));
    return claims;
  }
  await carryOut(workspace);
  return isDue ? claimOnce(workspace, receiver, request) : claims;
}

function isTimeToAsk(workspace: Workspace): boolean {
  const now = performance.now();
  const last = askedAt.get(workspace.root);
  if (last !== undefined && now - last < ASK_EVERY_MS) return false;
  askedAt.set(workspace.root, now);
  return last !== undefined; // The first look is for what is there.
}

async function claimOnce(
  workspace: Workspace,
  receiver: Worker,
  { limit, task, delivery, accept }: ClaimRequest,
): Promise<Claims> {
  const outcome = await workspace.store.claimDeliveries({
    workspace: workspace.name,
    branch: workspace.branch,
    receiver: receiver.agent,
    instance: receiver.instance,
    publicKey: receiver.signer?.publicKey ?? "",
    leaseMs: workspace.limits.leaseMs,
    holdMs: workspace.limits.holdMs,
    process: receiver.lease === "process" ? workspace.processes.self : "",
    limit,
    ...(task === undefined ? {} : { task }),
    ...(delivery === undefined ? {} : { delivery }),
    ...(accept === undefined ? {} : { accept }),
  });
  if (outcome.kind === "claimed") return outcome;
  throw await refusalError(workspace, outcome);
}
