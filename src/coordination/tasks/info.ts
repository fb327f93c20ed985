/**
 * `TaskInfo`: a task as callers see it, with its state, the reason for it in words, its holder and its
 * deliveries.
 */
import { addressOf, type Priority } from "../../envelope/schema.ts";
import type { Delivery } from "../../history/delivery.ts";
import { parseTaskName } from "../../ledger/release.ts";
import type { StoredClosing, StoredQueueState } from "../../memory/stored-ledger.ts";
import { type DeliveryRow, isHeld, isOpen } from "../../store/rows.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { childrenOf } from "./edges.ts";
import { finishTask } from "./finish-task.ts";
import {
  filterOpenTasks,
  type LineDelivery,
  requireTask,
  type TaskSnapshot,
  waitsForTasks,
} from "./read.ts";
import { stateOf, type TaskState, type TaskStateReason } from "./state.ts";

/** One delivery of a task. */
export interface TaskDelivery
  extends Pick<Delivery, "id" | "state" | "receiver" | "holder" | "attempt"> {
  /** True if the delivery reports a failure and asks for a decision. */
  readonly failure: boolean;
}

/** The state of a task. Times are in milliseconds since 1970. */
export interface TaskInfo {
  readonly task: string;
  readonly state: TaskState;
  /** Why the task is in that state, for people. */
  readonly why: string;
  /** The intent of its first handoff. */
  readonly intent: string;
  /** Its first receiver: an agent, `role:…` or `channel:…`. Absent if that envelope cannot be read. */
  readonly to?: string;
  /** The agent that holds it now; absent if none does. */
  readonly holder?: string;
  readonly priority: Priority;
  /** When what is open of it must be settled; absent if there is no deadline. */
  readonly deadline?: number;
  /** The task it is part of; absent if it is none. */
  readonly parent?: string;
  /** The tasks that must be done before it starts. */
  readonly after: readonly string[];
  /** Those of them that are not done. */
  readonly waitsFor: readonly string[];
  /** The number of parts, and how many of them are not closed. */
  readonly children: number;
  readonly openChildren: number;
  /** In the order they were sent. */
  readonly deliveries: readonly TaskDelivery[];
  /** "automatic" if the end of its line closes it, "manual" if an agent has to. */
  readonly closing: StoredQueueState["closing"];
  /** How it was closed; absent while it is open. */
  readonly closed?: StoredClosing;
  /** False if it was sent with a handoff and never queued; an agent has to close it. */
  readonly queued: boolean;
  /** When it was queued, or its first handoff sent. */
  readonly queuedAt: number;
  /** The agent that added it. */
  readonly by: string;
}

/** Returns a task. A task that has ended and is not closed yet is closed by this. Throws `unknown_task`. */
export async function getTask(workspace: Workspace, name: string): Promise<TaskInfo> {
  return taskInfoOf(workspace, await requireTask(workspace, parseTaskName(name)));
}

/** Returns the information about a task that was read, after completing its pending step. */
export async function taskInfoOf(workspace: Workspace, read: TaskSnapshot): Promise<TaskInfo> {
  const found = await finishTask(workspace, read);
  const { task, kept, parts, first } = found;
  const { queue, closed, begun, intent } = kept;
  const children = queue === undefined ? [] : await childrenOf(workspace, task);
  const openParts = closed === undefined ? await filterOpenTasks(workspace, children) : [];
  const waitsFor = await listOpenDependencies(workspace, found);
  const { state, ground } = stateOf({
    closed: closed?.as,
    stands: parts.map(({ stand }) => stand),
    hasOpenParts: openParts.length > 0,
  });
  const now = currentOf(parts, ground);
  const holder = now && isHeld(now.state) ? now.holder : undefined;
  return {
    task,
    state,
    why: explainState(ground, { ...found, waitsFor, openParts, now }),
    intent,
    ...(first === undefined ? {} : { to: addressOf(first.to) }),
    ...(holder === undefined ? {} : { holder }),
    priority: first?.priority ?? "normal",
    ...(now?.deadline ? { deadline: now.deadline } : {}),
    ...(queue?.parent === undefined ? {} : { parent: queue.parent }),
    after: queue?.after ?? [],
    waitsFor,
    children: children.length,
    openChildren: openParts.length,
    deliveries: parts.map(deliveryOf),
    closing: queue?.closing ?? "manual",
    ...(closed && { closed }),
    queued: queue !== undefined,
    queuedAt: queue?.at ?? begun.at,
    by: queue?.by ?? begun.by,
  };
}

/**
 * Returns the delivery that explains the state: the first with the status that decided it, else an open one,
 * else the last.
 */
function currentOf(
  parts: readonly LineDelivery[],
  ground: TaskStateReason,
): DeliveryRow | undefined {
  const work = parts.filter(({ says }) => says.failure === undefined);
  const current =
    work.find(({ stand }) => stand === ground) ??
    work.find(({ delivery }) => isOpen(delivery.state)) ??
    work.at(-1);
  return current?.delivery;
}

const deliveryOf = ({ delivery, says }: LineDelivery): TaskDelivery => {
  const { id, state, receiver, holder, attempt } = delivery;
  return {
    id,
    state,
    receiver,
    ...(holder === "" ? {} : { holder }),
    attempt,
    failure: says.failure !== undefined,
  };
};

/** Returns the dependencies of a waiting task that are not done. */
async function listOpenDependencies(
  workspace: Workspace,
  { kept, parts }: TaskSnapshot,
): Promise<string[]> {
  return parts.some(waitsForTasks) ? filterOpenTasks(workspace, kept.queue?.after ?? []) : [];
}

interface StateExplanationInput extends TaskSnapshot {
  readonly waitsFor: readonly string[];
  readonly openParts: readonly string[];
  readonly now: DeliveryRow | undefined;
}

function explainState(ground: TaskStateReason, known: StateExplanationInput): string {
  const { kept, waitsFor, openParts, now, parts } = known;
  switch (ground) {
    case "closed":
      return closedAs(kept.closed as StoredClosing);
    case "held":
      return `held by ${now?.holder} since ${instant(heldSince(now))}`;
    case "asked":
      return `${now?.holder} asked ${now?.sender} a question and waits for the answer`;
    case "offered":
      return now?.state === "scheduled"
        ? `waits until ${instant(now.readyAt)} for ${now.receiver}`
        : `waits for ${now?.receiver} to accept it`;
    case "waits":
      return waitsFor.length === 0
        ? "waits for other handoffs"
        : `waits for ${joinNames(waitsFor)}`;
    case "failure":
      return `waits for a decision about a failure${whoDecides(parts)}`;
    case "parts":
      return `its deliveries have ended; waits for its ${openParts.length === 1 ? "part" : "parts"} ${joinNames(openParts)}`;
    case "ended":
      return "all deliveries have ended; close the task";
  }
}

const closedAs = ({ as, by, reason }: StoredClosing): string =>
  `closed as ${as} by ${by}: ${reason}`;

const heldSince = (now: DeliveryRow | undefined): number =>
  now?.acceptedAt || now?.seenAt || now?.sentAt || 0;

const instant = (at: number): string => new Date(at).toISOString();

/** Names listed before "and … more". */
const SHOWN = 5;

function joinNames(names: readonly string[]): string {
  const more = names.length - SHOWN;
  const shown = names.slice(0, SHOWN).join(", ");
  return more > 0 ? `${shown} and ${more} more` : shown;
}

function whoDecides(parts: readonly LineDelivery[]): string {
  const open = parts.find(
    ({ delivery, says }) => says.failure !== undefined && isOpen(delivery.state),
  )?.delivery;
  return open === undefined ? "" : `, by ${open.holder || open.receiver}`;
}
