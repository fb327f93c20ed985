/**
 * Announces new due times to the hubs of a store, which set a timer for the next one (delivery/due/timers.ts).
 * A hub that is woken reads the next due time at once and again after `ANNOUNCE_MS`. So within that time only
 * a time before those announced already has to be announced: one wake-up per second, however many handoffs.
 */
import { type DeliveryRow, isHeld, isOpen } from "../rows.ts";
import type {
  AcceptOutcome,
  ClaimOutcome,
  MoveOutcome,
  SendManyOutcome,
  SendOutcome,
  SettleOutcome,
  WakeTarget,
} from "../store.ts";

/** Listeners of this target are woken when something may fall due sooner than they know. */
export const DUE_TIMES: WakeTarget = { workspace: "", agent: "" };

/** How long an announcement covers later times, in milliseconds. */
export const ANNOUNCE_MS = 1_000;

/** The outcome of an operation that can change when a delivery falls due. */
export type TimedOutcome =
  | AcceptOutcome
  | ClaimOutcome
  | MoveOutcome
  | SendManyOutcome
  | SendOutcome
  | SettleOutcome;

/** Announces the due times of one open store. */
export class DueAnnouncer {
  readonly #ring: () => void;
  #coveredUntil = 0;
  #earliest = 0;

  /** `ring` wakes the listeners of `DUE_TIMES` here and in other processes. */
  constructor(ring: () => void) {
    this.#ring = ring;
  }

  /** Announces the due times of what was written. Returns the outcome. */
  announce<Outcome extends TimedOutcome>(outcome: Outcome): Outcome {
    const at = deliveriesOf(outcome).reduce((first, row) => Math.min(first, dueAt(row)), NEVER);
    if (at === NEVER) return outcome;
    const now = performance.now();
    if (now < this.#coveredUntil && at >= this.#earliest) return outcome;
    this.#earliest = at;
    this.#coveredUntil = now + ANNOUNCE_MS;
    this.#ring();
    return outcome;
  }
}

const NEVER = Number.POSITIVE_INFINITY;

/** Returns the deliveries that an operation wrote. */
function deliveriesOf(outcome: TimedOutcome): readonly DeliveryRow[] {
  switch (outcome.kind) {
    case "sent":
      return "sent" in outcome
        ? outcome.sent.flatMap(({ deliveries }) => deliveries)
        : outcome.deliveries;
    case "moved":
      return outcome.deliveries;
    case "claimed":
      return outcome.claimed.map(({ delivery }) => delivery);
    case "accepted":
      return [outcome.delivery];
    case "settled":
      return outcome.next === undefined
        ? [outcome.delivery]
        : [outcome.delivery, outcome.next.delivery];
    default:
      return []; // Refused: nothing was written.
  }
}

/** Returns when a delivery falls due, in store time; Infinity if it does not. */
export function dueAt({ state, readyAt, leaseUntil, lapseAt }: DeliveryRow): number {
  if (!isOpen(state)) return NEVER;
  return Math.min(
    state === "scheduled" ? readyAt : NEVER,
    isHeld(state) ? leaseUntil : NEVER,
    lapseAt === 0 ? NEVER : lapseAt,
  );
}
