/**
 * What is known of a delivery that was given up: whether somebody is to decide about it, and what was
 * decided. Kept as entries by delivery and try, so that of two who decide one stands.
 */

import { canonicalJson } from "../base/digest.ts";
import { BatonError } from "../base/errors.ts";
import type { Envelope } from "../envelope/schema.ts";
import { SYSTEM } from "../memory/agents.ts";
import { memoryOf } from "../memory/record.ts";
import { type DeliveryRow, type EntryRow, isHeld, isOpen } from "../store/rows.ts";
import type { DeliveryWithEnvelopeRow, Lease, PutEntry } from "../store/store.ts";
import { entriesOf, entryValue, toEntryText } from "../workspace/entries.ts";
import type { Workspace } from "../workspace/workspace.ts";
import { deliveriesOfKey } from "./key-entry.ts";

/** The kinds of entries: failures that nobody has decided about, and decisions. */
export const FAILURE = "failure";
export const DECISION = "decision";

/** A delivery that was given up, after which try. */
export interface FailedAttempt {
  readonly delivery: string;
  readonly attempt: number;
}

/** What was given up, and can be tried again. */
export const GIVEN_UP_STATES: readonly DeliveryRow["state"][] = ["dead", "expired"];

/** A failure that waits for a decision. */
export interface StoredFailure {
  readonly at: number;
  /** Agents who were asked for a decision. */
  readonly asked: readonly string[];
  /** How often it was reported before: reports that were taken back. */
  readonly before: number;
  /** What whoever failed wrote down; empty where nobody did. */
  readonly record: string;
  readonly task: string;
}

export const DECISION_KINDS = ["retry", "reroute", "ask", "abort"] as const;
export type DecisionKind = (typeof DECISION_KINDS)[number];

/** What was decided, for good. */
export interface StoredFailureDecision {
  readonly at: number;
  readonly by: string;
  readonly decision: Exclude<DecisionKind, "ask">;
  /** What it is about, in short. */
  readonly failure: Pick<NonNullable<Envelope["failure"]>, "class" | "type">;
  readonly reason: string;
  /** The memory that says so. */
  readonly record: string;
  /** The delivery of the report; absent if none was sent. */
  readonly report?: string;
  readonly task: string;
  /** Who has it tried from then on, where that is another. */
  readonly to?: string | undefined;
}

/** A decision as its entry holds it: the reason is in the memory; an empty `report` means none. */
type StoredDecision = Omit<StoredFailureDecision, "reason" | "report"> & {
  readonly report: string;
};

export const failedAttemptName = ({ delivery, attempt }: FailedAttempt): string =>
  canonicalJson([delivery, attempt], "invalid_input");

export function failedAttemptOf(entry: Pick<EntryRow, "name">): FailedAttempt {
  const [delivery = "", attempt = 0] = JSON.parse(entry.name) as [string, number];
  return { delivery, attempt };
}

/** Every try of a delivery. */
const attemptNamePrefix = (delivery: string): string => `[${JSON.stringify(delivery)},`;

export async function findDecision(
  workspace: Workspace,
  of: FailedAttempt,
): Promise<StoredFailureDecision | undefined> {
  const { store, name } = workspace;
  return readDecision(workspace, await store.findEntry(name, DECISION, failedAttemptName(of)));
}

/** With the reason from the memory, where a redaction reaches it. */
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
    reason: typeof reason === "string" ? reason : "(it has been taken away)",
    ...(report === "" ? {} : { report }),
  };
}

/** All that was decided about a delivery, first to last. */
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

/** What a decision leaves besides its record, which alone says why; the failure waits no more. */
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

/** Whether what a report is about is given up still, and nobody has decided about it. */
export async function awaitsDecision(workspace: Workspace, of: FailedAttempt): Promise<boolean> {
  const { store, name } = workspace;
  const given = (await store.findDelivery(name, of.delivery))?.delivery;
  const isGivenUp = given?.attempt === of.attempt && GIVEN_UP_STATES.includes(given.state);
  return isGivenUp && (await findDecision(workspace, of)) === undefined;
}

/** A report ends with a decision: who has it decides, or leaves it to the hub. */
export async function refuseUndecided(
  workspace: Workspace,
  { attempt, delivery }: FailedAttempt,
  report: Pick<Lease, "delivery" | "fence">,
): Promise<void> {
  const { store, name } = workspace;
  if (!(await awaitsDecision(workspace, { attempt, delivery }))) return;
  const now = (await store.findDelivery(name, report.delivery))?.delivery;
  const isTheirs = now?.fence === report.fence && isHeld(now.state);
  if (!isTheirs) return; // Whoever lost it is told that.
  throw new BatonError("not_open", {
    message: `It reports the failure of ${delivery}, and nobody has decided about that.`,
    path: "delivery",
    hint: "Decide: agent.failures.decide(work, { decision, reason }), or baton failure decide. Who declines it leaves it to the hub.",
    details: { attempt, delivery },
  });
}

/** The key a report is sent with: the same failure is reported once. */
export const reportKey = ({ delivery, attempt }: FailedAttempt, before: number): string =>
  `failure/${delivery}/${attempt}/${before}`;

/** The report of a failure that was sent so, if it was. */
export async function reportOf(
  workspace: Workspace,
  of: FailedAttempt,
  before: number,
): Promise<DeliveryWithEnvelopeRow | undefined> {
  const { store, name } = workspace;
  const [report] = await deliveriesOfKey(workspace, SYSTEM, reportKey(of, before));
  return report === undefined ? undefined : store.findDelivery(name, report);
}

/** The report by which somebody is to decide about a delivery as it is; undefined: nobody is. */
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
