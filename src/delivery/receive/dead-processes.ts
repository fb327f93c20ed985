/**
 * Detects that the process of a lease holder has ended. Processes that wait for work check this periodically
 * and pass the result to `processDue()`, which releases the work of ended processes.
 */
import type { Workspace } from "../../workspace/workspace.ts";

/**
 * Of all waits in this process, one checks. Shorter than the safety poll interval (750 ms), so that a single
 * wait checks at every safety poll.
 */
const CHECK_INTERVAL_MS = 400;

const lastCheck = new WeakMap<object, number>();
/** The check that is under way, by workspace. */
const pendingChecks = new WeakMap<object, Promise<readonly string[]>>();

/** Returns ended processes that hold work of the workspace; empty if the last check was too recent. */
export async function findDeadProcesses(workspace: Workspace): Promise<readonly string[]> {
  const { root } = workspace;
  const now = performance.now();
  const last = lastCheck.get(root);
  if (last !== undefined && now - last < CHECK_INTERVAL_MS) {
    // The wait that checks was woken first; the others must not claim before it.
    await pendingChecks.get(root)?.catch(() => {});
    return [];
  }
  lastCheck.set(root, now);
  if (last === undefined) return []; // The first call skips the check, so that the claim is not delayed.
  const gone = queryDeadProcesses(workspace).finally(() => pendingChecks.delete(root));
  pendingChecks.set(root, gone);
  return gone;
}

async function queryDeadProcesses({
  store,
  name,
  processes,
}: Workspace): Promise<readonly string[]> {
  return (await store.listProcesses(name)).filter((each) => processes.isGone(each));
}
