/** Failures: what waits for a decision, what was decided, and by which rules. */
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

/** What changes with another try, in full: the rooms take any object there, and look into it later. */
const Changes = RedriveSchema.omit({ to: true }).partial();

export const DecisionForm = z
  .strictObject({ ...DecisionSchema.shape, changes: Changes.optional() })
  .meta({ id: "Decision", description: "What is decided about a failure, and why." });

export const FailureRuleForm = FailureRuleSchema.meta({
  id: "FailureRule",
  description: "What is decided about which failures where nobody else decides.",
});

export const FailureRuleInfoForm = FailureRuleSchema.extend({ name: Text }).meta({
  id: "FailureRuleInfo",
});

const ReportedFailureForm = z.strictObject({
  ...TriedFailureForm.shape,
  attempt: Count,
  delivery: Text,
  retries: Count.meta({ description: "Tries after the first" }),
} satisfies Fields<ListedFailure["failure"]>);

const ProposalForm = z.strictObject({
  source: Text.meta({ description: "The hub's function, a rule, or what is done by default" }),
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
    delivery: Text.meta({ description: "What was given up" }),
    attempt: Count,
    failure: ReportedFailureForm,
    intent: Text,
    from: Text,
    receiver: Text,
    role: Text.exactOptional().meta({ description: "The role of the receiver" }),
    reportedAt: Instant,
    report: Text.exactOptional().meta({ description: "The delivery of the report" }),
    with: Text.exactOptional().meta({ description: "Who has the report now" }),
    asked: Texts,
    before: z
      .array(z.strictObject({ ...storedDecisionFields, attempt: Count }))
      .meta({ description: "What was decided about the same delivery before" }),
    decision: StoredDecisionForm.exactOptional(),
    advice: ProposalForm.exactOptional().meta({ description: "What the rules would do" }),
  } satisfies Record<keyof ListedFailure, z.ZodType>)
  .meta({ id: "Failure", description: "A failure, as whoever decides about it sees it." });

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
  .meta({ id: "DecisionAnswer", description: "What came of a decision about a failure." });
