/** Whether the open work that a handoff extends is as its sender saw it: if not, it seals again. */
import { type DeliveryRow, isTaken } from "./rows.ts";
import type { SendHandoff } from "./store.ts";

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
