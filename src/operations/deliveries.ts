/** Operations on deliveries, questions, dead letters and approvals. */

import * as z from "zod";
import { DeadLetterQuerySchema, RedriveSchema } from "../delivery/settle/dead-letters.ts";
import { Reason } from "../delivery/settle/reason.ts";
import { DeliveriesSchema } from "../delivery/watch/list-deliveries.ts";
import { changeDigest } from "../delivery/watch/watch.ts";
import { type Edit, EditSchema } from "../delivery/work/person-decisions.ts";
import { DeliveryId, EnvelopeId, FreeForm, Name } from "../envelope/schema.ts";
import type { Delivery } from "../history/delivery.ts";
import { parseWaitMs, WAIT_FIELDS } from "./long-poll.ts";
import { operation } from "./operation.ts";
import { requireSender, requireTaskParticipant } from "./rights/ownership.ts";
import { Done, pageForm, Text } from "./schemas/common.ts";
import {
  AcceptedOutcomeForm,
  AnsweredDeliveryForm,
  AttemptForm,
  CompletedOutcomeForm,
  DeadLetterForm,
  DeliveryChangeForm,
  DeliveryDetailsForm,
  DeliveryForm,
  DeliveryWithEnvelopeForm,
  OpenQuestionForm,
  SentForm,
  WarningForm,
} from "./schemas/deliveries.ts";
import { ShownViewForm } from "./schemas/envelopes.ts";
import { DeliveryTotalsForm } from "./schemas/workspace.ts";

const Nothing = z.strictObject({});
const ById = z.strictObject({ id: DeliveryId });

const SEEN_FIELDS = {
  seen: EnvelopeId.optional().meta({
    description:
      "The newest envelope the caller has seen, if the sender extended work that was accepted before",
  }),
};

export const deliveriesOperations = {
  "deliveries.get": operation({
    summary: "Returns a delivery with its envelope, every attempt and its result.",
    route: "GET /v1/deliveries/:id",
    access: "reader",
    on: "hub",
    args: ["id"],
    input: ById,
    output: DeliveryDetailsForm,
  }),
  "deliveries.list": operation({
    summary: "Lists deliveries of all receivers, newest first, one page at a time.",
    route: "GET /v1/deliveries",
    access: "reader",
    on: "hub",
    input: DeliveriesSchema,
    output: pageForm(DeliveryWithEnvelopeForm),
    rest: true,
  }),
  "deliveries.watch": operation({
    summary: "Returns a delivery as soon as it differs from the version the caller has seen.",
    route: "GET /v1/deliveries/:id/status",
    access: "reader",
    on: "hub",
    args: ["id"],
    waits: true,
    input: ById.extend({
      seen: Text.optional().meta({ description: "The digest of the last response" }),
      ...WAIT_FIELDS,
    }),
    output: DeliveryChangeForm,
    async run({ hub, signal }, { id, seen, waitMs }) {
      let now: { readonly delivery: Delivery; readonly digest: string } | undefined;
      for await (const delivery of hub.deliveries.watch(id, {
        timeoutMs: parseWaitMs(waitMs),
        signal,
      })) {
        now = { delivery, digest: changeDigest(delivery) };
        if (now.digest !== seen) break;
      }
      return now; // Always set: watch() yields at least once.
    },
  }),
  "deliveries.accepted": operation({
    summary: "Waits until a handoff is accepted, or can no longer be.",
    route: "GET /v1/deliveries/:id/accepted",
    access: "reader",
    on: "hub",
    args: ["id"],
    waits: true,
    input: ById.extend(WAIT_FIELDS),
    output: AcceptedOutcomeForm,
    run: ({ hub, signal }, { id, waitMs }) =>
      hub.deliveries.accepted(id, { timeoutMs: parseWaitMs(waitMs), signal }),
  }),
  "deliveries.completed": operation({
    summary: "Waits until a handoff is settled, or its receiver asks a question.",
    route: "GET /v1/deliveries/:id/completed",
    access: "reader",
    on: "hub",
    args: ["id"],
    waits: true,
    input: ById.extend({
      line: z.boolean().optional().meta({
        description:
          "True: if the work is handed on, wait for the end of the line (default: false)",
      }),
      ...WAIT_FIELDS,
    }),
    output: CompletedOutcomeForm,
    run: ({ hub, signal }, { id, waitMs, ...options }) =>
      hub.deliveries.completed(id, { ...options, timeoutMs: parseWaitMs(waitMs), signal }),
  }),
  "deliveries.attempts": operation({
    summary: "Lists the attempts of a delivery that ended without completing it.",
    route: "GET /v1/deliveries/:id/attempts",
    access: "reader",
    on: "hub",
    args: ["id"],
    input: ById,
    output: z.array(AttemptForm),
  }),
  "deliveries.views": operation({
    summary: "Returns every view that holders of a delivery were shown.",
    route: "GET /v1/deliveries/:id/views",
    access: "reader",
    on: "hub",
    args: ["id"],
    input: ById,
    output: z.array(ShownViewForm),
  }),
  "deliveries.primer": operation({
    summary: "Returns what to know before the first step of a delivery, in less than 2 KB.",
    route: "GET /v1/deliveries/:id/primer",
    access: "reader",
    on: "hub",
    args: ["id"],
    input: ById,
    field: "text",
    output: z.strictObject({ text: Text }),
  }),
  "deliveries.warnings": operation({
    summary: "Lists the quarantined memories that a delivery builds on.",
    route: "GET /v1/deliveries/:id/warnings",
    access: "reader",
    on: "hub",
    args: ["id"],
    input: ById,
    output: z.array(WarningForm),
  }),
  "deliveries.cancel": operation({
    summary:
      "Cancels a handoff and notifies its holder. Other agents' handoffs: coordinators only.",
    route: "POST /v1/deliveries/:id/cancel",
    access: "agent",
    on: "agent",
    args: ["id", "reason"],
    input: ById.extend({ reason: Reason }),
    output: z.array(DeliveryForm),
    guard: (acting, { id }) => requireSender(acting, id),
  }),
  "tasks.cancelHandoffs": operation({
    summary:
      "Cancels every open handoff of a task. Agents that took no part in it: coordinators only.",
    route: "POST /v1/tasks/:task/cancel-handoffs",
    access: "agent",
    on: "agent",
    args: ["task", "reason"],
    input: z.strictObject({ task: Name, reason: Reason }),
    output: z.array(DeliveryForm),
    guard: (acting, { task }) => requireTaskParticipant(acting, task),
  }),
  "questions.list": operation({
    summary: "Lists the open questions of receivers about handoffs of this agent.",
    route: "GET /v1/questions",
    access: "reader",
    on: "agent",
    input: z.strictObject({}),
    output: z.array(OpenQuestionForm),
  }),
  "questions.answer": operation({
    summary: "Answers a question; the work is offered again, with the answer.",
    route: "POST /v1/deliveries/:id/answer",
    access: "agent",
    on: "agent",
    args: ["id", "text"],
    input: ById.extend({ text: Reason }),
    output: AnsweredDeliveryForm,
    guard: (acting, { id }) => requireSender(acting, id),
  }),
  "deadLetters.list": operation({
    summary: "Lists dead letters with every attempt, one page at a time.",
    route: "GET /v1/dead-letters",
    access: "reader",
    on: "hub",
    input: DeadLetterQuerySchema,
    output: pageForm(DeadLetterForm),
    rest: true,
  }),
  "deadLetters.redrive": operation({
    summary: "Delivers a dead letter again: as it is, to another receiver, or changed.",
    route: "POST /v1/dead-letters/:id/redrive",
    access: "agent",
    on: "agent",
    args: ["id"],
    input: ById.extend(RedriveSchema.shape),
    output: DeliveryForm,
    rest: true,
    guard: (acting, { id }) => requireSender(acting, id),
  }),
  "deadLetters.discard": operation({
    summary: "Closes a dead letter permanently. Other agents' dead letters: coordinators only.",
    route: "POST /v1/dead-letters/:id/discard",
    access: "agent",
    on: "agent",
    args: ["id", "reason"],
    input: ById.extend({ reason: Reason }),
    output: DeliveryForm,
    guard: (acting, { id }) => requireSender(acting, id),
  }),
  "approvals.approve": operation({
    summary: "Accepts a handoff and completes it with the approval it asks for.",
    route: "POST /v1/deliveries/:id/approve",
    access: "agent",
    on: "agent",
    args: ["id"],
    input: ById.extend({
      comment: Text.optional(),
      outputs: FreeForm.optional().meta({
        description: "Expected outputs other than the approval",
      }),
      ...SEEN_FIELDS,
    }),
    output: AnsweredDeliveryForm,
  }),
  "approvals.reply": operation({
    summary: "Accepts a handoff and completes it with the text it asks for.",
    route: "POST /v1/deliveries/:id/reply",
    access: "agent",
    on: "agent",
    args: ["id", "text"],
    input: ById.extend({ text: Reason, ...SEEN_FIELDS }),
    output: AnsweredDeliveryForm,
  }),
  "approvals.reject": operation({
    summary: "Accepts a handoff and declines it.",
    route: "POST /v1/deliveries/:id/reject",
    access: "agent",
    on: "agent",
    args: ["id", "reason"],
    input: ById.extend({ reason: Reason, ...SEEN_FIELDS }),
    output: AnsweredDeliveryForm,
  }),
  "approvals.edit": operation({
    summary: "Accepts a handoff and returns it to its sender with changes, as a new envelope.",
    route: "POST /v1/deliveries/:id/edit",
    access: "agent",
    on: "agent",
    args: ["id", "changes"],
    input: ById.extend({ changes: EditSchema.meta({ id: "Edit" }) }),
    output: SentForm,
    run: async (acting, { id, changes }) =>
      (await (await acting.agent()).approvals.edit(id, changes as Edit)).toJSON(),
  }),
  "deliveries.totals": operation({
    summary: "Counts the deliveries in each state.",
    route: "GET /v1/totals",
    access: "reader",
    on: "hub",
    input: Nothing,
    output: DeliveryTotalsForm,
  }),
  "deliveries.runDue": operation({
    summary: "Carries out everything that is due now. Running hubs and waiting agents do this too.",
    route: "POST /v1/run-due",
    access: "agent",
    on: "hub",
    input: Nothing,
    output: Done,
  }),
};
