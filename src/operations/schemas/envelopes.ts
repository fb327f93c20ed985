/** Zod schemas for envelopes, drafts, lint findings and views. */

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
  UNCHECKED_REASONS,
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

/** An envelope of any minor version; may contain fields that this version of Baton does not know. */
export const EnvelopeForm = TolerantEnvelopeSchema.meta({
  id: "Envelope",
  description: "The sealed, immutable content of a handoff.",
});

export const DraftForm = DraftSchema.meta({
  id: "Draft",
  description: "What the sender writes. The hub adds ids, sender, version and digests.",
});

export const SecretsForm = z
  .array(z.strictObject({ kind: Text, path: Text } satisfies Fields<DetectedSecret>))
  .meta({
    description: "Secrets that were removed from the input: the kind and path of each",
  });

export const FindingForm = z.strictObject({
  rule: z.enum(RULE_NAMES),
  level: z.enum(["warn", "error"]),
  path: Text.meta({ description: "Path of the field, such as next[2]" }),
  message: Text,
  hint: Text.meta({ description: "How to fix it" }),
} satisfies Fields<Finding>);

export const LintReportForm = z
  .strictObject({
    ok: z.boolean().meta({ description: "True if no finding has the level error" }),
    findings: z.array(FindingForm),
  } satisfies Fields<LintReport>)
  .meta({ id: "LintReport", description: "The lint findings of a handoff." });

const Share = z.number().min(0).max(1);
const Section = z.enum(SECTIONS);
const Freshness = z.enum(["fresh", "stale", "gone"]);

const BudgetForm = z.strictObject({
  tokens: Count,
  from: z.enum(["call", "envelope", "profile", "window", "default"]).meta({
    description: "Where the budget was set",
  }),
  tokenizer: Text,
  exact: z.boolean(),
  margin: z.number().meta({
    description: "Share of the budget left unused because the token count is an estimate",
  }),
} satisfies Fields<ViewBudget>);

const ShownMemoryForm = z.strictObject({
  id: Text,
  section: Section,
  level: z.enum(DETAIL_LEVELS),
  tokens: Count,
  insteadOf: Text.exactOptional().meta({
    description: "The referenced record that this one replaces",
  }),
  freshness: Freshness.exactOptional(),
} satisfies Fields<ShownMemory>);

const ShownEarlierForm = z.strictObject({
  id: Text.meta({ description: "A part of an earlier envelope, or an attempt" }),
  label: Text.meta({ description: "The id used for it in the text" }),
  tokens: Count,
} satisfies Fields<ShownEarlier>);

const OmittedForm = z.strictObject({
  id: Text,
  section: Section,
  tokens: Count.meta({ description: "Tokens needed to show it in full" }),
  shown: z
    .enum(DETAIL_LEVELS)
    .exactOptional()
    .meta({ description: "The level at which it is shown; absent if it is not shown" }),
  why: z.enum(OMISSION_REASONS),
} satisfies Fields<OmittedMemory>);

export const GapForm = z.strictObject({ id: Text, reason: Text } satisfies Fields<ViewGap>);

const ArtifactForm = z.strictObject({
  path: Text,
  freshness: z.enum([...Freshness.options, "unchecked"]),
  reason: z.enum(UNCHECKED_REASONS).exactOptional(),
} satisfies Fields<CheckedArtifact>);

const SectionUseForm = z.strictObject({
  section: Section,
  tokens: Count,
  shown: Count,
  omitted: Count,
} satisfies Fields<SectionUse>);

const view = {
  envelope: Text,
  version: Text.meta({ description: "Version of the envelope" }),
  task: Text,
  receiver: Text,
  role: Text.exactOptional().meta({ description: "The role it was composed for" }),
  strategy: z.enum(VIEW_STRATEGIES),
  budget: BudgetForm,
  text: Text.meta({
    description: "The view, ready to paste into a prompt; stored text is fenced as data",
  }),
  boundary: Text.meta({ description: "The number in the fences of the text" }),
  digest: Text.meta({ description: "SHA-256 of the text" }),
  tokens: Count,
  sections: z.array(SectionUseForm),
  shown: z.array(ShownMemoryForm),
  earlier: z
    .array(ShownEarlierForm)
    .meta({ description: "What earlier attempts and handoffs reported" }),
  omitted: z
    .array(OmittedForm)
    .meta({ description: "Candidates that were left out, or shown shortened" }),
  gaps: z.array(GapForm).meta({ description: "References that cannot be shown" }),
  artifacts: z.array(ArtifactForm),
  completeness: Share.meta({ description: "References resolved ÷ requested" }),
  coverage: Share.meta({ description: "Tokens shown ÷ tokens of all candidates" }),
  utilisation: Share.meta({ description: "Tokens used ÷ token budget" }),
} satisfies Fields<View>;

const ViewForm = z
  .strictObject(view)
  .meta({ id: "View", description: "What one receiver gets of a handoff, within its budget." });

export const ShownViewForm = z
  .strictObject({
    ...view,
    memory: Text.meta({ description: "The memory that stores the view" }),
    at: Instant,
    matches: z.boolean().meta({ description: "False if something it showed was deleted since" }),
  } satisfies Fields<ShownView>)
  .meta({ id: "ShownView", description: "A view that was shown to a receiver." });

export const PreviewForm = z
  .strictObject({
    view: ViewForm,
    envelope: EnvelopeForm,
    to: Text.meta({ description: "The receiver's address" }),
  } satisfies Fields<Preview>)
  .meta({
    id: "Preview",
    description: "The envelope and view that a draft would produce. Nothing is sent or stored.",
  });

const CheckedReferenceForm = z.strictObject({
  id: Text,
  freshness: Freshness,
  now: Text.exactOptional().meta({ description: "The record that replaced it" }),
  reason: Text.exactOptional().meta({ description: "Why it is gone" }),
} satisfies Fields<CheckedReference>);

export const CheckedContextForm = z
  .strictObject({
    references: z.array(CheckedReferenceForm),
    artifacts: z.array(ArtifactForm),
  } satisfies Fields<CheckedContext>)
  .meta({
    id: "CheckedContext",
    description: "Whether the references and files of a handoff have changed.",
  });
