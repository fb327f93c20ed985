/**
 * Claims ready deliveries from an inbox, each for one holder at a time. A claim also carries out what is due
 * in the workspace, so that it finds what becomes ready by that.
 */
import { checkLimit } from "../../base/limits.ts";
import { refusalError } from "../../memory/refusals.ts";
import type { NewMemory } from "../../store/rows.ts";
import type { ClaimDeliveries, DeliveryWithEnvelopeRow } from "../../store/store.ts";
import { runFollowUp } from "../../workspace/follow-up.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { processDue } from "../due/process-due.ts";
import { holderWatchOf } from "./holder-watch.ts";
import type { Worker } from "./worker.ts";

/** What to claim. */
export interface ClaimRequest {
  readonly limit: number;
  readonly task?: string | undefined;
  readonly delivery?: string | undefined;
  /** Accepts at once: creates the receiver's continues-from record for what was claimed. */
  readonly accept?: ((claimed: DeliveryWithEnvelopeRow) => NewMemory) | undefined;
}

/** The claimed deliveries, and when the next decision is due. */
export interface ClaimResult {
  readonly claimed: readonly DeliveryWithEnvelopeRow[];
  /** Milliseconds until something falls due; 0 or less if something is due now. */
  readonly nextDueMs: number;
}

/** Due work is also processed this often while every claim succeeds; otherwise it could starve. */
const DUE_CHECK_MS = 500;
const lastDueCheck = new WeakMap<object, number>();

/** Claims up to `limit` deliveries and carries out what is due. Throws `limit_exceeded`. */
export async function claim(
  workspace: Workspace,
  receiver: Worker,
  request: ClaimRequest,
): Promise<ClaimResult> {
  checkLimit(workspace.limits, "claimBatch", { actual: request.limit, path: "limit" });
  // Claims before it processes what is due: otherwise agents woken later would claim first.
  const claims = await claimOnce(workspace, receiver, request);
  const isDue = claims.nextDueMs <= 0;
  if (!isDueCheckTime(workspace) && !isDue) return claims;
  if (claims.claimed.length > 0) {
    await processDueAfterClaim(workspace);
    return claims;
  }
  await processDue(workspace);
  return isDue ? claimOnce(workspace, receiver, request) : claims;
}

/**
 * Runs the follow-ups of a claim for a delivery that was claimed by a settlement: carries out what is due, if
 * that was not checked for a while, and releases the work of ended processes.
 */
export async function afterClaim(workspace: Workspace): Promise<void> {
  if (isDueCheckTime(workspace)) await processDueAfterClaim(workspace);
  await runFollowUp("release the work of ended processes", async () => {
    const gone = await holderWatchOf(workspace).findDead(workspace);
    if (gone.length > 0) await processDue(workspace, { gone });
  });
}

/** The claim has succeeded: a failure here is not that of the claim. */
const processDueAfterClaim = (workspace: Workspace): Promise<void> =>
  runFollowUp("process what is due", async () => void (await processDue(workspace)));

function isDueCheckTime(workspace: Workspace): boolean {
  const now = performance.now();
  const last = lastDueCheck.get(workspace.root);
  if (last !== undefined && now - last < DUE_CHECK_MS) return false;
  lastDueCheck.set(workspace.root, now);
  return last !== undefined; // The first claim of a process skips it and returns what is ready.
}

async function claimOnce(
  workspace: Workspace,
  receiver: Worker,
  { limit, delivery, accept, ...request }: ClaimRequest,
): Promise<ClaimResult> {
  const outcome = await workspace.store.claimDeliveries({
    ...claimFields(workspace, receiver, request),
    workspace: workspace.name,
    limit,
    ...(delivery === undefined ? {} : { delivery }),
    ...(accept === undefined ? {} : { accept }),
  });
  if (outcome.kind === "claimed") return outcome;
  throw await refusalError(workspace, outcome);
}

/** Returns who claims, for how long, and from where. */
export const claimFields = (
  workspace: Workspace,
  receiver: Worker,
  { task }: Pick<ClaimRequest, "task">,
): Omit<ClaimDeliveries, "accept" | "limit" | "workspace"> => ({
  branch: workspace.branch,
  receiver: receiver.agent,
  instance: receiver.instance,
  publicKey: receiver.signer?.publicKey ?? "",
  leaseMs: workspace.limits.leaseMs,
  holdMs: workspace.limits.holdMs,
  process: receiver.lease === "process" ? workspace.processes.self : "",
  ...(task === undefined ? {} : { task }),
});
