/**
 * Noticing that a holder's process has ended. Whoever waits for work asks now and then; what is
 * found goes with the next claim, which gives the dead one's work back.
 */
import type { Workspace } from "../../workspace/workspace.ts";

/**
 * Of all that wait in this process, one asks. Shorter than the time between two safety looks, so
 * that one who waits alone asks at each of them.
 */
const ASK_EVERY_MS = 400;

const askedAt = new WeakMap<object, number>();
/** The query that is under way. */
const asking = new WeakMap<object, Promise<readonly string[]>>();

/** Processes that hold work of the workspace and have ended; none when that was asked just now. */
export async function goneProcesses(workspace: Workspace): Promise<readonly string[]> {
  const { root } = workspace;
  const now = performance.now();
  const last = askedAt.get(root);
  if (last !== undefined && now - last < ASK_EVERY_MS) {
    await asking.get(root)?.catch(() => {}); // The caller that asks was woken first; the others must not claim before it.
    return [];
  }
  askedAt.set(root, now);
  if (last === undefined) return []; // The first look is for what is there.
  const gone = askGone(workspace).finally(() => asking.delete(root));
  asking.set(root, gone);
  return gone;
}

async function askGone({ store, name, processes }: Workspace): Promise<readonly string[]> {
  return (await store.listProcesses(name)).filter((each) => processes.isGone(each));
}
