/** Operations on the inbox: list it, claim an offer, then accept, decline or release it. */

import * as z from "zod";
import { ReceiptSchema } from "../delivery/receive/receipt.ts";
import { Reason } from "../delivery/settle/reason.ts";
import { InboxQuerySchema } from "../delivery/watch/inbox-listing.ts";
import { DeliveryId, EnvelopeId, Name } from "../envelope/schema.ts";
import { WAIT_FIELDS, withLongPoll } from "./long-poll.ts";
import { operation } from "./operation.ts";
import { Done, pageForm, Text } from "./schemas/common.ts";
import {
  DeliveryWithEnvelopeForm,
  OfferForm,
  ReservationConflictForm,
  SettleResultForm,
  WorkForm,
} from "./schemas/deliveries.ts";

const ByHandle = z.strictObject({ handle: Text.meta({ description: "The offer's handle" }) });

const ClaimFilter = z.strictObject({
  delivery: DeliveryId.optional().meta({ description: "Only this delivery" }),
  task: Name.optional().meta({ description: "Only a handoff of this task" }),
});

const RECEIPT_FIELDS = {
  receipt: ReceiptSchema.optional().meta({
    description: "Restates the task; required if the handoff asks for a receipt",
  }),
};

export const inboxOperations = {
  "deliveries.waiting": operation({
    summary:
      "Lists what waits for the agent or is in progress, one page at a time. Claims nothing.",
    route: "GET /v1/inbox",
    access: "reader",
    on: "agent",
    input: InboxQuerySchema,
    output: pageForm(DeliveryWithEnvelopeForm),
    rest: true,
  }),
  inbox: operation({
    summary: "Claims the next handoff for the caller's session; offer is null if none is ready.",
    route: "POST /v1/inbox/claim",
    access: "agent",
    on: "agent",
    waits: true,
    input: ClaimFilter.extend(WAIT_FIELDS),
    output: z.strictObject({ offer: OfferForm.nullable() }),
    async run(acting, { waitMs, ...which }) {
      const { signal } = acting;
      const agent = await acting.agent();
      const offer = await withLongPoll(signal, waitMs, (waiting) => agent.claim(which, waiting));
      if (offer !== undefined && !signal.aborted) return { offer: offer.toJSON() };
      await offer?.release(); // The caller has disconnected and would never receive it.
      return { offer: null };
    },
  }),
  accept: operation({
    summary: "Claims and accepts the next handoff (of a task, or one by id) in one step.",
    route: "POST /v1/inbox/accept",
    access: "agent",
    on: "agent",
    waits: true,
    input: ClaimFilter.extend({ ...RECEIPT_FIELDS, ...WAIT_FIELDS }),
    output: z.strictObject({ work: WorkForm.nullable() }),
    async run(acting, { waitMs, ...which }) {
      const { signal } = acting;
      const agent = await acting.agent();
      const work = await withLongPoll(signal, waitMs, (waiting) =>
        agent.accept({ ...which, ...waiting }),
      );
      if (work !== undefined && !signal.aborted) return { work: work.toJSON() };
      await work?.release(); // The caller has disconnected and would never receive it.
      return { work: null };
    },
  }),
  "offer.refresh": operation({
    summary: "Returns a claimed offer with everything its sender has added since.",
    route: "GET /v1/offers/:handle",
    access: "agent",
    on: "offer",
    input: ByHandle,
    output: OfferForm,
    run: async (acting, { handle }) => (await (await acting.agent()).offered(handle)).toJSON(),
  }),
  "offer.accept": operation({
    summary: "Accepts an offer. If the handoff requires a receipt, only with a matching one.",
    route: "POST /v1/offers/:handle/accept",
    access: "agent",
    on: "offer",
    input: ByHandle.extend(RECEIPT_FIELDS),
    output: WorkForm,
    async run(acting, { handle, receipt }) {
      const offer = await (await acting.agent()).offered(handle);
      return (await offer.accept(receipt === undefined ? {} : { receipt })).toJSON();
    },
  }),
  "offer.decline": operation({
    summary: "Declines an offer permanently.",
    route: "POST /v1/offers/:handle/decline",
    access: "agent",
    on: "offer",
    args: ["reason"],
    input: ByHandle.extend({
      envelope: EnvelopeId.optional().meta({
        description: "The newest envelope the caller has seen",
      }),
      reason: Reason,
    }),
    output: SettleResultForm,
  }),
  "offer.release": operation({
    summary: "Returns an offer to the inbox. Having claimed it does not count as an attempt.",
    route: "POST /v1/offers/:handle/release",
    access: "agent",
    on: "offer",
    input: ByHandle,
    output: Done,
  }),
  "offer.conflicts": operation({
    summary:
      "Lists other agents' reservations that overlap with the files an offer says it touches.",
    route: "GET /v1/offers/:handle/conflicts",
    access: "agent",
    on: "offer",
    input: ByHandle,
    output: z.array(ReservationConflictForm),
  }),
};
