/** The task queue, what follows a task to its end, and what happened to it. */
import * as z from "zod";
import { ReservationsSchema } from "../../coordination/reservations/list.ts";
import { BoardSchema } from "../../coordination/tasks/board.ts";
import { CloseSchema } from "../../coordination/tasks/close.ts";
import { ClosedSchema } from "../../coordination/tasks/closed.ts";
import { TimelineSchema } from "../../coordination/timeline/timeline.ts";
import { Reason } from "../../delivery/settle/reason.ts";
import { DraftSchema, Name } from "../../envelope/schema.ts";
import { keyed } from "../keyed.ts";
import type { Operations } from "../operation.ts";
import { ReservationForm, SentForm } from "../schemas/deliveries.ts";
import {
  BoardForm,
  ClosedTasksForm,
  LedgerForm,
  LineStepForm,
  NewTaskForm,
  TaskForm,
  TaskTreeForm,
  TimelineForm,
} from "../schemas/tasks.ts";

const ByTask = z.strictObject({ task: Name });
const Reasoned = ByTask.extend({ reason: Reason });

export const tasksOperations = {
  getTask: {
    summary: "Shows how a task stands, and why.",
    access: "reader",
    input: ByTask,
    output: TaskForm,
    run: async (acting, { task }) => (await acting.reader()).tasks.get(task),
  },
  board: {
    summary: "Shows every task that is not closed, by state; a page at a time.",
    access: "reader",
    input: BoardSchema,
    output: BoardForm,
    rest: true,
    run: async (acting, query) => (await acting.reader()).tasks.board(query),
  },
  closedTasks: {
    summary: "Lists tasks that were closed, the last first; a page at a time.",
    access: "reader",
    input: ClosedSchema,
    output: ClosedTasksForm,
    rest: true,
    run: async (acting, query) => (await acting.reader()).tasks.closed(query),
  },
  taskTree: {
    summary: "Shows a task with its parts, and theirs.",
    access: "reader",
    input: ByTask,
    output: TaskTreeForm,
    run: async (acting, { task }) => (await acting.reader()).tasks.tree(task),
  },
  line: {
    summary: "Lists a task's envelopes in the order they were sent, each with where it stands.",
    access: "reader",
    input: ByTask,
    output: z.array(LineStepForm),
    run: ({ hub }, { task }) => hub.line(task),
  },
  timeline: {
    summary: "Tells what happened to a task: who did what, with whom and why.",
    access: "reader",
    input: ByTask.extend(TimelineSchema.shape),
    output: TimelineForm,
    rest: true,
    run: ({ hub }, { task, ...query }) => hub.timeline(task, query),
  },
  addTask: {
    summary: "Puts a task into the queue: hands it over, to begin when what it waits for is done.",
    access: "agent",
    input: z.strictObject({ task: NewTaskForm }),
    output: z.strictObject({ task: TaskForm, sent: SentForm }),
    async run(acting, input) {
      const { task, sent } = await (await acting.agent()).tasks.add(keyed(acting, input.task));
      return { task, sent: sent.toJSON() };
    },
  },
  closeTask: {
    summary: "Says how a task ended, and why. Refused while something of it is open.",
    access: "agent",
    input: ByTask.extend(CloseSchema.shape),
    output: TaskForm,
    rest: true,
    run: async (acting, { task, ...options }) => (await acting.agent()).tasks.close(task, options),
  },
  reopenTask: {
    summary: "Takes the closing off a task. What began because it was done goes on.",
    access: "agent",
    input: Reasoned,
    output: TaskForm,
    run: async (acting, { task, reason }) => (await acting.agent()).tasks.reopen(task, reason),
  },
  cancelWholeTask: {
    summary: "Takes back everything open of a task and its parts, and closes them.",
    access: "agent",
    input: Reasoned,
    output: TaskForm,
    run: async (acting, { task, reason }) => (await acting.agent()).tasks.cancel(task, reason),
  },
  ledger: {
    summary: "Shows what follows a task to its end: intent, musts, open decisions, releases.",
    access: "reader",
    input: ByTask,
    output: z.strictObject({ ledger: LedgerForm.nullable() }),
    run: async (acting, { task }) => ({
      ledger: (await (await acting.reader()).ledger(task)) ?? null,
    }),
  },
  releaseFromLedger: {
    summary: "Takes a constraint or a decision off a task's ledger, with the reason.",
    access: "agent",
    input: ByTask.extend({ released: DraftSchema.shape.releases.unwrap().element }),
    output: LedgerForm,
    run: async (acting, { task, released }) => (await acting.agent()).release(task, released),
  },
  reservations: {
    summary: "Lists what is reserved now, and by whom; a page at a time.",
    access: "reader",
    input: ReservationsSchema,
    output: z.array(ReservationForm),
    rest: true,
    run: async (acting, query) => (await acting.reader()).reservations(query),
  },
} satisfies Operations<
  | "getTask"
  | "board"
  | "closedTasks"
  | "taskTree"
  | "line"
  | "timeline"
  | "addTask"
  | "closeTask"
  | "reopenTask"
  | "cancelWholeTask"
  | "ledger"
  | "releaseFromLedger"
  | "reservations"
>;
