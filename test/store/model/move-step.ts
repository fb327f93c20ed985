/**
 * The step that moves deliveries, including outdated ones, and decisions about everything that is
 * due.
 */
import fc from "fast-check";
import type { Envelope } from "../../../src/envelope/schema.ts";
import { reseal } from "../../../src/envelope/seal.ts";
import { DEFAULT_VERSIONS } from "../../../src/envelope/versions.ts";
import {
  type DeliveryRow,
  type DeliveryState,
  type DeliveryStep,
  HELD_STATES,
  isHeld,
  OPEN_STATES,
} from "../../../src/store/rows.ts";
import type { DeliveryWithEnvelopeRow, Move, MoveDeliveries } from "../../../src/store/store.ts";
import { decisionOf, reachable } from "./send-step.ts";
import { HERE, LIMITS, type Side, WORKSPACE } from "./side.ts";
import { idle, known, number, pick, write } from "./step.ts";

/** A kind of move: the states it may start from, and how it changes a delivery. */
interface Deciding {
  readonly from: readonly DeliveryState[];
  /** The verb of its record; without a verb, the move leaves no record. */
  readonly verb?: DeliveryStep["verb"];
  /** True if the move creates a new envelope. */
  readonly rewrites?: boolean;
  readonly several?: boolean;
  change(delivery: DeliveryRow, to: string): Omit<Move, "delivery" | "seen">;
}

const last = ({ attempt, maxAttempts }: DeliveryRow, more = 0): boolean =>
  attempt + more >= maxAttempts;

const endOf = ({ state }: DeliveryRow, outcome: "expired" | "cancelled") =>
  isHeld(state) ? { ends: { outcome, reason: "{}" } } : {};

/** Raises the limit, so that the delivery can be attempted again. */
const moreAttempts = ({ attempt, maxAttempts }: DeliveryRow) => ({
  maxAttempts: Math.max(maxAttempts, attempt + 2),
});

const DECIDING = {
  annotate: {
    from: [...OPEN_STATES, "dead"],
    several: true,
    change: ({ state, id }) => ({ to: state, event: "reminded", lapseMs: 900, followers: id }),
  },
  lift: {
    from: OPEN_STATES,
    several: true,
    change: ({ state }) => ({ to: state, event: "reminded", lapseMs: 0, deadline: 0 }),
  },
  cancel: {
    from: OPEN_STATES,
    verb: "cancel",
    several: true,
    change: (delivery) => ({
      to: "cancelled",
      event: "cancelled",
      ...endOf(delivery, "cancelled"),
    }),
  },
  discard: {
    from: ["dead"],
    verb: "discard",
    several: true,
    change: () => ({ to: "cancelled", event: "discarded" }),
  },
  expire: {
    from: HELD_STATES,
    several: true,
    change: (delivery) => ({
      to: last(delivery) ? "dead" : "ready",
      event: last(delivery) ? "dead" : "expired",
      lapseMs: 400,
      ...endOf(delivery, "expired"),
    }),
  },
  reconstruct: {
    from: HELD_STATES,
    verb: "reconstruct",
    rewrites: true,
    change: (delivery) => ({
      to: "ready",
      event: "expired",
      ...moreAttempts(delivery),
      ...endOf(delivery, "expired"),
    }),
  },
  miss: {
    from: ["scheduled", "ready", "claimed"],
    several: true,
    change: (delivery) => {
      const dead = last(delivery, isHeld(delivery.state) ? 0 : 1);
      return {
        to: dead ? "dead" : "scheduled",
        event: dead ? "dead" : "accept_timeout",
        delayMs: 350,
        ends: { outcome: "accept_timeout", reason: "{}" },
      };
    },
  },
  lapse: {
    from: OPEN_STATES,
    several: true,
    change: (delivery) => ({
      to: "expired",
      event: "deadline_passed",
      ...endOf(delivery, "expired"),
    }),
  },
  reroute: {
    from: ["scheduled", "ready", "claimed", "accepted"],
    verb: "reroute",
    several: true,
    change: (delivery, receiver) => ({
      to: "ready",
      event: "rerouted",
      receiver,
      ...moreAttempts(delivery),
      ...endOf(delivery, "expired"),
    }),
  },
  redrive: {
    from: ["dead", "expired"],
    verb: "redrive",
    several: true,
    change: (delivery) => ({
      to: "ready",
      event: "redriven",
      deadline: 0,
      ...moreAttempts(delivery),
    }),
  },
  answer: {
    from: ["waiting"],
    verb: "answer",
    rewrites: true,
    change: () => ({ to: "ready", event: "answered", lapseMs: 800 }),
  },
} as const satisfies Record<string, Deciding>;

const KINDS = Object.keys(DECIDING) as (keyof typeof DECIDING)[];

/** Which part of the delivery is outdated; usually none. */
const stale = fc.constantFrom(
  ...(["no", "no", "no", "no", "fence", "envelope", "lease", "minded"] as const),
);

type Stale = typeof stale extends fc.Arbitrary<infer Choice> ? Choice : never;

export const move = write(
  "move",
  fc.record({
    by: known,
    kind: fc.constantFrom(...KINDS),
    deliveries: fc.array(number, { minLength: 1, maxLength: 3 }),
    to: reachable,
    stale,
  }),
  async (side, { by, kind, deliveries, to, stale }) => {
    const deciding: Deciding = DECIDING[kind];
    const found = await decidedAbout(side, deciding, deliveries);
    const [first] = found;
    if (first === undefined) return idle;
    const operation = decisionAbout(side, found, { deciding, by, to, stale });
    return async () => {
      const outcome = await side.store.moveDeliveries(operation);
      if (outcome.kind === "moved" && operation.memory) side.memories.push(operation.memory.id);
      return outcome;
    };
  },
);

/** Returns deliveries that fit, each once; or else any one, which is refused. */
async function decidedAbout(
  side: Side,
  { from, several }: Deciding,
  numbers: readonly number[],
): Promise<DeliveryWithEnvelopeRow[]> {
  const newest: DeliveryWithEnvelopeRow[] = [];
  for (const id of side.deliveries.slice(-20)) {
    const claimed = await side.store.findDelivery(WORKSPACE, id);
    if (claimed) newest.push(claimed);
  }
  const fitting = newest.filter(({ delivery }) => from.includes(delivery.state));
  const picked = [...new Set(numbers.flatMap((n) => pick(fitting, n) ?? []))];
  if (picked.length === 0) return newest.slice(-1);
  return several ? picked : picked.slice(0, 1);
}

function decisionAbout(
  side: Side,
  found: readonly DeliveryWithEnvelopeRow[],
  about: { deciding: Deciding; by: string; to: string; stale: Stale },
): MoveDeliveries {
  const { deciding, by, to, stale } = about;
  const moves = found.map(({ delivery }): Move => {
    const { id, state, fence, envelope, leaseUntil } = delivery;
    const fits = deciding.from.includes(state);
    const seen = {
      state: fits ? state : (deciding.from[0] as DeliveryState),
      fence: stale === "fence" ? fence - 1 : fence,
      envelope: stale === "envelope" ? "" : envelope,
      ...(stale === "minded" && { leaseUntil }),
      ...(stale === "lease" && { leaseUntil: leaseUntil - 1 }),
    };
    return { delivery: id, seen, ...deciding.change(delivery, to) };
  });
  const operation = { ...HERE, agent: by, moves };
  const [first] = found;
  if (deciding.verb === undefined || first === undefined) return operation;
  const verb = deciding.verb;
  const trail = found.map(({ delivery: { id, attempt } }) => ({
    ...{ attempt, delivery: id },
    ...(verb === "reroute" && { to }),
    verb,
  }));
  const { task } = first.delivery;
  if (!deciding.rewrites) return { ...operation, memory: decisionOf(side, by, { task, trail }) };
  const from = JSON.parse(first.envelope.text) as Envelope;
  const parents = [from.id];
  const changes = { id: side.ids.mint("envelope"), parents };
  const { envelope, text, digest } = reseal(from, changes, {
    limits: LIMITS,
    versions: DEFAULT_VERSIONS,
  });
  return {
    ...operation,
    memory: decisionOf(side, by, { task, trail, envelope: { digest, id: envelope.id } }),
    envelope: { id: envelope.id, task, sender: from.from.agent, text, parents },
  };
}

/**
 * Decides about everything that is due, one by one, so that the hub finds nothing due: it would
 * decide about several concurrently, and ids are created in the order of the answers.
 */
export async function decideDue(side: Side): Promise<unknown> {
  const outcomes: unknown[] = [];
  for (let round = 0; round < 5; round++) {
    const { due } = await side.store.listDue({ workspace: WORKSPACE, gone: [], limit: 100 });
    if (due.length === 0) break;
    for (const each of due) {
      const about = { deciding: dueDecision(side, each.delivery), by: "ada", to: "" };
      const operation = decisionAbout(side, [each], { ...about, stale: "minded" });
      outcomes.push(await side.store.moveDeliveries(operation));
    }
  }
  return outcomes;
}

function dueDecision(side: Side, { state, deadline, leaseUntil }: DeliveryRow): Deciding {
  const now = side.clock.now();
  if (deadline !== 0 && deadline <= now) return DECIDING.lapse;
  if (isHeld(state) && leaseUntil <= now) return DECIDING.expire;
  return state === "ready" || state === "scheduled" ? DECIDING.miss : DECIDING.lift;
}
