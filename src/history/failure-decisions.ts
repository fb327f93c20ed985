/**
 * Reads and builds the entries for deliveries that were given up (dead or expired): failures that wait for a
 * decision, and the decisions made. Their names contain delivery and attempt, so that only one of two
 * concurrent decisions is recorded.
 */

import { canonicalJson } from "../base/digest.ts";
import { BatonError } from "../base/errors.ts";
import type { Envelope } from "../envelope/schema.ts";
import { memoryOf } from "../memory/record.ts";
import { SYSTEM } from "../memory/system-author.ts";
import { type DeliveryRow, type EntryRow, isHeld, isOpen } from "../store/rows.ts";
import type { DeliveryWithEnvelopeRow, Lease, PutEntry } from "../store/store.ts";
import { entriesOf, entryValue, toEntryText } from "../workspace/entries.ts";
import type { Workspace } from "../workspace/workspace.ts";
import { deliveriesOfKey } from "./key-entry.ts";

/** The kinds of entries: failures that wait for a decision, and decisions. */
export const FAILURE = "failure";
export const DECISION = "decision";

/** A delivery that was given up, and its last attempt. */
export interface FailedAttempt {
  readonly delivery: string;
  /** Number of the last attempt. */
  readonly attempt: number;
}

/** States of deliveries that were given up and can be redriven. */
export const GIVEN_UP_STATES: readonly DeliveryRow["state"][] = ["dead", "expired"];

/** A failure that waits for a decision. */
export interface StoredFailure {
  /** Time of the failure in milliseconds. */
  readonly at: number;
  /** The agents that were asked for a decision. */
  readonly asked: readonly string[];
  /** Number of earlier reports of this failure, which were withdrawn. */
  readonly before: number;
  /** The memory in which the holder described the failure; empty if there is none. */
  readonly record: string;
  readonly task: string;
}

/** What a coordinator can decide about a failure. */
export const DECISION_KINDS = ["retry", "reroute", "ask", "abort"] as const;
export type DecisionKind = (typeof DECISION_KINDS)[number];

/** A final decision. */
export interface StoredFailureDecision {
  /** Time of the decision in milliseconds. */
  readonly at: number;
  /** The agent that decided. */
  readonly by: string;
  readonly decision: Exclude<DecisionKind, "ask">;
  /** Short description of the failure it is about. */
  readonly failure: Pick<NonNullable<Envelope["failure"]>, "class" | "type">;
  readonly reason: string;
  /** The memory that records the decision. */
  readonly record: string;
  /** The delivery of the report; absent if none was sent. */
  readonly report?: string;
  readonly task: string;
  /** The new receiver, if it changed. */
  readonly to?: string | undefined;
}

/** A decision as its entry stores it: the reason is in the memory; an empty `report` means none. */
type StoredDecision = Omit<StoredFailureDecision, "reason" | "report"> & {
  readonly report: string;
};

/** Returns the name of the entry for a failed attempt. */
export const failedAttemptName = ({ delivery, attempt }: FailedAttempt): string =>
  canonicalJson([delivery, attempt], "invalid_input");

/** Parses the name of an entry. */
export function failedAttemptOf(entry: Pick<EntryRow, "name">): FailedAttempt {
  const [delivery = "", attempt = 0] = JSON.parse(entry.name) as [string, number];
  return { delivery, attempt };
}

/** Prefix of the entry names of all attempts of a delivery. */
const attemptNamePrefix = (delivery: string): string => `[${JSON.stringify(delivery)},`;

/** Returns the decision about a failed attempt; undefined if there is none. */
export async function findDecision(
  workspace: Workspace,
  of: FailedAttempt,
): Promise<StoredFailureDecision | undefined> {
  const { store, name } = workspace;
  return readDecision(workspace, await store.findEntry(name, DECISION, failedAttemptName(of)));
}

/** Reads the reason from the memory, so that a redaction applies to it. */
async function readDecision(
  { store, name }: Workspace,
  entry: EntryRow | undefined,
): Promise<StoredFailureDecision | undefined> {
  const stored = entryValue<StoredDecision>(entry);
  if (stored === undefined) return undefined;
  const { report, ...value } = stored;
  const [row] = await store.readMemories(name, [value.record]);
  const reason = row && memoryOf(row).data?.["reason"];
  return {
    ...value,
    reason: typeof reason === "string" ? reason : "(redacted)",
    ...(report === "" ? {} : { report }),
  };
}

/** Returns all decisions about a delivery, oldest first. */
export async function listDecisions(
  workspace: Workspace,
  delivery: string,
): Promise<readonly (StoredFailureDecision & Pick<FailedAttempt, "attempt">)[]> {
  const all: (StoredFailureDecision & Pick<FailedAttempt, "attempt">)[] = [];
  for await (const entry of entriesOf(workspace, DECISION, attemptNamePrefix(delivery))) {
    const value = await readDecision(workspace, entry);
    if (value !== undefined) all.push({ ...value, attempt: failedAttemptOf(entry).attempt });
  }
  return all.sort((a, b) => a.at - b.at);
}

/**
 * Returns the entries to write with a decision: the decision without its reason (only the memory contains
 * that), and the removal of the waiting failure.
 */
export function decisionEntries(
  of: FailedAttempt,
  { reason: _, report = "", ...decision }: StoredFailureDecision,
  waits: Pick<EntryRow, "revision"> | undefined,
): PutEntry[] {
  const name = failedAttemptName(of);
  const stored: StoredDecision = { ...decision, report };
  return [
    { kind: DECISION, name, value: toEntryText(stored), basedOn: 0 },
    ...(waits ? [{ kind: FAILURE, name, value: undefined, basedOn: waits.revision }] : []),
  ];
}

/** Returns true if the delivery is still given up after that attempt, and there is no decision. */
export async function awaitsDecision(workspace: Workspace, of: FailedAttempt): Promise<boolean> {
  const { store, name } = workspace;
  const given = (await store.findDelivery(name, of.delivery))?.delivery;
  const isGivenUp = given?.attempt === of.attempt && GIVEN_UP_STATES.includes(given.state);
  return isGivenUp && (await findDecision(workspace, of)) === undefined;
}

/**
 * Throws `not_open` if the holder of a report settles it without a decision. It must decide, or decline to
 * return the report to the hub.
 */
export async function refuseUndecided(
  workspace: Workspace,
  { attempt, delivery }: FailedAttempt,
  report: Pick<Lease, "delivery" | "fence">,
): Promise<void> {
  const { store, name } = workspace;
  if (!(await awaitsDecision(workspace, { attempt, delivery }))) return;
  const now = (await store.findDelivery(name, report.delivery))?.delivery;
  const isTheirs = now?.fence === report.fence && isHeld(now.state);
  if (!isTheirs) return; // A lost lease is reported elsewhere.
  throw new BatonError("not_open", {
    message: `This work reports the failure of ${delivery}, which needs a decision first.`,
    path: "delivery",
    hint: "Decide it with agent.failures.decide(work, { decision, reason }), or decline the work to leave the decision to the hub.",
    details: { attempt, delivery },
  });
}

/** Returns the idempotency key of a report: the same failure is reported once. */
export const reportKey = ({ delivery, attempt }: FailedAttempt, before: number): string =>
  `failure/${delivery}/${attempt}/${before}`;

/** Returns the report that was sent with that key; undefined if there is none. */
export async function reportOf(
  workspace: Workspace,
  of: FailedAttempt,
  before: number,
): Promise<DeliveryWithEnvelopeRow | undefined> {
  const { store, name } = workspace;
  const [report] = await deliveriesOfKey(workspace, SYSTEM, reportKey(of, before));
  return report === undefined ? undefined : store.findDelivery(name, report);
}

/** Returns the open report that asks for a decision about a delivery; undefined if there is none. */
export async function openReportOf(
  workspace: Workspace,
  { id: delivery, attempt }: DeliveryRow,
): Promise<string | undefined> {
  const { store, name } = workspace;
  const of = { delivery, attempt };
  const kept = entryValue<StoredFailure>(
    await store.findEntry(name, FAILURE, failedAttemptName(of)),
  );
  if (kept === undefined) return undefined;
  const report = await reportOf(workspace, of, kept.before);
  return report !== undefined && isOpen(report.delivery.state) ? report.delivery.id : undefined;
}
