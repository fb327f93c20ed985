/**
 * Noticing that a holder's process has ended. Whoever waits for work asks now and then; what is
 * found goes with the next claim, which gives the dead one's work back.
 */
import type { Workspace } from "../store/workspace.ts";

/**
 * Of all that wait in this process, one asks. Shorter than the time between two safety looks, so
 * that one who waits alone asks at each of them.
 */
const ASK_EVERY_MS = 400;

const askedAt = new WeakMap<object, number>();

/** Processes that hold work of the workspace and have ended; none when that was asked just now. */
export async function goneProcesses(workspace: Workspace): Promise<readonly string[]> {
  const now = performance.now();
  const last = askedAt.get(workspace.root);
  if (last !== undefined && now - last < ASK_EVERY_MS) return [];
  askedAt.set(workspace.root, now);
  if (last === undefined) return []; // The first look is for what is there.
  const { store, name, processes } = workspace;
  return (await store.listProcesses(name)).filter((each) => processes.isGone(each));
}
