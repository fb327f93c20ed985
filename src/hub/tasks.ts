/** The task queue, as a hub shows it and as an agent uses it. */

import { addTask, type NewTask } from "../coordination/tasks/add.ts";
import { type Board, type BoardQuery, board } from "../coordination/tasks/board.ts";
import { type CloseOptions, cancelWhole, closeTask } from "../coordination/tasks/close.ts";
import { type ClosedQuery, type ClosedTasks, closedTasks } from "../coordination/tasks/closed.ts";
import { getTask, type TaskInfo } from "../coordination/tasks/info.ts";
import { reopenTask } from "../coordination/tasks/reopen.ts";
import { type TaskTree, taskTree } from "../coordination/tasks/tree.ts";
import type { Sender } from "../delivery/send/plan.ts";
import type { Workspace } from "../workspace/workspace.ts";
import type { Public } from "./public.ts";
import { LocalSent, type Sent } from "./sent.ts";

/** All calls pass it. */
type Call = <T>(run: () => Promise<T>) => Promise<T>;

/** The task queue, for looking. */
export type TaskBoard = Public<LocalTaskBoard>;

/** What can be seen of the queue. Looking also closes what is over, if nobody has come to it yet. */
export class LocalTaskBoard {
  readonly #workspace: Workspace;
  readonly #call: Call;

  constructor(workspace: Workspace, call: Call = (run) => run()) {
    this.#workspace = workspace;
    this.#call = call;
  }

  /** How a task stands, and why; also of one that was only handed over. */
  get(task: string): Promise<TaskInfo> {
    return this.#call(() => getTask(this.#workspace, task));
  }

  /** Every task that is not closed, by state. */
  board(query: BoardQuery = {}): Promise<Board> {
    return this.#call(() => board(this.#workspace, query));
  }

  /** Tasks that were closed, the last first. */
  closed(query: ClosedQuery = {}): Promise<ClosedTasks> {
    return this.#call(() => closedTasks(this.#workspace, query));
  }

  /** A task with its parts, and theirs. */
  tree(task: string): Promise<TaskTree> {
    return this.#call(() => taskTree(this.#workspace, task));
  }
}

export interface AddedTask<T = unknown> {
  readonly task: TaskInfo;
  readonly sent: Sent<T>;
}

/** The task queue, for one agent. */
export type TaskQueue = Public<LocalTaskQueue>;

export class LocalTaskQueue extends LocalTaskBoard {
  readonly #workspace: Workspace;
  readonly #self: Sender;
  readonly #call: Call;

  constructor(workspace: Workspace, self: Sender, call: Call) {
    super(workspace, call);
    this.#workspace = workspace;
    this.#self = self;
    this.#call = call;
  }

  /**
   * Puts a task into the queue: hands it over to an agent or a role, as part of `parent`, to begin when
   * the tasks in `after` are done. Whoever accepts the delivery has taken it.
   */
  add<T extends object = object>(task: NewTask<T>): Promise<AddedTask<T>> {
    return this.#call(async () => {
      const outcome = await addTask<T>(this.#workspace, this.#self, task);
      const sent = new LocalSent<T>(this.#workspace, this.#self, outcome);
      return { sent, task: await getTask(this.#workspace, sent.task) };
    });
  }

  /** Says how a task ended, and why. Refused while a delivery or a part of it is open. */
  close(task: string, options: CloseOptions): Promise<TaskInfo> {
    return this.#then(task, () => closeTask(this.#workspace, this.#self, task, options));
  }

  /** Takes the closing off. What began because the task was done goes on. */
  reopen(task: string, reason: string): Promise<TaskInfo> {
    return this.#then(task, () => reopenTask(this.#workspace, this.#self, task, reason));
  }

  /** Takes back everything open of a task and its parts, and closes them. Whoever holds something is told. */
  cancel(task: string, reason: string): Promise<TaskInfo> {
    return this.#then(task, () => cancelWhole(this.#workspace, this.#self, task, reason));
  }

  #then(task: string, run: () => Promise<void>): Promise<TaskInfo> {
    return this.#call(async () => {
      await run();
      return getTask(this.#workspace, task);
    });
  }
}
