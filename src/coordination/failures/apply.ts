/**
 * Carrying a decision out. What counts is one store operation: the decision (of two who decide at once
 * one stands), the memory that says so, and what it does to the delivery. What follows (a task that is
 * ended, the report that is closed) can be done again by whoever finds it undone.
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

/** Who decides, and how the report is settled where it is that one's work. */
export interface Decider {
  readonly author: Author;
  readonly settle?: ((summary: string) => Promise<void>) | undefined;
}

export type FinalDecision = CheckedDecision & {
  readonly decision: Exclude<CheckedDecision["decision"], "ask">;
};

/** The decision as it is kept; undefined when somebody was quicker, or what it is about has changed. */
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
  const said = recordOf(found, kept, decision);
  const entries = decisionEntries(found.of, kept, found.kept);
  if (again === undefined) return abort(workspace, author, { said, entries, kept });
  const moved = await redriveOne(workspace, author, found.failed, {
    receiver: again.receiver,
    edits: { ...again.edits, ...renewPassedDeadline(workspace, found.failed, decision.delayMs) },
    record: said,
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

/** Tried again only while its task is not closed: whoever closes it meanwhile changes the ground. */
async function openTaskGuard(
  workspace: Workspace,
  { failed }: FailureSnapshot,
): Promise<PutEntry[]> {
  const task = await findTaskLedger(workspace, failed.delivery.task);
  return task?.kept.queue === undefined ? [] : [task.put];
}

/** One whose deadline will have passed when it is tried again is given as much time as it had. */
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
    content: `${by} decided about the failure of "${task}" (${failure.type}): ${does}${to ? ` by ${to}` : ""}. ${reason}`,
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
  abort: "its task is given up",
  reroute: "it is tried",
  retry: "it is tried again",
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
  const { ids, clock, limits } = workspace;
  const pen = { ids, now: clock.now(), limits };
  const { record: memory } = writeRecord(author, { ...said, task: kept.task }, pen);
  const moved = await moveDeliveries(workspace, {
    agent: author.agent,
    memory,
    entries,
    moves: [],
  });
  return moved && kept;
}

/** What follows from a decision: done again by whoever finds it undone, it changes nothing. */
export async function finishDecision(
  workspace: Workspace,
  decider: Decider,
  { of, report: seen }: FailureSnapshot,
  decision: StoredFailureDecision,
): Promise<void> {
  const { report, failed } = await findFailureByAttempt(workspace, of);
  if (seen !== undefined && seen.delivery.id !== report?.delivery.id) {
    await closeReport(workspace, decider, seen, `another report of it was decided about`);
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

/** The report is completed by whoever has it, or taken back: nothing is left to decide. */
export async function closeReport(
  workspace: Workspace,
  { author, settle }: Decider,
  { delivery, envelope }: DeliveryWithEnvelopeRow,
  why: string,
): Promise<void> {
  if (!isOpen(delivery.state)) return;
  const summary = clip(why, FORMAT_LIMITS.textLength);
  if (delivery.state === "accepted" && delivery.holder === author.agent) {
    const holder = { ...author, instance: delivery.instance }; // Whose work it is does not change.
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
