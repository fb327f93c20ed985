/** `agent.effects`: side effects that must happen once, even if the work is repeated. */

import type { Worker } from "../../delivery/receive/worker.ts";
import {
  beginOnce,
  type OnceResult,
  once,
  recordOnceAsOwner,
  resolveOnce,
  workEffectKey,
} from "../../delivery/work/once.ts";
import { deliveryIdOf, resumeWork } from "../../delivery/work/work-handle.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import type { Call } from "./call.ts";

/** `agent.effects`: runs side effects at most once per key. */
export interface Effects {
  /**
   * Runs a side effect once per key in this workspace. Later calls return the stored result with `again:
   * true`. Returns `kind: "uncertain"` if an earlier run began and recorded no result.
   */
  run<T>(key: string, effect: () => Promise<T> | T): Promise<OnceResult<T>>;
  /**
   * Records that an effect begins, for callers that run it themselves. With `handle`, the key belongs to that
   * work. Returns `kind: "begun"` for the first caller, otherwise the earlier outcome.
   */
  begin(key: string, handle?: string): Promise<{ readonly kind: "begun" } | OnceResult<unknown>>;
  /** Records the result of an effect that this agent began. */
  record(key: string, result: unknown, handle?: string): Promise<void>;
  /** Sets the result of an effect that began and recorded none. Check first whether it happened. */
  resolve(key: string, result: unknown): Promise<void>;
}

/** Returns `agent.effects` for a session. */
export const effects = (workspace: Workspace, self: Worker, call: Call): Effects => ({
  run: (key, effect) => call(() => once(workspace, self.agent, key, effect)),
  begin: (key, handle) =>
    call(async () => {
      if (handle === undefined) return beginOnce(workspace, self.agent, key);
      const own = workEffectKey(deliveryIdOf(handle), key);
      await resumeWork(workspace, self, handle); // Throws if it was cancelled or another agent holds it.
      return beginOnce(workspace, self.agent, own);
    }),
  record: (key, result, handle) =>
    call(async () => {
      const own = handle === undefined ? key : workEffectKey(deliveryIdOf(handle), key);
      await recordOnceAsOwner(workspace, self.agent, own, result);
    }),
  resolve: (key, result) => call(() => resolveOnce(workspace, self.agent, key, result)),
});
