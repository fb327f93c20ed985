/** What became of a handoff, and what its sender, or a person, does about it. */
import * as z from "zod";
import { DeadSchema, RedriveSchema } from "../../delivery/settle/dead-letters.ts";
import { Reason } from "../../delivery/settle/reason.ts";
import { changeDigest } from "../../delivery/watch/watch.ts";
import { EditSchema } from "../../delivery/work/person.ts";
import { DeliveryId, EnvelopeId, FreeForm, Name } from "../../envelope/schema.ts";
import type { ChangedDelivery } from "../../wire/calls.ts";
import type { Operations } from "../operation.ts";
import { requirePart, requireSender } from "../own.ts";
import {
  AcceptedForm,
  AnsweredDeliveryForm,
  AskedForm,
  AttemptForm,
  ChangedForm,
  CompletedForm,
  DeadLetterForm,
  DeliveryForm,
  SentForm,
  ShownForm,
  WarningForm,
} from "../schemas/deliveries.ts";
import { ShownViewForm } from "../schemas/envelopes.ts";
import { Text } from "../schemas/plain.ts";
import { Waits, waitOf } from "../wait.ts";

const ById = z.strictObject({ id: DeliveryId });

const Seen = {
  seen: EnvelopeId.optional().meta({
    description: "The newest envelope, when the sender has added to work that was accepted before",
  }),
};

export const deliveriesOperations = {
  showDelivery: {
    summary: "Shows a delivery as it stands, with its envelope, every try, and what came of it.",
    access: "reader",
    input: ById,
    output: ShownForm,
    run: ({ hub }, { id }) => hub.delivery(id),
  },
  awaitChange: {
    summary: "Shows where a delivery stands once it is no longer as it was seen.",
    access: "reader",
    waits: true,
    input: ById.extend({
      seen: Text.optional().meta({ description: "The digest that was told before" }),
      ...Waits,
    }),
    output: ChangedForm,
    async run({ hub, signal }, { id, seen, waitMs }) {
      let now: ChangedDelivery | undefined;
      for await (const delivery of hub.changes(id, { timeoutMs: waitOf(waitMs), signal })) {
        now = { delivery, digest: changeDigest(delivery) };
        if (now.digest !== seen) break;
      }
      return now as ChangedDelivery; // It is always shown once.
    },
  },
  awaitAccepted: {
    summary: "Answers when somebody has accepted a handoff, or never will.",
    access: "reader",
    waits: true,
    input: ById.extend(Waits),
    output: AcceptedForm,
    run: ({ hub, signal }, { id, waitMs }) =>
      hub.awaitAccepted(id, { timeoutMs: waitOf(waitMs), signal }),
  },
  awaitCompleted: {
    summary: "Answers when a handoff is over, or its receiver asks back.",
    access: "reader",
    waits: true,
    input: ById.extend({
      line: z.boolean().optional().meta({
        description: "True: handed on, it is not over; the end of the line is waited for",
      }),
      ...Waits,
    }),
    output: CompletedForm,
    run: ({ hub, signal }, { id, waitMs, ...options }) =>
      hub.awaitCompleted(id, { ...options, timeoutMs: waitOf(waitMs), signal }),
  },
  attempts: {
    summary: "Lists the tries of a delivery that ended without completing.",
    access: "reader",
    input: ById,
    output: z.array(AttemptForm),
    run: ({ hub }, { id }) => hub.attempts(id),
  },
  views: {
    summary: "Shows what every holder of a delivery was shown, rendered again from the records.",
    access: "reader",
    input: ById,
    output: z.array(ShownViewForm),
    run: ({ hub }, { id }) => hub.view(id),
  },
  primer: {
    summary: "Says what to know before the first step of a delivery, in less than two kilobytes.",
    access: "reader",
    input: ById,
    output: z.strictObject({ text: Text }),
    run: async ({ hub }, { id }) => ({ text: await hub.primer(id) }),
  },
  deliveryWarnings: {
    summary: "Lists what a delivery carries that is quarantined.",
    access: "reader",
    input: ById,
    output: z.array(WarningForm),
    run: ({ hub }, { id }) => hub.warnings(id),
  },
  cancelDelivery: {
    summary: "Takes a handoff back; whoever has it is told. Of another's, for a coordinator.",
    access: "agent",
    input: ById.extend({ reason: Reason }),
    output: z.array(DeliveryForm),
    async run(acting, { id, reason }) {
      await requireSender(acting, id);
      return (await acting.agent()).cancel({ delivery: id }, reason);
    },
  },
  cancelTask: {
    summary:
      "Takes back everything of a task that is open. Without a part in it, for a coordinator.",
    access: "agent",
    input: z.strictObject({ task: Name, reason: Reason }),
    output: z.array(DeliveryForm),
    async run(acting, { task, reason }) {
      await requirePart(acting, task);
      return (await acting.agent()).cancel({ task }, reason);
    },
  },
  questions: {
    summary:
      "Lists what receivers have asked about handoffs of this agent, and nobody has answered.",
    access: "reader",
    input: z.strictObject({}),
    output: z.array(AskedForm),
    run: async (acting) => (await acting.agent()).questions(),
  },
  answer: {
    summary: "Answers a question: the work is offered again, with the answer.",
    access: "agent",
    input: ById.extend({ text: Reason }),
    output: AnsweredDeliveryForm,
    async run(acting, { id, text }) {
      await requireSender(acting, id);
      return (await acting.agent()).answer(id, text);
    },
  },
  dead: {
    summary: "Lists dead letters, with every try; a page at a time.",
    access: "reader",
    input: DeadSchema,
    output: z.array(DeadLetterForm),
    rest: true,
    run: ({ hub }, query) => hub.dead(query),
  },
  redrive: {
    summary: "Has a dead letter tried again: as it is, by another receiver, or changed.",
    access: "agent",
    input: ById.extend(RedriveSchema.shape),
    output: DeliveryForm,
    rest: true,
    async run(acting, { id, ...changes }) {
      await requireSender(acting, id);
      return (await acting.agent()).redrive(id, changes);
    },
  },
  discard: {
    summary: "Gives a dead letter up for good. Of another's, for a coordinator.",
    access: "agent",
    input: ById.extend({ reason: Reason }),
    output: DeliveryForm,
    async run(acting, { id, reason }) {
      await requireSender(acting, id);
      return (await acting.agent()).discard(id, reason);
    },
  },
  approve: {
    summary: "Takes a handoff and completes it with the approval it asks for.",
    access: "agent",
    input: ById.extend({
      comment: Text.optional(),
      outputs: FreeForm.optional().meta({ description: "What it expects besides the approval" }),
      ...Seen,
    }),
    output: AnsweredDeliveryForm,
    run: async (acting, { id, ...approval }) => (await acting.agent()).approve(id, approval),
  },
  reply: {
    summary: "Takes a handoff and completes it with the text it asks for.",
    access: "agent",
    input: ById.extend({ text: Reason, ...Seen }),
    output: AnsweredDeliveryForm,
    run: async (acting, { id, text, ...seen }) => (await acting.agent()).reply(id, text, seen),
  },
  reject: {
    summary: "Takes a handoff and declines it.",
    access: "agent",
    input: ById.extend({ reason: Reason, ...Seen }),
    output: AnsweredDeliveryForm,
    run: async (acting, { id, reason, ...seen }) => (await acting.agent()).reject(id, reason, seen),
  },
  edit: {
    summary: "Takes a handoff and hands it back to its sender with changes, as a new envelope.",
    access: "agent",
    input: ById.extend({ changes: EditSchema.meta({ id: "Edit" }) }),
    output: SentForm,
    run: async (acting, { id, changes }) =>
      (await (await acting.agent()).edit(id, changes)).toJSON(),
  },
} satisfies Operations<
  | "showDelivery"
  | "awaitChange"
  | "awaitAccepted"
  | "awaitCompleted"
  | "attempts"
  | "views"
  | "primer"
  | "deliveryWarnings"
  | "cancelDelivery"
  | "cancelTask"
  | "questions"
  | "answer"
  | "dead"
  | "redrive"
  | "discard"
  | "approve"
  | "reply"
  | "reject"
  | "edit"
>;
