/** Zod schemas for memories, recall, relations, impact, quarantine, redaction and catch-up. */

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
import {
  DELIVERY_STATES,
  type DeliveryStep,
  type PublishStep,
  type Witness,
  type WitnessedRecord,
} from "../../store/rows.ts";
import type { IndexState } from "../../store/search.ts";
import { Count, Instant, pageForm, Text, Texts } from "./common.ts";
import { SecretsForm } from "./envelopes.ts";
import type { Fields } from "./fields.ts";

export const MemoryInputForm = MemoryInputSchema.meta({
  id: "NewMemory",
  description: "A memory to store. With an id set by the caller, a retry does not store it twice.",
});

const DeliveryStepForm = z.strictObject({
  attempt: Count,
  delivery: Text,
  instead: Text.optional().meta({ description: "The delivery it replaced" }),
  to: Text.optional().meta({ description: "The new receiver" }),
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
    stub: Text.meta({ description: "Digest of the stub that replaced the body" }),
  }),
  z.strictObject({ id: Text, kind: z.enum(["attempt", "entry", "agent"]) }),
]);

const RedactionForm = z
  .strictObject({
    at: Instant,
    by: Text,
    digest: Text.meta({ description: "Digest of the erased body" }),
    id: Text,
    reason: Text,
    record: Text.meta({ description: "The memory that records the redaction" }),
  } satisfies Fields<Redaction>)
  .meta({ id: "Redaction", description: "A body that was erased: by which agent, when and why." });

const quarantineMarkFields = {
  by: Text,
  at: Instant,
  reason: Text,
  record: Text.meta({ description: "The memory that records the quarantine" }),
} satisfies Fields<QuarantineMark>;

const witnessedFields = {
  branch: Text,
  id: Text,
  link: Text,
  seq: Count,
} satisfies Fields<WitnessedRecord>;

const WitnessForm = z
  .strictObject({
    after: z.strictObject(witnessedFields).optional().meta({
      description: "The newest record of the branch that the author knew",
    }),
    branch: Text,
    previous: z.strictObject(witnessedFields).optional().meta({
      description: "The author's own newest record, if it is on another branch",
    }),
    workspace: Text,
  } satisfies Fields<Witness>)
  .meta({ id: "Witness", description: "What a signature covers besides the content." });

const memoryFields = {
  agent: Text,
  branch: Text,
  concepts: Texts.optional(),
  confidence: z.number().optional(),
  content: Text.meta({ description: "Empty if it was redacted" }),
  createdAt: Instant,
  data: z.record(z.string(), z.unknown()).optional(),
  digest: Text.meta({ description: "SHA-256 of everything its author wrote" }),
  envelope: z
    .strictObject({ digest: Text, id: Text })
    .optional()
    .meta({ description: "The envelope of a handoff record" }),
  id: Text,
  importance: z.number().optional(),
  instance: Text,
  key: Text.optional(),
  link: Text.meta({ description: "Hash link to the record before it on the branch" }),
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
  salt: Text.exactOptional().meta({ description: "Absent if it was redacted" }),
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
    .meta({ description: "The deliveries it changed, and how" }),
  type: Text,
  user: Text.optional(),
  validFrom: Instant.optional(),
  validUntil: Instant.optional(),
  witness: WitnessForm.optional(),
} satisfies Fields<Memory>;

export const MemoryForm = z.strictObject(memoryFields).meta({
  id: "Memory",
  description: "A memory: what its author wrote, and its position on the chain.",
});

export const ReadMemoryForm = z
  .strictObject({
    ...memoryFields,
    insteadOf: Text.optional().meta({
      description: "The requested record, if another one is returned",
    }),
    level: z.enum(DETAIL_LEVELS).optional(),
    text: Text.optional().meta({ description: "The text at the requested level" }),
    textBy: z.enum(["record", "sender", "summary", "model", "extract"]).optional(),
    value: z
      .unknown()
      .optional()
      .meta({ description: "The value, if a part of an envelope was requested" }),
  } satisfies Fields<ReadMemory>)
  .meta({ id: "ReadMemory", description: "A memory, at the requested level of detail." });

export const RecentMemoryForm = z
  .strictObject({
    ...memoryFields,
    superseded: z.strictObject({ by: Text.exactOptional() }).exactOptional().meta({
      description: "Set if it is no longer current; by: the record that replaced it, if any",
    }),
  } satisfies Fields<RecentMemory>)
  .meta({ id: "RecentMemory", description: "A memory, and whether it is still current." });

export const PinnedMemoryForm = z
  .strictObject({
    ...memoryFields,
    insteadOf: Text.optional().meta({
      description: "The pinned record, if a newer one is returned",
    }),
  } satisfies Fields<PinnedMemory>)
  .meta({ id: "Pinned", description: "A memory that is included in every handoff." });

const SimilarMemoryOfferForm = z.strictObject({
  relation: z.enum(["continues-from", "supersedes", "corrects"]),
  // Type is optional: the input is returned as it was passed.
  input: MemoryInputSchema.extend({ type: Text.optional() }),
} satisfies Fields<RelationSuggestion>);

export const SimilarMemoryForm = z
  .strictObject({
    memory: MemoryForm,
    verdict: z.enum(["same", "contradicts"]),
    similarity: z.number().min(0).max(1),
    why: Text,
    offers: z
      .array(SimilarMemoryOfferForm)
      .meta({ description: "Alternatives to write instead, the most suitable first" }),
  } satisfies Fields<SimilarMemory>)
  .meta({
    id: "Known",
    description: "A current record that is the same as the new one or contradicts it.",
  });

export const RememberResultForm = z
  .strictObject({
    ...memoryFields,
    known: z.array(SimilarMemoryForm).optional(),
    secrets: SecretsForm.optional(),
  } satisfies Fields<RememberResult>)
  .meta({
    id: "Remembered",
    description: "The stored memory, similar current records, and the secrets removed from it.",
  });

export const TraceResultForm = z
  .strictObject({ ...memoryFields, secrets: SecretsForm.optional() } satisfies Fields<
    WithSecrets<Memory>
  >)
  .meta({ id: "Traced", description: "The stored step, and the secrets removed from it." });

const Weight = z.number();

const HitHandoffForm = z
  .strictObject({
    envelope: Text.optional().meta({ description: "The envelope, if the memory sends one" }),
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
      .meta({ description: "The components of the score" }),
    why: Texts,
    matchedWords: Texts.meta({ description: "Words of the question that it contains" }),
    neighbourWords: Texts.meta({
      description: "Words of the question in its neighbouring records",
    }),
    passage: Text.optional().meta({
      description: "The matching part of the handoff or result; absent if its content matches",
    }),
    handoff: HitHandoffForm.optional(),
    supersededBy: Texts,
  } satisfies Fields<Hit>)
  .meta({ id: "Hit", description: "A memory that matches the question, with the reasons." });

export const IndexStateForm = z
  .strictObject({ records: Count, indexed: Count } satisfies Fields<IndexState>)
  .meta({
    id: "IndexState",
    description: "Progress of the search index; records not yet indexed are scanned.",
  });

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
  about: Text.meta({ description: "The beginning of its content" }),
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
    hidden: Count.meta({ description: "Number of derived records that the caller cannot see" }),
    more: z.boolean(),
    cut: z.array(z.strictObject({ memory: Text, why: z.enum(["depth", "limit"]) })),
  } satisfies Fields<Impact>)
  .meta({ id: "Impact", description: "Everything derived from a memory." });

export const QuarantineResultForm = z
  .strictObject({
    memories: Texts,
    already: Texts,
    hidden: Count,
    records: Texts.meta({ description: "The memories that record it" }),
    deliveries: Texts.meta({ description: "Open deliveries with a notified holder or receiver" }),
  } satisfies Fields<QuarantineResult>)
  .meta({ id: "Quarantined", description: "The memories that were quarantined or restored." });

export const QuarantinedMemoryForm = z
  .strictObject({ memory: Text, ...quarantineMarkFields } satisfies Fields<QuarantinedMemory>)
  .meta({
    id: "QuarantinedMemory",
    description: "A quarantined memory, who quarantined it and why.",
  });

const spotFields = {
  kind: z.enum(["memory", "envelope", "attempt", "entry", "agent"]),
  id: Text,
} satisfies Fields<RedactionLocation>;

/** A place in the store that contained a secret or redacted text. */
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
    beyond: Texts.meta({ description: "Places outside the store that may have copies" }),
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
    context: Count.meta({ description: "The version of the shared context that it covers" }),
  } satisfies Fields<CatchUp>)
  .meta({
    id: "CatchUp",
    description: "What an agent should know when it starts, within a token budget.",
  });
