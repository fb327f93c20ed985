/** Reads a failure: the delivery that was given up, its report, and the decision about it. */

import { isGivenUp } from "../../delivery/settings/policy.ts";
import type { Envelope } from "../../envelope/schema.ts";
import { failureOf } from "../../history/failure.ts";
import {
  FAILURE,
  type FailedAttempt,
  failedAttemptName,
  findDecision,
  GIVEN_UP_STATES,
  reportOf,
  type StoredFailure,
  type StoredFailureDecision,
} from "../../history/failure-decisions.ts";
import { parseDeliveryId, unknownDelivery } from "../../history/unknown-delivery.ts";
import { parseEnvelope } from "../../store/parse-envelope.ts";
import { isHeld, isOpen } from "../../store/rows.ts";
import type { DeliveryWithEnvelopeRow } from "../../store/store.ts";
import { changeEntry, entryValue } from "../../workspace/entries.ts";
import type { Workspace } from "../../workspace/workspace.ts";

/** A failure as it was read. */
export interface FailureSnapshot {
  readonly of: FailedAttempt;
  /** The delivery that was given up. */
  readonly failed: DeliveryWithEnvelopeRow;
  readonly failure: NonNullable<Envelope["failure"]>;
  /** The current report; undefined if none was sent. */
  readonly report: DeliveryWithEnvelopeRow | undefined;
  /** The entry that exists until the failure is decided. */
  readonly kept: { readonly value: StoredFailure; readonly revision: number } | undefined;
  readonly decision: StoredFailureDecision | undefined;
}

/**
 * Finds a failure by the delivery that was given up, or by the delivery of its report. Throws
 * `unknown_delivery`.
 */
export async function findFailure(workspace: Workspace, id: string): Promise<FailureSnapshot> {
  const { store, name } = workspace;
  const found = await store.findDelivery(name, parseDeliveryId(id));
  if (found === undefined) throw unknownDelivery(id);
  const { failure } = parseEnvelope(workspace, found.envelope);
  if (failure === undefined)
    return findFailureByAttempt(workspace, await reportedAttemptOf(workspace, found));
  const { delivery, attempt } = failure;
  return findFailureByAttempt(workspace, { delivery, attempt }, found);
}

/**
 * Returns the attempt that the failure is about: the next one if no agent claimed it and the delivery is
 * being given up.
 */
async function reportedAttemptOf(
  workspace: Workspace,
  { delivery }: DeliveryWithEnvelopeRow,
): Promise<FailedAttempt> {
  const { store, name } = workspace;
  const of = { delivery: delivery.id, attempt: delivery.attempt };
  if (!isOpen(delivery.state)) return of;
  const next = { ...of, attempt: of.attempt + 1 };
  const isNext = (await store.findEntry(name, FAILURE, failedAttemptName(next))) !== undefined;
  return isNext ? next : of;
}

/** Finds a failure by delivery and attempt. Throws `unknown_delivery`. */
export async function findFailureByAttempt(
  workspace: Workspace,
  of: FailedAttempt,
  given?: DeliveryWithEnvelopeRow,
): Promise<FailureSnapshot> {
  const { store, name } = workspace;
  const [failed, entry, decision] = await Promise.all([
    store.findDelivery(name, of.delivery),
    store.findEntry(name, FAILURE, failedAttemptName(of)),
    findDecision(workspace, of),
  ]);
  if (failed === undefined) throw unknownDelivery(of.delivery);
  const value = entryValue<StoredFailure>(entry);
  const kept = value && entry && { value, revision: entry.revision };
  const reportId = decision?.report;
  const report =
    given ??
    (await (reportId
      ? store.findDelivery(name, reportId)
      : reportOf(workspace, of, value?.before ?? 0)));
  const failure = await failureIn(workspace, of, report);
  return { of, failed, failure, report, kept, decision };
}

/** Returns the failure as it was reported; without a report, as the attempts state it. */
async function failureIn(
  workspace: Workspace,
  of: FailedAttempt,
  report: DeliveryWithEnvelopeRow | undefined,
): Promise<NonNullable<Envelope["failure"]>> {
  const reported = report && parseEnvelope(workspace, report.envelope).failure;
  if (reported !== undefined) return reported;
  const attempts = await workspace.store.readAttempts(workspace.name, of.delivery);
  const last = attempts.find(({ attempt }) => attempt === of.attempt);
  return { ...failureOf(last), ...of, retries: Math.max(0, of.attempt - 1) };
}

/**
 * Returns the status of a reported failure. `pending`: it is still being given up, or its holder responded
 * after all and continues. `over`: it was settled, cancelled or redriven meanwhile.
 */
export function failureStatusOf(
  { failed: { delivery }, of }: Pick<FailureSnapshot, "failed" | "of">,
  now: number,
): "given_up" | "pending" | "over" {
  const { state, attempt, deadline } = delivery;
  if (GIVEN_UP_STATES.includes(state)) return attempt === of.attempt ? "given_up" : "over";
  if (!isOpen(state) || attempt > of.attempt) return "over";
  const isLate = deadline !== 0 && deadline <= now;
  const isPending = attempt < of.attempt || isHeld(state) || isGivenUp(delivery) || isLate;
  return isPending ? "pending" : "over";
}

/**
 * Deletes the entry of a failure that needs no decision any more, so that it is no longer listed as waiting.
 */
export async function deleteFailureEntry(workspace: Workspace, of: FailedAttempt): Promise<void> {
  await changeEntry<StoredFailure>(
    workspace,
    { kind: FAILURE, name: failedAttemptName(of) },
    () => ({
      value: undefined,
    }),
  );
}
