/** How a workspace is kept: verified, embedded, pruned, counted, watched. */
import * as z from "zod";
import { Address } from "../../envelope/schema.ts";
import { SecretsFoundSchema } from "../../memory/redaction/secrets-found.ts";
import { PruneSchema } from "../../memory/traces/prune.ts";
import type { Operations } from "../operation.ts";
import {
  BooksForm,
  BreakerForm,
  EmbedProgressForm,
  EventForm,
  FoundSecretsForm,
  ModelForm,
  PruneReportForm,
  VerifyReportForm,
} from "../schemas/keeping.ts";
import { IndexStateForm } from "../schemas/memories.ts";
import { DONE, Done } from "../schemas/plain.ts";

const Nothing = z.strictObject({});

export const keepingOperations = {
  prune: {
    summary: "Carries out the rules of retention; without rules nothing goes.",
    access: "admin",
    input: PruneSchema.omit({ onProgress: true }),
    output: PruneReportForm,
    rest: true,
    progress: true,
    run: async ({ reader, tell }, options) =>
      (await reader()).prune({ ...options, onProgress: tell }),
  },
  verify: {
    summary: "Reads everything and compares it with its hashes and signatures.",
    access: "coordinator",
    input: Nothing,
    output: VerifyReportForm,
    progress: true,
    run: ({ hub, tell }) => hub.verify(tell),
  },
  secretsFound: {
    summary: "Lists where secrets were taken out of what was stored, the newest first.",
    access: "reader",
    input: SecretsFoundSchema,
    output: FoundSecretsForm,
    rest: true,
    run: ({ hub }, query) => hub.secretsFound(query),
  },
  indexState: {
    summary: "Tells how far the index has come; records beyond it are scanned.",
    access: "reader",
    input: Nothing,
    output: IndexStateForm,
    run: ({ hub }) => hub.indexState(),
  },
  models: {
    summary: "Lists the models whose vectors are kept, and how far each has come.",
    access: "reader",
    input: Nothing,
    output: z.array(ModelForm),
    run: ({ hub }) => hub.models(),
  },
  dropModel: {
    summary: "Takes the vectors of a model away.",
    access: "admin",
    input: z.strictObject({ model: z.string() }),
    output: Done,
    async run({ hub }, { model }) {
      await hub.dropModel(model);
      return DONE;
    },
  },
  embed: {
    summary: "Gives every memory its vector, by the hub's own embedder.",
    access: "coordinator",
    input: Nothing,
    output: z.strictObject({
      progress: EmbedProgressForm.nullable().meta({ description: "null: there is no embedder" }),
    }),
    progress: true,
    run: async ({ hub, tell }) => ({ progress: (await hub.embed(tell)) ?? null }),
  },
  books: {
    summary: "Counts how many deliveries are in which state.",
    access: "reader",
    input: Nothing,
    output: BooksForm,
    run: ({ hub }) => hub.books(),
  },
  carryOut: {
    summary: "Carries out what is due now; whoever waits for work does this too.",
    access: "agent",
    input: Nothing,
    output: Done,
    async run({ hub }) {
      await hub.carryOut();
      return DONE;
    },
  },
  listEvents: {
    summary: "Lists what happened after an event, oldest first.",
    access: "reader",
    input: z.strictObject({
      after: z.int().min(0).default(0),
      limit: z.int().positive().default(100),
    }),
    output: z.array(EventForm),
    run: ({ hub }, { after, limit }) => hub.events(after, limit),
  },
  breakers: {
    summary: "Lists receivers that lost work lately, and whose breaker is open.",
    access: "reader",
    input: Nothing,
    output: z.array(BreakerForm),
    run: ({ hub }) => hub.breakers(),
  },
  resetBreaker: {
    summary: "Closes a receiver's breaker.",
    access: "coordinator",
    input: z.strictObject({
      receiver: Address.meta({ description: "An agent's id, or the inbox of a role: role:…" }),
    }),
    output: Done,
    async run({ hub }, { receiver }) {
      await hub.resetBreaker(receiver);
      return DONE;
    },
  },
} satisfies Operations<
  | "prune"
  | "verify"
  | "secretsFound"
  | "indexState"
  | "models"
  | "dropModel"
  | "embed"
  | "books"
  | "carryOut"
  | "listEvents"
  | "breakers"
  | "resetBreaker"
>;
