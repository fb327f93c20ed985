/** Zod schemas for tasks, task trees, lines, timelines and ledgers. */
import * as z from "zod";
import { QueueSchema } from "../../coordination/tasks/add.ts";
import type { TaskDelivery, TaskInfo } from "../../coordination/tasks/info.ts";
import { TASK_STATES } from "../../coordination/tasks/state.ts";
import type { TaskTree } from "../../coordination/tasks/tree.ts";
import type { TimelineDecision, TimelineStep } from "../../coordination/timeline/step.ts";
import type { Timeline } from "../../coordination/timeline/timeline.ts";
import type { LineStep } from "../../delivery/watch/task-line.ts";
import { DraftSchema, PRIORITIES } from "../../envelope/schema.ts";
import { DECISION_KINDS } from "../../history/failure-decisions.ts";
import { DELIVERY_STATES } from "../../hub/serialized.ts";
import type {
  Ledger,
  LedgerConstraint,
  LedgerDecision,
  LedgerIntent,
  LedgerRelease,
} from "../../ledger/ledger.ts";
import type { Provenance, StoredClosing } from "../../memory/stored-ledger.ts";
import { Count, Instant, pageForm, Text, Texts } from "./common.ts";
import { DeliveryForm, TriedFailureForm } from "./deliveries.ts";
import { EnvelopeForm } from "./envelopes.ts";
import type { Fields } from "./fields.ts";
import { ProgressForm } from "./progress.ts";

export const NewTaskForm = z.strictObject({ ...DraftSchema.shape, ...QueueSchema.shape }).meta({
  id: "NewTask",
  description: "A task for the queue: a handoff, and the tasks it waits for.",
});

const TaskDeliveryForm = z.strictObject({
  id: Text,
  state: z.enum(DELIVERY_STATES),
  receiver: Text,
  holder: Text.exactOptional().meta({ description: "The agent that holds it, or held it last" }),
  attempt: Count,
  failure: z.boolean().meta({ description: "True: it reports a failure and asks for a decision" }),
} satisfies Fields<TaskDelivery>);

const ClosingForm = z.strictObject({
  as: z.enum(["done", "failed", "cancelled"]),
  at: Instant,
  by: Text,
  reason: Text,
  record: Text,
  repeats: Text.exactOptional().meta({ description: "The record that the reason was copied from" }),
} satisfies Fields<StoredClosing>);

const task = {
  task: Text,
  state: z.enum(TASK_STATES),
  why: Text.meta({ description: "Why it is in that state, in words" }),
  intent: Text,
  to: Text.exactOptional().meta({
    description: "Its first receiver; absent if its first envelope cannot be read",
  }),
  holder: Text.exactOptional(),
  priority: z.enum(PRIORITIES),
  deadline: Instant.exactOptional(),
  parent: Text.exactOptional(),
  after: Texts.meta({ description: "Tasks that must be done before it starts" }),
  waitsFor: Texts.meta({ description: "Those of them that are not done" }),
  children: Count,
  openChildren: Count,
  deliveries: z.array(TaskDeliveryForm),
  closing: z.enum(["automatic", "manual"]),
  closed: ClosingForm.exactOptional(),
  queued: z.boolean(),
  queuedAt: Instant,
  by: Text.meta({ description: "The agent that added it" }),
} satisfies Fields<TaskInfo>;

export const TaskForm = z
  .strictObject(task)
  .meta({ id: "Task", description: "A task, its state and the reason for the state." });

export const TaskTreeForm = z
  .strictObject({
    ...task,
    get parts(): z.ZodType<readonly TaskTree[]> {
      return z.array(TaskTreeForm);
    },
  })
  .meta({ id: "TaskTree", description: "A task with its parts, recursively." });

export const LineStepForm = z
  .strictObject({
    envelope: EnvelopeForm,
    digest: Text,
    memory: Text.meta({ description: "The handoff record on the chain" }),
    sentAt: Instant,
    deliveries: z.array(DeliveryForm),
  } satisfies Fields<LineStep>)
  .meta({ id: "LineStep", description: "An envelope of a task's line, with its deliveries." });

const TimelineDecisionForm = z.strictObject({
  decision: z.enum(DECISION_KINDS),
  by: Text,
  reason: Text.exactOptional(),
  to: Text.exactOptional(),
} satisfies Fields<TimelineDecision>);

const TimelineStepForm = z
  .strictObject({
    at: Instant,
    kind: Text.meta({ description: "handed_over, accepted, completed, failed, silent, …" }),
    agent: Text,
    to: Text.exactOptional(),
    action: Text.exactOptional(),
    task: Text,
    text: Text,
    why: Text.exactOptional(),
    memory: Text.exactOptional(),
    type: Text.exactOptional(),
    delivery: Text.exactOptional(),
    attempt: Count.exactOptional(),
    failure: TriedFailureForm.exactOptional(),
    decision: TimelineDecisionForm.exactOptional(),
    report: z.literal(true).exactOptional(),
  } satisfies Record<keyof TimelineStep, z.ZodType>)
  .meta({
    id: "TimelineStep",
    description: "One step of a task: which agent did what, with which other agent, and why.",
  });

export const TimelineForm = z
  .strictObject({
    task: Text,
    tasks: Texts,
    ...pageForm(TimelineStepForm).shape,
  } satisfies Record<keyof Timeline, z.ZodType>)
  .meta({ id: "Timeline", description: "What happened to a task, in order." });

const ledgerSourceFields = {
  at: Instant,
  by: Text,
  envelope: Text,
  record: Text.exactOptional(),
} satisfies Fields<Provenance>;

const taskField = { task: Text.meta({ description: "The task that has it on its ledger" }) };

export const LedgerForm = z
  .strictObject({
    task: Text,
    intent: Text.meta({ description: "The original intent, verbatim" }),
    brief: Text.exactOptional().meta({
      description: "The memory with the full text of a long intent",
    }),
    begun: z.strictObject(ledgerSourceFields),
    origins: z.array(
      z.strictObject({
        ...taskField,
        intent: Text,
        brief: Text.exactOptional(),
      } satisfies Fields<LedgerIntent>),
    ),
    constraints: z.array(
      z.strictObject({
        ...taskField,
        ...ledgerSourceFields,
        id: Text,
        rule: Text,
        source: Text.exactOptional(),
      } satisfies Fields<LedgerConstraint>),
    ),
    decisions: z.array(
      z.strictObject({
        ...taskField,
        ...ledgerSourceFields,
        id: Text,
        options: Texts,
        owner: Text.exactOptional(),
        question: Text,
      } satisfies Fields<LedgerDecision>),
    ),
    progress: z.array(ProgressForm).meta({
      description: "Items that are done, not to be redone or blocked, until they are released",
    }),
    released: z.array(
      z.strictObject({
        ...taskField,
        at: Instant,
        by: Text,
        decided: Text.exactOptional(),
        id: Text,
        kind: z.enum(["constraint", "decision", "blocked", "doNotRedo", "done"]),
        reason: Text,
        record: Text,
        said: Text,
        setBy: Text,
      } satisfies Fields<LedgerRelease>),
    ),
    from: Texts.meta({ description: "The tasks it inherits from" }),
  } satisfies Fields<Ledger>)
  .meta({
    id: "Ledger",
    description: "The ledger of a task: intent, binding constraints, open decisions, progress.",
  });
