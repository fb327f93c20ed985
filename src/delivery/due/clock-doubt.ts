/**
 * Detects that this process's clock is ahead of the clocks of other processes on the same store, so that it
 * does not take the work of live holders or expire deadlines early. PostgreSQL has one clock for all; with
 * SQLite, every process brings its own, and a system clock can jump.
 *
 * The evidence is a lease that seems to have run out long ago although its holder runs on this host: a
 * running holder renews its lease (three times per lease), so either it is stuck or this clock is ahead.
 * While there is such a lease, nothing is carried out that depends on the time. The doubt ends when the
 * lease is current again (this clock was corrected), or when it was not renewed for a whole lease time,
 * measured with the monotonic clock: then the holder is stuck. A lease that was renewed and still seems to
 * have run out is proof of the difference, and a process warning reports it.
 */
import { type DeliveryRow, isHeld } from "../../store/rows.ts";
import type { DeliveryWithEnvelopeRow } from "../../store/store.ts";
import type { Workspace } from "../../workspace/workspace.ts";

/** A lease that ran out at most this long ago is believed: it was seen running out, or nearly so. */
const MAX_SKEW_MS = 5_000;

interface SeenLease {
  readonly leaseUntil: number;
  /** Monotonic time at which this lease time was first seen. */
  readonly since: number;
}

/** Leases in doubt, by workspace and lease. */
const doubted = new WeakMap<object, Map<string, SeenLease>>();
const warned = new WeakSet<object>();

/** Returns whether `now` is in doubt, given what is due at that time. */
export function isClockDoubted(
  workspace: Workspace,
  { now, due }: { readonly now: number; readonly due: readonly DeliveryWithEnvelopeRow[] },
): boolean {
  const before = doubted.get(workspace.root);
  const seen = new Map<string, SeenLease>();
  for (const { delivery } of due) {
    if (!isStrange(workspace, delivery, now)) continue;
    const key = `${delivery.id}#${delivery.fence}`;
    const known = before?.get(key);
    const isSame = known?.leaseUntil === delivery.leaseUntil;
    if (known !== undefined && !isSame) warn(workspace, delivery, now);
    seen.set(key, isSame ? known : { leaseUntil: delivery.leaseUntil, since: performance.now() });
  }
  doubted.set(workspace.root, seen);
  const stuckSince = performance.now() - workspace.limits.leaseMs;
  return [...seen.values()].some(({ since }) => since > stuckSince);
}

/** Returns whether a lease ran out long ago while its holder, another process of this host, is running. */
function isStrange({ processes }: Workspace, delivery: DeliveryRow, now: number): boolean {
  const { state, leaseUntil, holdUntil, process } = delivery;
  return (
    isHeld(state) &&
    now - leaseUntil > MAX_SKEW_MS &&
    leaseUntil < holdUntil && // The longest hold is over: the lease cannot be renewed any more.
    process !== processes.self &&
    processes.isRunning?.(process) === true
  );
}

function warn({ root, limits }: Workspace, { id, holder, leaseUntil }: DeliveryRow, now: number) {
  if (warned.has(root)) return;
  warned.add(root);
  const seconds = Math.round((now - leaseUntil + limits.leaseMs) / 1_000);
  globalThis.process?.emitWarning?.(
    `The clock of this process is about ${seconds} s ahead of the process of ${holder}, which has just renewed its lease on ${id}. ` +
      "Leases, deadlines and retries are left to other processes until the clocks agree. Check the system time (NTP).",
    { type: "BatonWarning", code: "BATON_CLOCK_AHEAD" },
  );
}
