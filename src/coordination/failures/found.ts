/** A failure as it stands: what was given up, the report of that, and what was decided. */

import { isGivenUp } from "../../delivery/settings/policy.ts";
import type { Envelope } from "../../envelope/schema.ts";
import { failureOf } from "../../history/failure.ts";
import {
  decisionOn,
  FAILURE,
  GIVEN_UP,
  type GivenUpTry,
  type KeptDecision,
  type KeptFailure,
  reportOf,
  tryName,
} from "../../history/failure-decisions.ts";
import { deliveryId, unknownDelivery } from "../../history/unknown-delivery.ts";
import { parseEnvelope } from "../../store/parse-envelope.ts";
import { isHeld, isOpen } from "../../store/rows.ts";
import type { Claimed } from "../../store/store.ts";
import { changeEntry, entryValue } from "../../workspace/entries.ts";
import type { Workspace } from "../../workspace/workspace.ts";

export interface Found {
  readonly of: GivenUpTry;
  /** What was given up. */
  readonly failed: Claimed;
  readonly failure: NonNullable<Envelope["failure"]>;
  /** The report that counts; undefined where nobody was told. */
  readonly report: Claimed | undefined;
  /** What is kept until somebody has decided. */
  readonly kept: { readonly value: KeptFailure; readonly revision: number } | undefined;
  readonly decision: KeptDecision | undefined;
}

/** By the delivery that was given up, or by that of its report. */
export async function findFailure(workspace: Workspace, id: string): Promise<Found> {
  const { store, name } = workspace;
  const found = await store.findDelivery(name, deliveryId(id));
  if (found === undefined) throw unknownDelivery(id);
  const { failure } = parseEnvelope(workspace, found.envelope);
  if (failure === undefined) return findTry(workspace, await reportedTry(workspace, found));
  const { delivery, attempt } = failure;
  return findTry(workspace, { delivery, attempt }, found);
}

/** The try it is about: the one to come, where nobody claimed that and it is being given up. */
async function reportedTry(workspace: Workspace, { delivery }: Claimed): Promise<GivenUpTry> {
  const { store, name } = workspace;
  const of = { delivery: delivery.id, attempt: delivery.attempt };
  if (!isOpen(delivery.state)) return of;
  const next = { ...of, attempt: of.attempt + 1 };
  const isNext = (await store.findEntry(name, FAILURE, tryName(next))) !== undefined;
  return isNext ? next : of;
}

export async function findTry(
  workspace: Workspace,
  of: GivenUpTry,
  given?: Claimed,
): Promise<Found> {
  const { store, name } = workspace;
  const [failed, entry, decision] = await Promise.all([
    store.findDelivery(name, of.delivery),
    store.findEntry(name, FAILURE, tryName(of)),
    decisionOn(workspace, of),
  ]);
  if (failed === undefined) throw unknownDelivery(of.delivery);
  const value = entryValue<KeptFailure>(entry);
  const kept = value && entry && { value, revision: entry.revision };
  const told = decision?.report;
  const report =
    given ??
    (await (told ? store.findDelivery(name, told) : reportOf(workspace, of, value?.before ?? 0)));
  const failure = await failureIn(workspace, of, report);
  return { of, failed, failure, report, kept, decision };
}

/** As it was reported; where nobody was told, as its tries say. */
async function failureIn(
  workspace: Workspace,
  of: GivenUpTry,
  report: Claimed | undefined,
): Promise<NonNullable<Envelope["failure"]>> {
  const reported = report && parseEnvelope(workspace, report.envelope).failure;
  if (reported !== undefined) return reported;
  const attempts = await workspace.store.readAttempts(workspace.name, of.delivery);
  const last = attempts.find(({ attempt }) => attempt === of.attempt);
  return { ...failureOf(last), ...of, retries: Math.max(0, of.attempt - 1) };
}

/**
 * Where what was reported stands. `pending`: it is still being given up (or its holder was heard after
 * all, and goes on); `over`: it was settled, taken back or tried again by hand meanwhile.
 */
export function standingOf(
  { failed: { delivery }, of }: Pick<Found, "failed" | "of">,
  now: number,
): "given_up" | "pending" | "over" {
  const { state, attempt, deadline } = delivery;
  if (GIVEN_UP.includes(state)) return attempt === of.attempt ? "given_up" : "over";
  if (!isOpen(state) || attempt > of.attempt) return "over";
  const isLate = deadline !== 0 && deadline <= now;
  const isPending = attempt < of.attempt || isHeld(state) || isGivenUp(delivery) || isLate;
  return isPending ? "pending" : "over";
}

/** Nobody will decide about it: it is not among what waits for that any more. */
export async function forget(workspace: Workspace, of: GivenUpTry): Promise<void> {
  await changeEntry<KeptFailure>(workspace, { kind: FAILURE, name: tryName(of) }, () => ({
    value: undefined,
  }));
}
