/** `hub.tasks` and `agent.tasks`: the task queue, and the ledger and timeline of each task. */
import type { Page } from "../../base/page.ts";
import { listReservations, type ReservationsQuery } from "../../coordination/reservations/list.ts";
import type { Reservation } from "../../coordination/reservations/reservation.ts";
import { addTask, type NewTask } from "../../coordination/tasks/add.ts";
import { type BoardQuery, listBoardTasks } from "../../coordination/tasks/board.ts";
import { type CloseOptions, cancelTaskTree, closeTask } from "../../coordination/tasks/close.ts";
import { type ClosedTasksQuery, listClosedTasks } from "../../coordination/tasks/closed-tasks.ts";
import { getTask, type TaskInfo } from "../../coordination/tasks/info.ts";
import { reopenTask } from "../../coordination/tasks/reopen.ts";
import { type TaskTree, taskTree } from "../../coordination/tasks/tree.ts";
import {
  type Timeline,
  type TimelineQuery,
  timelineOf,
} from "../../coordination/timeline/timeline.ts";
import type { Sender } from "../../delivery/send/plan.ts";
import { cancel } from "../../delivery/settle/cancel.ts";
import { type LineStep, readTaskLine } from "../../delivery/watch/task-line.ts";
import { type Delivery, deliveryOf } from "../../history/delivery.ts";
import { type Ledger, ledgerOf } from "../../ledger/ledger.ts";
import { parseTaskName, release } from "../../ledger/release.ts";
import type { ReleaseInput } from "../../ledger/release-check.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { LocalSent, type Sent } from "../sent.ts";
import { type Call, plainCall } from "./call.ts";

/** `hub.tasks`, and the reading part of `agent.tasks`. Reading also closes tasks that have ended. */
export interface HubTasks {
  /**
   * Returns the state of a task and the reason for it, also if it was never queued. Throws `unknown_task`.
   */
  get(task: string): Promise<TaskInfo>;
  /**
   * Returns the tasks that are not closed, sorted within a page by state, priority, deadline and age. Default
   * limit: `limits.taskTree`.
   */
  board(query?: BoardQuery): Promise<Page<TaskInfo>>;
  /** Returns closed tasks, the most recent first. Default limit: 50. */
  closed(query?: ClosedTasksQuery): Promise<Page<TaskInfo>>;
  /** Returns a task with its parts, recursively. At most `limits.taskTree` tasks. */
  tree(task: string): Promise<TaskTree>;
  /** Returns the envelopes of a task in the order they were sent, each with its deliveries. */
  line(task: string): Promise<LineStep[]>;
  /** Returns what happened to a task, in order: which agent did what, with whom and why. */
  timeline(task: string, query?: TimelineQuery): Promise<Timeline>;
  /**
   * Returns the ledger of a task: original intent, binding constraints, open decisions, progress, releases.
   * Returns undefined if the task does not exist.
   */
  ledger(task: string): Promise<Ledger | undefined>;
  /**
   * Returns the current reservations and their holders; with `touching`, only those that overlap these globs.
   */
  reservations(query?: ReservationsQuery): Promise<Page<Reservation>>;
}

/** A task that was added to the queue, and its handoff. */
export interface AddedTask<T = unknown> {
  readonly task: TaskInfo;
  readonly sent: Sent<T>;
}

/** `agent.tasks`: also queues, closes, reopens and cancels tasks. */
export interface AgentTasks extends HubTasks {
  /**
   * Queues a task: hands it to an agent or a role, as a part of `parent`, to start when the tasks in `after`
   * are done. Accepting the delivery claims the task. Throws `task_open` or `task_closed` if the name is
   * taken, and `unknown_task` if `parent` or a task in `after` does not exist.
   *
   * ```ts
   * await agent.tasks.add({ task: "deploy", to: "role:ops", intent: "Deploy 1.2.", after: ["test"] });
   * ```
   */
  add<T extends object = object>(task: NewTask<T>): Promise<AddedTask<T>>;
  /**
   * Closes a task with an outcome (default: "done") and a reason. Throws `task_open` while a delivery or a
   * part of it is open, and `not_permitted`.
   */
  close(task: string, options: CloseOptions): Promise<TaskInfo>;
  /**
   * Reopens a closed task. Tasks that started because it was done continue. Throws `task_open` if it is not
   * closed.
   */
  reopen(task: string, reason: string): Promise<TaskInfo>;
  /** Cancels everything that is open in a task and its parts, and closes them. Holders are notified. */
  cancel(task: string, reason: string): Promise<TaskInfo>;
  /** Cancels every open handoff of a task; the task stays open. */
  cancelHandoffs(task: string, reason: string): Promise<readonly Delivery[]>;
  /**
   * Releases a constraint or decision from the ledger of a task, with the reason. Allowed for the agent that
   * set it or is to decide it, and for the roles in `settings.releasers`. Throws `not_permitted`,
   * `not_on_ledger`.
   */
  releaseItem(task: string, released: ReleaseInput): Promise<Ledger>;
}

function tasksOf(workspace: Workspace, call: Call): HubTasks {
  return {
    get: (task) => call(async () => getTask(workspace, task)),
    board: (query = {}) => call(async () => listBoardTasks(workspace, query)),
    closed: (query = {}) => call(async () => listClosedTasks(workspace, query)),
    tree: (task) => call(async () => taskTree(workspace, task)),
    line: (task) => call(async () => readTaskLine(workspace, parseTaskName(task))),
    timeline: (task, query = {}) => call(async () => timelineOf(workspace, task, query)),
    ledger: (task) => call(async () => ledgerOf(workspace, parseTaskName(task))),
    reservations: (query = {}) => call(async () => listReservations(workspace, query)),
  };
}

/** Returns `hub.tasks` for a workspace. */
export const hubTasks = (workspace: Workspace): HubTasks => tasksOf(workspace, plainCall);

/** Returns `agent.tasks` for a session. */
export function agentTasks(workspace: Workspace, self: Sender, call: Call): AgentTasks {
  const afterwards = (task: string, run: () => Promise<void>): Promise<TaskInfo> =>
    call(async () => {
      await run();
      return getTask(workspace, task);
    });
  return {
    ...tasksOf(workspace, call),
    add: <T extends object>(task: NewTask<T>) =>
      call(async () => {
        const sent = new LocalSent<T>(workspace, self, await addTask<T>(workspace, self, task));
        return { sent, task: await getTask(workspace, sent.task) };
      }),
    close: (task, options) => afterwards(task, () => closeTask(workspace, self, task, options)),
    reopen: (task, reason) => afterwards(task, () => reopenTask(workspace, self, task, reason)),
    cancel: (task, reason) => afterwards(task, () => cancelTaskTree(workspace, self, task, reason)),
    cancelHandoffs: (task, reason) =>
      call(async () => (await cancel(workspace, self, { task }, reason)).map(deliveryOf)),
    releaseItem: (task, released) => call(() => release(workspace, self, task, released)),
  };
}
