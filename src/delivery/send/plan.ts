/**
 * Planning a handoff: the draft is checked, its receivers are found, its policy is resolved and what it
 * refers to is pinned. After this nothing about it has to be looked up any more.
 */
import { canonicalJson, sha256 } from "../../base/digest.ts";
import { BatonError } from "../../base/errors.ts";
import { recheckGaps } from "../../context/view/gaps.ts";
import type { DetectedSecret } from "../../envelope/mask-secrets.ts";
import type { CheckedDraft, DraftOf, Envelope, SealedPolicy } from "../../envelope/schema.ts";
import { openDependencies } from "../../ledger/dependencies.ts";
import { newLedger, type ResolvedLedger, resolveLedger } from "../../ledger/ledger.ts";
import { requireOpenBranch, withOpenBranch } from "../../memory/branches/work-branch.ts";
import type { Author } from "../../memory/record.ts";
import type { StoredQueueState } from "../../memory/stored-ledger.ts";
import type { ViewGap } from "../../memory/view-gap.ts";
import type { Lease, PutEntry } from "../../store/store.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { resolvePolicy } from "../settings/policy.ts";
import { type ResolvedAddress, resolveAddress, resolveFallbacks } from "../settings/receivers.ts";
import { noRoute, resolveRoute, routeInputOf } from "../settings/routes.ts";
import { checkDraft } from "./check-draft.ts";
import { type PinnedReferences, pinReferences } from "./pin-references.ts";
import type { CheckedResult } from "./result.ts";

/** Who sends, and in continuation of what. */
export interface Sender extends Author {
  readonly role?: string | undefined;
  /** The work this handoff continues and completes, when it is handed on. */
  readonly work?: {
    readonly lease: Lease;
    readonly envelope: Envelope;
    /** The sender's continues-from record of that work. */
    readonly acceptedBy: string;
    /** What its holder found missing besides what the envelope says. */
    readonly gaps?: readonly ViewGap[];
  };
}

/** What a handoff can have besides its draft. */
export interface SendOptions {
  /** Of a publication: these, instead of the channel's subscribers. */
  readonly receivers?: readonly string[] | undefined;
  /** It opens when so many of these have completed. */
  readonly joins?: NonNullable<Envelope["joins"]> | undefined;
  /** How the work before it ended, in one word: routes may depend on it. */
  readonly result?: string | undefined;
  /** The result the work before it is completed with. */
  readonly completes?: CheckedResult | undefined;
  /** An envelope that goes on in this one, where that is not the work's: what nobody knows of it does. */
  readonly passesOn?: Envelope | undefined;
  /** Tasks its own inherits from, besides those of its parents. */
  readonly inherits?: readonly string[] | undefined;
  /** Puts its task into the queue. */
  readonly queue?: Pick<StoredQueueState, "after" | "closing" | "parent"> | undefined;
  /** What failed: it asks for a decision about that. */
  readonly failure?: Envelope["failure"];
  /** It says nothing of what its task's ledger holds: where all of that has no room beside what counts. */
  readonly bare?: boolean | undefined;
  /** New work at its receiver, whatever else is open of its task: it extends nothing. */
  readonly apart?: boolean | undefined;
  /** Secrets that were taken out of its draft. */
  readonly redacted?: readonly DetectedSecret[] | undefined;
  /** Written with it, or it is not sent: made anew when somebody has changed one; throws when it is in vain. */
  readonly entries?: (() => Promise<readonly PutEntry[]>) | undefined;
}

/** All that is known before it is sealed. */
export interface Plan extends ResolvedAddress, PinnedReferences {
  readonly draft: CheckedDraft;
  readonly sending: SendOptions;
  readonly sealedPolicy: SealedPolicy | undefined;
  readonly task: string;
  /** What its task's ledger holds. */
  readonly family: ResolvedLedger;
  /** The tasks that must be done before it opens. */
  readonly after: readonly string[];
  /** What must be the same when its key is used again. */
  readonly body: string;
}

export async function planHandoff<T>(
  workspace: Workspace,
  sender: Sender,
  given: DraftOf<T>,
  sending: SendOptions,
): Promise<Plan> {
  const { ids, clock } = workspace;
  const passedOn = sender.work?.envelope ?? sending.passesOn;
  const checked = await checkPayload(workspace, checkDraft(given, passedOn));
  const meant = onBranchOf(sender, checked);
  // Handed on, the line goes where its branch has gone; a branch that is named must be open.
  const draft = checked.branch === undefined ? await withOpenBranch(workspace, meant) : meant;
  await requireOpenBranch(workspace, draft);
  const task = draft.task ?? sender.work?.envelope.task ?? ids.mint("task");
  const isNew = draft.task === undefined && sender.work === undefined;
  const to = draft.to ?? (await requireRoute(workspace, sender, draft, sending));
  const parents = await parentTasks(workspace, sender, draft, sending);
  const [receiver, family] = await Promise.all([
    resolveAddress(workspace, to, sending.receivers),
    isNew && parents.length === 0 ? newLedger(task) : resolveLedger(workspace, task, parents),
  ]);
  // A report of a failure is tried as it says, whatever else is usual.
  const usual = sending.failure === undefined ? [workspace.policy, receiver.policy] : [];
  const policy = resolvePolicy(clock.now(), ...usual, draft.policy);
  if (policy?.deadline !== undefined && policy.deadline <= clock.now())
    throw tooLate(policy.deadline);
  const sealedPolicy = await resolveFallbacks(workspace, policy);
  const pinned = await pinReferences(workspace, draft, await carriedGaps(workspace, sender));
  const body = bodyOf(meant, receiver, sending, sender.work?.lease.delivery);
  const after = await pendingDependencies(workspace, sender, { family, sending });
  return { ...receiver, draft, sending, sealedPolicy, ...pinned, task, family, after, body };
}

/** What it waits for: nobody works on a task before what that depends on is done. */
export async function pendingDependencies(
  workspace: Workspace,
  sender: Sender,
  { family, sending }: Pick<Plan, "family" | "sending">,
): Promise<readonly string[]> {
  if (sending.failure !== undefined) return [];
  if (sending.queue !== undefined) return sending.queue.after;
  const after = await openDependencies(workspace, sender, family);
  if (after.length > 0 && sending.joins !== undefined) throw dependenciesOpen(family.task, after);
  return after;
}

function dependenciesOpen(task: string, after: readonly string[]): BatonError {
  return new BatonError("task_open", {
    message: `"${task}" waits for ${after.map((each) => `"${each}"`).join(", ")}: nothing can be joined into it yet.`,
    path: "task",
    hint: "Join into a task of its own, or wait until they are done.",
    details: { task, after },
  });
}

/** What is still missing of what the sender's own work refers to. */
async function carriedGaps(workspace: Workspace, { work }: Sender): Promise<readonly ViewGap[]> {
  if (work === undefined) return [];
  return recheckGaps(workspace, [...(work.envelope.gaps ?? []), ...(work.gaps ?? [])]);
}

/** The tasks of what it continues: where they are not its own, it inherits from them. */
async function parentTasks(
  { store, name }: Workspace,
  { work }: Sender,
  { parents = [] }: CheckedDraft,
  { inherits = [] }: SendOptions,
): Promise<readonly string[]> {
  const found = await Promise.all(parents.map((id) => store.findEnvelope(name, id)));
  const tasks = found.flatMap((each) => each?.envelope.task ?? []);
  return [...new Set([...(work === undefined ? [] : [work.envelope.task]), ...tasks, ...inherits])];
}

function tooLate(deadline: number): BatonError {
  return new BatonError("invalid_envelope", {
    message: `policy.deadline: ${new Date(deadline).toISOString()} has passed.`,
    path: "policy.deadline",
    hint: "Name a time to come, or say deadlineMs: so many milliseconds from now.",
  });
}

async function checkPayload(workspace: Workspace, checked: CheckedDraft): Promise<CheckedDraft> {
  if (checked.payload === undefined) return checked;
  return { ...checked, payload: await workspace.payloads.enforce(checked.payload) };
}

/** A line of work stays on its branch, unless another is named. */
function onBranchOf({ work }: Sender, draft: CheckedDraft): CheckedDraft {
  const { branch, mergeOnComplete } = work?.envelope ?? {};
  if (branch === undefined || draft.branch !== undefined) return draft;
  return { ...draft, branch, ...(mergeOnComplete && { mergeOnComplete }) };
}

async function requireRoute(
  workspace: Workspace,
  sender: Sender,
  draft: CheckedDraft,
  { result }: SendOptions,
): Promise<string> {
  const leaving = routeInputOf(
    { ...draft, task: draft.task ?? sender.work?.envelope.task },
    sender.agent,
    result,
  );
  const next = await resolveRoute(workspace, leaving);
  if (next === undefined) throw noRoute(leaving);
  return next;
}

/** What must be the same when a key is used again. */
function bodyOf(
  { key, ...draft }: CheckedDraft,
  { to, inboxes }: ResolvedAddress,
  { joins, queue, receivers }: SendOptions,
  settles: string | undefined,
): string {
  if (key === undefined) return "";
  const named = receivers && inboxes.toSorted();
  const body = {
    ...draft,
    to,
    ...(joins && { joins }),
    ...(queue && { queue }),
    ...(named && { receivers: named }),
    ...(settles && { settles }),
  };
  return sha256(canonicalJson(body, "invalid_envelope"));
}
