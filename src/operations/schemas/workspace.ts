/** Zod schemas for settings, profiles, payload types, events, verification and other workspace data. */
import * as z from "zod";
import { WorkspaceHeadSchema } from "../../archive/heads.ts";
import { RULE_MODES, RULE_NAMES } from "../../context/lint/rule.ts";
import type { BreakerInfo } from "../../delivery/settings/breaker.ts";
import type { HandoffRules } from "../../delivery/settings/handoff-rules.ts";
import type { PayloadTypeInfo, PayloadTypeVersion } from "../../delivery/settings/payload-types.ts";
import { UNREGISTERED_MODES } from "../../delivery/settings/registry.ts";
import { FreeForm, VIEW_STRATEGIES } from "../../envelope/schema.ts";
import type { HubEvent } from "../../history/event.ts";
import type { Settings } from "../../hub/groups/settings.ts";
import type { SecretFinding, SecretsReport } from "../../memory/redaction/secrets-report.ts";
import type { PrunedSession, PruneReport } from "../../memory/traces/prune.ts";
import { RetentionSchema } from "../../memory/traces/retention.ts";
import type { RoleProfileInfo } from "../../profiles/workspace-profiles.ts";
import { DELIVERY_STATES, EVENT_KINDS } from "../../store/rows.ts";
import type { ModelState } from "../../store/search.ts";
import type { DeliveryTotals } from "../../store/store.ts";
import type { Problem, VerifyReport } from "../../store/verify-report.ts";
import { type EmbedProgress, SECRET_MODES } from "../../workspace/workspace.ts";
import { Count, Instant, Text, Texts } from "./common.ts";
import type { Fields } from "./fields.ts";
import { SpotForm } from "./memories.ts";

export const RetentionForm = RetentionSchema.meta({
  id: "Retention",
  description: "How long traces and events are kept. Without a value they are kept forever.",
});

export const AllLintRulesForm = z
  .record(z.enum(RULE_NAMES), z.enum(RULE_MODES))
  .meta({ id: "AllLintRules", description: "The mode of every lint rule." });

const Weights = z.record(z.string(), z.number());

export const RoleProfileInfoForm = z
  .strictObject({
    role: Text,
    changed: z.boolean().meta({ description: "True if the team has changed the defaults" }),
    parts: Weights,
    reserve: z.strictObject({ instructions: z.number(), system: z.number(), work: z.number() }),
    sections: Weights,
    strategy: z.enum(VIEW_STRATEGIES).optional(),
    tags: Weights,
    tokens: Count.optional(),
    types: Weights,
  } satisfies Fields<RoleProfileInfo>)
  .meta({ id: "RoleProfileInfo", description: "The effective profile of a role." });

export const PayloadTypeVersionForm = z
  .strictObject({
    version: Count.meta({ description: "1, 2, …: incremented with each changed schema" }),
    schema: FreeForm.meta({ description: "The JSON Schema" }),
    at: Instant,
    by: Text.optional().meta({ description: "The agent that registered it" }),
  } satisfies Fields<PayloadTypeVersion>)
  .meta({ id: "PayloadTypeVersion", description: "One version of a payload type." });

export const PayloadTypeInfoForm = PayloadTypeVersionForm.extend({
  name: Text,
} satisfies Pick<Fields<PayloadTypeInfo>, "name">).meta({
  id: "PayloadTypeInfo",
  description: "A payload type, in the version that is enforced.",
});

export const HandoffRulesForm = z
  .strictObject({
    actions: Texts.meta({ description: "The allowed actions; empty allows any" }),
    unregistered: z
      .enum(UNREGISTERED_MODES)
      .meta({ description: "What happens to a payload of an unregistered type" }),
  } satisfies Fields<HandoffRules>)
  .meta({
    id: "HandoffRules",
    description: "Rules that every handoff in the workspace must follow.",
  });

const PrunedSessionForm = z.strictObject({
  session: Text,
  steps: Count,
  kept: z
    .boolean()
    .meta({ description: "True if some steps were kept because they are referenced" }),
} satisfies Fields<PrunedSession>);

export const PruneReportForm = z
  .strictObject({
    rules: RetentionForm,
    dryRun: z.boolean(),
    sessions: z.array(PrunedSessionForm),
    steps: Count,
    events: Count,
    bytes: Count,
  } satisfies Fields<PruneReport>)
  .meta({ id: "PruneReport" });

export const VerifyReportForm = z
  .strictObject({
    memories: Count,
    relations: Count,
    envelopes: Count,
    deliveries: Count,
    agents: Count,
    problems: z.array(
      z.strictObject({ record: Text, field: Text, message: Text } satisfies Fields<Problem>),
    ),
  } satisfies Fields<VerifyReport>)
  .meta({ id: "VerifyReport", description: "What was verified, and the problems found." });

export const WorkspaceHeadForm = WorkspaceHeadSchema.meta({
  id: "WorkspaceHead",
  description: "The newest record of every chain at one time.",
});

export const ModelForm = z
  .strictObject({
    model: Text,
    dimensions: Count,
    vectors: Count,
    done: Count,
    total: Count,
    compared: Text.optional(),
  } satisfies Fields<ModelState>)
  .meta({ id: "Model", description: "An embedding model with stored vectors, and its progress." });

export const EmbedProgressForm = z
  .strictObject({ model: Text, done: Count, total: Count } satisfies Fields<EmbedProgress>)
  .meta({ id: "EmbedProgress" });

export const DeliveryTotalsForm = z
  .strictObject({
    envelopes: Count,
    deliveries: Count,
    byState: z.record(z.enum(DELIVERY_STATES), Count),
  } satisfies Fields<DeliveryTotals>)
  .meta({ id: "Books", description: "Number of deliveries in each state." });

export const EventForm = z
  .strictObject({
    number: Count.meta({
      description: "Increases with every event; a cursor over it never skips one",
    }),
    at: Instant,
    kind: z.enum(EVENT_KINDS),
    agent: Text.exactOptional().meta({ description: "Absent if the hub caused the event" }),
    task: Text.exactOptional(),
    delivery: Text.exactOptional(),
    envelope: Text.exactOptional(),
    attempt: Count.exactOptional(),
  } satisfies Fields<HubEvent>)
  .meta({ id: "Event" });

export const BreakerForm = z
  .strictObject({
    receiver: Text,
    state: z.enum(["closed", "open", "half-open"]),
    deliveries: Texts.meta({ description: "Consecutive deliveries that were given up" }),
    passesAt: Instant.exactOptional().meta({
      description: "When the next handoff can pass; absent means now",
    }),
  } satisfies Fields<BreakerInfo>)
  .meta({ id: "Breaker" });

const SecretFoundForm = z.strictObject({
  kind: Text,
  path: Text.exactOptional().meta({
    description: "The field that contained it; absent if the caller cannot see the record",
  }),
  in: SpotForm,
  at: Instant.exactOptional().meta({ description: "When it was stored; absent if not recorded" }),
  by: Text.exactOptional().meta({ description: "The agent that wrote it; absent if not recorded" }),
} satisfies Fields<SecretFinding>);

export const FoundSecretsForm = z
  .strictObject({
    total: Count,
    byKind: z.record(z.string(), Count),
    found: z.array(SecretFoundForm),
  } satisfies Fields<SecretsReport>)
  .meta({ id: "FoundSecrets", description: "Where secrets were removed before storing." });

export const SettingsForm = z
  .strictObject({
    retention: RetentionForm,
    secrets: z.enum(SECRET_MODES).meta({ description: "What happens to secrets in input" }),
    lint: AllLintRulesForm,
    handoffs: HandoffRulesForm,
    releasers: Texts.meta({ description: "Roles that may release ledger items of others" }),
    keepers: Texts.meta({ description: "Roles that may change the shared context" }),
    profiles: z.record(
      z.string(),
      RoleProfileInfoForm.omit({ role: true }),
    ) as unknown as z.ZodType<Settings["profiles"]>,
  } satisfies Fields<Settings>)
  .meta({ id: "Settings", description: "The settings of a workspace." });
