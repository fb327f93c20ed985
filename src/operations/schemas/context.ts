/** Zod schemas for the shared context: its items, changes, proposals and contradictions. */
import * as z from "zod";
import type { AdoptResult } from "../../coordination/shared-context/adopt.ts";
import {
  QuarantineProposalSchema,
  RetireSchema,
} from "../../coordination/shared-context/propose.ts";
import type { ContextChange, ContextChanges } from "../../shared-context/changes.ts";
import type { Contradiction } from "../../shared-context/contradictions.ts";
import { CONTEXT_SECTIONS, ContextItemSchema } from "../../shared-context/items.ts";
import type { ContextOmission, SharedContextText } from "../../shared-context/read.ts";
import { Count, Instant, pageForm, Text, Texts } from "./common.ts";
import { DeliveryForm, ErrorForm } from "./deliveries.ts";
import { SecretsForm } from "./envelopes.ts";
import type { Fields } from "./fields.ts";
import { QuarantineResultForm } from "./memories.ts";

export const ContextInputForm = ContextItemSchema.meta({
  id: "ContextInput",
  description: "An item of the shared context, as it is written.",
});

export const ContextProposalForm = z
  .union([ContextInputForm, RetireSchema, QuarantineProposalSchema])
  .meta({
    id: "ContextProposal",
    description:
      "A proposed change: an item to write, an item to retire, or memories to quarantine.",
  });

const written = {
  version: Count.meta({ description: "Version to pass as the base of a change" }),
  memory: Text,
  by: Text,
  at: Instant,
};

const [project, decision, constraint, convention] = ContextItemSchema.options;

/** Adds fields to the schema of every section's items. */
const itemWith = <Shape extends z.core.$ZodShape>(shape: Shape) =>
  z.discriminatedUnion("section", [
    project.extend(shape),
    decision.extend(shape),
    constraint.extend(shape),
    convention.extend(shape),
  ]);

export const ContextItemForm = itemWith(written).meta({
  id: "ContextItem",
  description: "A current item of the shared context.",
});

/** The response to writing an item: the item, and the secrets that were removed from it. */
export const WrittenItemForm = itemWith({ ...written, secrets: SecretsForm.exactOptional() }).meta({
  id: "WrittenContextItem",
});

const Section = z.enum(CONTEXT_SECTIONS);

const OmittedForm = z.strictObject({
  section: Section,
  key: Text,
  why: z.enum(["budget", "role", "weight", "redacted", "quarantined"]),
  tokens: Count,
} satisfies Fields<ContextOmission>);

export const SharedContextForm = z
  .strictObject({
    version: Count,
    text: Text,
    tokens: Count,
    items: z.array(ContextItemForm),
    omitted: z.array(OmittedForm),
  } satisfies Record<keyof SharedContextText, z.ZodType>)
  .meta({ id: "SharedContext", description: "The shared context, within a token budget." });

export const ContextChangeForm = z
  .strictObject({
    section: Section,
    key: Text,
    kind: z.enum(["set", "retired"]),
    version: Count,
    was: Count.exactOptional().meta({
      description: "The version it had before; absent for a new item",
    }),
    memory: Text,
    by: Text,
    at: Instant,
    item: ContextInputForm.exactOptional(),
    reason: Text.exactOptional(),
    replaced: Text.exactOptional(),
    despite: Texts.exactOptional(),
    hidden: z.enum(["redacted", "quarantined"]).exactOptional(),
  } satisfies Fields<ContextChange>)
  .meta({ id: "ContextChange", description: "One change of one item." });

export const ContextChangesForm = z.strictObject({
  ...pageForm(ContextChangeForm, Count).shape,
  version: Count.meta({
    description:
      "The version these changes lead to: pass it as after later to get what changed since",
  }),
} satisfies Fields<ContextChanges>);

export const ContradictionForm = z
  .strictObject({
    key: Text,
    version: Count,
    memory: Text,
    question: Text,
    choice: Text,
    by: Text,
    why: Text,
  } satisfies Fields<Contradiction>)
  .meta({ id: "Contradiction", description: "An active decision that conflicts with the change." });

type Variant<Kind extends AdoptResult["kind"]> = Extract<AdoptResult, { readonly kind: Kind }>;

export const AdoptResultForm = z
  .discriminatedUnion("kind", [
    z.strictObject({
      kind: z.literal("adopted"),
      version: Count,
      memory: Text,
      delivery: DeliveryForm,
    } satisfies Fields<Variant<"adopted">>),
    z.strictObject({
      kind: z.literal("quarantined"),
      quarantine: QuarantineResultForm,
      delivery: DeliveryForm,
    } satisfies Fields<Variant<"quarantined">>),
    z.strictObject({
      kind: z.literal("stale"),
      conflict: ErrorForm.meta({ description: "What has changed since the proposal" }),
      delivery: DeliveryForm,
    } satisfies Record<keyof Variant<"stale">, z.ZodType>),
  ])
  .meta({ id: "Adopted", description: "The result of adopting a proposal." });
