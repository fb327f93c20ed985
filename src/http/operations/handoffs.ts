/** Handing over. */
import * as z from "zod";
import { ViewOptionsSchema } from "../../context/view/compose.ts";
import { AgentName, DeliveryId, EnvelopeId } from "../../envelope/schema.ts";
import { keyed } from "../keyed.ts";
import type { Operations } from "../operation.ts";
import { SentForm } from "../schemas/deliveries.ts";
import { DraftForm, LintReportForm, PreviewForm } from "../schemas/envelopes.ts";

const Drafted = z.strictObject({ draft: DraftForm });

export const handoffsOperations = {
  handoff: {
    summary: "Hands a task over, to an agent, a role or a channel. Answered means stored for good.",
    access: "agent",
    input: Drafted.extend({
      receivers: z.array(AgentName).optional().meta({
        description: "Of a publication: these, instead of the channel's subscribers",
      }),
    }),
    output: SentForm,
    async run(acting, { draft, ...sending }) {
      const agent = await acting.agent();
      return (await agent.send(keyed(acting, draft), sending)).toJSON();
    },
  },
  joinHandoffs: {
    summary: "Hands over what opens when other handoffs have completed, with their results.",
    access: "agent",
    input: Drafted.extend({
      of: z.array(DeliveryId).min(1).meta({ description: "The deliveries it waits for" }),
      need: z
        .union([z.enum(["all", "any"]), z.int().positive()])
        .optional()
        .meta({ description: "How many of them: all unless told" }),
    }),
    output: SentForm,
    async run(acting, { of, draft, need }) {
      const agent = await acting.agent();
      const joining = { ...keyed(acting, draft), ...(need === undefined ? {} : { need }) };
      return (await agent.join(of, joining)).toJSON();
    },
  },
  lintDraft: {
    summary: "Says what could be better about a handoff before it is sent. Sends nothing.",
    access: "agent",
    input: Drafted,
    output: LintReportForm,
    run: async (acting, { draft }) => (await acting.agent()).lint(draft),
  },
  preview: {
    summary: "Shows what a handoff would be and what its receiver would be shown. Sends nothing.",
    access: "agent",
    input: Drafted.extend(ViewOptionsSchema.shape),
    output: PreviewForm,
    rest: true,
    run: async (acting, { draft, ...options }) => (await acting.agent()).preview(draft, options),
  },
  lintEnvelope: {
    summary: "Says what could be better about a handoff that was sent, by what holds now.",
    access: "reader",
    input: z.strictObject({ id: EnvelopeId }),
    output: LintReportForm,
    run: ({ hub }, { id }) => hub.lint(id),
  },
} satisfies Operations<"handoff" | "joinHandoffs" | "lintDraft" | "preview" | "lintEnvelope">;
