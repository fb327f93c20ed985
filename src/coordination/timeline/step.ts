/**
 * Builds one step of a timeline from a record on the chain: which agent did what, with whom and why. The
 * trail of a record states what it did to a delivery; a record without a trail is a note.
 */

import { addressOf, type Envelope } from "../../envelope/schema.ts";
import type { AttemptFailure } from "../../history/failure.ts";
import { DECISION_KINDS, type DecisionKind } from "../../history/failure-decisions.ts";
import type { Memory } from "../../memory/record.ts";
import { tryParseEnvelope } from "../../store/parse-envelope.ts";
import type { DeliveryStep, EnvelopeRow, TrailStep } from "../../store/rows.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { CLOSED_TAG } from "../tasks/write-closing.ts";

/** The kind of a step, by the verb in the trail of its record. */
const BY_VERB = {
  send: "handed_over",
  publish: "handed_over",
  extend: "added",
  accept: "accepted",
  complete: "completed",
  fail: "failed",
  decline: "declined",
  release: "released",
  ask: "asked",
  answer: "answered",
  cancel: "cancelled",
  redrive: "tried_again",
  discard: "given_up",
  reroute: "rerouted",
  reconstruct: "reconstructed",
  open: "opened",
} as const satisfies Record<TrailStep["verb"], string>;

/** Steps that leave no record. */
export type UnrecordedKind = "silent" | "not_accepted" | "stopped" | "deadline_passed" | "released";

/** The kind of a step. */
export type TimelineKind =
  | (typeof BY_VERB)[TrailStep["verb"]]
  | UnrecordedKind
  /** A failure was reported to the agent that decides about it. */
  | "reported"
  /** A decision about a failure. */
  | "decided"
  | "closed"
  | "noted";

/** A decision about a failure, and the agent that made it; "policy" is the policy of the handoff. */
export interface TimelineDecision {
  readonly decision: DecisionKind;
  readonly by: string;
  readonly reason?: string | undefined;
  /** The new receiver; absent if it did not change. */
  readonly to?: string | undefined;
}

/** One step of a timeline. Times are in milliseconds since 1970. */
export interface TimelineStep {
  /** When it was stored. */
  readonly at: number;
  readonly kind: TimelineKind;
  readonly agent: string;
  /** The receiver, and the action of the handoff, such as "needs_review". */
  readonly to?: string | undefined;
  readonly action?: string | undefined;
  readonly task: string;
  /** What happened, for people. */
  readonly text: string;
  /** The reason; absent if none was recorded. */
  readonly why?: string | undefined;
  /** The record and its type; absent for steps that left no record. */
  readonly memory?: string | undefined;
  readonly type?: string | undefined;
  /** The delivery it is about; for a report or a decision, the delivery that failed. */
  readonly delivery?: string | undefined;
  /** The number of the attempt; absent for steps without a delivery. */
  readonly attempt?: number | undefined;
  /** What went wrong; absent unless the step is about a failure. */
  readonly failure?: AttemptFailure | undefined;
  /** What was decided about the failure; absent if nothing. */
  readonly decision?: TimelineDecision | undefined;
  /** True if the step is about the report of a failure, not about the work. */
  readonly report?: true | undefined;
}

/** What is known about the tasks of the timeline. */
export interface TimelineContext {
  /** Envelopes by id. */
  readonly envelopes: ReadonlyMap<string, EnvelopeRow>;
  /** The ids of deliveries of failure reports. */
  readonly reports: ReadonlySet<string>;
}

/** Returns the step of a record. */
export function timelineStepOf(
  workspace: Workspace,
  memory: Memory,
  { envelopes, reports }: TimelineContext,
): TimelineStep {
  const { id, agent, storedAt: at, task = "", type, trail = [] } = memory;
  const row = envelopes.get(memory.envelope?.id ?? "");
  const envelope = row && tryParseEnvelope(workspace, row);
  const [did] = trail;
  return {
    at,
    agent: closerOf(memory) ?? agent,
    task,
    ...textFieldsOf(memory),
    kind: kindOf(memory),
    memory: id,
    type,
    ...(did && deliveryFieldsOf(did)),
    ...(did?.verb !== "publish" && reports.has(did?.delivery ?? "") && { report: true }),
    ...(envelope && handoffFieldsOf(memory, envelope)),
    ...failureFieldsOf(memory),
    ...decisionFieldsOf(memory),
  };
}

function kindOf({ trail: [did] = [], tags = [], type, data }: Memory): TimelineKind {
  if (did !== undefined) return BY_VERB[did.verb];
  if (tags.includes(CLOSED_TAG)) return "closed";
  return type === "decision" && isDecision(data?.["decision"]) ? "decided" : "noted";
}

const isDecision = (word: unknown): word is DecisionKind =>
  DECISION_KINDS.some((decision) => decision === word);

/** Returns the agent that closed a task, which is not always the author of the record. */
function closerOf({ tags = [], data }: Memory): string | undefined {
  const by = data?.["by"];
  return tags.includes(CLOSED_TAG) && typeof by === "string" ? by : undefined;
}

function textFieldsOf({ content, data, redacted }: Memory): Pick<TimelineStep, "text" | "why"> {
  if (redacted !== undefined) return { text: `(redacted: ${redacted.reason})` };
  const reason = data?.["reason"];
  return { text: content, ...(typeof reason === "string" ? { why: reason } : {}) };
}

function deliveryFieldsOf(did: TrailStep): Partial<TimelineStep> {
  if (did.verb === "publish") return {};
  const { delivery, attempt, to }: DeliveryStep = did;
  return { delivery, attempt, ...(to === undefined ? {} : { to }) };
}

/**
 * Returns the fields of a handoff. Its text is what the receiver reads first: the state, otherwise the
 * intent.
 */
function handoffFieldsOf(memory: Memory, envelope: Envelope): Partial<TimelineStep> {
  const { failure } = envelope;
  const [did] = memory.trail ?? [];
  const to = (did?.verb !== "publish" && did?.to) || addressOf(envelope.to);
  if (failure !== undefined && did?.verb === "send") {
    const { delivery, attempt, retries: _, ...details } = failure;
    return { kind: "reported", to, text: failure.message, delivery, attempt, failure: details };
  }
  // Records that the hub wrote have their own text.
  if (did?.verb === "reconstruct" || did?.verb === "reroute" || did?.verb === "open") return { to };
  const summary = memory.data?.["summary"];
  const text = typeof summary === "string" ? summary : (envelope.state ?? envelope.intent);
  return { to, action: envelope.action, text };
}

function failureFieldsOf({
  agent,
  trail: [did] = [],
  data,
  redacted,
}: Memory): Partial<TimelineStep> {
  if (did?.verb !== "fail" || redacted !== undefined || data === undefined) return {};
  const { decision: _, ...failure } = data as { decision?: unknown } & AttemptFailure;
  return { text: failure.message, failure: { by: agent, ...failure } };
}

type DecisionData = Partial<TimelineDecision & Pick<TimelineStep, "attempt" | "delivery">>;

/** Returns the decision: of the policy after a failed attempt, otherwise of the agent that made it. */
function decisionFieldsOf({ agent, data, type }: Memory): Partial<TimelineStep> {
  const recorded = data?.["decision"];
  if (isDecision(recorded) && type === "decision") {
    const { by = agent, reason, to, delivery, attempt } = data as DecisionData;
    const of = delivery === undefined ? {} : { delivery, attempt };
    const why = reason === undefined ? {} : { reason };
    const who = to === undefined ? {} : { to };
    return { kind: "decided", ...of, decision: { decision: recorded, by, ...why, ...who } };
  }
  const policy = (recorded ?? {}) as { decision?: unknown; attempt?: number; of?: number };
  if (!isDecision(policy.decision)) return {};
  const reason = `attempt ${(policy.attempt ?? 1) - 1} of ${policy.of} failed`;
  return { decision: { decision: policy.decision, by: "policy", reason } };
}
