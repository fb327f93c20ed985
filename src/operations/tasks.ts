/** Operations on tasks: the queue, lines, timelines, ledgers and reservations. */

import * as z from "zod";
import { ReservationsSchema } from "../coordination/reservations/list.ts";
import { BoardSchema } from "../coordination/tasks/board.ts";
import { CloseSchema } from "../coordination/tasks/close.ts";
import { ClosedTasksSchema } from "../coordination/tasks/closed-tasks.ts";
import { TimelineSchema } from "../coordination/timeline/timeline.ts";
import { Reason } from "../delivery/settle/reason.ts";
import { DraftSchema, Name } from "../envelope/schema.ts";
import { withIdempotencyKey } from "./idempotency-key.ts";
import { operation } from "./operation.ts";
import { pageForm } from "./schemas/common.ts";
import { ReservationForm, SentForm } from "./schemas/deliveries.ts";
import {
  LedgerForm,
  LineStepForm,
  NewTaskForm,
  TaskForm,
  TaskTreeForm,
  TimelineForm,
} from "./schemas/tasks.ts";

const ByTask = z.strictObject({ task: Name });
const ByTaskWithReason = ByTask.extend({ reason: Reason });

export const tasksOperations = {
  "tasks.get": operation({
    summary: "Returns a task's state and the reason for it.",
    route: "GET /v1/tasks/:task",
    access: "reader",
    on: "reader",
    args: ["task"],
    input: ByTask,
    output: TaskForm,
  }),
  "tasks.board": operation({
    summary: "Returns every task that is not closed, by state, one page at a time.",
    route: "GET /v1/tasks",
    access: "reader",
    on: "reader",
    input: BoardSchema,
    output: pageForm(TaskForm),
    rest: true,
  }),
  "tasks.closed": operation({
    summary: "Lists closed tasks, the most recent first, one page at a time.",
    route: "GET /v1/closed-tasks",
    access: "reader",
    on: "reader",
    input: ClosedTasksSchema,
    output: pageForm(TaskForm),
    rest: true,
  }),
  "tasks.tree": operation({
    summary: "Returns a task with its parts, recursively.",
    route: "GET /v1/tasks/:task/tree",
    access: "reader",
    on: "reader",
    args: ["task"],
    input: ByTask,
    output: TaskTreeForm,
  }),
  "tasks.line": operation({
    summary: "Lists a task's envelopes in the order they were sent, each with its deliveries.",
    route: "GET /v1/tasks/:task/line",
    access: "reader",
    on: "reader",
    args: ["task"],
    input: ByTask,
    output: z.array(LineStepForm),
  }),
  "tasks.timeline": operation({
    summary: "Returns what happened to a task: who did what, with whom and why.",
    route: "GET /v1/tasks/:task/timeline",
    access: "reader",
    on: "reader",
    args: ["task"],
    input: ByTask.extend(TimelineSchema.shape),
    output: TimelineForm,
    rest: true,
  }),
  "tasks.add": operation({
    summary: "Queues a task, to start when the tasks it depends on are done.",
    route: "POST /v1/tasks",
    access: "agent",
    on: "agent",
    args: ["task"],
    input: z.strictObject({ task: NewTaskForm }),
    output: z.strictObject({ task: TaskForm, sent: SentForm }),
    async run(acting, input) {
      const { task, sent } = await (await acting.agent()).tasks.add(
        withIdempotencyKey(acting, input.task),
      );
      return { task, sent: sent.toJSON() };
    },
  }),
  "tasks.close": operation({
    summary: "Closes a task with its outcome and reason. Refused while a part of it is open.",
    route: "POST /v1/tasks/:task/close",
    access: "agent",
    on: "agent",
    args: ["task"],
    input: ByTask.extend(CloseSchema.shape),
    output: TaskForm,
    rest: true,
  }),
  "tasks.reopen": operation({
    summary: "Reopens a closed task. Tasks that started because it was done are not stopped.",
    route: "POST /v1/tasks/:task/reopen",
    access: "agent",
    on: "agent",
    args: ["task", "reason"],
    input: ByTaskWithReason,
    output: TaskForm,
  }),
  "tasks.cancel": operation({
    summary: "Cancels the open handoffs of a task and its parts, and closes the tasks.",
    route: "POST /v1/tasks/:task/cancel",
    access: "agent",
    on: "agent",
    args: ["task", "reason"],
    input: ByTaskWithReason,
    output: TaskForm,
  }),
  "tasks.ledger": operation({
    summary: "Returns the ledger of a task: intent, binding constraints, open decisions, progress.",
    route: "GET /v1/tasks/:task/ledger",
    access: "reader",
    on: "reader",
    args: ["task"],
    input: ByTask,
    field: "ledger",
    output: z.strictObject({ ledger: LedgerForm.nullable() }),
  }),
  "tasks.releaseItem": operation({
    summary: "Releases a constraint or decision from a task's ledger, with the reason.",
    route: "POST /v1/tasks/:task/ledger/release",
    access: "agent",
    on: "agent",
    args: ["task", "released"],
    input: ByTask.extend({ released: DraftSchema.shape.releases.unwrap().element }),
    output: LedgerForm,
  }),
  "tasks.reservations": operation({
    summary: "Lists the current reservations and their holders, one page at a time.",
    route: "GET /v1/reservations",
    access: "reader",
    on: "reader",
    input: ReservationsSchema,
    output: pageForm(ReservationForm),
    rest: true,
  }),
};
