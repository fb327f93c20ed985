/**
 * Prepares a handoff: seals the envelope and builds the single store operation with its record and
 * deliveries.
 */

import { FORMAT_LIMITS } from "../../base/limits.ts";
import { addressOf, type Envelope, type Priority } from "../../envelope/schema.ts";
import { type SealedEnvelope, seal } from "../../envelope/seal.ts";
import {
  type HandoffLedger,
  handoffContentOf,
  handoffLedgerEntry,
} from "../../ledger/handoff-ledger.ts";
import { type MemoryInput, writeRecord } from "../../memory/record.ts";
import {
  type DeliveryRow,
  isTaken,
  type NewDelivery,
  publicationMark,
  type TrailStep,
} from "../../store/rows.ts";
import { IGNORE_BREAKER, type Lease, type PutEntry, type SendHandoff } from "../../store/store.ts";
import { toEntryText } from "../../workspace/entries.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { channelTag } from "../settings/channels.ts";
import { cycleIn, hopLimitReason, hopOf, type LinePath } from "../settings/line-path.ts";
import { AT_ONCE_MS, FOREVER_MS, lapse } from "../settings/policy.ts";
import { keyEntry } from "./idempotency-key.ts";
import type { Plan, Sender } from "./plan.ts";
import type { CheckedResult } from "./result.ts";
import { type WorkSlot, workEntry } from "./work-entry.ts";

/** Work that is open already, and its envelope. */
export interface OpenWork {
  readonly delivery: DeliveryRow;
  readonly memory: string;
  readonly envelope: Envelope | undefined;
}

/** What is known in one round of sending; the store's answer can change it for the next round. */
export interface Round {
  readonly open: OpenWork | undefined;
  readonly breaker: number;
  readonly inboxes: readonly string[];
  readonly line: HandoffLedger;
  /** For a line over the hop limit: whether a coordinator decides about it. */
  readonly isCoordinated?: boolean | undefined;
  /** The entries of the send options, for this round. */
  readonly entries?: readonly PutEntry[] | undefined;
  /** The entry that records this handoff as the one for its work. */
  readonly work?: WorkSlot | undefined;
}

/** How many places each priority moves ahead: more than a store will ever have. */
const PRIORITY_OFFSETS: Readonly<Record<Priority, number>> = {
  urgent: 2 ** 45,
  high: 2 ** 44,
  normal: 0,
  low: -(2 ** 44),
};

/** Interval for rechecking a handoff that waits for others, in case a notification was lost. */
const JOIN_RECHECK_MS = 5_000;

/** A sealed handoff and the operation that stores it. */
export interface PreparedHandoff {
  readonly sealed: SealedEnvelope;
  readonly operation: SendHandoff;
  readonly cycle: LinePath;
  readonly stopped: boolean;
}

/** Seals the envelope and builds the operation. Throws if the envelope is too large or invalid. */
export function prepare(
  workspace: Workspace,
  sender: Sender,
  plan: Plan,
  round: Round,
): PreparedHandoff {
  const { ids, limits, clock, branch } = workspace;
  const now = clock.now();
  const { draft, to, task } = plan;
  const { work } = sender;
  const { open, line } = round;
  const origins = draft.parents ?? (work ? [work.envelope.id] : []);
  // Extending open work is not another hop of its line.
  const hop = work === undefined ? (open?.envelope?.hop ?? 0) : work.envelope.hop + 1;
  const role = sender.role === undefined ? {} : { role: sender.role };
  const path = work ? [...(work.envelope.path ?? []), hopOf(work.envelope)] : open?.envelope?.path;
  const burden = handoffContentOf(line, plan, sender.agent, work?.envelope ?? open?.envelope);
  const sealed = seal(burden.draft, {
    id: ids.mint("envelope"),
    workspace: workspace.name,
    task,
    from: { agent: sender.agent, instance: sender.instance, ...role },
    to,
    parents: open === undefined ? origins : [...new Set([open.delivery.envelope, ...origins])],
    refs: burden.refs,
    carried: burden.said,
    gaps: plan.gaps,
    hop,
    createdAt: now,
    limits,
    versions: workspace.versions,
    passesOn: [plan.sending.passesOn, open?.envelope, work?.envelope],
    path: path?.slice(-FORMAT_LIMITS.hops - 1),
    policy: plan.sealedPolicy,
    joins: plan.sending.joins,
    coordinated: coordinatedOf(plan, line),
  });
  const stopped = hop > limits.hops;
  const cycle = cycleIn(sealed.envelope);
  const deliveries = round.inboxes.map((inbox) =>
    newDelivery(workspace, plan, sealed, { inbox, stopped, isCoordinated: round.isCoordinated }),
  );
  const trail = trailOf(plan, round, deliveries, work?.lease);
  const hallmark = { envelope: { digest: sealed.digest, id: sealed.envelope.id }, trail };
  const { completes } = plan.sending;
  const record = handoffRecord(sealed, sender, { open, cycle, completes });
  const memory = writeRecord(sender, record, { ids, now, limits, branch, hallmark }).record;
  const { id: envelope } = sealed.envelope;
  const provenance = { at: now, by: sender.agent, envelope, record: memory.id };
  const { queue } = plan.sending;
  const kept = handoffLedgerEntry(
    line,
    burden,
    provenance,
    queue && { ...queue, at: now, by: sender.agent },
  );
  const has = deliveriesAfterSend(round, deliveries);
  // The key comes first, so that sending the same handoff again is answered with the original.
  const entries = [
    ...(draft.key ? [keyEntry(sender, plan, sealed, has)] : []),
    ...(kept ? [kept] : []),
    ...(round.entries ?? []),
    ...(round.work && has[0] ? [workEntry(round.work, { delivery: has[0], task })] : []),
  ];
  const isPublication = to.kind === "channel";
  const isApart = isPublication || waits(plan) || plan.sending.apart === true;
  const operation: SendHandoff = {
    workspace: workspace.name,
    branch: workspace.branch,
    memory,
    envelope: {
      id: sealed.envelope.id,
      task,
      sender: sender.agent,
      text: sealed.text,
      parents: sealed.envelope.parents,
    },
    deliveries,
    // A publication or a handoff that waits for others is always new work.
    parent: isApart ? publicationMark(sealed.envelope.id) : (origins[0] ?? ""),
    breaker: isPublication ? IGNORE_BREAKER : round.breaker,
    ...(open && { extend: extensionOf(open) }),
    ...(entries.length > 0 && { entries }),
    ...(work && { settles: work.lease }),
  };
  return { sealed, operation, cycle, stopped };
}

/** Returns whether it waits for other handoffs or tasks. */
const waits = ({ after, sending }: Plan): boolean =>
  sending.joins !== undefined || after.length > 0;

/** Marks every handoff of a queued task, whichever agent sends it: its end may be the end of the task. */
function coordinatedOf(
  { after, sending: { queue, failure } }: Plan,
  { family }: HandoffLedger,
): Pick<Envelope, "after" | "failure" | "queued"> {
  const isQueued = queue !== undefined || family.kept?.queue !== undefined;
  return {
    ...(after.length > 0 && { after: [...after] }),
    ...(failure && { failure }),
    ...(isQueued && { queued: true }),
  };
}

/** Returns the deliveries that hold the envelope afterwards; for held work, the existing one. */
const deliveriesAfterSend = ({ open }: Round, deliveries: readonly NewDelivery[]): string[] =>
  open !== undefined && isTaken(open.delivery.state)
    ? [open.delivery.id]
    : deliveries.map(({ id }) => id);

const extensionOf = ({ delivery }: OpenWork): NonNullable<SendHandoff["extend"]> => ({
  delivery: delivery.id,
  envelope: delivery.envelope,
  held: isTaken(delivery.state),
});

interface DeliveryPlacement extends Pick<Round, "isCoordinated"> {
  readonly inbox: string;
  readonly stopped: boolean;
}

function newDelivery(
  workspace: Workspace,
  plan: Plan,
  sealed: SealedEnvelope,
  { inbox, stopped, isCoordinated }: DeliveryPlacement,
): NewDelivery {
  const { ids, limits } = workspace;
  const { draft, sealedPolicy } = plan;
  const isWaiting = waits(plan);
  // If a coordinator decides about it, the next process that polls notifies it and then dead-letters.
  const notifiesCoordinator = stopped && isCoordinated === true;
  const delayMs = isWaiting || notifiesCoordinator ? FOREVER_MS : (draft.delayMs ?? 0);
  const isParked = stopped && !notifiesCoordinator;
  const state = isParked ? "dead" : delayMs > 0 ? "scheduled" : "ready";
  return {
    id: ids.mint("delivery"),
    receiver: inbox,
    maxAttempts: sealedPolicy?.attempts ?? limits.attempts,
    ahead: PRIORITY_OFFSETS[draft.priority ?? "normal"],
    state,
    delayMs,
    reason: isParked ? toEntryText(hopLimitReason(sealed.envelope, limits.hops)) : "",
    deadline: sealedPolicy?.deadline ?? 0,
    lapseMs: notifiesCoordinator
      ? AT_ONCE_MS
      : isWaiting
        ? JOIN_RECHECK_MS
        : lapse(sealedPolicy, delayMs),
  };
}

function trailOf(
  { to, inboxes }: Plan,
  { open, inboxes: reached }: Round,
  deliveries: readonly NewDelivery[],
  settles: Lease | undefined,
): TrailStep[] {
  const [first] = deliveries;
  const delivery = first?.id ?? "";
  const rerouted = reached[0] === inboxes[0] ? {} : { to: reached[0] };
  const begins: TrailStep =
    to.kind === "channel"
      ? {
          deliveries: deliveries.map(({ id, receiver }) => [id, receiver] as const),
          verb: "publish",
        }
      : open === undefined
        ? { attempt: 0, delivery, ...rerouted, verb: "send" }
        : isTaken(open.delivery.state)
          ? { attempt: open.delivery.attempt, delivery: open.delivery.id, verb: "extend" }
          : { attempt: 0, delivery, instead: open.delivery.id, ...rerouted, verb: "send" };
  if (settles === undefined) return [begins];
  return [begins, { attempt: settles.fence, delivery: settles.delivery, verb: "complete" }];
}

interface HandoffRecordDetails {
  readonly open: OpenWork | undefined;
  readonly cycle: readonly object[];
  readonly completes: CheckedResult | undefined;
}

/**
 * Returns the handoff record: it summarizes what the handoff references, and continues from the record that
 * the sender's own work began with, so that the graph is never interrupted.
 */
function handoffRecord(
  { envelope }: SealedEnvelope,
  sender: Sender,
  { open, cycle, completes }: HandoffRecordDetails,
): MemoryInput {
  const continued = [open?.memory, sender.work?.acceptedBy].filter((id) => id !== undefined);
  const tags = [
    ...(envelope.to.kind === "channel" ? [channelTag(envelope.to.channel)] : []),
    ...(cycle.length > 0 ? ["cycle"] : []),
    ...(envelope.flags === undefined ? [] : ["flagged"]),
  ];
  const { confidence, ...result } = completes ?? {};
  const data = { ...result, ...(cycle.length > 0 && { cycle }) };
  return {
    type: "handoff",
    task: envelope.task,
    ...(confidence === undefined ? {} : { confidence }),
    ...(envelope.run === undefined ? {} : { run: envelope.run }),
    ...(tags.length === 0 ? {} : { tags }),
    ...(Object.keys(data).length === 0 ? {} : { data }),
    content: `${envelope.from.agent} → ${addressOf(envelope.to)}: ${envelope.intent}`,
    importance: 0.9,
    relations: [
      ...envelope.refs.map((ref) => ({ kind: "summarizes" as const, to: ref.id })),
      ...continued.map((to) => ({ kind: "continues-from" as const, to })),
    ],
  };
}
