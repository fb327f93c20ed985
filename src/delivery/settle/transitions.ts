/**
 * The life of a delivery, as data: which verb leads from which states to which, who may say it, and
 * the event it leaves. Stores apply guarded updates; this table is what the guards are taken from,
 * and what the model-based tests hold every observed change against.
 */
import { DELIVERY_STATES, type DeliveryState, type EventKind } from "../../store/rows.ts";

export type Actor =
  | "sender"
  | "receiver"
  /** The receiver that holds the lease. */
  | "holder"
  /** Whoever is alive and notices: policy carried out. */
  | "anyone";

export interface Transition {
  readonly verb: string;
  /** Empty: the delivery comes into being. */
  readonly from: readonly DeliveryState[];
  /** Empty: the state stays as it is. */
  readonly to: readonly DeliveryState[];
  readonly by: Actor;
  readonly events: readonly EventKind[];
}

export const TRANSITIONS = {
  send: {
    verb: "send",
    from: [],
    to: ["ready", "scheduled", "dead"],
    by: "sender",
    events: ["sent", "dead"],
  },
  /** Sent again before anybody claimed it: the new one takes its place. */
  supersede: {
    verb: "supersede",
    from: ["scheduled", "ready"],
    to: ["superseded"],
    by: "sender",
    events: ["superseded"],
  },
  /** Sent again while held: the delivery stays, its envelope moves on. */
  extend: {
    verb: "extend",
    from: ["claimed", "accepted", "waiting"],
    to: [],
    by: "sender",
    events: ["extended"],
  },
  claim: { verb: "claim", from: ["ready"], to: ["claimed"], by: "receiver", events: ["claimed"] },
  /** Of what was claimed, or of what is ready (claiming implicitly). */
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
  /** Policy says whether it is tried again (at once or later), or parked. */
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
  /** The holder asks back, and lets it go until it is answered. */
  ask: { verb: "ask", from: ["accepted"], to: ["waiting"], by: "holder", events: ["asked"] },
  answer: { verb: "answer", from: ["waiting"], to: ["ready"], by: "anyone", events: ["answered"] },
  /** The holder fell silent past its lease, held it too long, or its process ended. */
  expire: {
    verb: "expire",
    from: ["claimed", "accepted"],
    to: ["ready", "dead"],
    by: "anyone",
    events: ["expired", "dead"],
  },
  /** Nobody accepted it in time. */
  miss: {
    verb: "miss",
    from: ["scheduled", "ready", "claimed"],
    to: ["scheduled", "dead"],
    by: "anyone",
    events: ["unaccepted", "dead"],
  },
  /** Every try of a receiver is used up: the next in line gets it. */
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
  /** Its deadline passed before anybody settled it. */
  lapse: {
    verb: "lapse",
    from: ["scheduled", "ready", "claimed", "accepted", "waiting"],
    to: ["expired"],
    by: "anyone",
    events: ["lapsed"],
  },
  /** Out of dead letters: tried again, with the same envelope or a new one. */
  redrive: {
    verb: "redrive",
    from: ["dead", "expired"],
    to: ["ready", "scheduled"],
    by: "anyone",
    events: ["redriven"],
  },
  /** Out of dead letters: given up for good. */
  discard: {
    verb: "discard",
    from: ["dead"],
    to: ["cancelled"],
    by: "anyone",
    events: ["discarded"],
  },
  /** Enough of what a join waits for has completed; or never will. */
  open: {
    verb: "open",
    from: ["scheduled", "dead"],
    to: ["ready", "dead"],
    by: "anyone",
    events: ["opened", "dead"],
  },
  /** A retry's time, or that of a delayed handoff, has come. */
  mature: { verb: "mature", from: ["scheduled"], to: ["ready"], by: "anyone", events: [] },
} as const satisfies Record<string, Transition>;

const all: readonly Transition[] = Object.values(TRANSITIONS);

/** Whether some verb leads from one state to the other. */
export function isLegal(from: DeliveryState | undefined, to: DeliveryState): boolean {
  return all.some(
    (transition) =>
      transition.to.includes(to) &&
      (from === undefined ? transition.from.length === 0 : transition.from.includes(from)),
  );
}

/** States that nothing leads out of. */
export const TERMINAL_STATES: readonly DeliveryState[] = DELIVERY_STATES.filter(
  (state) => !all.some((transition) => transition.from.includes(state)),
);
