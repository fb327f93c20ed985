/** Renews all leases of a session with every call it makes: a session is alive as long as it calls. */
import { isBatonError } from "../../base/errors.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import type { Worker } from "./worker.ts";

/**
 * Runs a call and returns after the leases are renewed as well, because a short-lived process ends right
 * afterwards. A failed renewal does not fail the call.
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
    if (!isBatonError(error)) throw error; // The store is unreachable: the next call renews again.
  }
}
