/**
 * Carries out a decision about a failure. One store operation writes the decision (of two concurrent
 * decisions one stands), the memory that states it, and its effect on the delivery. What follows (ending a
 * task, closing the report) is repeatable: any process that finds it undone completes it.
 */
import { clip } from "../../base/clip.ts";
import { isBatonError } from "../../base/errors.ts";
import { FORMAT_LIMITS } from "../../base/limits.ts";
import { openJoinsOf } from "../../delivery/due/join.ts";
import { moveDeliveries } from "../../delivery/due/moves.ts";
import { cancelDeliveries } from "../../delivery/settle/cancel.ts";
import { checkRedrive, redriveOne } from "../../delivery/settle/dead-letters.ts";
import { complete } from "../../delivery/settle/settle.ts";
import type { SealedPolicy } from "../../envelope/schema.ts";
import { decisionEntries, type StoredFailureDecision } from "../../history/failure-decisions.ts";
import { type Author, type MemoryInput, writeRecord } from "../../memory/record.ts";
import { parseEnvelope } from "../../store/parse-envelope.ts";
import { isOpen } from "../../store/rows.ts";
import type { DeliveryWithEnvelopeRow, PutEntry } from "../../store/store.ts";
import { runFollowUp } from "../../workspace/follow-up.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { endTask } from "../tasks/end-task.ts";
import { findTaskLedger } from "../tasks/read.ts";
import type { CheckedDecision } from "./decision.ts";
import { type FailureSnapshot, findFailureByAttempt } from "./find-failure.ts";

/** The agent that decides. `settle` completes the report if that agent holds it as work. */
export interface Decider {
  readonly author: Author;
  readonly settle?: ((summary: string) => Promise<void>) | undefined;
}

/** A decision that ends the failure: every kind except "ask". */
export type FinalDecision = CheckedDecision & {
  readonly decision: Exclude<CheckedDecision["decision"], "ask">;
};

/**
 * Writes a decision and its effect. Returns the decision as stored; undefined if another decision was made
 * first, or the delivery has changed.
 */
export async function applyDecision(
  workspace: Workspace,
  { author }: Decider,
  found: FailureSnapshot,
  decision: FinalDecision,
): Promise<StoredFailureDecision | undefined> {
  const record = workspace.ids.mint("memory");
  const again =
    decision.decision === "abort"
      ? undefined
      : await checkRedrive(workspace, {
          ...decision.changes,
          ...(decision.to && { to: decision.to }),
        });
  const kept = storedDecisionOf(workspace, author, found, {
    ...decision,
    record,
    to: again?.receiver,
  });
  const recordInput = recordOf(found, kept, decision);
  const entries = decisionEntries(found.of, kept, found.kept);
  if (again === undefined) return abort(workspace, author, { said: recordInput, entries, kept });
  const moved = await redriveOne(workspace, author, found.failed, {
    receiver: again.receiver,
    edits: { ...again.edits, ...renewPassedDeadline(workspace, found.failed, decision.delayMs) },
    record: recordInput,
    entries: [...entries, ...(await openTaskGuard(workspace, found))],
    delayMs: decision.delayMs,
  });
  return moved && kept;
}

function storedDecisionOf(
  { clock }: Workspace,
  { agent: by }: Author,
  { failure, failed, report }: FailureSnapshot,
  { decision, reason, record, to }: FinalDecision & { readonly record: string },
): StoredFailureDecision {
  const { class: kind, type } = failure;
  return {
    at: clock.now(),
    by,
    decision,
    failure: { class: kind, type },
    reason,
    record,
    ...(report && { report: report.delivery.id }),
    task: failed.delivery.task,
    ...(to === undefined ? {} : { to }),
  };
}

/** Returns the entry that makes a redrive fail if the task is closed meanwhile. */
async function openTaskGuard(
  workspace: Workspace,
  { failed }: FailureSnapshot,
): Promise<PutEntry[]> {
  const task = await findTaskLedger(workspace, failed.delivery.task);
  return task?.kept.queue === undefined ? [] : [task.put];
}

/** Gives a delivery whose deadline will have passed at the redrive as much time as it had originally. */
function renewPassedDeadline(
  workspace: Workspace,
  { delivery, envelope }: DeliveryWithEnvelopeRow,
  delayMs = 0,
): { readonly policy?: SealedPolicy } {
  const from = workspace.clock.now() + delayMs;
  if (delivery.deadline === 0 || delivery.deadline > from) return {};
  const { policy = {} } = parseEnvelope(workspace, envelope);
  const hadMs = Math.max(1, delivery.deadline - delivery.sentAt);
  return { policy: { ...policy, deadline: from + Math.min(hadMs, FORMAT_LIMITS.durationMs) } };
}

type DecisionRecordInput = Pick<MemoryInput, "content" | "data" | "id" | "relations" | "type">;

function recordOf(
  { of, failure, failed, report, kept }: FailureSnapshot,
  { by, decision, reason, record, to }: StoredFailureDecision,
  { delayMs }: CheckedDecision,
): DecisionRecordInput {
  const { task } = failed.delivery;
  const causes = [kept?.value.record ?? "", report?.envelope.memory ?? ""].filter(Boolean);
  const does = DECISION_EFFECTS[decision];
  return {
    id: record,
    type: "decision",
    content: `${by} decided about the failure of "${task}" (${failure.type}): ${does}${to ? ` by ${to}` : ""}. Reason: ${reason}`,
    data: {
      ...of,
      by,
      decision,
      ...(delayMs ? { delayMs } : {}),
      failure: { class: failure.class, type: failure.type },
      reason,
      ...(to === undefined ? {} : { to }),
    },
    relations:
      causes.length === 0
        ? [{ kind: "continues-from", to: failed.envelope.memory }]
        : causes.map((to) => ({ kind: "caused-by" as const, to })),
  };
}

const DECISION_EFFECTS = {
  abort: "the task is aborted",
  reroute: "it is handled",
  retry: "it is retried",
} as const;

interface AbortInput {
  readonly said: DecisionRecordInput;
  readonly entries: readonly PutEntry[];
  readonly kept: StoredFailureDecision;
}

async function abort(
  workspace: Workspace,
  author: Author,
  { said, entries, kept }: AbortInput,
): Promise<StoredFailureDecision | undefined> {
  const { ids, clock, limits, branch } = workspace;
  const context = { ids, now: clock.now(), limits, branch };
  const { record: memory } = writeRecord(author, { ...said, task: kept.task }, context);
  const moved = await moveDeliveries(workspace, {
    agent: author.agent,
    memory,
    entries,
    moves: [],
  });
  return moved && kept;
}

/** Completes what follows from a decision. Repeatable: doing it again changes nothing. */
export async function finishDecision(
  workspace: Workspace,
  decider: Decider,
  { of, report: seen }: FailureSnapshot,
  decision: StoredFailureDecision,
): Promise<void> {
  const { report, failed } = await findFailureByAttempt(workspace, of);
  if (seen !== undefined && seen.delivery.id !== report?.delivery.id) {
    await closeReport(workspace, decider, seen, `another report of the same failure was decided`);
  }
  if (decision.decision === "abort") {
    const { by, task, reason, record: causedBy } = decision;
    const except = report === undefined ? [] : [report.delivery.id];
    await endTask(workspace, decider.author, task, { as: "failed", by, reason, except, causedBy });
    await runFollowUp(`join ${of.delivery}`, () => openJoinsOf(workspace, failed.delivery));
  }
  const { by, decision: what, reason } = decision;
  if (report !== undefined) {
    await closeReport(workspace, decider, report, `decided by ${by}: ${what}. ${reason}`);
  }
}

/** Closes a report: completes it if this agent holds it, otherwise cancels it. */
export async function closeReport(
  workspace: Workspace,
  { author, settle }: Decider,
  { delivery, envelope }: DeliveryWithEnvelopeRow,
  why: string,
): Promise<void> {
  if (!isOpen(delivery.state)) return;
  const summary = clip(why, FORMAT_LIMITS.textLength);
  if (delivery.state === "accepted" && delivery.holder === author.agent) {
    const holder = { ...author, instance: delivery.instance }; // The accepting session stays its holder.
    try {
      if (settle === undefined)
        await complete(workspace, holder, { delivery, envelope }, { summary });
      else await settle(summary);
      return;
    } catch (error) {
      if (!isBatonError(error) || !NOT_HELD.includes(error.code)) throw error;
    }
  }
  await cancelDeliveries(workspace, author, [delivery.id], summary);
}

const NOT_HELD: readonly string[] = ["already_settled", "cancelled", "lease_lost"];
