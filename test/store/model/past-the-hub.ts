/**
 * What only somebody with the store in hand could do: old fences and guessed leases, decisions about
 * deliveries that are not as they were seen, entries, handoffs with everything a hub might ask for.
 */
import fc from "fast-check";
import {
  type CheckedDraft,
  DraftSchema,
  type Envelope,
  receiverOf,
} from "../../../src/envelope/schema.ts";
import { resealed, seal } from "../../../src/envelope/seal.ts";
import { SHIPPED } from "../../../src/envelope/versions.ts";
import { type Hallmark, writeRecord } from "../../../src/memory/record.ts";
import {
  BREAKER,
  type DeliveryRow,
  type DeliveryState,
  type DeliveryStep,
  HELD_STATES,
  isHeld,
  isTaken,
  type NewMemory,
  OPEN_STATES,
  publicationMark,
  type TrailStep,
} from "../../../src/store/rows.ts";
import { isFree } from "../../../src/store/settlement.ts";
import type {
  Claimed,
  Lease,
  Move,
  MoveDeliveries,
  SendHandoff,
  Settlement,
} from "../../../src/store/store.ts";
import {
  BRANCH,
  ENTRY_KINDS,
  LIMITS,
  NAMES,
  PROCESSES,
  ROLES,
  type Side,
  WORKSPACE,
} from "./side.ts";
import {
  idle,
  known,
  name,
  number,
  onceIn,
  pick,
  rarely,
  recordOf,
  type Step,
  step,
  task,
  type Write,
  write,
} from "./step.ts";

const HERE = { workspace: WORKSPACE, branch: BRANCH };

const lease = fc.record({
  delivery: number,
  /** Added to the fence as it is now: mostly the right one or the one before. */
  fence: fc.constantFrom(0, 0, -1),
  /** Which envelope the holder claims to know. */
  envelope: fc.constantFrom(
    "current" as const,
    "current" as const,
    "none" as const,
    "other" as const,
  ),
});
type LeaseChoice = typeof lease extends fc.Arbitrary<infer Choice> ? Choice : never;

/** Mostly one that is held, else any. */
async function leased(side: Side, n: number): Promise<Claimed | undefined> {
  const inboxes = { workspace: WORKSPACE, receivers: [...NAMES, ...ROLES] };
  const held = await side.store.listDeliveries({ ...inboxes, states: HELD_STATES, limit: 50 });
  const chosen = n % 4 === 0 ? undefined : pick(held, n);
  const id = pick(side.deliveries, n);
  return chosen ?? (id === undefined ? undefined : side.store.findDelivery(WORKSPACE, id));
}

async function leaseOf(
  side: Side,
  { delivery, fence, envelope }: LeaseChoice,
): Promise<{ lease: Lease; found: Claimed } | undefined> {
  const found = await leased(side, delivery);
  if (!found) return undefined;
  const known = {
    current: found.envelope.id,
    none: "",
    other: pick(side.envelopes, delivery) ?? "",
  }[envelope];
  return {
    found,
    lease: {
      delivery: found.delivery.id,
      fence: found.delivery.fence + fence,
      envelope: known,
      leaseMs: LIMITS.leaseMs,
    },
  };
}

const ENDINGS = {
  asked: "ask",
  completed: "complete",
  declined: "decline",
  failed: "fail",
  released: "release",
} as const satisfies Record<Settlement["kind"], DeliveryStep["verb"]>;

const REASON = { message: "guess" };

const SETTLEMENTS: readonly Settlement[] = [
  { kind: "completed" },
  { kind: "declined" },
  { kind: "asked" },
  { kind: "failed", becomes: "scheduled", delayMs: 0, lapseMs: 900 },
  { kind: "failed", becomes: "scheduled", delayMs: 700, lapseMs: 0 },
  { kind: "released", becomes: "ready", lapseMs: 0, counts: true },
  { kind: "released", becomes: "ready", lapseMs: 600, counts: false },
  { kind: "released", becomes: "scheduled", delayMs: 300, lapseMs: 0 },
  { kind: "released", becomes: "dead" },
];

const FROM: Readonly<Record<Settlement["kind"], readonly DeliveryState[]>> = {
  asked: ["accepted"],
  completed: ["accepted"],
  declined: HELD_STATES,
  failed: ["accepted"],
  released: HELD_STATES,
};

/** After the last try there is no next one: a store does not check that, the policy decides it. */
function withinPolicy(settlement: Settlement, { delivery }: Claimed): Settlement {
  const { kind } = settlement;
  const last = delivery.attempt >= delivery.maxAttempts;
  const again = "becomes" in settlement && settlement.becomes !== "dead" && !isFree(settlement);
  return (kind === "failed" || kind === "released") && again && last
    ? { kind, becomes: "dead" }
    : settlement;
}

export const settleWith = write(
  "settle with a lease",
  fc.record({ lease, settlement: fc.constantFrom(...SETTLEMENTS) }),
  async (side, { lease: choice, settlement: chosen }) => {
    const holding = await leaseOf(side, choice);
    if (holding === undefined) return idle;
    const settlement = withinPolicy(chosen, holding.found);
    const completed = settlement.kind === "completed";
    const verb = ENDINGS[settlement.kind];
    const memory = recordOf(side, holding.found, { verb, ...(completed ? {} : { data: REASON }) });
    return () =>
      side.store.settleDelivery({
        workspace: WORKSPACE,
        branch: BRANCH,
        lease: holding.lease,
        from: FROM[settlement.kind],
        settlement,
        reason: completed ? "" : JSON.stringify(REASON),
        ...(settlement.kind === "released" ? {} : { memory }),
      });
  },
);

export const useLease = write(
  "use a lease",
  fc.record({ lease, how: fc.constantFrom("renew", "append", "accept") }),
  async (side, { lease: choice, how }) => {
    const holding = await leaseOf(side, choice);
    if (holding === undefined) return idle;
    const { lease, found } = holding;
    const at = HERE;
    const memory = recordOf(side, found, how === "accept" ? { verb: "accept" } : {});
    if (how === "renew") return () => side.store.renewLease(WORKSPACE, lease);
    if (how === "accept") return () => side.store.acceptDelivery({ ...at, lease, memory });
    return () => side.store.appendMemories({ ...at, lease, memories: [memory] });
  },
);

export const claimMany = write(
  "claim many",
  fc.record({
    by: name,
    limit: fc.constantFrom(2, 5),
    process: fc.constantFrom("", ...PROCESSES),
    holdMs: fc.constantFrom(LIMITS.holdMs, LIMITS.leaseMs + 500, 800),
  }),
  async (side, { by, limit, process, holdMs }) =>
    () =>
      side.store.claimDeliveries({
        workspace: WORKSPACE,
        branch: BRANCH,
        receiver: by,
        instance: `${by}-9`,
        publicKey: "",
        limit,
        leaseMs: LIMITS.leaseMs,
        holdMs,
        process,
      }),
);

export const renewSession = write(
  "renew a session",
  fc.record({ agent: known, n: fc.constantFrom(1, 9) }),
  async (side, { agent, n }) => {
    const session = { workspace: WORKSPACE, agent, instance: `${agent}-${n}` };
    return () => side.store.renewSession(session, LIMITS.leaseMs);
  },
);

export const rename = write(
  "change an agent",
  fc.record({
    who: name,
    role: fc.constantFrom("planner", "coder", ""),
    status: fc.constantFrom("active" as const, "active" as const, "paused" as const),
  }),
  async (side, { who, role, status }) => {
    const current = await side.store.findAgent(WORKSPACE, who);
    if (current === undefined) return idle;
    const { revision: basedOn, keyedAt: _keyedAt, digest: _digest, ...agent } = current;
    return () =>
      side.store.registerAgent({
        workspace: WORKSPACE,
        agent: { ...agent, role, status },
        basedOn,
      });
  },
);

// Handing over

const newDelivery = fc.record({
  ahead: fc.constantFrom(0, 0, 2, 1_000_000, -1_000_000),
  state: fc.constantFrom("ready" as const, "ready" as const, "scheduled" as const, "dead" as const),
  delayMs: fc.constantFrom(0, 400, 3_000),
  lapseMs: fc.constantFrom(0, 0, 300, 50_000),
  maxAttempts: fc.constantFrom(1, 2, 3),
});

/** An idempotency key; now and then as if it had been used before. */
const key = fc.record({
  name: fc.constantFrom("k1", "k2", "k3"),
  basedOn: fc.constantFrom(0, 0, 1),
});

/** Mostly somebody who can take it. */
const reachable = fc.oneof(
  { weight: 9, arbitrary: known },
  { weight: 3, arbitrary: fc.constantFrom("role:any", "role:any", "role:coder") },
  { weight: 1, arbitrary: fc.constant("nobody") },
);

export const send = write(
  "send",
  fc.record({
    from: name,
    to: fc.uniqueArray(reachable, { minLength: 1, maxLength: 3 }),
    task,
    delivery: newDelivery,
    /** On a task of its own, so that nothing extends it, and with a deadline. */
    deadlineMs: onceIn(4, fc.constantFrom(1, 500)),
    key: rarely(key),
    breaker: onceIn(5, fc.constantFrom(0, 1)),
    extends: fc.constantFrom(true, true, true, false),
  }),
  async (side, choice) => {
    const { from, to, deadlineMs } = choice;
    const [only, ...others] = to;
    const single = others.length === 0 ? (only as string) : undefined;
    const task = deadlineMs ? `apart ${side.deliveries.length}` : choice.task;
    const open =
      single === undefined ? undefined : await openWork(side, { from, to: single, task });
    const extend = open && choice.extends ? extensionOf(open) : undefined;
    const revision = single === undefined ? 0 : await breakerOf(side, single);
    const deadline = deadlineMs ? side.clock.now() + deadlineMs : 0;
    const deliveries = to.map((receiver) => ({
      id: side.ids.mint("delivery"),
      receiver,
      ...choice.delivery,
      reason: "{}",
      deadline,
    }));
    const sealed = sealFor(side, { from, to, task, deadline, extend });
    const begins: TrailStep = single
      ? extend?.held
        ? { attempt: open?.attempt ?? 0, delivery: extend.delivery, verb: "extend" }
        : {
            attempt: 0,
            delivery: deliveries[0]?.id ?? "",
            ...(extend && { instead: extend.delivery }),
            verb: "send",
          }
      : {
          deliveries: deliveries.map(({ id, receiver }) => [id, receiver] as const),
          verb: "publish",
        };
    const operation: SendHandoff = {
      ...HERE,
      memory: decisionOf(side, from, { task, trail: [begins], envelope: sealed.hallmark }),
      envelope: sealed.envelope,
      deliveries,
      parent: single ? "" : publicationMark(sealed.envelope.id),
      breaker: choice.breaker ?? revision,
      ...(extend && { extend }),
      ...(choice.key && { entries: [{ kind: "key", value: "1", ...choice.key }] }),
    };
    return async () => {
      const outcome = await side.store.sendHandoff(operation);
      if (outcome.kind !== "sent") return outcome;
      side.memories.push(operation.memory.id);
      side.envelopes.push(operation.envelope.id);
      if (!extend?.held) side.deliveries.push(...outcome.deliveries.map(({ id }) => id));
      return outcome;
    };
  },
);

const extensionOf = (open: DeliveryRow): NonNullable<SendHandoff["extend"]> => ({
  delivery: open.id,
  envelope: open.envelope,
  held: isTaken(open.state),
});

async function openWork(side: Side, work: { from: string; to: string; task: string }) {
  const which = {
    workspace: WORKSPACE,
    receivers: [work.to],
    states: OPEN_STATES,
    task: work.task,
  };
  const open = await side.store.listDeliveries({ ...which, limit: 100 });
  const same = open.find(
    ({ delivery: { sender, parent } }) => sender === work.from && parent === "",
  );
  return same?.delivery;
}

async function breakerOf(side: Side, receiver: string): Promise<number> {
  return (await side.store.findEntry(WORKSPACE, BREAKER, receiver))?.revision ?? 0;
}

function sealFor(
  side: Side,
  about: {
    readonly from: string;
    readonly to: readonly string[];
    readonly task: string;
    readonly deadline: number;
    readonly extend: SendHandoff["extend"];
  },
) {
  const { from, task, deadline, extend } = about;
  const [only, ...others] = about.to;
  const to: Envelope["to"] =
    others.length > 0
      ? { kind: "channel", channel: "news" }
      : (receiverOf(only as string) as Envelope["to"]);
  const parents = extend ? [extend.envelope] : [];
  const draft: CheckedDraft = DraftSchema.parse({ to, task, intent: "past the hub" });
  const { envelope, text, digest } = seal(draft, {
    id: side.ids.mint("envelope"),
    workspace: WORKSPACE,
    task,
    from: { agent: from, instance: `${from}-9` },
    to,
    parents,
    refs: [],
    hop: 0,
    createdAt: side.clock.now(),
    limits: LIMITS,
    versions: SHIPPED,
    policy: deadline === 0 ? undefined : { deadline },
  });
  return {
    envelope: { id: envelope.id, task, sender: from, text, parents },
    hallmark: { digest, id: envelope.id },
  };
}

function decisionOf(
  side: Side,
  agent: string,
  { task, ...hallmark }: Hallmark & { readonly task: string },
): NewMemory {
  const pen = { ids: side.ids, now: side.clock.now(), limits: LIMITS, hallmark };
  const content = hallmark.trail?.[0]?.verb ?? "decided";
  const type = hallmark.envelope ? "handoff" : "decision";
  return writeRecord({ agent, instance: `${agent}-9` }, { type, content, task }, pen).record;
}

// Deciding

/** Each kind of move: the states it may start from, and what it makes of a delivery. */
interface Deciding {
  readonly from: readonly DeliveryState[];
  /** What its record says; without one it leaves none. */
  readonly verb?: DeliveryStep["verb"];
  /** True when it goes on to a new envelope. */
  readonly rewrites?: boolean;
  readonly several?: boolean;
  change(delivery: DeliveryRow, to: string): Omit<Move, "delivery" | "seen">;
}

const last = ({ attempt, maxAttempts }: DeliveryRow, tries = 0): boolean =>
  attempt + tries >= maxAttempts;

const endOf = ({ state }: DeliveryRow, outcome: "expired" | "cancelled") =>
  isHeld(state) ? { ends: { outcome, reason: "{}" } } : {};

/** However often it was tried, it can be tried again. */
const moreTries = ({ attempt, maxAttempts }: DeliveryRow) => ({
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
      ...moreTries(delivery),
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
        event: dead ? "dead" : "unaccepted",
        delayMs: 350,
        ends: { outcome: "unaccepted", reason: "{}" },
      };
    },
  },
  lapse: {
    from: OPEN_STATES,
    several: true,
    change: (delivery) => ({ to: "expired", event: "lapsed", ...endOf(delivery, "expired") }),
  },
  reroute: {
    from: ["scheduled", "ready", "claimed", "accepted"],
    verb: "reroute",
    several: true,
    change: (delivery, receiver) => ({
      to: "ready",
      event: "rerouted",
      receiver,
      ...moreTries(delivery),
      ...endOf(delivery, "expired"),
    }),
  },
  redrive: {
    from: ["dead", "expired"],
    verb: "redrive",
    several: true,
    change: (delivery) => ({ to: "ready", event: "redriven", deadline: 0, ...moreTries(delivery) }),
  },
  answer: {
    from: ["waiting"],
    verb: "answer",
    rewrites: true,
    change: () => ({ to: "ready", event: "answered", lapseMs: 800 }),
  },
} as const satisfies Record<string, Deciding>;

const KINDS = Object.keys(DECIDING) as (keyof typeof DECIDING)[];

/** Mostly as it is; else not as it was seen. */
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

/** Mostly such as fit, each once; else just one, to be refused. */
async function decidedAbout(
  side: Side,
  { from, several }: Deciding,
  numbers: readonly number[],
): Promise<Claimed[]> {
  const newest: Claimed[] = [];
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
  found: readonly Claimed[],
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
  const { envelope, text, digest } = resealed(from, changes, { limits: LIMITS, versions: SHIPPED });
  return {
    ...operation,
    memory: decisionOf(side, by, { task, trail, envelope: { digest, id: envelope.id } }),
    envelope: { id: envelope.id, task, sender: from.from.agent, text, parents },
  };
}

/**
 * Decides about all that is due, one by one, so that a hub finds nothing: it would decide about
 * several at the same time, and ids are made in the order in which answers come.
 */
export async function decideDue(side: Side): Promise<unknown> {
  const told: unknown[] = [];
  for (let round = 0; round < 5; round++) {
    const { due } = await side.store.listDue({ workspace: WORKSPACE, gone: [], limit: 100 });
    if (due.length === 0) break;
    for (const each of due) {
      const about = { deciding: fate(side, each.delivery), by: "ada", to: "" };
      const operation = decisionAbout(side, [each], { ...about, stale: "minded" });
      told.push(await side.store.moveDeliveries(operation));
    }
  }
  return told;
}

function fate(side: Side, { state, deadline, leaseUntil }: DeliveryRow): Deciding {
  const now = side.clock.now();
  if (deadline !== 0 && deadline <= now) return DECIDING.lapse;
  if (isHeld(state) && leaseUntil <= now) return DECIDING.expire;
  return state === "ready" || state === "scheduled" ? DECIDING.miss : DECIDING.lift;
}

// Entries

export const putEntry = write(
  "put an entry",
  fc.record({
    kind: fc.constantFrom("note", "note", "key", BREAKER),
    name: fc.constantFrom("a", "a/1", "a/2", "B", ...NAMES, ...ROLES),
    value: fc.constantFrom("1", "2", undefined),
    off: fc.constantFrom(0, 0, 0, 1, -1),
    told: fc.boolean(),
  }),
  async (side, { kind, name, value, off, told }) => {
    const current = await side.store.findEntry(WORKSPACE, kind, name);
    const basedOn = Math.max(0, (current?.revision ?? 0) + off);
    // A breaker as a hub reads it: closed, with one that was given up.
    const strikes = { deliveries: [`dlv ${value}`], openedAt: 0, probedAt: 0 };
    const text = kind === BREAKER && value !== undefined ? JSON.stringify(strikes) : value;
    const event = { kind: "breaker_reset" as const, agent: "ada" };
    const entry = { kind, name, value: text, basedOn };
    return () => side.store.putEntry(WORKSPACE, entry, told ? event : undefined);
  },
);

// Looking

export const lookPast: fc.Arbitrary<Step> = step(
  "look past the hub",
  fc.record({
    what: fc.constantFrom("due", "due", "parked", "entries", "open", "inboxes"),
    who: known,
    gone: fc.subarray(["", ...PROCESSES]),
    limit: fc.constantFrom(1, 3, 100),
    task: rarely(task),
    n: number,
  }),
  async (side, { what, who, gone, limit, task, n }) => {
    const { store } = side;
    const where = { workspace: WORKSPACE, limit, ...(task && { task }) };
    switch (what) {
      case "due":
        return store.listDue({ ...where, gone });
      case "parked": {
        const state = n % 2 === 0 ? "dead" : "waiting";
        const by = n % 3 === 0 ? { sender: who } : n % 3 === 1 ? { receiver: who } : {};
        return store.listParked({ ...where, state, ...by });
      }
      case "entries": {
        const kind = pick(ENTRY_KINDS, n) as string;
        const prefix = n % 3 === 0 ? { prefix: "a" } : {};
        return store.listEntries({ ...where, kind, ...prefix, ...(n % 2 && { after: "a/1" }) });
      }
      case "open":
        return store.countOpen(WORKSPACE, n % 2 ? who : (pick(ROLES, n) as string), limit);
      default:
        return store.listDeliveries({ ...where, receivers: [who, ...ROLES], states: OPEN_STATES });
    }
  },
).map((each) => ({ ...each, past: true }));

export const PAST_THE_HUB: readonly fc.Arbitrary<Write>[] = [
  ...[rename, settleWith, useLease, claimMany, renewSession, send, move, putEntry],
];
