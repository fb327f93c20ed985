/**
 * Handoffs as tests describe them, the leases and settlements they use, and the functions that turn
 * them into deliveries, envelopes and trails.
 */
import { resolveLimits } from "../../src/base/limits.ts";
import { type Draft, DraftSchema, type Envelope } from "../../src/envelope/schema.ts";
import { seal } from "../../src/envelope/seal.ts";
import { DEFAULT_VERSIONS } from "../../src/envelope/versions.ts";
import type { HubFields, MemoryInput } from "../../src/memory/record.ts";
import type { NewDelivery, NewEnvelope, TrailStep } from "../../src/store/rows.ts";
import type { DeliveryWithEnvelopeRow, PutEntry, SendHandoff } from "../../src/store/store.ts";

export const LEASE_MS = 60_000;

/** Longer than any test holds work, except the tests of the maximum hold time. */
export const HOLD_MS = 100 * LEASE_MS;

export const ATTEMPTS = 3;
export const LIMITS = resolveLimits();

export interface BranchLocation {
  readonly workspace: string;
  readonly branch: string;
}

/** The workspace and branch that tests use by default. */
export const DEFAULT_LOCATION: BranchLocation = { workspace: "here", branch: "main" };

/** A release that counts the attempt. */
export const RELEASED = { kind: "released", becomes: "ready", lapseMs: 0, counts: true } as const;

/** A release that does not count the attempt. */
export const RELEASED_UNCOUNTED = { ...RELEASED, counts: false } as const;

/** Returns a failure that is retried after a delay. */
export const failedWithDelay = (delayMs: number) =>
  ({ kind: "failed", becomes: "scheduled", delayMs, lapseMs: 0 }) as const;

export const FAILED = failedWithDelay(0);

/** The fields of a handoff that a test sets; all of them have defaults. */
export interface HandoffInput
  extends Partial<Omit<NewDelivery, "id" | "receiver" | "maxAttempts">> {
  readonly from?: string;
  /** An agent, or the inbox of a role. */
  readonly to?: string;
  readonly task?: string;
  readonly refs?: readonly string[];
  readonly attempts?: number;
  readonly breaker?: number;
  readonly entries?: readonly PutEntry[];
  readonly extend?: SendHandoff["extend"];
  /** The sender's own work: its envelope becomes the parent, and its lease is settled. */
  readonly settles?: DeliveryWithEnvelopeRow;
  /** The envelopes it continues from. The first one identifies the piece of work. */
  readonly parents?: readonly string[];
  /** Further fields of its draft. */
  readonly says?: Partial<Draft>;
  /** The scope of its memory. */
  readonly scope?: MemoryInput["scope"];
  readonly where?: Partial<BranchLocation>;
}

/** The verb in the memory of a settlement; a release writes no memory. */
export const SETTLEMENT_VERBS = {
  completed: "complete",
  declined: "decline",
  failed: "fail",
  asked: "ask",
} as const;

export function trailOf(
  delivery: string,
  extend: SendHandoff["extend"],
  settles: DeliveryWithEnvelopeRow | undefined,
): TrailStep[] {
  const instead = extend && { instead: extend.delivery };
  const begins: TrailStep = extend?.held
    ? { attempt: 1, delivery: extend.delivery, verb: "extend" }
    : { attempt: 0, delivery, verb: "send", ...instead };
  if (settles === undefined) return [begins];
  const { id, attempt } = settles.delivery;
  return [begins, { attempt, delivery: id, verb: "complete" }];
}

/** An envelope, and what the memory that vouches for it stores about it. */
export interface SealedEnvelope {
  readonly envelope: NewEnvelope;
  readonly hallmark: NonNullable<HubFields["envelope"]>;
}

/** Returns the delivery of a handoff to one receiver. */
export function newDelivery(receiver: string, handover: HandoffInput, id: string): NewDelivery {
  return {
    id,
    receiver,
    maxAttempts: handover.attempts ?? ATTEMPTS,
    ahead: handover.ahead ?? 0,
    state: handover.state ?? "ready",
    delayMs: handover.delayMs ?? 0,
    reason: handover.reason ?? "",
    deadline: handover.deadline ?? 0,
    lapseMs: handover.lapseMs ?? 0,
  };
}

/** The input from which an envelope is sealed. */
export interface EnvelopeInput {
  readonly from: string;
  readonly to: Envelope["to"];
  readonly task: string;
  readonly parents: readonly string[];
  readonly deadline?: number;
  readonly says?: Partial<Draft>;
  readonly where: BranchLocation;
}

/** Seals an envelope and returns it with what its memory stores about it. */
export function sealEnvelope(
  about: EnvelopeInput,
  { id, now }: { id: string; now: number },
): SealedEnvelope {
  const { from, task, parents, deadline = 0, where } = about;
  const draft = DraftSchema.parse({ to: about.to, task, intent: `do ${task}`, ...about.says });
  const { envelope, text, digest } = seal(draft, {
    id,
    workspace: where.workspace,
    task,
    from: { agent: from, instance: `${from}-1` },
    to: about.to,
    parents,
    refs: [],
    hop: 0,
    createdAt: now,
    limits: LIMITS,
    versions: DEFAULT_VERSIONS,
    policy: deadline === 0 ? undefined : { deadline },
  });
  return {
    envelope: { id: envelope.id, task, sender: from, text, parents },
    hallmark: { digest, id: envelope.id },
  };
}
