/**
 * Reads a task from the store: its ledger and every delivery of it, with the status each has for the task.
 */

import { BatonError } from "../../base/errors.ts";
import { nearestNames } from "../../base/nearest-names.ts";
import type { Envelope } from "../../envelope/schema.ts";
import {
  LEDGER,
  type StoredClosing,
  type StoredLedger,
  storedLedgerOf,
} from "../../memory/stored-ledger.ts";
import { tryParseEnvelope } from "../../store/parse-envelope.ts";
import { type DeliveryRow, isOpen } from "../../store/rows.ts";
import type { DeliveryWithEnvelopeRow, PutEntry } from "../../store/store.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { TASK } from "./edges.ts";
import { type TaskDeliveryStatus, taskDeliveryStatusOf } from "./state.ts";

/** A delivery with its envelope, the envelope fields a task needs, and its status for the task. */
export interface LineDelivery extends DeliveryWithEnvelopeRow {
  readonly stand: TaskDeliveryStatus;
  readonly says: Pick<Envelope, "after" | "failure" | "joins" | "results">;
}

/** A task as it was read. Writes based on it succeed only while `revision` is current. */
export interface TaskSnapshot {
  readonly task: string;
  readonly kept: StoredLedger;
  /** The revision of the ledger. */
  readonly revision: number;
  /** In the order in which their envelopes were sent. */
  readonly parts: readonly LineDelivery[];
  /** The first handoff; undefined if it cannot be read here. */
  readonly first: Envelope | undefined;
  /** The id of the record of the last handoff. */
  readonly lastRecord: string;
}

/**
 * Reads a task. Returns undefined if it has no handoffs. The ledger is read first, and a write that depends
 * on the rest succeeds only while the ledger is unchanged.
 */
export async function readTask(
  workspace: Workspace,
  task: string,
): Promise<TaskSnapshot | undefined> {
  const { store, name } = workspace;
  const entry = await store.findEntry(name, LEDGER, task);
  const line = await store.readLine(name, task);
  const [begin] = line;
  if (entry === undefined || begin === undefined) return undefined;
  const first = tryParseEnvelope(workspace, begin.envelope);
  const kept = storedLedgerOf(entry);
  const parts = line.flatMap(({ envelope, deliveries }) => {
    const says = tryParseEnvelope(workspace, envelope) ?? {};
    return deliveries.map((delivery) => {
      const stand = wasGivenUp(kept, delivery) ? "over" : taskDeliveryStatusOf(delivery, says);
      return { delivery, envelope, says, stand };
    });
  });
  return {
    task,
    kept,
    revision: entry.revision,
    parts,
    first,
    lastRecord: line.at(-1)?.envelope.memory ?? begin.envelope.memory,
  };
}

/** Returns true if the delivery was given up before the task was reopened, and not retried since. */
const wasGivenUp = ({ reopened }: StoredLedger, { id, attempt, state }: DeliveryRow): boolean =>
  !isOpen(state) &&
  reopened?.givenUp?.some((each) => each.delivery === id && each.attempt === attempt) === true;

/** Reads a task. Throws `unknown_task`. */
export async function requireTask(workspace: Workspace, task: string): Promise<TaskSnapshot> {
  const found = await readTask(workspace, task);
  if (found === undefined) throw await unknownTask(workspace, task, "task");
  return found;
}

/**
 * Reads only the ledger of a task, which is enough to know whether it is closed. `put` writes it back
 * unchanged, as a guard against concurrent changes.
 */
export async function findTaskLedger(
  { store, name }: Workspace,
  task: string,
): Promise<{ readonly kept: StoredLedger; readonly put: PutEntry } | undefined> {
  const entry = await store.findEntry(name, LEDGER, task);
  if (entry === undefined) return undefined;
  const { kind, value, revision: basedOn } = entry;
  return { kept: storedLedgerOf(entry), put: { kind, name: task, value, basedOn } };
}

/** Returns how a task was closed; undefined if it is open or does not exist. */
export async function closingOf(
  workspace: Workspace,
  task: string,
): Promise<StoredClosing | undefined> {
  return (await findTaskLedger(workspace, task))?.kept.closed;
}

/** Returns those of the tasks that are not closed. */
export async function filterOpenTasks(
  workspace: Workspace,
  tasks: readonly string[],
): Promise<string[]> {
  const closings = await Promise.all(tasks.map((task) => closingOf(workspace, task)));
  return tasks.filter((_, i) => closings[i] === undefined);
}

/** Returns the delivery that was settled last; of several at the same time, the one sent last. */
export function lastSettledDelivery(parts: readonly LineDelivery[]): DeliveryRow | undefined {
  const ended = parts.filter(
    ({ delivery, says }) =>
      says.failure === undefined && delivery.settledAt > 0 && delivery.state !== "superseded",
  );
  const last = ended.reduce<LineDelivery | undefined>(
    (before, each) =>
      before === undefined || each.delivery.settledAt >= before.delivery.settledAt ? each : before,
    undefined,
  );
  return last?.delivery;
}

/** Returns true if the delivery waits for other tasks to be done. */
export const waitsForTasks = ({ stand, says }: LineDelivery): boolean =>
  says.after !== undefined && stand === "waits";

/** Names that are searched for suggestions. */
const NAMES = 1_000;

/** Returns the error for a task that does not exist, with similar names as suggestions. */
export async function unknownTask(
  { store, name: workspace }: Workspace,
  task: string,
  path: string,
): Promise<BatonError> {
  const kinds = await Promise.all(
    [TASK, LEDGER].map((kind) => store.listEntries({ workspace, kind, limit: NAMES })),
  );
  const names = [...new Set(kinds.flat().map(({ name }) => name))];
  const nearest = nearestNames(task, names);
  return new BatonError("unknown_task", {
    message: `${path}: task "${task}" not found.`,
    path,
    hint:
      nearest.length > 0
        ? `Did you mean ${nearest.map((each) => `"${each}"`).join(" or ")}?`
        : "List the open tasks with hub.tasks.board().",
    details: { task, nearest },
  });
}
