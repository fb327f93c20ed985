/** Zod schemas for failures, decisions about them, and the rules that decide automatically. */
import * as z from "zod";
import { type DecideResult, DecisionSchema } from "../../coordination/failures/decision.ts";
import type { ListedFailure } from "../../coordination/failures/list.ts";
import type { Proposal } from "../../coordination/failures/proposals.ts";
import { FailureRuleSchema } from "../../coordination/failures/rules.ts";
import { RedriveSchema } from "../../delivery/settle/dead-letters.ts";
import { DECISION_KINDS } from "../../history/failure-decisions.ts";
import { Count, Instant, Text, Texts } from "./common.ts";
import {
  DeliveryForm,
  StoredDecisionForm,
  storedDecisionFields,
  TriedFailureForm,
} from "./deliveries.ts";
import type { Fields } from "./fields.ts";

/**
 * The changes that a retry makes to the handoff, with every field. The modules below accept any object here
 * and check its fields later.
 */
const Changes = RedriveSchema.omit({ to: true }).partial();

export const DecisionForm = z
  .strictObject({ ...DecisionSchema.shape, changes: Changes.optional() })
  .meta({ id: "Decision", description: "A decision about a failure, with the reason." });

export const FailureRuleForm = FailureRuleSchema.meta({
  id: "FailureRule",
  description: "A rule that decides about matching failures when no coordinator does.",
});

export const FailureRuleInfoForm = FailureRuleSchema.extend({ name: Text }).meta({
  id: "FailureRuleInfo",
});

const ReportedFailureForm = z.strictObject({
  ...TriedFailureForm.shape,
  attempt: Count,
  delivery: Text,
  retries: Count.meta({ description: "Attempts after the first" }),
} satisfies Fields<ListedFailure["failure"]>);

const ProposalForm = z.strictObject({
  source: Text.meta({ description: "What proposes it: the hub's function, a rule or the default" }),
  decision: z.strictObject({
    changes: Changes.exactOptional(),
    decision: z.enum(DECISION_KINDS),
    delayMs: Count.exactOptional(),
    reason: Text,
    to: Text.exactOptional(),
  } satisfies Record<keyof Proposal["decision"], z.ZodType>),
} satisfies Record<keyof Proposal, z.ZodType>);

export const FailureForm = z
  .strictObject({
    task: Text,
    delivery: Text.meta({ description: "The delivery that was given up" }),
    attempt: Count,
    failure: ReportedFailureForm,
    intent: Text,
    from: Text,
    receiver: Text,
    role: Text.exactOptional().meta({ description: "The role of the receiver" }),
    reportedAt: Instant,
    report: Text.exactOptional().meta({ description: "The delivery of the report" }),
    with: Text.exactOptional().meta({ description: "The agent that holds the report" }),
    asked: Texts,
    before: z
      .array(z.strictObject({ ...storedDecisionFields, attempt: Count }))
      .meta({ description: "Earlier decisions about the same delivery" }),
    decision: StoredDecisionForm.exactOptional(),
    advice: ProposalForm.exactOptional().meta({ description: "What the rules propose" }),
  } satisfies Record<keyof ListedFailure, z.ZodType>)
  .meta({
    id: "Failure",
    description: "A delivery that was given up, with what is needed to decide about it.",
  });

type Variant<Kind extends DecideResult["kind"]> = Fields<
  Extract<DecideResult, { readonly kind: Kind }>
>;

export const DecideResultForm = z
  .discriminatedUnion("kind", [
    z.strictObject({
      kind: z.literal("decided"),
      ...storedDecisionFields,
      delivery: DeliveryForm,
    } satisfies Variant<"decided">),
    z.strictObject({
      kind: z.literal("already"),
      ...storedDecisionFields,
    } satisfies Variant<"already">),
    z.strictObject({
      kind: z.literal("asked"),
      who: Text,
      report: Text,
    } satisfies Variant<"asked">),
    z.strictObject({
      kind: z.literal("settled"),
      delivery: DeliveryForm,
    } satisfies Variant<"settled">),
  ])
  .meta({ id: "DecisionAnswer", description: "The result of deciding about a failure." });
