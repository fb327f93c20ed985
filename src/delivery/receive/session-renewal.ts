/** A session is alive while it calls: each call gives all its leases their full time again. */
import { isBatonError } from "../../base/errors.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import type { Worker } from "./worker.ts";

/**
 * Runs a call, and answers when the leases are renewed as well: a short process ends right after. It
 * never fails because they could not be.
 */
export async function withSessionRenewal<T>(
  workspace: Workspace,
  worker: Worker,
  call: () => Promise<T>,
): Promise<T> {
  if (worker.lease === "process") return call();
  const [renewal, answer] = await Promise.allSettled([renewSession(workspace, worker), call()]);
  if (answer.status === "rejected") throw answer.reason;
  if (renewal.status === "rejected") throw renewal.reason;
  return answer.value;
}

async function renewSession({ store, name, limits }: Workspace, worker: Worker): Promise<void> {
  const { agent, instance } = worker;
  try {
    await store.renewSession({ workspace: name, agent, instance }, limits.leaseMs);
  } catch (error) {
    if (!isBatonError(error)) throw error; // Out of reach: the next call tries again.
  }
}
