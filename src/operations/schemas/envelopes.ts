/** Envelopes, what senders write for them, and what receivers are shown of them. */

import * as z from "zod";
import { type Finding, RULE_NAMES } from "../../context/lint/rule.ts";
import type { CheckedContext, CheckedReference } from "../../context/view/gaps.ts";
import {
  type CheckedArtifact,
  OMISSION_REASONS,
  type OmittedMemory,
  type SectionUse,
  type ShownEarlier,
  type ShownMemory,
  type View,
  type ViewBudget,
} from "../../context/view/view.ts";
import type { LintReport } from "../../delivery/send/lint-handoff.ts";
import type { Preview } from "../../delivery/send/preview.ts";
import type { ShownView } from "../../delivery/work/views.ts";
import type { DetectedSecret } from "../../envelope/mask-secrets.ts";
import {
  DETAIL_LEVELS,
  DraftSchema,
  TolerantEnvelopeSchema,
  VIEW_STRATEGIES,
} from "../../envelope/schema.ts";
import type { ViewGap } from "../../memory/view-gap.ts";
import { SECTIONS } from "../../profiles/view-parts.ts";
import { Count, Instant, Text } from "./common.ts";
import type { Fields } from "./fields.ts";

/** As it is read: of any minor version, with fields that nobody here knows. */
export const EnvelopeForm = TolerantEnvelopeSchema.meta({
  id: "Envelope",
  description: "One handoff of a task from one agent to the next: immutable once sent.",
});

export const DraftForm = DraftSchema.meta({
  id: "Draft",
  description: "What a sender writes of a handoff. Ids, sender, version and digests are the hub's.",
});

export const SecretsForm = z
  .array(z.strictObject({ kind: Text, path: Text } satisfies Fields<DetectedSecret>))
  .meta({
    description: "Secrets that were taken out of what was said: what they look like, where",
  });

export const FindingForm = z.strictObject({
  rule: z.enum(RULE_NAMES),
  level: z.enum(["warn", "error"]),
  path: Text.meta({ description: "Where: next[2]" }),
  message: Text,
  hint: Text.meta({ description: "What to write instead" }),
} satisfies Fields<Finding>);

export const LintReportForm = z
  .strictObject({
    ok: z.boolean().meta({ description: "No finding is an error" }),
    findings: z.array(FindingForm),
  } satisfies Fields<LintReport>)
  .meta({ id: "LintReport", description: "What could be better about a handoff." });

const Share = z.number().min(0).max(1);
const Section = z.enum(SECTIONS);
const Freshness = z.enum(["fresh", "stale", "gone"]);

const BudgetForm = z.strictObject({
  tokens: Count,
  from: z.enum(["call", "envelope", "profile", "window", "default"]).meta({
    description: "Who said so",
  }),
  tokenizer: Text,
  exact: z.boolean(),
  margin: z.number().meta({ description: "What is kept free because the count is an estimate" }),
} satisfies Fields<ViewBudget>);

const ShownMemoryForm = z.strictObject({
  id: Text,
  section: Section,
  level: z.enum(DETAIL_LEVELS),
  tokens: Count,
  insteadOf: Text.exactOptional().meta({ description: "The record that was referred to" }),
  freshness: Freshness.exactOptional(),
} satisfies Fields<ShownMemory>);

const ShownEarlierForm = z.strictObject({
  id: Text.meta({ description: "Where it stands: a part of an earlier envelope, or an attempt" }),
  label: Text.meta({ description: "What the text calls it" }),
  tokens: Count,
} satisfies Fields<ShownEarlier>);

const OmittedForm = z.strictObject({
  id: Text,
  section: Section,
  tokens: Count.meta({ description: "What it would take to show it in full" }),
  shown: z
    .enum(DETAIL_LEVELS)
    .exactOptional()
    .meta({ description: "How much of it is shown, where that is not nothing" }),
  why: z.enum(OMISSION_REASONS),
} satisfies Fields<OmittedMemory>);

export const GapForm = z.strictObject({ id: Text, reason: Text } satisfies Fields<ViewGap>);

const ArtifactForm = z.strictObject({
  path: Text,
  freshness: z.enum([...Freshness.options, "unchecked"]),
} satisfies Fields<CheckedArtifact>);

const SectionUseForm = z.strictObject({
  section: Section,
  tokens: Count,
  shown: Count,
  omitted: Count,
} satisfies Fields<SectionUse>);

const view = {
  envelope: Text,
  version: Text.meta({ description: "Of the envelope" }),
  task: Text,
  receiver: Text,
  role: Text.exactOptional().meta({ description: "The role it was composed for" }),
  strategy: z.enum(VIEW_STRATEGIES),
  budget: BudgetForm,
  text: Text.meta({ description: "Ready to paste. Stored text is fenced as data." }),
  digest: Text.meta({ description: "SHA-256 of the text" }),
  tokens: Count,
  sections: z.array(SectionUseForm),
  shown: z.array(ShownMemoryForm),
  earlier: z
    .array(ShownEarlierForm)
    .meta({ description: "What earlier attempts and handoffs reported" }),
  omitted: z.array(OmittedForm).meta({ description: "What was considered and is not in it" }),
  gaps: z.array(GapForm).meta({ description: "References that cannot be shown" }),
  artifacts: z.array(ArtifactForm),
  completeness: Share.meta({ description: "References resolved ÷ requested" }),
  coverage: Share.meta({ description: "What the budget let in ÷ what was considered" }),
  utilisation: Share.meta({ description: "Tokens used ÷ tokens there are" }),
} satisfies Fields<View>;

const ViewForm = z
  .strictObject(view)
  .meta({ id: "View", description: "What one receiver gets of a handoff, within its budget." });

export const ShownViewForm = z
  .strictObject({
    ...view,
    memory: Text.meta({ description: "The record it is kept in" }),
    at: Instant,
    matches: z.boolean().meta({ description: "False: something it showed was taken away since" }),
  } satisfies Fields<ShownView>)
  .meta({ id: "ShownView", description: "A view that was shown." });

export const PreviewForm = z
  .strictObject({
    view: ViewForm,
    envelope: EnvelopeForm,
    to: Text.meta({ description: "The receiver's address" }),
  } satisfies Fields<Preview>)
  .meta({ id: "Preview", description: "What a handoff would be; nothing is sent or written." });

const CheckedReferenceForm = z.strictObject({
  id: Text,
  freshness: Freshness,
  now: Text.exactOptional().meta({ description: "What holds in its place" }),
  reason: Text.exactOptional().meta({ description: "Why it is gone" }),
} satisfies Fields<CheckedReference>);

export const CheckedContextForm = z
  .strictObject({
    references: z.array(CheckedReferenceForm),
    artifacts: z.array(ArtifactForm),
  } satisfies Fields<CheckedContext>)
  .meta({ id: "CheckedContext", description: "Whether what a handoff builds on is as it was." });
