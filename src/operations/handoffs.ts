/** Operations that send, join, lint and preview handoffs. */
import * as z from "zod";
import { ViewOptionsSchema } from "../context/view/compose.ts";
import { AgentName, DeliveryId, EnvelopeId } from "../envelope/schema.ts";
import { withIdempotencyKey, withIdempotencyKeys } from "./idempotency-key.ts";
import { operation } from "./operation.ts";
import { requireList } from "./required-fields.ts";
import { SentForm } from "./schemas/deliveries.ts";
import { DraftForm, LintReportForm, PreviewForm } from "./schemas/envelopes.ts";

const DraftInput = z.strictObject({ draft: DraftForm });

export const handoffsOperations = {
  handoff: operation({
    summary:
      "Hands a task to an agent, a role or a channel. Once it returns, everything is on disk.",
    route: "POST /v1/handoffs",
    access: "agent",
    on: "agent",
    args: ["draft"],
    input: DraftInput.extend({
      receivers: z.array(AgentName).optional().meta({
        description: "Receivers of a publication (default: the channel's subscribers)",
      }),
    }),
    output: SentForm,
    async run(acting, { draft, ...sending }) {
      const agent = await acting.agent();
      return (await agent.send(withIdempotencyKey(acting, draft), sending)).toJSON();
    },
  }),
  handoffMany: operation({
    summary: "Sends several handoffs in one operation: all of them, or none.",
    route: "POST /v1/handoffs/batch",
    access: "agent",
    on: "agent",
    args: ["drafts"],
    input: z.strictObject({ drafts: z.array(DraftForm).min(1) }),
    output: z.array(SentForm),
    async run(acting, { drafts }) {
      const agent = await acting.agent();
      const listed = requireList(drafts, "drafts");
      const sent = await agent.handoffMany(withIdempotencyKeys(acting, listed));
      return sent.map((each) => each.toJSON());
    },
  }),
  "handoffs.join": operation({
    summary: "Sends a handoff that opens when other handoffs have completed, with their results.",
    route: "POST /v1/handoffs/join",
    access: "agent",
    on: "agent",
    args: ["of"],
    input: DraftInput.extend({
      of: z.array(DeliveryId).min(1).meta({ description: "The deliveries it waits for" }),
      need: z
        .union([z.enum(["all", "any"]), z.int().positive()])
        .optional()
        .meta({ description: "How many of them must complete (default: all)" }),
    }),
    output: SentForm,
    async run(acting, { of, draft, need }) {
      const agent = await acting.agent();
      const joining = {
        ...withIdempotencyKey(acting, draft),
        ...(need === undefined ? {} : { need }),
      };
      return (await agent.handoffs.join(of, joining)).toJSON();
    },
  }),
  "handoffs.lint": operation({
    summary: "Lints a draft. Sends nothing.",
    route: "POST /v1/handoffs/lint",
    access: "agent",
    on: "agent",
    args: ["draft"],
    input: DraftInput,
    output: LintReportForm,
  }),
  "handoffs.preview": operation({
    summary:
      "Returns the envelope a draft would become and the view its receiver would get. Sends nothing.",
    route: "POST /v1/handoffs/preview",
    access: "agent",
    on: "agent",
    args: ["draft"],
    input: DraftInput.extend(ViewOptionsSchema.shape),
    output: PreviewForm,
    rest: true,
  }),
  "handoffs.lintSent": operation({
    summary: "Lints a handoff that was sent, against what is known now.",
    route: "GET /v1/envelopes/:id/lint",
    access: "reader",
    on: "hub",
    args: ["id"],
    input: z.strictObject({ id: EnvelopeId }),
    output: LintReportForm,
  }),
};
