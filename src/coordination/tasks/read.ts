/** Reading a task: what is kept of it, and everything that was handed over for it, with where that stands. */

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

/** A delivery, what the task needs to know of its envelope, and how it stands for the task. */
export interface LineDelivery extends DeliveryWithEnvelopeRow {
  readonly stand: TaskDeliveryStatus;
  readonly says: Pick<Envelope, "after" | "failure" | "joins" | "results">;
}

export interface TaskSnapshot {
  readonly task: string;
  readonly kept: StoredLedger;
  /** Of the ledger. */
  readonly revision: number;
  /** In the order in which their envelopes were sent. */
  readonly parts: readonly LineDelivery[];
  /** The handoff it began with; undefined where that cannot be read here. */
  readonly first: Envelope | undefined;
  /** The record of the last handoff. */
  readonly lastRecord: string;
}

/**
 * Undefined: nobody has handed over anything of it. The ledger is read first: what is decided by the
 * rest is written only while the ledger is as it was.
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

/** Whether it was given up before the task was reopened, and not tried again since. */
const wasGivenUp = ({ reopened }: StoredLedger, { id, attempt, state }: DeliveryRow): boolean =>
  !isOpen(state) &&
  reopened?.givenUp?.some((each) => each.delivery === id && each.attempt === attempt) === true;

export async function requireTask(workspace: Workspace, task: string): Promise<TaskSnapshot> {
  const found = await readTask(workspace, task);
  if (found === undefined) throw await unknownTask(workspace, task, "task");
  return found;
}

/** What is kept of a task alone: enough to know whether it is closed. */
export async function findTaskLedger(
  { store, name }: Workspace,
  task: string,
): Promise<{ readonly kept: StoredLedger; readonly put: PutEntry } | undefined> {
  const entry = await store.findEntry(name, LEDGER, task);
  if (entry === undefined) return undefined;
  const { kind, value, revision: basedOn } = entry;
  return { kept: storedLedgerOf(entry), put: { kind, name: task, value, basedOn } };
}

export async function closingOf(
  workspace: Workspace,
  task: string,
): Promise<StoredClosing | undefined> {
  return (await findTaskLedger(workspace, task))?.kept.closed;
}

/** Those of the tasks that are not closed. */
export async function filterOpenTasks(
  workspace: Workspace,
  tasks: readonly string[],
): Promise<string[]> {
  const closings = await Promise.all(tasks.map((task) => closingOf(workspace, task)));
  return tasks.filter((_, i) => closings[i] === undefined);
}

/** The last settlement of work, in time; of one moment, what was sent last. */
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

/** Whether it waits for tasks to be done. */
export const waitsForTasks = ({ stand, says }: LineDelivery): boolean =>
  says.after !== undefined && stand === "waits";

/** Names that are looked at for what somebody may have meant. */
const NAMES = 1_000;

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
    message: `${path}: nobody has handed over anything of "${task}".`,
    path,
    hint:
      nearest.length > 0
        ? `Did you mean ${nearest.map((each) => `"${each}"`).join(" or ")}?`
        : "baton task list shows what is open.",
    details: { task, nearest },
  });
}
