/**
 * Plans a handoff: checks the draft, resolves its receivers and policy, and pins its references. After this
 * step nothing about the handoff has to be looked up again.
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

/** The sender of a handoff, and the work that it continues. */
export interface Sender extends Author {
  readonly role?: string | undefined;
  /** The work that this handoff continues and completes; absent unless work is handed on. */
  readonly work?: {
    readonly lease: Lease;
    readonly envelope: Envelope;
    /** The sender's continues-from record of that work. */
    readonly acceptedBy: string;
    /** What the holder found missing in addition to the gaps of the envelope. */
    readonly gaps?: readonly ViewGap[];
  };
}

/** Options of a handoff besides its draft. */
export interface SendOptions {
  /** Receivers of a publication, instead of the channel's subscribers. */
  readonly receivers?: readonly string[] | undefined;
  /** It opens when `need` of these deliveries have completed. */
  readonly joins?: NonNullable<Envelope["joins"]> | undefined;
  /** How the previous work ended, in one word; routes can depend on it. */
  readonly result?: string | undefined;
  /** The result that the previous work is completed with. */
  readonly completes?: CheckedResult | undefined;
  /** The envelope that this one continues, if it is not the work's: its unknown fields are carried over. */
  readonly passesOn?: Envelope | undefined;
  /** Tasks to inherit from, in addition to those of its parents. */
  readonly inherits?: readonly string[] | undefined;
  /** Puts the task into the queue. */
  readonly queue?: Pick<StoredQueueState, "after" | "closing" | "parent"> | undefined;
  /** The failure that this handoff requests a decision about. */
  readonly failure?: Envelope["failure"];
  /** Omits what the task's ledger holds, for handoffs without space for it. */
  readonly bare?: boolean | undefined;
  /** Always new work at the receiver, even if other work of the task is open: it extends nothing. */
  readonly apart?: boolean | undefined;
  /** Secrets that were redacted from the draft. */
  readonly redacted?: readonly DetectedSecret[] | undefined;
  /**
   * Entries written in the same operation; if one has changed, they are made again and the send is retried.
   * Throws if the send has become pointless.
   */
  readonly entries?: (() => Promise<readonly PutEntry[]>) | undefined;
}

/** Everything that is known before the envelope is sealed. */
export interface Plan extends ResolvedAddress, PinnedReferences {
  readonly draft: CheckedDraft;
  readonly sending: SendOptions;
  readonly sealedPolicy: SealedPolicy | undefined;
  readonly task: string;
  /** The ledger of the task. */
  readonly family: ResolvedLedger;
  /** The tasks that must be done before it opens. */
  readonly after: readonly string[];
  /** Digest of what must be equal when the key is used again; empty without a key. */
  readonly body: string;
}

/** Checks and resolves a draft. Throws for every fault that can be found without sending. */
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
  // Work that is handed on follows its branch if that was closed; a branch named in the draft must be open.
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
  // A failure report uses its own policy only, not the defaults of workspace and receiver.
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

/** Returns the unfinished tasks that it waits for: a task starts only when its dependencies are done. */
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
    message: `"${task}" waits for ${after.map((each) => `"${each}"`).join(", ")}: no join can be sent for it yet.`,
    path: "task",
    hint: "Join into a separate task, or wait until they are done.",
    details: { task, after },
  });
}

/** Returns the gaps of the sender's own work that are still missing. */
async function carriedGaps(workspace: Workspace, { work }: Sender): Promise<readonly ViewGap[]> {
  if (work === undefined) return [];
  return recheckGaps(workspace, [...(work.envelope.gaps ?? []), ...(work.gaps ?? [])]);
}

/** Returns the tasks of what it continues; if they differ from its own, it inherits from them. */
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
    message: `policy.deadline: ${new Date(deadline).toISOString()} is in the past.`,
    path: "policy.deadline",
    hint: "Use a time in the future, or deadlineMs: milliseconds from now.",
  });
}

async function checkPayload(workspace: Workspace, checked: CheckedDraft): Promise<CheckedDraft> {
  if (checked.payload === undefined) return checked;
  return { ...checked, payload: await workspace.payloads.enforce(checked.payload) };
}

/** Work that is handed on stays on its branch, unless the draft names another. */
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

/** Returns the digest of what must be equal when a key is used again. */
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
