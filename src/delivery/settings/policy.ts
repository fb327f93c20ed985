/**
 * Retry policy of a handoff: merges policies, and decides what follows a failed or released attempt (retry,
 * fallback, dead letter). A policy comes from the envelope, the receiver's profile or the workspace.
 * Whichever process is running decides here; the stores only carry the decision out.
 *
 * Without a policy an unclaimed handoff waits without limit: only claimed attempts count.
 */
import {
  type FailureClass,
  instantOf,
  PolicyDraft,
  type PolicyInput,
  type SealedPolicy,
} from "../../envelope/schema.ts";
import { parseOrThrow } from "../../envelope/violations.ts";
import type { DeliveryRow } from "../../store/rows.ts";
import type { Settlement } from "../../store/store.ts";

/** The policy "direct": the sender wants to know soon whether the work was accepted. */
export const DIRECT = { acceptMs: 15_000, attempts: 3 } as const satisfies SealedPolicy;

/** Delays of 0–1 s, 0–2 s, 0–4 s …: full jitter, so that many failures do not retry at the same time. */
const BACKOFF = { firstMs: 1_000, longestMs: 30_000 };

/** A delay that means "until a decision is made". Added to any time, the sum is still a safe integer. */
export const FOREVER_MS = 2 ** 52;
/** Returns whether a time lies beyond `FOREVER_MS`, i.e. is never reached. */
export const isForever = (at: number): boolean => at >= FOREVER_MS;
/** Due immediately: the next process that polls decides. */
export const AT_ONCE_MS = 1;

/** Merges policies; later arguments override earlier ones. Returns undefined if all are undefined. */
export function resolvePolicy(
  now: number,
  ...from: readonly (PolicyInput | undefined)[]
): SealedPolicy | undefined {
  const policies = from
    .filter((each) => each !== undefined)
    .map((each) => withDeadline(expandPolicy(each), now));
  return policies.length === 0 ? undefined : Object.assign({}, ...policies);
}

/** Returns the policy with an absolute deadline; of `deadline` and `deadlineMs` the earlier one counts. */
function withDeadline(
  { deadline, deadlineMs, ...policy }: Exclude<PolicyInput, "direct">,
  now: number,
): SealedPolicy {
  if (deadline === undefined && deadlineMs === undefined) return policy;
  const at = deadline === undefined ? Number.POSITIVE_INFINITY : instantOf(deadline);
  return { ...policy, deadline: Math.min(at, now + (deadlineMs ?? Number.POSITIVE_INFINITY)) };
}

const expandPolicy = (input: PolicyInput): Exclude<PolicyInput, "direct"> =>
  input === "direct" ? DIRECT : input;

/** Returns the policy if it is valid; throws `invalid_input` with the given path otherwise. */
export function checkPolicy(policy: unknown, path: string): PolicyInput {
  return parseOrThrow(PolicyDraft, policy, {
    code: "invalid_input",
    what: "The policy",
    prefix: path,
  });
}

type AttemptCounts = Pick<DeliveryRow, "attempt" | "maxAttempts">;

/** The parts of a delivery that its policy depends on. */
export interface PolicyState extends AttemptCounts {
  readonly state: DeliveryRow["state"];
  readonly policy: SealedPolicy | undefined;
  /** Whether another receiver gets it when the attempts of this one are used up. */
  readonly hasFallback: boolean;
  /** Whether a coordinator decides about it when it is given up; the coordinator is notified first. */
  readonly isCoordinated: boolean;
  /** Milliseconds until a decision about its current state is due; 0 if never. */
  readonly leftMs: number;
}

/** Decides what follows a failed attempt: retry after a backoff, fallback, coordinator or dead letter. */
export function settlementAfterFailure(
  tried: PolicyState,
  failure: { readonly class: FailureClass; readonly random: () => number },
): Settlement {
  if (failure.class === "permanent") return giveUpSettlement("failed", tried.isCoordinated);
  if (isLastAttempt(tried)) return exhaustedSettlement("failed", tried);
  const delayMs = backoff(tried, tried.policy, failure.random);
  return { kind: "failed", becomes: "scheduled", delayMs, lapseMs: lapse(tried.policy, delayMs) };
}

/**
 * Decides what follows a release. Releasing accepted work counts as an attempt, because a crashing receiver
 * would otherwise get it forever. Releasing an offer that was only read does not count.
 */
export function settlementAfterRelease(tried: PolicyState): Settlement {
  const counts = tried.state === "accepted";
  if (counts && isLastAttempt(tried)) return exhaustedSettlement("released", tried);
  // Reading the offer does not extend the time to accept it.
  const lapseMs = counts ? lapse(tried.policy, 0) : tried.leftMs;
  return { kind: "released", becomes: "ready", counts, lapseMs };
}

/** All attempts are used up: it goes to the next receiver or to the coordinator, or is dead-lettered. */
const exhaustedSettlement = (
  kind: "failed" | "released",
  { hasFallback, isCoordinated }: PolicyState,
): Settlement => giveUpSettlement(kind, hasFallback || isCoordinated);

/**
 * Dead-letters at once, or (`isSeenTo`) keeps the delivery until the next process that polls has handled it.
 */
export function giveUpSettlement(kind: "failed" | "released", isSeenTo: boolean): Settlement {
  if (!isSeenTo) return { kind, becomes: "dead" };
  return { kind, becomes: "scheduled", delayMs: FOREVER_MS, lapseMs: AT_ONCE_MS };
}

/** Returns whether the attempts of a delivery are over and it only waits to be handled. */
export const isGivenUp = ({ state, readyAt, ...counts }: DeliveryRow): boolean =>
  state === "scheduled" && (isLastAttempt(counts) || isForever(readyAt));

/** Returns whether the current attempt is the last one. */
export const isLastAttempt = (counts: AttemptCounts): boolean =>
  counts.attempt >= counts.maxAttempts;

/** Returns the delay before the next attempt in milliseconds: exponential with full jitter. */
export function backoff(
  { attempt }: Pick<AttemptCounts, "attempt">,
  policy: SealedPolicy | undefined,
  random: () => number,
): number {
  const { firstMs, longestMs } = policy?.backoff ?? BACKOFF;
  return Math.floor(random() * Math.min(longestMs, firstMs * 2 ** Math.max(0, attempt - 1)));
}

/** Returns in how many milliseconds a decision is due if it can be claimed in `delayMs`; 0 if never. */
export function lapse(policy: SealedPolicy | undefined, delayMs: number): number {
  const timeoutMs = policy?.acceptMs ?? policy?.remindMs;
  return timeoutMs === undefined ? 0 : delayMs + timeoutMs;
}
