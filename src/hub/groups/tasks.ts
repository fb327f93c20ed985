/** `hub.tasks` and `agent.tasks`: the task queue, and what follows a task to its end. */
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

/** What a hub and an agent have in common: reading. Reading also closes tasks that have ended. */
export interface HubTasks {
  /** Returns a task's state and the reason for it, also of one that was never queued. */
  get(task: string): Promise<TaskInfo>;
  /** Returns the tasks that are not closed, sorted within a page by state, priority, deadline and age. */
  board(query?: BoardQuery): Promise<Page<TaskInfo>>;
  /** Returns closed tasks, the most recent first. */
  closed(query?: ClosedTasksQuery): Promise<Page<TaskInfo>>;
  /** Returns a task with its parts, recursively. */
  tree(task: string): Promise<TaskTree>;
  /** Returns the task's envelopes in the order they were sent, each with its deliveries. */
  line(task: string): Promise<LineStep[]>;
  /** Returns what happened to a task, in order: who did what, with whom and why. */
  timeline(task: string, query?: TimelineQuery): Promise<Timeline>;
  /** Returns the ledger: original intent, binding constraints, open decisions, progress, releases. */
  ledger(task: string): Promise<Ledger | undefined>;
  /** Returns what is reserved now, and by which agent; with `touching`, only what overlaps that. */
  reservations(query?: ReservationsQuery): Promise<Page<Reservation>>;
}

export interface AddedTask<T = unknown> {
  readonly task: TaskInfo;
  readonly sent: Sent<T>;
}

export interface AgentTasks extends HubTasks {
  /**
   * Queues a task: hands it to an agent or a role, as a part of `parent`, to start when the tasks in
   * `after` are done. Accepting the delivery claims the task.
   */
  add<T extends object = object>(task: NewTask<T>): Promise<AddedTask<T>>;
  /** Closes a task with its outcome and reason. Refused while a delivery or a part of it is open. */
  close(task: string, options: CloseOptions): Promise<TaskInfo>;
  /** Reopens a closed task. Tasks that started because it was done go on. */
  reopen(task: string, reason: string): Promise<TaskInfo>;
  /** Cancels everything open of a task and its parts, and closes them. Holders are notified. */
  cancel(task: string, reason: string): Promise<TaskInfo>;
  /** Cancels every open handoff of a task; the task stays open. */
  cancelHandoffs(task: string, reason: string): Promise<readonly Delivery[]>;
  /**
   * Releases a constraint or decision from a task's ledger, with the reason. Allowed for the agent that
   * set it or is to decide it, and for the roles in `settings.releasers`.
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

export const hubTasks = (workspace: Workspace): HubTasks => tasksOf(workspace, plainCall);

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
