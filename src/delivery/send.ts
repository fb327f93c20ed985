/**
 * Sending: check the draft, pin what it refers to, seal it, and store handoff record, envelope,
 * delivery and events in one operation. Sending the same piece of work again extends it.
 */

import type { z } from "zod";
import { sha256 } from "../canonical.ts";
import {
  CompiledDraft,
  type DraftOf,
  type DraftSchema,
  type Envelope,
  type EnvelopeOf,
  receiverOf,
} from "../envelope/schema.ts";
import { type SealedEnvelope, seal } from "../envelope/seal.ts";
import { parseOr } from "../envelope/violations.ts";
import { BatonError } from "../errors.ts";
import { findAgentId, unknownAgent } from "../memory/agents.ts";
import { type Author, type MemoryInput, writeRecord } from "../memory/record.ts";
import { agentDisabled, refusalError } from "../memory/refusals.ts";
import { type DeliveryRow, isTaken, type TrailStep } from "../store/rows.ts";
import type { Lease, LeaseRefusal, SendOutcome } from "../store/store.ts";
import type { Workspace } from "../store/workspace.ts";

type CheckedDraft = z.output<typeof DraftSchema>;

/** Who sends, and in continuation of what. */
export interface Sender extends Author {
  readonly role: string;
  /** The work this handoff continues and completes, when it is handed on. */
  readonly work?: {
    readonly lease: Lease;
    readonly envelope: Envelope;
    /** The sender's continues-from record of that work. */
    readonly acceptedBy: string;
  };
}

export interface SentHandoff<T> {
  readonly kind: "sent";
  readonly envelope: EnvelopeOf<T>;
  readonly digest: string;
  /** The handoff record on the chain. */
  readonly memory: string;
  readonly delivery: DeliveryRow;
  /** "new", or how it joined an open piece of work. */
  readonly joined: "new" | "superseded" | "extended";
}

/** A piece of work that is open already. */
type Open = { readonly delivery: DeliveryRow; readonly memory: string };

/** Each round somebody else changed the same piece of work; ten in a row means something is wrong. */
const ROUNDS = 10;

export async function sendHandoff<T>(
  workspace: Workspace,
  sender: Sender,
  draft: DraftOf<T>,
): Promise<SentHandoff<T> | LeaseRefusal> {
  const checked = await checkDraft(workspace, draft);
  const to = await resolveReceiver(workspace, checked);
  const refs = await pinReferences(workspace, checked);
  let open: Open | undefined;
  for (let round = 0; round < ROUNDS; round++) {
    const prepared = prepare(workspace, sender, { draft: checked, to, refs, open });
    const outcome = await workspace.store.sendHandoff(prepared.operation);
    if (outcome.kind === "sent") return sent(prepared.sealed, outcome, open);
    if (outcome.kind === "lease_lost" || outcome.kind === "extended") return outcome;
    if (outcome.kind !== "changed") throw await sendError(workspace, outcome);
    open = outcome.open;
  }
  throw new BatonError("store_busy", {
    message: `The handoff of "${checked.task}" was overtaken ${ROUNDS} times.`,
    hint: "Try again.",
  });
}

async function checkDraft(workspace: Workspace, draft: unknown): Promise<CheckedDraft> {
  const checked = parseOr(CompiledDraft, draft, { code: "invalid_envelope", what: "The handoff" });
  if (checked.payload === undefined) return checked;
  return { ...checked, payload: await workspace.payloads.enforce(checked.payload) };
}

/** An alias becomes the canonical id before it is sealed: the envelope is for good. */
async function resolveReceiver(workspace: Workspace, draft: CheckedDraft): Promise<Envelope["to"]> {
  const to = typeof draft.to === "string" ? receiverOf(draft.to) : draft.to;
  if (to === undefined) throw new Error("the schema lets only addresses through");
  if (to.kind === "agent") {
    const agent = await findAgentId(workspace, to.agent);
    if (agent === undefined) throw await unknownAgent(workspace, to.agent, "to");
    return { kind: "agent", agent };
  }
  throw new BatonError("unsupported_receiver", {
    message: `Handoffs to a ${to.kind} are not delivered by this version.`,
    path: "to",
    hint: "Name an agent.",
  });
}

/** Each reference is fixed by the digest of what it pointed to when it was sent. */
async function pinReferences(workspace: Workspace, draft: CheckedDraft): Promise<Envelope["refs"]> {
  const wanted = draft.refs.map((ref) => (typeof ref === "string" ? { id: ref } : ref));
  if (wanted.length === 0) return [];
  const ids = wanted.map((ref) => ref.id);
  const rows = await workspace.store.readMemories(workspace.name, ids);
  const digests = new Map(rows.map((row) => [row.id, sha256(row.text)]));
  return wanted.map((ref, i) => {
    const digest = digests.get(ref.id);
    if (digest !== undefined) return { digest, ...ref };
    throw new BatonError("dangling_reference", {
      message: `refs[${i}]: no memory has the id ${ref.id}.`,
      path: `refs[${i}]`,
      hint: "Reference memories of this workspace; check the id.",
      details: { reference: ref.id },
    });
  });
}

interface Preparation {
  readonly draft: CheckedDraft;
  readonly to: Envelope["to"];
  readonly refs: Envelope["refs"];
  readonly open: Open | undefined;
}

function prepare(workspace: Workspace, sender: Sender, { draft, to, refs, open }: Preparation) {
  const { ids, limits, clock } = workspace;
  const now = clock.now();
  const { work } = sender;
  const task = draft.task ?? work?.envelope.task ?? ids.mint("task");
  const origins = draft.parents ?? (work ? [work.envelope.id] : []);
  const role = sender.role === "" ? {} : { role: sender.role };
  const sealed = seal(draft, {
    id: ids.mint("envelope"),
    workspace: workspace.name,
    task,
    from: { agent: sender.agent, instance: sender.instance, ...role },
    to,
    parents: open === undefined ? origins : [...new Set([open.delivery.envelope, ...origins])],
    refs,
    hop: work === undefined ? 0 : work.envelope.hop + 1,
    createdAt: now,
    limits,
  });
  const delivery = ids.mint("delivery");
  const hallmark = {
    envelope: { digest: sealed.digest, id: sealed.envelope.id },
    trail: trailOf(delivery, open, work?.lease),
  };
  const pen = { ids, now, limits, hallmark };
  return {
    sealed,
    operation: {
      workspace: workspace.name,
      branch: workspace.branch,
      memory: writeRecord(sender, handoffRecord(sealed, sender, open), pen).record,
      envelope: {
        id: sealed.envelope.id,
        task,
        sender: sender.agent,
        text: sealed.text,
        parents: sealed.envelope.parents,
      },
      delivery: {
        id: delivery,
        receiver: to.kind === "agent" ? to.agent : "",
        maxAttempts: limits.attempts,
      },
      parent: origins[0] ?? "",
      ...(open && {
        extend: {
          delivery: open.delivery.id,
          envelope: open.delivery.envelope,
          held: isTaken(open.delivery.state),
        },
      }),
      ...(work && { settles: work.lease }),
    },
  };
}

function trailOf(
  delivery: string,
  open: Open | undefined,
  settles: Lease | undefined,
): TrailStep[] {
  const begins: TrailStep =
    open === undefined
      ? { attempt: 0, delivery, verb: "send" }
      : isTaken(open.delivery.state)
        ? { attempt: open.delivery.attempt, delivery: open.delivery.id, verb: "extend" }
        : { attempt: 0, delivery, instead: open.delivery.id, verb: "send" };
  if (settles === undefined) return [begins];
  return [begins, { attempt: settles.fence, delivery: settles.delivery, verb: "complete" }];
}

/**
 * The handoff on the chain: summarizes what it refers to, and continues from the record the
 * sender's own work began with. The graph never breaks here.
 */
function handoffRecord(
  { envelope }: SealedEnvelope,
  sender: Sender,
  open: Open | undefined,
): MemoryInput {
  const to = envelope.to.kind === "agent" ? envelope.to.agent : envelope.to.kind;
  const continued = [open?.memory, sender.work?.acceptedBy].filter((id) => id !== undefined);
  return {
    type: "handoff",
    task: envelope.task,
    ...(envelope.run === undefined ? {} : { run: envelope.run }),
    content: `${envelope.from.agent} → ${to}: ${envelope.intent}`,
    importance: 0.9,
    relations: [
      ...envelope.refs.map((ref) => ({ kind: "summarizes" as const, to: ref.id })),
      ...continued.map((to) => ({ kind: "continues-from" as const, to })),
    ],
  };
}

function sent<T>(
  sealed: SealedEnvelope,
  outcome: Extract<SendOutcome, { kind: "sent" }>,
  open: Open | undefined,
): SentHandoff<T> {
  const joined = open === undefined ? "new" : outcome.superseded === "" ? "extended" : "superseded";
  return {
    kind: "sent",
    envelope: sealed.envelope as EnvelopeOf<T>,
    digest: sealed.digest,
    memory: outcome.place.id,
    delivery: outcome.delivery,
    joined,
  };
}

type SendRefusal = Exclude<SendOutcome, { kind: "sent" | "changed" } | LeaseRefusal>;

async function sendError(workspace: Workspace, outcome: SendRefusal): Promise<BatonError> {
  switch (outcome.kind) {
    case "unknown_receiver":
      return unknownAgent(workspace, outcome.receiver, "to");
    case "receiver_disabled":
      return agentDisabled(outcome.receiver, "to");
    case "missing_parent":
      return new BatonError("dangling_reference", {
        message: `parents: no envelope has the id ${outcome.envelope}.`,
        path: "parents",
        hint: "Name envelopes of this workspace.",
        details: { reference: outcome.envelope },
      });
    default:
      return refusalError(workspace, outcome);
  }
}
