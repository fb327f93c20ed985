/**
 * Adding a task to the queue: it is handed over, and the same operation of the store writes its ledger, its
 * place in the queue, whose part it is and what it waits for. There is no second queue: taking it is
 * accepting the delivery. A task that waits for others is sent at once, and opens when they are done.
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

/** What is said of a task besides what any handoff says. */
export const QueueSchema = z.object({
  task: Name,
  /** The task it is part of: it inherits that one's ledger, and that one is not done before it. */
  parent: Name.optional(),
  /** Tasks that must be done before it begins; it has their results then. */
  after: EnvelopeSchema.shape.after.unwrap().default([]),
  /** Whether the end of its line closes it, or somebody does. */
  closing: z.enum(["itself", "told"]).default("itself"),
  /** When it must be done: a time, or so many milliseconds from now. */
  deadline: TimeInput.optional(),
  deadlineMs: z.int().positive().optional(),
});
type QueueInput = Omit<z.input<typeof QueueSchema>, "after"> & {
  readonly after?: readonly string[] | undefined;
};

/** A task for the queue: a handoff, with its name, and what it is part of and waits for. */
export type NewTask<T = object> = Omit<DraftOf<T>, "task"> & QueueInput;

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
    return add(); // It may have been this very task, added at the same moment: its key is there now.
  });
  if (outcome.kind !== "sent") throw new Error("a task outside a lease cannot lose one");
  if (outcome.joined !== "repeated") {
    await runFollowUp(`begin ${task}`, () => openIfReady(workspace, outcome, after));
  }
  return outcome;
}

const isTaskNameTaken = (error: unknown): boolean =>
  isBatonError(error) && (error.code === "task_open" || error.code === "task_closed");

/** What it waits for may be done by now. */
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

/** A deadline said beside the policy is the policy's. */
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

/** Everything that must hold for it, looked at again whenever somebody has changed any of it. */
async function entriesFor(workspace: Workspace, wanted: TaskLinks): Promise<readonly PutEntry[]> {
  const { task, parent, after } = wanted;
  const isInOrder = parent !== undefined && after.length > 0;
  const order = isInOrder ? [await taskOrderGuard(workspace)] : []; // Read before what it stands for.
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

/** A name means one task: what was handed over before is another. */
async function refuseTaken(workspace: Workspace, task: string): Promise<void> {
  const found = await readTask(workspace, task);
  if (found === undefined) return;
  refuseClosed(found);
  const { kept } = found;
  const queued = kept.queue === undefined ? "was begun" : "was added to the queue";
  throw new BatonError("task_open", {
    message: `"${task}" ${queued} by ${kept.queue?.by ?? kept.begun.by} before.`,
    path: "task",
    hint: "Choose another name, hand over what is new (agent.handoff), or send a key to add it once however often you try.",
    details: { task, by: kept.queue?.by ?? kept.begun.by },
  });
}

/** What failed or was cancelled is never done. */
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
    message: `after[${i}]: "${task}" was closed as ${closed.as} by ${closed.by}, and will not be done: ${closed.reason}`,
    path: `after[${i}]`,
    hint: "Leave it out, or reopen it first.",
    details: { task, as: closed.as, by: closed.by, reason: closed.reason },
  });
}

/** The parent is in the queue and open, and who is about to close it looks again. */
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

/** Of two tasks that could each wait for what the other holds up, the second looks again. */
async function taskOrderGuard({ store, name }: Workspace): Promise<PutEntry> {
  const { kind, name: all } = TASK_ORDER;
  const entry = await store.findEntry(name, kind, all);
  return { kind, name: all, value: toEntryText({}), basedOn: entry?.revision ?? 0 };
}

function notQueued(parent: string): BatonError {
  return new BatonError("invalid_input", {
    message: `parent: "${parent}" is not in the queue, so it cannot have parts.`,
    path: "parent",
    hint: "Add it with agent.tasks.add, or hand over the part as a task of its own.",
    details: { parent },
  });
}

function delayWithDependencies(): BatonError {
  return new BatonError("invalid_input", {
    message: "delayMs: a task that waits for others begins when they are done, not at a time.",
    path: "delayMs",
    hint: "Say either after or delayMs.",
  });
}

function deadlineWithDirectPolicy(): BatonError {
  return new BatonError("invalid_input", {
    message: 'deadline: the policy "direct" has none.',
    path: "deadline",
    hint: "Say the policy in full: { acceptMs, attempts, deadlineMs }.",
  });
}
