/**
 * Steps that claim, renew and settle with any lease, including old fences and guessed envelopes.
 */
import fc from "fast-check";
import { type DeliveryState, type DeliveryStep, HELD_STATES } from "../../../src/store/rows.ts";
import { isUncountedAttempt } from "../../../src/store/settlement.ts";
import type { DeliveryWithEnvelopeRow, Lease, Settlement } from "../../../src/store/store.ts";
import { BRANCH, HERE, LIMITS, NAMES, PROCESSES, ROLES, type Side, WORKSPACE } from "./side.ts";
import { idle, known, name, number, pick, recordOf, write } from "./step.ts";

const lease = fc.record({
  delivery: number,
  /** Added to the current fence: usually none, sometimes -1. */
  fence: fc.constantFrom(0, 0, -1),
  /** The envelope that the holder claims to know. */
  envelope: fc.constantFrom(
    "current" as const,
    "current" as const,
    "none" as const,
    "other" as const,
  ),
});

type LeaseChoice = typeof lease extends fc.Arbitrary<infer Choice> ? Choice : never;

/** Returns a delivery: usually one that is held, sometimes any. */
async function leased(side: Side, n: number): Promise<DeliveryWithEnvelopeRow | undefined> {
  const inboxes = { workspace: WORKSPACE, receivers: [...NAMES, ...ROLES] };
  const held = await side.store.listDeliveries({ ...inboxes, states: HELD_STATES, limit: 50 });
  const chosen = n % 4 === 0 ? undefined : pick(held, n);
  const id = pick(side.deliveries, n);
  return chosen ?? (id === undefined ? undefined : side.store.findDelivery(WORKSPACE, id));
}

async function leaseOf(
  side: Side,
  { delivery, fence, envelope }: LeaseChoice,
): Promise<{ lease: Lease; found: DeliveryWithEnvelopeRow } | undefined> {
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

/**
 * Replaces a retry after the last attempt by a dead letter: the policy decides that, and a store
 * does not check it.
 */
function withinPolicy(settlement: Settlement, { delivery }: DeliveryWithEnvelopeRow): Settlement {
  const { kind } = settlement;
  const last = delivery.attempt >= delivery.maxAttempts;
  const again =
    "becomes" in settlement && settlement.becomes !== "dead" && !isUncountedAttempt(settlement);
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
