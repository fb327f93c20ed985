/**
 * Compares the open work that a handoff extends with what its sender saw. If they differ, the sender has to
 * seal the envelope again.
 */
import { type DeliveryRow, isTaken } from "./rows.ts";
import type { SendHandoff } from "./store.ts";

/** Returns whether the open delivery is the one the sender saw, or both are absent. */
export function isOpenWorkUnchanged(
  open: DeliveryRow | undefined,
  seen: SendHandoff["extend"],
): boolean {
  if (open === undefined || seen === undefined) return open === seen;
  return (
    open.id === seen.delivery &&
    open.envelope === seen.envelope &&
    isTaken(open.state) === seen.held
  );
}
