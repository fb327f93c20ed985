/**
 * Adds a task to the queue. The task is sent as a handoff, and the same store operation writes its ledger,
 * its queue entry, its parent and its dependencies. There is no second queue: accepting the delivery claims
 * the task. A task that waits for others is sent at once, and its delivery opens when they are done.
 */
import * as z from "zod";
import { BatonError, isBatonError } from "../../base/errors.ts";
import type { SentHandoff } from "../../delivery/send/idempotency-key.ts";
import type { Sender } from "../../delivery/send/plan.ts";
import { sendHandoff } from "../../delivery/send/send.ts";
import {
  type DraftOf,
  DraftSchema,
  EnvelopeSchema,
  Name,
  type PolicyInput,
  TimeInput,
} from "../../envelope/schema.ts";
import { parseOrThrow } from "../../envelope/violations.ts";
import { refuseClosed } from "../../ledger/closed-tasks.ts";
import type { PutEntry } from "../../store/store.ts";
import { toEntryText } from "../../workspace/entries.ts";
import { runFollowUp } from "../../workspace/follow-up.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { refuseCycle, type TaskLinks } from "./dependency-cycle.ts";
import { DEPENDENT, newEntry, pairOf, SUBTASK, TASK, TASK_ORDER } from "./edges.ts";
import { findTaskLedger, readTask, unknownTask } from "./read.ts";

/** The fields of a task beyond those of any handoff. */
export const QueueSchema = z.object({
  task: Name,
  /** The task it is part of. It inherits the ledger of that task, which is not done before this one. */
  parent: Name.optional(),
  /** Tasks that must be done before it starts. It then carries their results. */
  after: EnvelopeSchema.shape.after.unwrap().default([]),
  /** "automatic": the end of its line closes it (default). "manual": an agent closes it with `tasks.close()`. */
  closing: z.enum(["automatic", "manual"]).default("automatic"),
  /** When it must be done: a time, or a number of milliseconds from now. */
  deadline: TimeInput.optional(),
  deadlineMs: z.int().positive().optional(),
});
type QueueInput = Omit<z.input<typeof QueueSchema>, "after"> & {
  readonly after?: readonly string[] | undefined;
};

/** The input of `tasks.add()`: a handoff with the name of the task, its parent and its dependencies. */
export type NewTask<T = object> = Omit<DraftOf<T>, "task"> & QueueInput;

/**
 * Sends a handoff that adds a task to the queue. Throws `task_open` or `task_closed` if the name is taken,
 * `unknown_task`, and `invalid_input` if the task would wait for itself.
 */
export async function addTask<T extends object>(
  workspace: Workspace,
  sender: Sender,
  given: NewTask<T>,
): Promise<SentHandoff<T>> {
  const what = { code: "invalid_input", what: "The task" } as const;
  const checked = parseOrThrow(QueueSchema, given, what);
  const { task, parent, closing } = checked;
  const after = [...new Set(checked.after)];
  const { parent: _p, after: _a, closing: _c, deadline: _d, deadlineMs: _m, ...draft } = given;
  if (after.length > 0 && draft.delayMs !== undefined) throw delayWithDependencies();
  const wanted = { task, parent, after };
  const add = () =>
    sendHandoff<T>(
      workspace,
      sender,
      { ...draft, ...policyOf(checked, draft.policy) } as DraftOf<T>,
      {
        queue: { after, closing, ...(parent === undefined ? {} : { parent }) },
        ...(parent === undefined ? {} : { inherits: [parent] }),
        entries: () => entriesFor(workspace, wanted),
      },
    );
  const outcome = await add().catch((error: unknown) => {
    if (draft.key === undefined || !isTaskNameTaken(error)) throw error;
    return add(); // It may be this same task, added at the same moment: the retry finds its key.
  });
  if (outcome.kind !== "sent") throw new Error("a task outside a lease cannot lose one");
  if (outcome.joined !== "repeated") {
    await runFollowUp(`begin ${task}`, () => openIfReady(workspace, outcome, after));
  }
  return outcome;
}

const isTaskNameTaken = (error: unknown): boolean =>
  isBatonError(error) && (error.code === "task_open" || error.code === "task_closed");

/** Opens the delivery if the tasks it waits for were done meanwhile. */
async function openIfReady<T>(
  workspace: Workspace,
  { deliveries }: SentHandoff<T>,
  after: readonly string[],
): Promise<void> {
  if (after.length === 0) return;
  for (const { id } of deliveries) {
    const found = await workspace.store.findDelivery(workspace.name, id);
    if (found !== undefined) await workspace.duties.openWaiting(workspace, found);
  }
}

/** Moves a deadline that was passed beside the policy into the policy. */
function policyOf(
  { deadline, deadlineMs }: Pick<QueueInput, "deadline" | "deadlineMs">,
  policy: unknown,
): { readonly policy?: PolicyInput } {
  if (deadline === undefined && deadlineMs === undefined) return {};
  const how = { code: "invalid_envelope", what: "The handoff", prefix: "policy" } as const;
  const said = parseOrThrow(DraftSchema.shape.policy, policy, how);
  if (said === "direct") throw deadlineWithDirectPolicy();
  const due = {
    ...(deadline === undefined ? {} : { deadline }),
    ...(deadlineMs === undefined ? {} : { deadlineMs }),
  };
  return { policy: { ...said, ...due } };
}

/**
 * Returns the entries to write with the task, after checking its preconditions. Runs again whenever one of
 * them changed meanwhile.
 */
async function entriesFor(workspace: Workspace, wanted: TaskLinks): Promise<readonly PutEntry[]> {
  const { task, parent, after } = wanted;
  const isInOrder = parent !== undefined && after.length > 0;
  const order = isInOrder ? [await taskOrderGuard(workspace)] : []; // Read before the tasks it guards.
  await refuseTaken(workspace, task);
  await refuseCycle(workspace, wanted);
  for (const [i, name] of after.entries()) await refuseUnfulfillableDependency(workspace, name, i);
  return [
    newEntry(TASK, task),
    ...(parent === undefined ? [] : await subtaskEntries(workspace, task, parent)),
    ...after.map((name) => newEntry(DEPENDENT, pairOf(name, task))),
    ...order,
  ];
}

/** Throws if the name is taken: a name stands for one task. */
async function refuseTaken(workspace: Workspace, task: string): Promise<void> {
  const found = await readTask(workspace, task);
  if (found === undefined) return;
  refuseClosed(found);
  const { kept } = found;
  const queued = kept.queue === undefined ? "was started" : "was queued";
  throw new BatonError("task_open", {
    message: `Task "${task}" already exists; it ${queued} by ${kept.queue?.by ?? kept.begun.by}.`,
    path: "task",
    hint: "Choose another name, send more work with agent.handoff(), or pass a key to make retries of tasks.add() safe.",
    details: { task, by: kept.queue?.by ?? kept.begun.by },
  });
}

/** Throws if a dependency can never be done, because it failed or was cancelled. */
async function refuseUnfulfillableDependency(
  workspace: Workspace,
  task: string,
  i: number,
): Promise<void> {
  const found = await findTaskLedger(workspace, task);
  if (found === undefined) throw await unknownTask(workspace, task, `after[${i}]`);
  const { closed } = found.kept;
  if (closed === undefined || closed.as === "done") return;
  throw new BatonError("task_closed", {
    message: `after[${i}]: task "${task}" cannot be waited for: ${closed.by} closed it as ${closed.as}: ${closed.reason}`,
    path: `after[${i}]`,
    hint: "Remove it from after, or reopen it first with agent.tasks.reopen().",
    details: { task, as: closed.as, by: closed.by, reason: closed.reason },
  });
}

/**
 * Returns the entries of a part. Its parent must be queued and open; a concurrent close of the parent is
 * forced to check again.
 */
async function subtaskEntries(
  workspace: Workspace,
  task: string,
  parent: string,
): Promise<PutEntry[]> {
  const above = await findTaskLedger(workspace, parent);
  if (above === undefined) throw await unknownTask(workspace, parent, "parent");
  refuseClosed({ task: parent, kept: above.kept });
  if (above.kept.queue === undefined) throw notQueued(parent);
  return [newEntry(SUBTASK, pairOf(parent, task)), above.put];
}

/**
 * Returns the entry that both of two concurrent additions change, so that the second checks again for a
 * cycle.
 */
async function taskOrderGuard({ store, name }: Workspace): Promise<PutEntry> {
  const { kind, name: all } = TASK_ORDER;
  const entry = await store.findEntry(name, kind, all);
  return { kind, name: all, value: toEntryText({}), basedOn: entry?.revision ?? 0 };
}

function notQueued(parent: string): BatonError {
  return new BatonError("invalid_input", {
    message: `parent: task "${parent}" is not in the queue, so it cannot have parts.`,
    path: "parent",
    hint: "Queue the parent with agent.tasks.add(), or add this task without parent.",
    details: { parent },
  });
}

function delayWithDependencies(): BatonError {
  return new BatonError("invalid_input", {
    message:
      "delayMs: cannot be combined with after; the task starts when the tasks in after are done.",
    path: "delayMs",
    hint: "Pass either after or delayMs.",
  });
}

function deadlineWithDirectPolicy(): BatonError {
  return new BatonError("invalid_input", {
    message: 'deadline: cannot be combined with the policy "direct".',
    path: "deadline",
    hint: "Pass the policy as an object: { acceptMs, attempts, deadlineMs }.",
  });
}
