/**
 * Cancels open deliveries: records the cancellation and notifies their holders. Cancelling a failure report
 * is the decision to give up what failed.
 */
import * as z from "zod";
import { canonicalJson } from "../../base/digest.ts";
import { DeliveryId, Name } from "../../envelope/schema.ts";
import { parseOrThrow } from "../../envelope/violations.ts";
import {
  awaitsDecision,
  decisionEntries,
  FAILURE,
  failedAttemptName,
} from "../../history/failure-decisions.ts";
import { parseDeliveryId, unknownDelivery } from "../../history/unknown-delivery.ts";
import type { Author } from "../../memory/record.ts";
import { runWithoutSecrets } from "../../memory/redaction/secret-policy.ts";
import { isQueued, reportedFailureIn } from "../../store/parse-envelope.ts";
import { type DeliveryRow, isHeld, isOpen } from "../../store/rows.ts";
import type { DeliveryWithEnvelopeRow, Move, PutEntry } from "../../store/store.ts";
import { runFollowUp } from "../../workspace/follow-up.ts";
import { RETRY, retryWrite } from "../../workspace/retry.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { openJoinsOf } from "../due/join.ts";
import { decisionRecord, guardOf, moveDeliveries, trailStepOf } from "../due/moves.ts";
import { checkReason } from "./reason.ts";

/** Deliveries per cancellation record. */
const BATCH = 500;

const OneDelivery = z.strictObject({ delivery: DeliveryId });
const WholeTask = z.strictObject({ task: Name });

/** Cancels one delivery, or all open deliveries of a task. Returns those that were cancelled. */
export async function cancel(
  workspace: Workspace,
  by: Author,
  what: z.input<typeof OneDelivery> | z.input<typeof WholeTask>,
  reason: string,
): Promise<readonly DeliveryRow[]> {
  const how = { code: "invalid_input", what: "The cancellation" } as const;
  checkReason(reason);
  return runWithoutSecrets(workspace, { reason }, ({ reason: why }) => {
    if (Object.hasOwn(Object(what), "task")) {
      return cancelTask(workspace, by, parseOrThrow(WholeTask, what, how), why);
    }
    const { delivery } = parseOrThrow(OneDelivery, what, how);
    return cancelDeliveries(workspace, by, [delivery], why);
  });
}

/**
 * Cancels those of the deliveries that are open, and returns them as they are now. Throws `unknown_delivery`.
 */
export async function cancelDeliveries(
  workspace: Workspace,
  by: Author,
  ids: readonly string[],
  reason: string,
): Promise<readonly DeliveryRow[]> {
  const why = checkReason(reason);
  return retryWrite({ what: "The cancellation was overtaken" }, async () => {
    const found = await Promise.all(ids.map((id) => requireDelivery(workspace, id)));
    const open = found.filter(({ delivery }) => isOpen(delivery.state));
    const moved = await cancelOpen(workspace, by, open, why);
    if (moved === undefined) return RETRY;
    for (const delivery of moved) {
      await runFollowUp(`join ${delivery.id}`, () => openJoinsOf(workspace, delivery));
    }
    for (const { delivery } of onePerQueuedTask(open)) {
      await runFollowUp(`task ${delivery.task}`, () => workspace.duties.ended(workspace, delivery));
    }
    return moved;
  });
}

/** Returns one delivery per queued task, because the task may be over now. */
function onePerQueuedTask(
  ended: readonly DeliveryWithEnvelopeRow[],
): Iterable<DeliveryWithEnvelopeRow> {
  const queued = ended.filter(({ envelope }) => isQueued(envelope));
  return new Map(queued.map((each) => [each.delivery.task, each])).values();
}

async function requireDelivery(
  { store, name }: Workspace,
  id: string,
): Promise<DeliveryWithEnvelopeRow> {
  const found = await store.findDelivery(name, parseDeliveryId(id));
  if (found === undefined) throw unknownDelivery(id);
  return found;
}

/** Cancels everything of a task that is open, including what is handed on meanwhile. */
export async function cancelTask(
  workspace: Workspace,
  by: Author,
  { task, except = [] }: { readonly task: string; readonly except?: readonly string[] },
  reason: string,
): Promise<readonly DeliveryRow[]> {
  const name = parseOrThrow(Name, task, {
    code: "invalid_input",
    what: "The task",
    prefix: "task",
  });
  const cancelled: DeliveryRow[] = [];
  return retryWrite({ what: "The cancellation was overtaken" }, async () => {
    const line = await workspace.store.readLine(workspace.name, name);
    const rows = line.flatMap(({ deliveries }) => deliveries);
    const open = rows
      .filter(({ state, id }) => isOpen(state) && !except.includes(id))
      .map(({ id }) => id);
    if (open.length === 0) return cancelled;
    for (let from = 0; from < open.length; from += BATCH) {
      const batch = open.slice(from, from + BATCH);
      cancelled.push(...(await cancelDeliveries(workspace, by, batch, reason)));
    }
    return RETRY; // More may have been sent meanwhile, so read the line again.
  });
}

async function cancelOpen(
  workspace: Workspace,
  by: Author,
  open: readonly DeliveryWithEnvelopeRow[],
  reason: string,
): Promise<readonly DeliveryRow[] | undefined> {
  const [first] = open;
  if (first === undefined) return [];
  const asked = await findUndecidedReports(workspace, open);
  const record = {
    type: "decision",
    task: first.delivery.task,
    content: `${by.agent} cancelled "${first.delivery.task}": ${reason}`,
    data: { reason, ...(asked.length > 0 && { by: by.agent, decision: "abort" }) },
    relations: [
      { kind: "continues-from" as const, to: first.envelope.memory },
      ...asked.map(({ envelope }) => ({ kind: "caused-by" as const, to: envelope.memory })),
    ],
  };
  const trail = open.map(({ delivery }) => trailStepOf(delivery, "cancel"));
  const memory = decisionRecord(workspace, by, record, { trail });
  const moves = open.map(({ delivery }) => cancellation(delivery, reason));
  const decided = { by: by.agent, reason, record: memory.id };
  const given = await Promise.all(asked.map((each) => abortEntries(workspace, each, decided)));
  const entries = given.flat();
  return moveDeliveries(workspace, {
    agent: by.agent,
    memory,
    ...(entries.length > 0 && { entries }),
    moves,
  });
}

interface Report extends DeliveryWithEnvelopeRow {
  readonly failure: NonNullable<ReturnType<typeof reportedFailureIn>>;
}

/** Returns the failure reports that are not decided about. */
async function findUndecidedReports(
  workspace: Workspace,
  open: readonly DeliveryWithEnvelopeRow[],
): Promise<readonly Report[]> {
  const reports = open.flatMap((each) => {
    const failure = reportedFailureIn(each.envelope);
    return failure === undefined ? [] : [{ ...each, failure }];
  });
  const isOpenNow = await Promise.all(
    reports.map(({ failure }) => awaitsDecision(workspace, failure)),
  );
  return reports.filter((_, i) => isOpenNow[i]);
}

/** Returns the entries that record the decision to abort what failed. */
async function abortEntries(
  { store, name, clock }: Workspace,
  { delivery, failure }: Report,
  decided: { readonly by: string; readonly reason: string; readonly record: string },
): Promise<PutEntry[]> {
  const { attempt, class: kind, type } = failure;
  const of = { delivery: failure.delivery, attempt };
  const waits = await store.findEntry(name, FAILURE, failedAttemptName(of));
  const { id: report, task } = delivery;
  const what = { decision: "abort", failure: { class: kind, type }, report, task } as const;
  return decisionEntries(of, { at: clock.now(), ...decided, ...what }, waits);
}

function cancellation(delivery: DeliveryRow, reason: string): Move {
  const ends = {
    outcome: "cancelled" as const,
    reason: canonicalJson({ reason }, "invalid_input"),
  };
  return {
    delivery: delivery.id,
    seen: guardOf(delivery),
    to: "cancelled",
    event: "cancelled",
    ...(isHeld(delivery.state) && { ends }),
  };
}
