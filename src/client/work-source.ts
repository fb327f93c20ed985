/**
 * The worker loop's access to a hub over HTTP. Completing work and claiming the next are two calls: if the
 * response to one call for both were lost, the client could not know whether it holds more work.
 */
import type { AcceptOptions } from "../delivery/receive/receive-options.ts";
import type { WorkSource } from "../hub/work-loop/work-source.ts";
import { acceptNext } from "./accept.ts";
import { backoffMs } from "./connection/timing.ts";
import type { SessionConnection } from "./session-connection.ts";
import { RemoteWork } from "./work.ts";

/** Returns the source of an agent's work, optionally only of one task. */
export function remoteWorkSource<T>(
  session: SessionConnection,
  { task, receipt }: Pick<AcceptOptions, "receipt" | "task">,
): WorkSource<T> {
  return {
    lease: session.lease,
    leaseMs: session.sessionMs ?? session.leaseMs,
    accept: (waiting) => acceptNext<T>(session, { task, receipt, ...waiting }),
    async complete(work, result) {
      await work.complete(result);
      return undefined;
    },
    abandon: (work) => void (work instanceof RemoteWork && work.abandon()),
    pauseMs: backoffMs,
  };
}
