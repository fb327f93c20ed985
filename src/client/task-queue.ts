/** The task queue over HTTP, as a hub shows it and as an agent uses it. */
import type { NewTask } from "../coordination/tasks/add.ts";
import type { Board, BoardQuery } from "../coordination/tasks/board.ts";
import type { CloseOptions } from "../coordination/tasks/close.ts";
import type { ClosedQuery, ClosedTasks } from "../coordination/tasks/closed.ts";
import type { TaskInfo } from "../coordination/tasks/info.ts";
import type { TaskTree } from "../coordination/tasks/tree.ts";
import type { PayloadTypes } from "../envelope/payload.ts";
import type { AddedTask, TaskBoard, TaskQueue } from "../hub/tasks.ts";
import { besides } from "./besides.ts";
import { withPayload } from "./payloads.ts";
import { RemoteSent } from "./sent.ts";
import type { Wire } from "./wire.ts";

export class RemoteTaskBoard implements TaskBoard {
  protected readonly wire: Wire;

  constructor(wire: Wire) {
    this.wire = wire;
  }

  get(task: string): Promise<TaskInfo> {
    return this.wire.call("getTask", { task });
  }

  board(query: BoardQuery = {}): Promise<Board> {
    return this.wire.call("board", query);
  }

  closed(query: ClosedQuery = {}): Promise<ClosedTasks> {
    return this.wire.call("closedTasks", query);
  }

  tree(task: string): Promise<TaskTree> {
    return this.wire.call("taskTree", { task });
  }
}

export class RemoteTaskQueue extends RemoteTaskBoard implements TaskQueue {
  readonly #payloads: PayloadTypes;

  constructor(wire: Wire, payloads: PayloadTypes) {
    super(wire);
    this.#payloads = payloads;
  }

  async add<T extends object = object>(given: NewTask<T>): Promise<AddedTask<T>> {
    const checked = await withPayload(this.#payloads, given);
    const { task, sent, ...rest } = await this.wire.call("addTask", { task: checked as NewTask });
    return { ...rest, task, sent: new RemoteSent<T>(this.wire, sent) };
  }

  close(task: string, options: CloseOptions): Promise<TaskInfo> {
    return this.wire.call("closeTask", besides(options, { task }));
  }

  reopen(task: string, reason: string): Promise<TaskInfo> {
    return this.wire.call("reopenTask", { task, reason });
  }

  cancel(task: string, reason: string): Promise<TaskInfo> {
    return this.wire.call("cancelWholeTask", { task, reason });
  }
}
