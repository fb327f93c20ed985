/**
 * The worker loop's access to a hub in this process. Completing work and claiming the next is one transaction
 * of the store.
 */
import { acceptNext, nextClaim } from "../../delivery/receive/accept.ts";
import { afterClaim } from "../../delivery/receive/claim.ts";
import type { AcceptOptions } from "../../delivery/receive/receive-options.ts";
import type { Worker } from "../../delivery/receive/worker.ts";
import { backoff } from "../../delivery/settings/policy.ts";
import type { DeliveryWithEnvelopeRow } from "../../store/store.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import type { Call } from "../groups/call.ts";
import { LocalWork } from "../local-work.ts";
import type { WorkSource } from "./work-source.ts";

/** Pauses while the store cannot be reached: an operation has waited for it already. */
const PAUSES = { firstMs: 100, longestMs: 2_000 };

/** Returns the source of an agent's work, optionally only of one task. */
export function localWorkSource<T>(
  workspace: Workspace,
  self: Worker,
  { call, task, receipt }: Pick<AcceptOptions, "receipt" | "task"> & { readonly call: Call },
): WorkSource<T> {
  const which = { task, receipt };
  const begin = (claimed: DeliveryWithEnvelopeRow) => LocalWork.begin<T>(workspace, self, claimed);
  return {
    lease: self.lease,
    leaseMs: workspace.limits.leaseMs,
    accept: (waiting) =>
      call(async () => {
        const claimed = await acceptNext(workspace, self, { ...which, ...waiting });
        return claimed && begin(claimed);
      }),
    async complete(work, result, claimsNext) {
      // An error here is reported by the next claim: it must not keep this work from being completed.
      const next = claimsNext && (await nextClaim(workspace, self, which).catch(() => undefined));
      if (!next || !(work instanceof LocalWork)) {
        await work.complete(result);
        return undefined;
      }
      const claimed = await work.completeAndClaim(result, next);
      if (claimed === undefined) return undefined;
      return () =>
        call(async () => {
          const begun = await begin(claimed); // Renews its lease from now on.
          await afterClaim(workspace);
          return begun;
        });
    },
    abandon: (work) => void (work instanceof LocalWork && work.abandon()),
    pauseMs: (failures) => backoff({ attempt: failures }, { backoff: PAUSES }, workspace.random),
  };
}
