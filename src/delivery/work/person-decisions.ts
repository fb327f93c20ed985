/**
 * Decisions of a person about a handoff, each in one step: approve, reply, reject or edit. The result is
 * checked against what the handoff expects before the work is accepted, so that a mistake does not cost an
 * attempt. Edited work goes back to its sender as a new envelope; the original envelope is unchanged.
 */

import * as z from "zod";
import { clip } from "../../base/clip.ts";
import { canonicalJson } from "../../base/digest.ts";
import { BatonError } from "../../base/errors.ts";
import { FORMAT_LIMITS } from "../../base/limits.ts";
import { EDITED_ACTION } from "../../envelope/built-in-actions.ts";
import {
  Address,
  type DraftOf,
  DraftSchema,
  type Envelope,
  EnvelopeId,
  type EnvelopeOf,
} from "../../envelope/schema.ts";
import { parseOrThrow } from "../../envelope/violations.ts";
import { type Delivery, deliveryOf } from "../../history/delivery.ts";
import { parseDeliveryId, unknownDelivery } from "../../history/unknown-delivery.ts";
import { withoutQuarantined } from "../../memory/quarantine/quarantine-mark.ts";
import { redactSecrets } from "../../memory/redaction/secret-policy.ts";
import type { DeliveryWithEnvelopeRow } from "../../store/store.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { processDue } from "../due/process-due.ts";
import { acceptNext } from "../receive/accept.ts";
import { notAcceptable } from "../receive/not-acceptable.ts";
import type { Receipt } from "../receive/receipt.ts";
import type { Worker } from "../receive/worker.ts";
import { isTextType, requireExpectedShape } from "../send/expected-outputs.ts";
import { enforcePayload } from "../send/require-registered.ts";
import { checkResult, type Result } from "../send/result.ts";
import { checkReason, Reason } from "../settle/reason.ts";
import { requireSeen } from "./unseen-envelope.ts";
import { handleOf, resumeWork } from "./work-handle.ts";

interface SettledWork {
  readonly delivery: Delivery;
}

/** Work that a person has accepted, with the methods that settle it. */
export interface PersonWork<Sent> {
  readonly envelope: EnvelopeOf<unknown>;
  complete(result: Result): Promise<SettledWork>;
  decline(reason: string): Promise<SettledWork>;
  handoff(draft: HandedOnDraft): Promise<Sent>;
}

/** A person who decides in a workspace. */
export interface Decider<Sent = unknown> {
  readonly workspace: Workspace;
  readonly person: Worker;
  /** Creates the work of an accepted delivery for a holder. */
  readonly open: (holder: Worker, accepted: DeliveryWithEnvelopeRow) => PersonWork<Sent>;
}

/** An approval, with what the handoff expects. */
export interface Approval {
  readonly comment?: string | undefined;
  /** Expected outputs besides the approval, by name. */
  readonly outputs?: Readonly<Record<string, unknown>> | undefined;
  /** Id of the newest envelope, if the sender has extended work that this person accepted before. */
  readonly seen?: string | undefined;
}

/** Approves a handoff: completes it, confirming all criteria. */
export async function approve(decider: Decider, id: string, approval: Approval): Promise<Delivery> {
  const { comment, outputs, seen } = requireObject<Approval>(approval, "The approval");
  const resultOf = ({ task, expects }: Envelope): Result => ({
    criteria: confirmedCriteria(expects),
    outcome: "approved",
    outputs: { ...approvals(expects, comment), ...outputs },
    summary: comment ?? `${decider.person.agent} approved "${task}".`,
  });
  return submitResult(decider, id, { resultOf, seen });
}

/**
 * Completes a handoff that expects one text with that text. Throws `invalid_result` if it expects several.
 */
export async function reply(
  decider: Decider,
  id: string,
  { text, seen }: { readonly text: string; readonly seen?: string | undefined },
): Promise<Delivery> {
  const summary = checkReason(text, "text");
  const resultOf = ({ expects }: Envelope): Result => {
    const texts = expects.filter(({ type }) => isTextType(type));
    const outputs = Object.fromEntries(texts.map(({ name }) => [name, text]));
    if (texts.length > 1) throw ambiguous(texts.map(({ name }) => name));
    return { criteria: confirmedCriteria(texts), outputs, summary };
  };
  return submitResult(decider, id, { resultOf, seen });
}

/** Declines a handoff permanently. */
export async function reject(
  decider: Decider,
  id: string,
  { reason, seen }: { readonly reason: string; readonly seen?: string | undefined },
): Promise<Delivery> {
  const why = checkReason(reason, "reason");
  const work = await takeWork(decider, id, { seen });
  return (await work.decline(why)).delivery;
}

/** Returns the value if it is an object; its fields are checked later. */
const requireObject = <T extends object>(value: T, what: string): T =>
  parseOrThrow(z.looseObject({}), value, { code: "invalid_input", what }) as T;

type Draft = DraftOf<object>;
type HandedOnDraft = Omit<Draft, "task" | "intent"> & Partial<Pick<Draft, "task" | "intent">>;

const { constraints, doNotRedo, done, intent, next, payload, state } = DraftSchema.shape;

/** Fields of a handoff that a person can edit, with the rules that apply to a sender. */
export const EditSchema = z.strictObject({
  comment: Reason.optional(),
  constraints: constraints.unwrap().optional(),
  doNotRedo: doNotRedo.unwrap().optional(),
  done: done.unwrap().optional(),
  intent: intent.optional(),
  next: next.unwrap().optional(),
  payload,
  /** Id of the newest envelope, if the sender has extended work that this person accepted before. */
  seen: EnvelopeId.optional(),
  state,
  /** Receiver of the new envelope; default: the sender. */
  to: Address.optional(),
});

/** Changes of a person to a handoff; constraints are added to the existing ones. */
export type Edit = Pick<
  Draft,
  "constraints" | "doNotRedo" | "done" | "next" | "payload" | "state"
> &
  Partial<Pick<Draft, "intent">> & {
    readonly comment?: string | undefined;
    readonly seen?: string | undefined;
    /** Receiver of the new envelope; default: the sender. */
    readonly to?: string | undefined;
  };

/** Sends a changed handoff back to its sender or to `to`. Throws `invalid_input` if nothing is changed. */
export async function edit<Sent extends { readonly kind: "sent" }>(
  decider: Decider<Sent>,
  id: string,
  edit: Edit,
): Promise<Sent> {
  const { workspace, person } = decider;
  const { comment, seen, to, ...given } = await redactSecrets(
    workspace,
    requireObject<Edit>(edit, "The edit"),
  );
  const changes = Object.fromEntries(Object.entries(given).filter(([, value]) => value));
  const changed = Object.keys(changes);
  if (changed.length === 0) throw unchanged();
  // Checked before the work is accepted, so that a mistake does not cost an attempt.
  const anew = { ...changes, ...(to === undefined ? {} : { to }) };
  const checked = parseOrThrow(EditSchema, anew, { code: "invalid_envelope", what: "The edit" });
  canonicalJson(anew, "invalid_envelope");
  if (checked.payload !== undefined) await enforcePayload(workspace, checked.payload);
  const why = comment === undefined ? undefined : checkReason(comment, "comment");
  const work = await takeWork(decider, id, { seen });
  const sealed = work.envelope as Envelope;
  const history = {
    agent: person.agent,
    did: `edited ${changed.join(", ")}`,
    ...(why === undefined ? {} : { why: clipped(why) }),
  };
  const sent = await work.handoff({
    ...carriedDraft(sealed),
    refs: (await withoutQuarantined(workspace, sealed.refs)).map(({ digest: _, ...ref }) => ref),
    ...changes,
    to: to ?? sealed.from.agent,
    action: EDITED_ACTION,
    constraints: [...sealed.constraints, ...(given.constraints ?? [])],
    history: [...sealed.history, history].slice(-FORMAT_LIMITS.listItems),
  });
  return sent;
}

/**
 * Returns what goes back with an edit: everything the sender wrote, except what it expects of this person,
 * and except references, from which quarantined records are removed.
 */
function carriedDraft(envelope: Envelope): Partial<Draft> {
  const { artifacts, blocked, decisions, doNotRedo, done, intent, next, priority, run } = envelope;
  const { payload, state } = envelope;
  return {
    artifacts,
    blocked,
    decisions,
    doNotRedo,
    done,
    intent,
    next,
    ...(payload && { payload }),
    ...(priority && { priority }),
    ...(run && { run }),
    ...(state && { state }),
  };
}

interface SubmitRequest {
  readonly resultOf: (envelope: Envelope) => Result;
  readonly seen?: string | undefined;
}

async function submitResult(
  decider: Decider,
  id: string,
  { resultOf, seen }: SubmitRequest,
): Promise<Delivery> {
  const check = (envelope: Envelope): void =>
    requireExpectedShape(envelope.expects, checkResult(resultOf(envelope)));
  const work = await takeWork(decider, id, { check, seen });
  return (await work.complete(resultOf(work.envelope as Envelope))).delivery;
}

interface TakeOptions {
  /** Throws if the work should not be accepted. */
  readonly check?: (envelope: Envelope) => void;
  readonly seen?: string | undefined;
}

/**
 * Returns the work, accepted now or by this person before. A person's reading of it counts as the receipt.
 */
async function takeWork<Sent>(
  { workspace, person, open }: Decider<Sent>,
  id: string,
  { check, seen }: TakeOptions,
): Promise<PersonWork<Sent>> {
  await processDue(workspace); // Its deadline may have passed without any process polling since.
  const found = await workspace.store.findDelivery(workspace.name, parseDeliveryId(id));
  if (found === undefined) throw unknownDelivery(id);
  const { delivery } = found;
  if (delivery.state === "accepted" && delivery.holder === person.agent) {
    const held = await resumeWork(workspace, person, handleOf(delivery));
    requireSeen(held, seen);
    const holder = { ...person, instance: delivery.instance, lease: "session" as const };
    const work = open(holder, held);
    check?.(work.envelope as Envelope);
    return work;
  }
  const receipt = (envelope: Envelope): Receipt | undefined => {
    check?.(envelope);
    return envelope.receipt && receiptOf(envelope);
  };
  const accepted = await acceptNext(workspace, person, { delivery: id, receipt });
  if (accepted === undefined) throw notAcceptable(person, deliveryOf(delivery));
  // It is settled right afterwards: no heartbeat is needed.
  return open({ ...person, lease: "session" }, accepted);
}

const receiptOf = ({ intent, next, constraints }: Envelope): Receipt => ({
  goal: clipped(intent),
  firstStep: next[0] ?? "decide",
  constraints: constraints.filter(({ level }) => level === "must").map(({ id }) => id),
});

const clipped = (text: string): string => clip(text, FORMAT_LIMITS.lineLength);

type Expects = Envelope["expects"];

function approvals(expects: Expects, comment: string | undefined): Record<string, unknown> {
  const approval = { approved: true, ...(comment === undefined ? {} : { comment }) };
  const asked = expects.filter(({ type }) => type === "approval");
  return Object.fromEntries(asked.map(({ name }) => [name, approval]));
}

/** A person who decides confirms every criterion. */
const confirmedCriteria = (expects: Expects): Record<string, string[]> =>
  Object.fromEntries(expects.map(({ name, criteria }) => [name, criteria]));

function ambiguous(names: readonly string[]): BatonError {
  return new BatonError("invalid_result", {
    message: `The handoff expects ${names.length} texts (${names.join(", ")}), so one reply is ambiguous.`,
    path: "text",
    hint: "Accept it, then complete it with outputs: one text for each name.",
    details: { outputs: names },
  });
}

function unchanged(): BatonError {
  return new BatonError("invalid_input", {
    message:
      "An edit must change at least one of intent, next, state, done, doNotRedo, constraints or payload.",
    path: "changes",
    hint: "Pass the fields to change; to accept the handoff unchanged, approve it.",
  });
}
