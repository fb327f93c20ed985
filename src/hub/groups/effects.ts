/** `agent.effects`: side effects that must happen once, however often the work is repeated. */

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

export interface Effects {
  /** Runs an effect once in this workspace, however often it is asked for under this key. */
  run<T>(key: string, effect: () => Promise<T> | T): Promise<OnceResult<T>>;
  /** Records that an effect begins; with `handle`, under a key of that work. */
  begin(key: string, handle?: string): Promise<{ readonly kind: "begun" } | OnceResult<unknown>>;
  /** Records the result of an effect that this agent began. */
  record(key: string, result: unknown, handle?: string): Promise<void>;
  /** Sets the result of an effect that was begun and never recorded. */
  resolve(key: string, result: unknown): Promise<void>;
}

export const effects = (workspace: Workspace, self: Worker, call: Call): Effects => ({
  run: (key, effect) => call(() => once(workspace, self.agent, key, effect)),
  begin: (key, handle) =>
    call(async () => {
      if (handle === undefined) return beginOnce(workspace, self.agent, key);
      const own = workEffectKey(deliveryIdOf(handle), key);
      await resumeWork(workspace, self, handle); // Throws when it was cancelled, or another agent has it.
      return beginOnce(workspace, self.agent, own);
    }),
  record: (key, result, handle) =>
    call(async () => {
      const own = handle === undefined ? key : workEffectKey(deliveryIdOf(handle), key);
      await recordOnceAsOwner(workspace, self.agent, own, result);
    }),
  resolve: (key, result) => call(() => resolveOnce(workspace, self.agent, key, result)),
});
