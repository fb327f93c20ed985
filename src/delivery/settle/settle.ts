/**
 * Settles work: complete, fail, decline, release or ask. Every settlement except release leaves a record that
 * continues from the acceptance; the policy decides what happens to the delivery then.
 */
import * as z from "zod";
import { canonicalJson } from "../../base/digest.ts";
import { FORMAT_LIMITS } from "../../base/limits.ts";
import { recheckGaps } from "../../context/view/gaps.ts";
import type { DetectedSecret } from "../../envelope/mask-secrets.ts";
import { Failure as FailureReport } from "../../envelope/schema.ts";
import { parseOrThrow } from "../../envelope/violations.ts";
import { DECLINED } from "../../history/failure.ts";
import { refuseUndecided } from "../../history/failure-decisions.ts";
import { leaseLost } from "../../history/lease-lost.ts";
import {
  mergeWorkBranch,
  type WorkMerge,
  workspaceAfterClosing,
  workspaceForWork,
} from "../../memory/branches/work-branch.ts";
import { type Author, type MemoryInput, writeRecord } from "../../memory/record.ts";
import { runWithoutSecrets, withSecrets } from "../../memory/redaction/secret-policy.ts";
import { refusalError } from "../../memory/refusals.ts";
import type { ViewGap } from "../../memory/view-gap.ts";
import {
  expectedOutputsOf,
  gapsOf,
  isQueued,
  parseEnvelope,
  reportedFailureIn,
  stableFieldsOf,
} from "../../store/parse-envelope.ts";
import { type DeliveryRow, type EnvelopeRow, isOpen, type NewMemory } from "../../store/rows.ts";
import type {
  ClaimNext,
  DeliveryWithEnvelopeRow,
  SettleDelivery,
  Settlement,
  SettleOutcome,
} from "../../store/store.ts";
import { runFollowUp } from "../../workspace/follow-up.ts";
import { onMainBranch, type Workspace } from "../../workspace/workspace.ts";
import { openJoinsOf } from "../due/join.ts";
import { afterExhaustion, giveUp } from "../due/process-due.ts";
import { requireExpectedResult } from "../send/expected-outputs.ts";
import { typeViolations } from "../send/require-registered.ts";
import { type CheckedResult, checkResult, type Result } from "../send/result.ts";
import {
  giveUpSettlement,
  isForever,
  isGivenUp,
  isLastAttempt,
  type PolicyState,
  settlementAfterFailure,
  settlementAfterRelease,
} from "../settings/policy.ts";
import { nextFallback } from "../settings/receivers.ts";
import { TRANSITIONS } from "./transitions.ts";

const Text = z.string().min(1).max(FORMAT_LIMITS.textLength);

/** A failure as the holder reports it. */
export type Failure = z.input<typeof FailureReport>;

/** The outcome of settling. */
export type SettleResult =
  | {
      readonly kind: "settled";
      readonly delivery: DeliveryRow;
      /** Outcome of merging the work's branch; absent unless completing merges it. */
      readonly merge?: WorkMerge;
      /** Secrets that were redacted; absent if there were none. */
      readonly secrets?: readonly DetectedSecret[];
      /** What was claimed and accepted in the same transaction; absent if nothing was. */
      readonly next?: DeliveryWithEnvelopeRow;
    }
  /** The sender extended the handoff: read the new envelope, then settle again. */
  | { readonly kind: "extended"; readonly envelope: EnvelopeRow };

/** Work that is held, as its holder completes it. */
export interface HeldWork extends DeliveryWithEnvelopeRow {
  /** What its holder found missing in addition to the gaps of the envelope. */
  readonly gaps?: readonly ViewGap[];
  /** What to claim and accept in the same transaction. */
  readonly next?: ClaimNext | undefined;
}

/** Completes work with a result. Throws `invalid_result` if it differs from what the handoff expects. */
export function complete(
  workspace: Workspace,
  holder: Author,
  held: HeldWork,
  given: Result,
): Promise<SettleResult> {
  return runWithoutSecrets(workspace, { result: given }, async ({ result }, secrets) =>
    withSecrets(await completeWith(workspace, holder, held, result), secrets),
  );
}

async function completeWith(
  workspace: Workspace,
  holder: Author,
  { gaps: found = [], next, ...hold }: HeldWork,
  result: Result,
): Promise<SettleResult> {
  const checked = checkResult(result);
  const { summary, confidence, criteria, outcome, outputs } = checked;
  // Without expected outputs nothing is awaited, so that a hub which is closed next still completes it.
  const unmet = checkExpected(workspace, hold, checked);
  if (unmet !== undefined) await unmet;
  const failure = reportedFailureIn(hold.envelope);
  if (failure !== undefined) {
    const { id: delivery, fence } = hold.delivery;
    await refuseUndecided(workspace, failure, { delivery, fence });
  }
  const known = [...gapsOf(workspace, hold.envelope), ...found];
  const gaps = known.length === 0 ? known : await recheckGaps(workspace, known);
  const data = {
    ...(criteria && { criteria }),
    ...(gaps.length > 0 && { gaps }),
    ...(outcome && { outcome }),
    ...(outputs && { outputs }),
  };
  const settled = await settle(workspace, holder, hold, {
    verb: "complete",
    settlement: { kind: "completed" },
    reason: "",
    next,
    memory: {
      type: "action",
      content: summary ?? `${holder.agent} completed "${hold.envelope.task}".`,
      ...(Object.keys(data).length === 0 ? {} : { data }),
      ...(confidence === undefined ? {} : { confidence }),
    },
  });
  if (settled.kind !== "settled") return settled;
  const merge = await mergeWorkBranch(workspace, holder, hold.envelope);
  return merge === undefined ? settled : { ...settled, merge };
}

/** Returns the result if it is valid and matches what the handoff expects; throws `invalid_result`. */
export async function checkResultFor(
  workspace: Workspace,
  { envelope }: Pick<DeliveryWithEnvelopeRow, "envelope">,
  result: Result,
): Promise<CheckedResult> {
  const checked = checkResult(result);
  await checkExpected(workspace, { envelope }, checked);
  return checked;
}

/** Checks the result against what the handoff expects; undefined if it expects nothing. */
function checkExpected(
  workspace: Workspace,
  { envelope }: Pick<DeliveryWithEnvelopeRow, "envelope">,
  result: CheckedResult,
): Promise<void> | undefined {
  const expects = expectedOutputsOf(workspace, envelope);
  if (expects.length === 0) return undefined;
  return requireExpectedResult(
    (...output) => typeViolations(workspace, ...output),
    expects,
    result,
  );
}

/** Reports that an attempt failed; the policy decides whether it is retried. */
export function fail(
  workspace: Workspace,
  holder: Author,
  hold: DeliveryWithEnvelopeRow,
  given: Failure,
): Promise<SettleResult> {
  return runWithoutSecrets(workspace, { failure: given }, async ({ failure }, secrets) =>
    withSecrets(await failWith(workspace, holder, hold, failure), secrets),
  );
}

async function failWith(
  workspace: Workspace,
  holder: Author,
  hold: DeliveryWithEnvelopeRow,
  failure: Failure,
): Promise<SettleResult> {
  const checked = parseOrThrow(FailureReport, failure, {
    code: "invalid_input",
    what: "The failure",
    prefix: "failure",
  });
  const permanent = checked.class === "permanent";
  const settlement = settlementAfterFailure(await policyStateOf(workspace, hold, permanent), {
    class: checked.class,
    random: workspace.random,
  });
  return settle(workspace, holder, hold, {
    verb: "fail",
    settlement,
    permanent,
    reason: canonicalJson(checked, "invalid_input", "failure"),
    memory: {
      type: "mistake",
      content: `${holder.agent} failed at "${hold.envelope.task}": ${checked.message}`,
      data: { ...checked, ...policyDecided(hold.delivery, settlement) },
    },
  });
}

/** Returns the retry that the handoff's policy decides after a failed attempt; empty if there is none. */
function policyDecided({ attempt, maxAttempts: of }: DeliveryRow, settlement: Settlement): object {
  if (settlement.kind !== "failed" || settlement.becomes !== "scheduled") return {};
  const { delayMs: inMs } = settlement;
  if (isForever(inMs)) return {};
  return { decision: { attempt: attempt + 1, by: "policy", decision: "retry", inMs, of } };
}

/**
 * Returns the parts of the work that its policy depends on. Whether a coordinator decides is queried only if
 * the work may be given up.
 */
async function policyStateOf(
  workspace: Workspace,
  hold: DeliveryWithEnvelopeRow,
  isEnd: boolean,
): Promise<PolicyState> {
  const { delivery, envelope } = hold;
  const { attempt, maxAttempts, state, receiver, lapseAt } = delivery;
  const leftMs = lapseAt === 0 ? 0 : Math.max(1, lapseAt - workspace.clock.now());
  const sealed = stableFieldsOf(envelope);
  const hasFallback = nextFallback(sealed, receiver) !== undefined;
  const isCoordinated =
    (isEnd || isLastAttempt(delivery)) && (await needsCoordination(workspace, hold));
  return { attempt, maxAttempts, state, policy: sealed.policy, hasFallback, isCoordinated, leftMs };
}

/** Returns whether it must be handled when it is given up; a failure report then goes to the hub. */
async function needsCoordination(
  workspace: Workspace,
  hold: DeliveryWithEnvelopeRow,
): Promise<boolean> {
  if (reportedFailureIn(hold.envelope) !== undefined) return true;
  return workspace.duties.isCoordinated(workspace, parseEnvelope(workspace, hold.envelope));
}

/** Asks the sender a question: the work waits for the answer, and its next holder gets the answer with it. */
export async function ask(
  workspace: Workspace,
  holder: Author,
  hold: DeliveryWithEnvelopeRow,
  given: string,
): Promise<SettleResult> {
  return runWithoutSecrets(workspace, { question: given }, async ({ question }, secrets) => {
    const asked = await settle(workspace, holder, hold, {
      verb: "ask",
      settlement: { kind: "asked" },
      ...holderStatement("question", question, {
        type: "question",
        content: `${holder.agent} asks ${hold.delivery.sender} about "${hold.envelope.task}"`,
      }),
    });
    return withSecrets(asked, secrets);
  });
}

/** Declines work with a reason; it is not retried by this receiver. */
export function decline(
  workspace: Workspace,
  holder: Author,
  hold: DeliveryWithEnvelopeRow,
  given: string,
): Promise<SettleResult> {
  return runWithoutSecrets(workspace, { reason: given }, async ({ reason }, secrets) =>
    withSecrets(await declineWith(workspace, holder, hold, reason), secrets),
  );
}

async function declineWith(
  workspace: Workspace,
  holder: Author,
  hold: DeliveryWithEnvelopeRow,
  reason: string,
): Promise<SettleResult> {
  const statement = holderStatement("reason", reason, {
    type: "action",
    content: `${holder.agent} declined "${hold.envelope.task}"`,
  });
  if (await needsCoordination(workspace, hold)) {
    return declineReported(workspace, holder, hold, { said: statement, reason });
  }
  return settle(workspace, holder, hold, {
    verb: "decline",
    settlement: { kind: "declined" },
    ...statement,
  });
}

/**
 * Declines work that a coordinator decides about. It is not over: it is given up like a permanent failure, so
 * that it can go to another receiver, and a crash does not hide it.
 */
function declineReported(
  workspace: Workspace,
  holder: Author,
  hold: DeliveryWithEnvelopeRow,
  {
    said,
    reason: message,
  }: { readonly said: Pick<SettleRequest, "memory">; readonly reason: string },
): Promise<SettleResult> {
  const data = { class: "permanent", hints: [], message, type: DECLINED };
  return settle(workspace, holder, hold, {
    verb: "fail",
    from: TRANSITIONS.decline.from,
    settlement: giveUpSettlement("failed", true),
    permanent: true,
    reason: canonicalJson(data, "invalid_input", "reason"),
    memory: { ...said.memory, content: said.memory?.content ?? message, data },
  });
}

/** Returns the holder's question or reason, for the attempt and for the record. */
function holderStatement(
  field: "question" | "reason",
  text: string,
  { type, content }: { readonly type: string; readonly content: string },
): Pick<SettleRequest, "reason" | "memory"> {
  const how = { code: "invalid_input", what: `The ${field}`, prefix: field } as const;
  const said = { [field]: parseOrThrow(Text, text, how) };
  return {
    reason: canonicalJson(said, "invalid_input", field),
    memory: { type, content: `${content}: ${text}`, data: said },
  };
}

/** Releases the work: counts as an attempt if it was accepted, and leaves no record on the chain. */
async function release(
  workspace: Workspace,
  holder: Author,
  hold: DeliveryWithEnvelopeRow,
): Promise<SettleResult> {
  return settle(workspace, holder, hold, {
    verb: "release",
    settlement: settlementAfterRelease(await policyStateOf(workspace, hold, false)),
    reason: "",
  });
}

/** Releases the work even if the sender has extended it: the next holder gets the newest envelope. */
export async function releaseNewest(
  workspace: Workspace,
  holder: Author,
  hold: DeliveryWithEnvelopeRow,
): Promise<DeliveryRow> {
  const outcome = await release(workspace, holder, hold);
  if (outcome.kind === "settled") return outcome.delivery;
  return releaseNewest(workspace, holder, { ...hold, envelope: outcome.envelope });
}

interface SettleRequest {
  readonly verb: "complete" | "fail" | "decline" | "release" | "ask";
  /** The states it may start from; default: those of the verb. */
  readonly from?: readonly DeliveryRow["state"][];
  readonly settlement: Settlement;
  readonly reason: string;
  readonly memory?: MemoryInput;
  /** A retry could not fix it: does not count against the receiver's circuit breaker. */
  readonly permanent?: boolean;
  /** What to claim and accept in the same transaction. */
  readonly next?: ClaimNext | undefined;
}

async function settle(
  workspace: Workspace,
  holder: Author,
  hold: DeliveryWithEnvelopeRow,
  ending: SettleRequest,
): Promise<SettleResult> {
  const { delivery, envelope } = hold;
  const recordOn = (open: Workspace) => settlementRecord(open, holder, hold, ending);
  const outcome = await settleOn(workspaceForWork(workspace, envelope), recordOn, {
    lease: {
      delivery: delivery.id,
      fence: delivery.fence,
      envelope: envelope.id,
      leaseMs: workspace.limits.leaseMs,
    },
    from: ending.from ?? TRANSITIONS[ending.verb].from,
    settlement: ending.settlement,
    reason: ending.reason,
    ...(ending.next && { next: ending.next }),
  });
  switch (outcome.kind) {
    case "settled":
      await runFollowUp(`${ending.verb} ${delivery.id}`, () =>
        afterSettlement(onMainBranch(workspace), { delivery: outcome.delivery, envelope }, ending),
      );
      return isGivenUp(outcome.delivery) ? reloadDelivery(workspace, outcome) : outcome;
    case "extended":
      return outcome;
    case "lease_lost":
      throw leaseLost(delivery.id, outcome.delivery);
    default:
      throw await refusalError(workspace, outcome);
  }
}

/**
 * Reads a given-up delivery again, since it has usually been handled by now. A failed read changes nothing.
 */
async function reloadDelivery<Outcome extends Extract<SettleOutcome, { kind: "settled" }>>(
  { store, name }: Workspace,
  settled: Outcome,
): Promise<Outcome> {
  let { delivery } = settled;
  await runFollowUp(`read ${delivery.id}`, async () => {
    delivery = (await store.findDelivery(name, delivery.id))?.delivery ?? delivery;
  });
  return { ...settled, delivery };
}

/** Settles on the branch of the work, or, if that was closed meanwhile, on the branch that replaced it. */
async function settleOn(
  workspace: Workspace,
  recordOn: (workspace: Workspace) => NewMemory | undefined,
  settling: Omit<SettleDelivery, "branch" | "workspace" | "memory">,
): Promise<SettleOutcome> {
  const { store, name, branch } = workspace;
  const memory = recordOn(workspace);
  const recorded = memory === undefined ? {} : { memory };
  const outcome = await store.settleDelivery({ workspace: name, branch, ...settling, ...recorded });
  if (outcome.kind !== "branch_closed") return outcome;
  return settleOn(await workspaceAfterClosing(workspace, outcome.branch), recordOn, settling);
}

/**
 * Runs what follows a settlement: the next receiver, a strike against this one, joins that open. The delivery
 * is settled whatever happens here: a step that the store does not accept now is due again later; only a
 * strike against the receiver can be lost.
 */
async function afterSettlement(
  workspace: Workspace,
  ended: DeliveryWithEnvelopeRow,
  { permanent = false }: SettleRequest,
): Promise<void> {
  const { delivery } = ended;
  if (isGivenUp(delivery)) await giveUp(workspace, ended);
  else if (delivery.state === "dead") {
    await afterExhaustion(workspace, ended, { parked: true, permanent });
  } else if (delivery.followers !== "" && !isOpen(delivery.state)) {
    await openJoinsOf(workspace, delivery);
  }
  if (!isOpen(delivery.state) && isQueued(ended.envelope)) {
    await workspace.duties.ended(workspace, delivery);
  }
}

/**
 * Returns the record of a settlement, if it has one; it continues from the acceptance or, for an offer, from the handoff.
 */
function settlementRecord(
  workspace: Workspace,
  holder: Author,
  { delivery, envelope }: DeliveryWithEnvelopeRow,
  { verb, memory }: SettleRequest,
): NewMemory | undefined {
  if (memory === undefined) return undefined;
  const { ids, clock, limits, branch } = workspace;
  const to = delivery.state === "accepted" ? delivery.acceptedBy : envelope.memory;
  const trail = [{ attempt: delivery.attempt, delivery: delivery.id, verb }];
  return writeRecord(
    holder,
    { task: envelope.task, relations: [{ kind: "continues-from", to }], ...memory },
    { ids, now: clock.now(), limits, branch, hallmark: { trail } },
  ).record;
}
