/**
 * What happens to a handoff that is not taken, or not done. One object says it (on the envelope, by
 * the receiver's profile or by the workspace); it is decided here, once, by whoever is alive, and
 * the stores carry it out. Without a policy an unclaimed handoff waits without limit: only claimed
 * tries count.
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

/** The sender wants to hear soon that somebody has it. */
export const DIRECT = { acceptMs: 15_000, attempts: 3 } as const satisfies SealedPolicy;

/** Waits of 0–1 s, 0–2 s, 0–4 s …: full jitter, so that many failures do not retry at once. */
const BACKOFF = { firstMs: 1_000, longestMs: 30_000 };

/** Long enough to mean: until somebody decides. Added to any time it stays a safe integer. */
export const FOREVER_MS = 2 ** 52;
export const isForever = (at: number): boolean => at >= FOREVER_MS;
/** Due at once: whoever looks next decides. */
export const AT_ONCE_MS = 1;

/** What was said nearest to the handoff counts; undefined when nobody said anything. */
export function resolvePolicy(
  now: number,
  ...from: readonly (PolicyInput | undefined)[]
): SealedPolicy | undefined {
  const said = from
    .filter((each) => each !== undefined)
    .map((each) => withDeadline(expandPolicy(each), now));
  return said.length === 0 ? undefined : Object.assign({}, ...said);
}

/** With its deadline as a time; of two ways to say it, the sooner. */
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

export function checkPolicy(policy: unknown, path: string): PolicyInput {
  return parseOrThrow(PolicyDraft, policy, {
    code: "invalid_input",
    what: "The policy",
    prefix: path,
  });
}

type AttemptCounts = Pick<DeliveryRow, "attempt" | "maxAttempts">;

/** The delivery as far as its policy goes. */
export interface PolicyState extends AttemptCounts {
  readonly state: DeliveryRow["state"];
  readonly policy: SealedPolicy | undefined;
  /** Somebody else can have it when this one's tries are used up. */
  readonly hasFallback: boolean;
  /** Somebody decides about it when it is given up, and has to be told first. */
  readonly isCoordinated: boolean;
  /** Milliseconds until somebody has to decide about it as it is; 0: never. */
  readonly leftMs: number;
}

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
 * Leaving work unsettled counts as a try, or a crashing receiver would get it for ever. An offer that
 * was only looked at does not.
 */
export function settlementAfterRelease(tried: PolicyState): Settlement {
  const counts = tried.state === "accepted";
  if (counts && isLastAttempt(tried)) return exhaustedSettlement("released", tried);
  // Having looked at it does not give anybody more time to accept it.
  const lapseMs = counts ? lapse(tried.policy, 0) : tried.leftMs;
  return { kind: "released", becomes: "ready", counts, lapseMs };
}

/** All tries are used up: the next receiver gets it, or nobody. */
const exhaustedSettlement = (
  kind: "failed" | "released",
  { hasFallback, isCoordinated }: PolicyState,
): Settlement => giveUpSettlement(kind, hasFallback || isCoordinated);

/** Parked at once, or kept until whoever looks next has seen to it. */
export function giveUpSettlement(kind: "failed" | "released", isSeenTo: boolean): Settlement {
  if (!isSeenTo) return { kind, becomes: "dead" };
  return { kind, becomes: "scheduled", delayMs: FOREVER_MS, lapseMs: AT_ONCE_MS };
}

/** Its tries are over, and it is kept only until somebody has seen to it. */
export const isGivenUp = ({ state, readyAt, ...tries }: DeliveryRow): boolean =>
  state === "scheduled" && (isLastAttempt(tries) || isForever(readyAt));

export const isLastAttempt = (tries: AttemptCounts): boolean => tries.attempt >= tries.maxAttempts;

export function backoff(
  { attempt }: Pick<AttemptCounts, "attempt">,
  policy: SealedPolicy | undefined,
  random: () => number,
): number {
  const { firstMs, longestMs } = policy?.backoff ?? BACKOFF;
  return Math.floor(random() * Math.min(longestMs, firstMs * 2 ** Math.max(0, attempt - 1)));
}

/** When somebody has to decide about it, once it can be claimed in `delayMs`; 0: never. */
export function lapse(policy: SealedPolicy | undefined, delayMs: number): number {
  const patience = policy?.acceptMs ?? policy?.remindMs;
  return patience === undefined ? 0 : delayMs + patience;
}
