/**
 * Reports a delivery that is given up to the coordinator (or the hub), as an envelope of the same task. The
 * report is sent before the delivery is dead-lettered, with a key made of delivery and attempt, so that
 * repeating it after a crash does not create a second report.
 */

import { clip } from "../../base/clip.ts";
import { canonicalJson } from "../../base/digest.ts";
import { BatonError, type ErrorCode, isBatonError } from "../../base/errors.ts";
import { deadLetterStopped } from "../../delivery/due/report-dead-letter.ts";
import { sendHandoff } from "../../delivery/send/send.ts";
import { addressOf, type Draft, type Envelope } from "../../envelope/schema.ts";
import { type AttemptFailure, failureOf } from "../../history/failure.ts";
import {
  FAILURE,
  type FailedAttempt,
  failedAttemptName,
  findDecision,
  reportKey,
  reportOf,
  type StoredFailure,
} from "../../history/failure-decisions.ts";
import { SYSTEM, systemAuthor } from "../../memory/system-author.ts";
import { parseEnvelope } from "../../store/parse-envelope.ts";
import { isHeld, isOpen, roleInbox } from "../../store/rows.ts";
import type { DeliveryWithEnvelopeRow, PutEntry } from "../../store/store.ts";
import { entryValue, toEntryText } from "../../workspace/entries.ts";
import type { CoordinationFields, GiveUpDetails, Workspace } from "../../workspace/workspace.ts";
import { askingPolicy } from "./asking-policy.ts";
import { COORDINATOR, readCoordinatorAvailability } from "./coordinators.ts";

type ReportedFailure = NonNullable<Envelope["failure"]>;

/**
 * Returns true if the failure of a handoff is reported: always if its task is queued; otherwise if a
 * coordinator is registered and the policy is not `exhausted: "park"`. Reports themselves, and handoffs of
 * the hub, are not reported.
 */
export async function isCoordinated(
  workspace: Workspace,
  { failure, from, policy, queued }: CoordinationFields,
): Promise<boolean> {
  if (failure !== undefined || from.agent === SYSTEM) return false;
  if (queued) return true;
  if (policy?.exhausted === "park") return false;
  return (await readCoordinatorAvailability(workspace)).isRegistered;
}

/** Sends the report of a failure, unless it exists. Returns the id of the report's delivery. */
export async function reportFailure(
  workspace: Workspace,
  due: DeliveryWithEnvelopeRow,
  ended: GiveUpDetails,
): Promise<string> {
  const { store, name } = workspace;
  const of = { delivery: due.delivery.id, attempt: ended.attempt };
  const kept = entryValue<StoredFailure>(
    await store.findEntry(name, FAILURE, failedAttemptName(of)),
  );
  const before = kept?.before ?? 0;
  const sent = await reportOf(workspace, of, before);
  const stands =
    sent !== undefined &&
    (isOpen(sent.delivery.state) || (await findDecision(workspace, of)) !== undefined);
  if (stands) return sent.delivery.id;
  return send(workspace, due, { of, ended, before: sent === undefined ? before : before + 1 });
}

interface ReportRequest {
  readonly of: FailedAttempt;
  readonly ended: GiveUpDetails;
  /** The number of earlier reports that were cancelled. */
  readonly before: number;
}

async function send(
  workspace: Workspace,
  due: DeliveryWithEnvelopeRow,
  request: ReportRequest,
): Promise<string> {
  const tried = await lastFailureOf(workspace, due, request.ended);
  const author = await systemAuthor(workspace);
  for (const [to, policy] of await receivers(workspace)) {
    for (const short of [undefined, ...CLIP_STEPS]) {
      const failure = short === undefined ? tried : clipFailure(tried, short);
      const draft = draftOf(workspace, due, { ...request, failure, short, to, policy });
      const sending = {
        apart: true,
        bare: short?.bare,
        entries: async () => [await failureEntryOf(workspace, due, request)],
        failure: reportedFailureOf(request.of, failure),
        ...(short?.bare ? {} : { passesOn: parseEnvelope(workspace, due.envelope) }),
      };
      try {
        const outcome = await sendHandoff(workspace, author, draft, sending);
        if (outcome.kind !== "sent") throw new Error("a handoff outside a lease cannot lose one");
        const [delivery] = outcome.deliveries;
        if (delivery !== undefined) return delivery.id;
      } catch (error) {
        if (!isBatonError(error)) throw error;
        const sent = await reportOf(workspace, request.of, request.before);
        if (sent !== undefined) return sent.delivery.id; // Another process reported it first.
        if (TOO_LARGE.includes(error.code)) continue;
        if (!UNREACHABLE.includes(error.code)) throw error;
        break;
      }
    }
  }
  throw new BatonError("inbox_full", {
    message: `The failure of ${request.of.delivery} cannot be reported: no coordinator can be reached, nor the hub.`,
    hint: "It is retried automatically when due deliveries are processed.",
  });
}

const TOO_LARGE: readonly ErrorCode[] = ["limit_exceeded", "invalid_envelope"];
const UNREACHABLE: readonly ErrorCode[] = [
  ...(["agent_disabled", "circuit_open", "inbox_full", "unknown_agent", "unknown_role"] as const),
];

/** Returns the receivers of a report with the policy of each; the next is used if one cannot be reached. */
async function receivers(
  workspace: Workspace,
): Promise<readonly (readonly [string, Draft["policy"]])[]> {
  const { isActive, arePersons } = await readCoordinatorAvailability(workspace);
  const { limits } = workspace;
  const hub = [SYSTEM, askingPolicy(limits, { id: SYSTEM })] as const;
  if (!isActive) return [hub];
  const asked = askingPolicy(limits, { kind: arePersons ? "person" : "agent" });
  return [[roleInbox(COORDINATOR), asked], hub];
}

/** Returns how the last attempt ended: as it is about to be recorded, or as it was recorded. */
async function lastFailureOf(
  { store, name }: Workspace,
  { delivery }: DeliveryWithEnvelopeRow,
  { ends, late }: GiveUpDetails,
): Promise<AttemptFailure> {
  const last = (await store.readAttempts(name, delivery.id)).at(-1);
  const holder = isHeld(delivery.state) ? delivery.holder : "";
  const ended = ends ? { ...ends, holder } : last;
  return failureOf(ended, late);
}

/** Returns the entry that exists until the failure is decided. */
async function failureEntryOf(
  workspace: Workspace,
  { delivery }: DeliveryWithEnvelopeRow,
  { of, before }: ReportRequest,
): Promise<PutEntry> {
  const entry = await workspace.store.findEntry(workspace.name, FAILURE, failedAttemptName(of));
  const value: StoredFailure = {
    at: workspace.clock.now(),
    asked: [],
    before,
    record: delivery.settledBy,
    task: delivery.task,
  };
  const basedOn = entry?.revision ?? 0;
  return { kind: FAILURE, name: failedAttemptName(of), value: toEntryText(value), basedOn };
}

const reportedFailureOf = (
  { delivery, attempt }: FailedAttempt,
  failure: AttemptFailure,
): ReportedFailure => ({
  ...failure,
  attempt,
  delivery,
  retries: Math.max(0, attempt - 1),
});

/** How much of each text the report carries if not all of it fits; the attempt has the rest. */
interface ClipLimits {
  readonly text: number;
  readonly hints: number;
  /** Omits the ledger of the task, which may be what does not fit. */
  readonly bare?: true;
}
const FIRST_CLIP: ClipLimits = { text: 1_000, hints: 5 };
const CLIP_STEPS: readonly ClipLimits[] = [FIRST_CLIP, { text: 200, hints: 0, bare: true }];

const clipFailure = (
  { attempted, hints, message, ...failure }: AttemptFailure,
  { text, hints: most }: ClipLimits,
): AttemptFailure => ({
  ...failure,
  ...(attempted === undefined ? {} : { attempted: clip(attempted, text) }),
  hints: hints.slice(0, most).map((hint) => clip(hint, text)),
  message: clip(message, text),
});

interface ReportDraftInput extends ReportRequest {
  readonly failure: AttemptFailure;
  readonly short: ClipLimits | undefined;
  readonly to: string;
  readonly policy: Draft["policy"];
}

function draftOf(
  workspace: Workspace,
  { delivery, envelope: row }: DeliveryWithEnvelopeRow,
  how: ReportDraftInput,
): Draft {
  const envelope = parseEnvelope(workspace, row);
  const { of, ended, failure, short, to, policy, before } = how;
  const { text } = short ?? FIRST_CLIP;
  const why = giveUpReasonOf(workspace, { delivery, envelope: row }, { ended, failure });
  return {
    to,
    task: delivery.task,
    action: "failed",
    intent: short?.bare ? clip(envelope.intent, text) : envelope.intent,
    state: `${envelope.from.agent} → ${addressOf(envelope.to)}: ${why}: ${clip(failure.message, text)}`,
    next: [`Decide about ${delivery.id}: retry, reroute, ask or abort.`],
    parents: [envelope.id],
    priority: "high",
    policy,
    key: reportKey(of, before),
    ...(envelope.run === undefined ? {} : { run: envelope.run }),
  };
}

function giveUpReasonOf(
  { limits, versions }: Workspace,
  { delivery, envelope }: DeliveryWithEnvelopeRow,
  { ended, failure }: Pick<ReportDraftInput, "ended" | "failure">,
): string {
  const { hop } = parseEnvelope({ versions }, envelope);
  if (failure.type === "hop_limit") {
    return `hop ${hop} exceeds the limit of ${limits.hops}; the line was stopped`;
  }
  if (ended.late) return "its deadline passed";
  if (failure.class === "permanent") return `${delivery.receiver} failed permanently`;
  return `all attempts of ${delivery.receiver} were used up`;
}

/** Reports that a waiting delivery can never start, and dead-letters it. */
export async function failWaitingDelivery(
  workspace: Workspace,
  due: DeliveryWithEnvelopeRow,
  { type, message }: Pick<ReportedFailure, "type" | "message">,
): Promise<void> {
  await deadLetterStopped(
    workspace,
    due,
    canonicalJson({ message, reason: type }, "invalid_input"),
  );
}
