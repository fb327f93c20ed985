/** A task as it is told: how it stands and why, in words, whose it is, and everything handed over for it. */
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

export interface TaskDelivery
  extends Pick<Delivery, "id" | "state" | "receiver" | "holder" | "attempt"> {
  /** It reports a failure, and asks for a decision. */
  readonly failure: boolean;
}

export interface TaskInfo {
  readonly task: string;
  readonly state: TaskState;
  /** Why it is in that state, for people. */
  readonly why: string;
  /** What was wanted when it began. */
  readonly intent: string;
  /** Its first receiver: an agent, `role:…`, `channel:…`; absent if that envelope cannot be read. */
  readonly to?: string;
  /** Who has it now. */
  readonly holder?: string;
  readonly priority: Priority;
  /** By when what is open of it must be settled. */
  readonly deadline?: number;
  readonly parent?: string;
  /** The tasks that must be done before it begins. */
  readonly after: readonly string[];
  /** Those of them that are not done. */
  readonly waitsFor: readonly string[];
  /** How many parts it has, and how many of them are not closed. */
  readonly children: number;
  readonly openChildren: number;
  /** In the order they were sent. */
  readonly deliveries: readonly TaskDelivery[];
  readonly closing: StoredQueueState["closing"];
  readonly closed?: StoredClosing;
  /** False: it was handed over, and never put into the queue. Somebody has to close it. */
  readonly queued: boolean;
  readonly queuedAt: number;
  /** Who added it. */
  readonly by: string;
}

/** How a task stands. One that is over and not closed yet is closed by this. */
export async function getTask(workspace: Workspace, name: string): Promise<TaskInfo> {
  return taskInfoOf(workspace, await requireTask(workspace, parseTaskName(name)));
}

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
    closing: queue?.closing ?? "told",
    ...(closed && { closed }),
    queued: queue !== undefined,
    queuedAt: queue?.at ?? begun.at,
    by: queue?.by ?? begun.by,
  };
}

/** The delivery that says where it stands: the first that stands so, else what is open, else the last. */
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

/** Of a task that waits: what for. */
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
      return `${now?.holder} asked ${now?.sender} about it, and waits for the answer`;
    case "offered":
      return now?.state === "scheduled"
        ? `waits until ${instant(now.readyAt)} for ${now.receiver}`
        : `waits for ${now?.receiver} to take it`;
    case "waits":
      return waitsFor.length === 0
        ? "waits for other handoffs"
        : `waits for ${joinNames(waitsFor)}`;
    case "failure":
      return `waits for a decision about a failure${whoDecides(parts)}`;
    case "parts":
      return `its own work has ended; waits for its ${openParts.length === 1 ? "part" : "parts"} ${joinNames(openParts)}`;
    case "ended":
      return "everything handed over has ended; close it";
  }
}

const closedAs = ({ as, by, reason }: StoredClosing): string =>
  `closed as ${as} by ${by}: ${reason}`;

const heldSince = (now: DeliveryRow | undefined): number =>
  now?.acceptedAt || now?.seenAt || now?.sentAt || 0;

const instant = (at: number): string => new Date(at).toISOString();

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
