/**
 * Noticing that a holder's process has ended. Whoever waits for work asks now and then; what is
 * found goes with the next claim, which gives the dead one's work back.
 */
import type { Workspace } from "../../workspace/workspace.ts";

/**
 * Of all that wait in this process, one asks. Shorter than the time between two safety looks, so
 * that one who waits alone asks at each of them.
 */
const CHECK_INTERVAL_MS = 400;

const lastCheck = new WeakMap<object, number>();
/** The query that is under way. */
const pendingChecks = new WeakMap<object, Promise<readonly string[]>>();

/** Processes that hold work of the workspace and have ended; none when that was asked just now. */
export async function findDeadProcesses(workspace: Workspace): Promise<readonly string[]> {
  const { root } = workspace;
  const now = performance.now();
  const last = lastCheck.get(root);
  if (last !== undefined && now - last < CHECK_INTERVAL_MS) {
    await pendingChecks.get(root)?.catch(() => {}); // The caller that asks was woken first; the others must not claim before it.
    return [];
  }
  lastCheck.set(root, now);
  if (last === undefined) return []; // The first look is for what is there.
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
