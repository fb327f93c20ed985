/** Memories, and what is asked and answered about them. */

import * as z from "zod";
import type { DocumentReport, ImportedEntry } from "../../archive/markdown/import-document.ts";
import type { CatchUp } from "../../coordination/catch-up/catch-up.ts";
import type { ReadMemory } from "../../delivery/work/read-record.ts";
import { DETAIL_LEVELS } from "../../envelope/schema.ts";
import type { PinnedMemory } from "../../memory/pins.ts";
import {
  EXPOSURE_WAYS,
  type Impact,
  type ImpactAgent,
  type ImpactDelivery,
  type ImpactMemory,
} from "../../memory/quarantine/blast-radius.ts";
import type { QuarantinedMemory, QuarantineResult } from "../../memory/quarantine/quarantine.ts";
import type { QuarantineMark } from "../../memory/quarantine/quarantine-mark.ts";
import type { RecentMemory, Relation } from "../../memory/read.ts";
import type { HitHandoff } from "../../memory/recall/hit-handoff.ts";
import type { Hit, RecallResult } from "../../memory/recall/recall.ts";
import type { RememberResult } from "../../memory/recall/remember-checked.ts";
import type { RelationSuggestion, SimilarMemory } from "../../memory/recall/similar-memories.ts";
import { type Memory, MemoryInputSchema, RELATION_KINDS } from "../../memory/record.ts";
import type { RedactReport } from "../../memory/redaction/redact.ts";
import type { RedactionLocation } from "../../memory/redaction/redaction-finding.ts";
import type { WithSecrets } from "../../memory/redaction/secret-policy.ts";
import type { ScoreParts } from "../../search/rank.ts";
import type { Redaction } from "../../store/redaction.ts";
import { DELIVERY_STATES, type DeliveryStep, type PublishStep } from "../../store/rows.ts";
import type { IndexState } from "../../store/search.ts";
import { Count, Instant, pageForm, Text, Texts } from "./common.ts";
import { SecretsForm } from "./envelopes.ts";
import type { Fields } from "./fields.ts";

export const MemoryInputForm = MemoryInputSchema.meta({
  id: "NewMemory",
  description: "Something to remember. With an id of the caller's own, the same again is the same.",
});

const DeliveryStepForm = z.strictObject({
  attempt: Count,
  delivery: Text,
  instead: Text.optional().meta({ description: "The delivery whose place it took" }),
  to: Text.optional().meta({ description: "The receiver it goes to from now on" }),
  verb: z.enum([
    "send",
    "extend",
    "accept",
    "complete",
    "fail",
    "decline",
    "release",
    "ask",
    "answer",
    "cancel",
    "redrive",
    "discard",
    "reroute",
    "reconstruct",
    "open",
  ]),
} satisfies Fields<DeliveryStep>);

const PublishStepForm = z.strictObject({
  deliveries: z.array(z.tuple([Text, Text])),
  verb: z.literal("publish"),
} satisfies Fields<PublishStep>);

const RedactedForm = z.union([
  z.strictObject({
    digest: Text,
    id: Text,
    kind: z.enum(["memory", "envelope"]),
    stub: Text.meta({ description: "The digest of what stands there now" }),
  }),
  z.strictObject({ id: Text, kind: z.enum(["attempt", "entry", "agent"]) }),
]);

const RedactionForm = z
  .strictObject({
    at: Instant,
    by: Text,
    digest: Text.meta({ description: "Of the body that was here" }),
    id: Text,
    reason: Text,
    record: Text.meta({ description: "The record on the chain that vouches for it" }),
  } satisfies Fields<Redaction>)
  .meta({ id: "Redaction", description: "A body was taken away: by whom, when and why." });

const quarantineMarkFields = {
  by: Text,
  at: Instant,
  reason: Text,
  record: Text.meta({ description: "The record on the chain that says so" }),
} satisfies Fields<QuarantineMark>;

const memoryFields = {
  agent: Text,
  branch: Text,
  concepts: Texts.optional(),
  confidence: z.number().optional(),
  content: Text.meta({ description: "Empty where it was redacted" }),
  createdAt: Instant,
  data: z.record(z.string(), z.unknown()).optional(),
  digest: Text.meta({ description: "SHA-256 over everything its author said" }),
  envelope: z
    .strictObject({ digest: Text, id: Text })
    .optional()
    .meta({ description: "The envelope a handoff record vouches for" }),
  id: Text,
  importance: z.number().optional(),
  instance: Text,
  key: Text.optional(),
  link: Text.meta({ description: "Binds it to all that was stored on its branch before" }),
  quarantined: z.strictObject(quarantineMarkFields).exactOptional(),
  redacted: RedactionForm.optional(),
  redacts: z.array(RedactedForm).optional(),
  refs: Texts.optional(),
  relations: z
    .array(
      z.strictObject({
        from: Instant.optional(),
        kind: z.enum(RELATION_KINDS),
        to: Text,
        until: Instant.optional(),
      }),
    )
    .optional(),
  run: Text.optional(),
  salt: Text.exactOptional().meta({ description: "Absent where it was redacted" }),
  scope: z.enum(["agent", "session", "user", "team"]).optional(),
  seq: Count,
  session: Text,
  signature: Text.exactOptional().meta({ description: "Absent if its author has no key" }),
  storedAt: Instant,
  tags: Texts.optional(),
  task: Text.optional(),
  trail: z
    .array(z.union([DeliveryStepForm, PublishStepForm]))
    .optional()
    .meta({ description: "What it did to which deliveries" }),
  type: Text,
  user: Text.optional(),
  validFrom: Instant.optional(),
  validUntil: Instant.optional(),
} satisfies Fields<Memory>;

export const MemoryForm = z.strictObject(memoryFields).meta({
  id: "Memory",
  description: "A memory: what its author said, and its place on the chain.",
});

export const ReadMemoryForm = z
  .strictObject({
    ...memoryFields,
    insteadOf: Text.optional().meta({ description: "The record that was asked for" }),
    level: z.enum(DETAIL_LEVELS).optional(),
    text: Text.optional().meta({ description: "The text at the level that was asked for" }),
    textBy: z.enum(["record", "sender", "summary", "model", "extract"]).optional(),
    value: z
      .unknown()
      .optional()
      .meta({ description: "Of a part of an envelope: the value itself" }),
  } satisfies Fields<ReadMemory>)
  .meta({ id: "ReadMemory", description: "A memory as it was asked for." });

export const RecentMemoryForm = z
  .strictObject({
    ...memoryFields,
    superseded: z
      .strictObject({ by: Text.exactOptional() })
      .exactOptional()
      .meta({ description: "It is no longer current: by the record that is, where there is one" }),
  } satisfies Fields<RecentMemory>)
  .meta({ id: "RecentMemory", description: "A memory, and whether it is still current." });

export const PinnedMemoryForm = z
  .strictObject({
    ...memoryFields,
    insteadOf: Text.optional().meta({ description: "The record that was pinned" }),
  } satisfies Fields<PinnedMemory>)
  .meta({ id: "Pinned", description: "A fact that travels with every handoff." });

const SimilarMemoryOfferForm = z.strictObject({
  relation: z.enum(["continues-from", "supersedes", "corrects"]),
  input: MemoryInputSchema.extend({ type: Text.optional() }), // As it was asked: nothing is added.
} satisfies Fields<RelationSuggestion>);

export const SimilarMemoryForm = z
  .strictObject({
    memory: MemoryForm,
    verdict: z.enum(["same", "contradicts"]),
    likeness: z.number().min(0).max(1),
    why: Text,
    offers: z
      .array(SimilarMemoryOfferForm)
      .meta({ description: "What can be written instead; the fitting one first" }),
  } satisfies Fields<SimilarMemory>)
  .meta({ id: "Known", description: "A record that holds, and what the new one is to it." });

export const RememberResultForm = z
  .strictObject({
    ...memoryFields,
    known: z.array(SimilarMemoryForm).optional(),
    secrets: SecretsForm.optional(),
  } satisfies Fields<RememberResult>)
  .meta({
    id: "Remembered",
    description: "A memory that was written, what was known before, what was taken out of it.",
  });

export const TraceResultForm = z
  .strictObject({ ...memoryFields, secrets: SecretsForm.optional() } satisfies Fields<
    WithSecrets<Memory>
  >)
  .meta({ id: "Traced", description: "A step that was written, and what was taken out of it." });

const Weight = z.number();

const HitHandoffForm = z
  .strictObject({
    envelope: Text.optional().meta({ description: "The envelope, of a memory that sends one" }),
    deliveries: Texts.meta({ description: "Those it sends, then those it settles or decides" }),
  } satisfies Fields<HitHandoff>)
  .meta({ id: "HitHandoff", description: "The handoff that a memory sends or is about." });

const HitForm = z
  .strictObject({
    memory: MemoryForm,
    score: z.number(),
    parts: z
      .strictObject({
        words: Weight,
        pairs: Weight,
        author: Weight,
        date: Weight,
        time: Weight,
        near: Weight,
        session: Weight,
        graph: Weight,
        meaning: Weight,
        factor: Weight,
      } satisfies Fields<ScoreParts>)
      .meta({ description: "What the score is made of" }),
    why: Texts,
    said: Texts.meta({ description: "Words of the question that it says" }),
    heard: Texts.meta({ description: "Words of the question that are said right beside it" }),
    passage: Text.optional().meta({
      description: "The part of the handoff or result that answers; absent: its content does",
    }),
    handoff: HitHandoffForm.optional(),
    supersededBy: Texts,
  } satisfies Fields<Hit>)
  .meta({ id: "Hit", description: "A memory that answers, and why it does." });

export const IndexStateForm = z
  .strictObject({ records: Count, indexed: Count } satisfies Fields<IndexState>)
  .meta({ id: "IndexState", description: "How far the index has come; the rest is scanned." });

export const RecallResultForm = z
  .strictObject({
    ...pageForm(HitForm).shape,
    index: IndexStateForm,
    meaning: Text.meta({ description: "How meaning was compared, or why it was not" }),
  } satisfies Fields<RecallResult>)
  .meta({ id: "Recalled" });

export const RelationForm = z
  .strictObject({
    kind: Text,
    source: Text.meta({ description: "The memory that states it" }),
    target: Text,
    validFrom: Instant.exactOptional(),
    validUntil: Instant.exactOptional(),
  } satisfies Fields<Relation>)
  .meta({ id: "Relation", description: "A relation between two memories." });

const ImpactMemoryForm = z.strictObject({
  id: Text,
  type: Text,
  agent: Text,
  task: Text.exactOptional(),
  branch: Text,
  storedAt: Instant,
  about: Text.meta({ description: "How its content begins" }),
  depth: Count,
  via: z.strictObject({
    kind: Text,
    memory: Text.exactOptional().meta({
      description: "The record one step nearer; absent if the caller may not see it",
    }),
  }),
  quarantined: z.boolean(),
} satisfies Fields<ImpactMemory>);

const ImpactDeliveryForm = z.strictObject({
  id: Text,
  task: Text,
  sender: Text,
  receiver: Text,
  state: z.enum(DELIVERY_STATES),
  open: z.boolean(),
  holder: Text.exactOptional().meta({ description: "The agent that holds it, or held it last" }),
  envelope: Text,
  memory: Text,
} satisfies Fields<ImpactDelivery>);

const ImpactAgentForm = z.strictObject({
  agent: Text,
  ways: z.array(z.enum(EXPOSURE_WAYS)),
} satisfies Fields<ImpactAgent>);

export const ImpactForm = z
  .strictObject({
    memory: MemoryForm,
    downstream: z.array(ImpactMemoryForm),
    envelopes: Texts,
    deliveries: z.array(ImpactDeliveryForm),
    agents: z.array(ImpactAgentForm),
    hidden: Count.meta({ description: "Records that came of it and that the caller may not see" }),
    more: z.boolean(),
    cut: z.array(z.strictObject({ memory: Text, why: z.enum(["depth", "limit"]) })),
  } satisfies Fields<Impact>)
  .meta({ id: "Impact", description: "All that came of a memory." });

export const QuarantineResultForm = z
  .strictObject({
    memories: Texts,
    already: Texts,
    hidden: Count,
    records: Texts.meta({ description: "The records on the chain that say so" }),
    deliveries: Texts.meta({ description: "Open deliveries whose holder or receiver was told" }),
  } satisfies Fields<QuarantineResult>)
  .meta({ id: "Quarantined", description: "What was taken out of sight, or put back." });

export const QuarantinedMemoryForm = z
  .strictObject({ memory: Text, ...quarantineMarkFields } satisfies Fields<QuarantinedMemory>)
  .meta({ id: "QuarantinedMemory", description: "What is out of sight, by whom and why." });

const spotFields = {
  kind: z.enum(["memory", "envelope", "attempt", "entry", "agent"]),
  id: Text,
} satisfies Fields<RedactionLocation>;

export const SpotForm = z.strictObject(spotFields);

export const RedactReportForm = z
  .strictObject({
    dryRun: z.boolean(),
    erased: z.array(SpotForm),
    left: z.array(
      z.strictObject({
        ...spotFields,
        why: z.enum(["already", "name", "vouches", "damaged", "version"]),
      }),
    ),
    hidden: z.strictObject({ erased: Count, left: Count }),
    records: Texts,
    beyond: Texts.meta({ description: "Where copies may be that the store cannot reach" }),
  } satisfies Fields<RedactReport>)
  .meta({ id: "RedactReport" });

export const SqlAnswerForm = z
  .strictObject({
    columns: Texts,
    rows: z.array(z.record(z.string(), z.unknown())),
  })
  .meta({ id: "SqlAnswer", description: "Columns and rows; bytes as { base64 }." });

const ImportedEntryForm = z.strictObject({
  line: Count,
  type: Text,
  memory: Text.exactOptional().meta({ description: "Absent after a dry run" }),
  supersedes: Texts,
} satisfies Fields<ImportedEntry>);

export const DocumentReportForm = z
  .strictObject({
    taken: z.array(ImportedEntryForm),
    unchanged: Count,
    redacted: z.array(z.strictObject({ line: Count, memory: Text })),
  } satisfies Fields<DocumentReport>)
  .meta({ id: "DocumentReport" });

export const CatchUpForm = z
  .strictObject({
    text: Text,
    tokens: Count,
    shown: Texts,
    omitted: Texts.meta({ description: "Records that were relevant and did not fit" }),
    context: Count.meta({ description: "The version of the shared context it tells of" }),
  } satisfies Fields<CatchUp>)
  .meta({ id: "CatchUp", description: "What to know after waking up, within a token budget." });
