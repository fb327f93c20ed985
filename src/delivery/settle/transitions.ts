/**
 * State machine of a delivery, as a table: from which states to which each verb leads, which actor may use
 * it, and the events it leaves. The guards of the stores' updates are derived from this table, and the
 * model-based tests check every observed change against it.
 */
import { DELIVERY_STATES, type DeliveryState, type EventKind } from "../../store/rows.ts";

/** Who may use a verb. */
export type Actor =
  | "sender"
  | "receiver"
  /** The receiver that holds the lease. */
  | "holder"
  /** Any process that notices: a policy is carried out. */
  | "anyone";

/** One row of the table. */
export interface Transition {
  readonly verb: string;
  /** Empty if the delivery is created. */
  readonly from: readonly DeliveryState[];
  /** Empty if the state does not change. */
  readonly to: readonly DeliveryState[];
  readonly by: Actor;
  readonly events: readonly EventKind[];
}

/** Every transition by its verb. */
export const TRANSITIONS = {
  send: {
    verb: "send",
    from: [],
    to: ["ready", "scheduled", "dead"],
    by: "sender",
    events: ["sent", "dead"],
  },
  /** Sent again before it was claimed: the new delivery replaces it. */
  supersede: {
    verb: "supersede",
    from: ["scheduled", "ready"],
    to: ["superseded"],
    by: "sender",
    events: ["superseded"],
  },
  /** Sent again while held: the delivery stays and gets the new envelope. */
  extend: {
    verb: "extend",
    from: ["claimed", "accepted", "waiting"],
    to: [],
    by: "sender",
    events: ["extended"],
  },
  claim: { verb: "claim", from: ["ready"], to: ["claimed"], by: "receiver", events: ["claimed"] },
  /** Accepts a claimed delivery, or claims and accepts a ready one. */
  accept: {
    verb: "accept",
    from: ["claimed", "ready"],
    to: ["accepted"],
    by: "receiver",
    events: ["accepted"],
  },
  complete: {
    verb: "complete",
    from: ["accepted"],
    to: ["completed"],
    by: "holder",
    events: ["completed"],
  },
  /** The policy decides whether it is retried (at once or later) or dead-lettered. */
  fail: {
    verb: "fail",
    from: ["accepted"],
    to: ["scheduled", "dead"],
    by: "holder",
    events: ["failed", "dead"],
  },
  decline: {
    verb: "decline",
    from: ["claimed", "accepted"],
    to: ["declined"],
    by: "holder",
    events: ["declined"],
  },
  release: {
    verb: "release",
    from: ["claimed", "accepted"],
    to: ["ready", "scheduled", "dead"],
    by: "holder",
    events: ["released", "dead"],
  },
  /** The holder asks a question and releases the work until it is answered. */
  ask: { verb: "ask", from: ["accepted"], to: ["waiting"], by: "holder", events: ["asked"] },
  answer: { verb: "answer", from: ["waiting"], to: ["ready"], by: "anyone", events: ["answered"] },
  /** The lease expired, the work was held too long, or the holder's process ended. */
  expire: {
    verb: "expire",
    from: ["claimed", "accepted"],
    to: ["ready", "dead"],
    by: "anyone",
    events: ["expired", "dead"],
  },
  /** It was not accepted in time. */
  miss: {
    verb: "miss",
    from: ["scheduled", "ready", "claimed"],
    to: ["scheduled", "dead"],
    by: "anyone",
    events: ["accept_timeout", "dead"],
  },
  /** The receiver has used all attempts: it goes to the next fallback. */
  reroute: {
    verb: "reroute",
    from: ["scheduled", "ready", "claimed", "accepted"],
    to: ["ready"],
    by: "anyone",
    events: ["rerouted"],
  },
  cancel: {
    verb: "cancel",
    from: ["scheduled", "ready", "claimed", "accepted", "waiting"],
    to: ["cancelled"],
    by: "anyone",
    events: ["cancelled"],
  },
  /** Its deadline passed before it was settled. */
  lapse: {
    verb: "lapse",
    from: ["scheduled", "ready", "claimed", "accepted", "waiting"],
    to: ["expired"],
    by: "anyone",
    events: ["deadline_passed"],
  },
  /** Leaves the dead letters: retried, with the same envelope or a new one. */
  redrive: {
    verb: "redrive",
    from: ["dead", "expired"],
    to: ["ready", "scheduled"],
    by: "anyone",
    events: ["redriven"],
  },
  /** Leaves the dead letters: given up permanently. */
  discard: {
    verb: "discard",
    from: ["dead"],
    to: ["cancelled"],
    by: "anyone",
    events: ["discarded"],
  },
  /** Enough of what a join waits for has completed, or never will. */
  open: {
    verb: "open",
    from: ["scheduled", "dead"],
    to: ["ready", "dead"],
    by: "anyone",
    events: ["opened", "dead"],
  },
  /** The time of a retry or of a delayed handoff has come. */
  mature: { verb: "mature", from: ["scheduled"], to: ["ready"], by: "anyone", events: [] },
} as const satisfies Record<string, Transition>;

const all: readonly Transition[] = Object.values(TRANSITIONS);

/** Returns whether a verb leads from one state to the other. */
export function isLegal(from: DeliveryState | undefined, to: DeliveryState): boolean {
  return all.some(
    (transition) =>
      transition.to.includes(to) &&
      (from === undefined ? transition.from.length === 0 : transition.from.includes(from)),
  );
}

/** States that no verb leads out of. */
export const TERMINAL_STATES: readonly DeliveryState[] = DELIVERY_STATES.filter(
  (state) => !all.some((transition) => transition.from.includes(state)),
);
