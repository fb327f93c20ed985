/**
 * Planning a handoff: the draft is checked, its receivers are found, its policy is resolved and what it
 * refers to is pinned. After this nothing about it has to be looked up any more.
 */
import { canonicalJson, sha256 } from "../canonical.ts";
import {
  type CheckedDraft,
  CompiledDraft,
  type DraftOf,
  type Envelope,
  type SealedPolicy,
} from "../envelope/schema.ts";
import { parseOr } from "../envelope/violations.ts";
import { BatonError } from "../errors.ts";
import { refuseQuarantined } from "../memory/quarantine-mark.ts";
import { readOpen } from "../memory/read.ts";
import type { Author } from "../memory/record.ts";
import { digestOf } from "../store/redaction.ts";
import type { MemoryRow } from "../store/rows.ts";
import { isRowOpenTo, NOBODY } from "../store/sight.ts";
import type { Lease } from "../store/store.ts";
import type { Workspace } from "../store/workspace.ts";
import { resolvePolicy } from "./policy.ts";
import { type Addressed, addressed, resolveFallbacks } from "./receivers.ts";
import type { CheckedResult } from "./result.ts";
import { leavingOf, nextReceiver, noRoute } from "./routes.ts";
import { onOpenBranch, requireOpenBranch } from "./work-branch.ts";

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

/** What a handoff can have besides its draft. */
export interface Sending {
  /** Of a publication: these, instead of the channel's subscribers. */
  readonly receivers?: readonly string[] | undefined;
  /** It opens when so many of these have completed. */
  readonly joins?: NonNullable<Envelope["joins"]> | undefined;
  /** How the work before it ended, in one word: routes may depend on it. */
  readonly result?: string | undefined;
  /** The result the work before it is completed with. */
  readonly completes?: CheckedResult | undefined;
}

/** All that is known before it is sealed. */
export interface Plan extends Addressed {
  readonly draft: CheckedDraft;
  readonly sending: Sending;
  readonly sealedPolicy: SealedPolicy | undefined;
  readonly refs: Envelope["refs"];
  readonly task: string;
  /** What must be the same when its key is used again. */
  readonly body: string;
}

export async function planHandoff<T>(
  workspace: Workspace,
  sender: Sender,
  given: DraftOf<T>,
  sending: Sending,
): Promise<Plan> {
  const { ids, clock } = workspace;
  const checked = await checkDraft(workspace, given);
  const meant = onBranchOf(sender, checked);
  // Handed on, the line goes where its branch has gone; a branch that is named must be open.
  const draft = checked.branch === undefined ? await onOpenBranch(workspace, meant) : meant;
  await requireOpenBranch(workspace, draft);
  const receiver = await addressed(
    workspace,
    draft.to ?? (await routed(workspace, sender, draft, sending)),
    sending.receivers,
  );
  const policy = resolvePolicy(clock.now(), workspace.policy, receiver.policy, draft.policy);
  if (policy?.deadline !== undefined && policy.deadline <= clock.now())
    throw tooLate(policy.deadline);
  const sealedPolicy = await resolveFallbacks(workspace, policy);
  const refs = await pinReferences(workspace, draft);
  const task = draft.task ?? sender.work?.envelope.task ?? ids.mint("task");
  const body = bodyOf(meant, receiver, sending, sender.work?.lease.delivery);
  return { ...receiver, draft, sending, sealedPolicy, refs, task, body };
}

function tooLate(deadline: number): BatonError {
  return new BatonError("invalid_envelope", {
    message: `policy.deadline: ${new Date(deadline).toISOString()} has passed.`,
    path: "policy.deadline",
    hint: "Name a time to come, or say deadlineMs: so many milliseconds from now.",
  });
}

async function checkDraft(workspace: Workspace, draft: unknown): Promise<CheckedDraft> {
  const checked = parseOr(CompiledDraft, draft, { code: "invalid_envelope", what: "The handoff" });
  if (checked.payload === undefined) return checked;
  return { ...checked, payload: await workspace.payloads.enforce(checked.payload) };
}

/** A line of work stays on its branch, unless another is named. */
function onBranchOf({ work }: Sender, draft: CheckedDraft): CheckedDraft {
  const { branch, mergeOnComplete } = work?.envelope ?? {};
  if (branch === undefined || draft.branch !== undefined) return draft;
  return { ...draft, branch, ...(mergeOnComplete && { mergeOnComplete }) };
}

async function routed(
  workspace: Workspace,
  sender: Sender,
  draft: CheckedDraft,
  { result }: Sending,
): Promise<string> {
  const leaving = leavingOf(
    { ...draft, task: draft.task ?? sender.work?.envelope.task },
    sender.agent,
    result,
  );
  const next = await nextReceiver(workspace, leaving);
  if (next === undefined) throw noRoute(leaving);
  return next;
}

/** What must be the same when a key is used again. */
function bodyOf(
  { key, ...draft }: CheckedDraft,
  { to, inboxes }: Addressed,
  { joins, receivers }: Sending,
  settles: string | undefined,
): string {
  if (key === undefined) return "";
  const named = receivers && inboxes.toSorted();
  const body = {
    ...draft,
    to,
    ...(joins && { joins }),
    ...(named && { receivers: named }),
    ...(settles && { settles }),
  };
  return sha256(canonicalJson(body, "invalid_envelope"));
}

/** Each reference is fixed by the digest of what it pointed to when it was sent. */
async function pinReferences(workspace: Workspace, draft: CheckedDraft): Promise<Envelope["refs"]> {
  const wanted = draft.refs.map((ref) => (typeof ref === "string" ? { id: ref } : ref));
  if (wanted.length === 0) return [];
  const ids = wanted.map((ref) => ref.id);
  const rows = await readOpen(workspace, ids);
  refusePrivate(rows, ids);
  const digests = new Map(rows.map((row) => [row.id, digestOf(row)]));
  const refs = wanted.map((ref, i) => {
    const digest = digests.get(ref.id);
    if (digest !== undefined) return { digest, ...ref };
    throw new BatonError("dangling_reference", {
      message: `refs[${i}]: no memory has the id ${ref.id}.`,
      path: `refs[${i}]`,
      hint: "Reference memories of this workspace; check the id.",
      details: { reference: ref.id },
    });
  });
  const cited = ids.map((id, i) => ({ id, path: `refs[${i}]` }));
  await refuseQuarantined(workspace, cited);
  return refs;
}

/** Everybody may read a handoff, its record and what it refers to by name, whoever receives it. */
function refusePrivate(rows: readonly MemoryRow[], ids: readonly string[]): void {
  const hidden = rows.find((row) => !isRowOpenTo(row, NOBODY));
  if (hidden === undefined) return;
  const path = `refs[${ids.indexOf(hidden.id)}]`;
  throw new BatonError("invisible_reference", {
    message: `${path}: ${hidden.id} is private, and everybody may see what a handoff names.`,
    path,
    hint: "Say what matters of it in the handoff, or in a record with scope team.",
    details: { reference: hidden.id },
  });
}
