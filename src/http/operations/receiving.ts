/** Receiving: looking at what waits, claiming an offer, accepting it or leaving it. */
import * as z from "zod";
import { ReceiptSchema } from "../../delivery/receive/receipt.ts";
import { Reason } from "../../delivery/settle/reason.ts";
import { WaitingSchema } from "../../delivery/watch/inbox-listing.ts";
import { DeliveryId, EnvelopeId, Name } from "../../envelope/schema.ts";
import type { Operations } from "../operation.ts";
import {
  OfferForm,
  ReservationConflictForm,
  SettlingForm,
  WaitingForm,
  WorkForm,
} from "../schemas/deliveries.ts";
import { DONE, Done, Text } from "../schemas/plain.ts";
import { during, Waits } from "../wait.ts";

const ByHandle = z.strictObject({ handle: Text.meta({ description: "The offer's handle" }) });

const Which = z.strictObject({
  delivery: DeliveryId.optional().meta({ description: "This one" }),
  task: Name.optional().meta({ description: "Only a handoff of this task" }),
});

const Receipt = {
  receipt: ReceiptSchema.optional().meta({
    description: "Says back what it is about, where the handoff requires it",
  }),
};

export const receivingOperations = {
  waiting: {
    summary: "Lists what waits for the agent or is under way; a page at a time. Claims nothing.",
    access: "reader",
    input: WaitingSchema,
    output: z.array(WaitingForm),
    rest: true,
    run: async (acting, query) => (await acting.agent()).waiting(query),
  },
  claim: {
    summary: "Claims the next handoff for the caller's session, to accept it or to leave it.",
    access: "agent",
    waits: true,
    input: Which.extend(Waits),
    output: z.strictObject({ offer: OfferForm.nullable() }),
    async run(acting, { waitMs, ...which }) {
      const { signal } = acting;
      const agent = await acting.agent();
      const offer = await during(signal, waitMs, (waiting) => agent.claim(which, waiting));
      if (offer !== undefined && !signal.aborted) return { offer: offer.toJSON() };
      await offer?.release(); // Nobody would hear of it.
      return { offer: null };
    },
  },
  accept: {
    summary: "Takes the oldest handoff that waits (of a task, or one by id), in one step.",
    access: "agent",
    waits: true,
    input: Which.extend({ ...Receipt, ...Waits }),
    output: z.strictObject({ work: WorkForm.nullable() }),
    async run(acting, { waitMs, ...which }) {
      const { signal } = acting;
      const agent = await acting.agent();
      const work = await during(signal, waitMs, (waiting) =>
        agent.accept({ ...which, ...waiting }),
      );
      if (work !== undefined && !signal.aborted) return { work: work.toJSON() };
      await work?.release(); // Nobody would hear of it.
      return { work: null };
    },
  },
  refreshOffer: {
    summary: "Shows an offer that was claimed, with all that its sender has added since.",
    access: "agent",
    input: ByHandle,
    output: OfferForm,
    run: async (acting, { handle }) => (await (await acting.agent()).offered(handle)).toJSON(),
  },
  acceptOffer: {
    summary: "Takes an offer. Where the handoff requires a receipt, only with one that fits.",
    access: "agent",
    input: ByHandle.extend(Receipt),
    output: WorkForm,
    async run(acting, { handle, receipt }) {
      const offer = await (await acting.agent()).offered(handle);
      return (await offer.accept(receipt === undefined ? {} : { receipt })).toJSON();
    },
  },
  declineOffer: {
    summary: "Refuses an offer for good.",
    access: "agent",
    input: ByHandle.extend({
      envelope: EnvelopeId.optional().meta({ description: "The newest that the caller knows" }),
      reason: Reason,
    }),
    output: SettlingForm,
    run: async (acting, { handle, envelope, reason }) =>
      (await (await acting.agent()).offered(handle, envelope)).decline(reason),
  },
  releaseOffer: {
    summary: "Puts an offer back. Having looked at it does not count as a try.",
    access: "agent",
    input: ByHandle,
    output: Done,
    async run(acting, { handle }) {
      await (await (await acting.agent()).offered(handle)).release();
      return DONE;
    },
  },
  offerConflicts: {
    summary: "Tells who works on what an offer says its work will touch.",
    access: "agent",
    input: ByHandle,
    output: z.array(ReservationConflictForm),
    run: async (acting, { handle }) => (await (await acting.agent()).offered(handle)).conflicts(),
  },
} satisfies Operations<
  | "waiting"
  | "claim"
  | "accept"
  | "refreshOffer"
  | "acceptOffer"
  | "declineOffer"
  | "releaseOffer"
  | "offerConflicts"
>;
