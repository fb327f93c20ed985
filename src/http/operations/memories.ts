/** What is known: remembered, read, recalled, taken out of sight, taken away. */
import * as z from "zod";
import { DocumentSchema } from "../../archive/markdown/take.ts";
import { KeepingQuerySchema } from "../../archive/query.ts";
import { CatchUpSchema } from "../../coordination/catch-up/catch-up.ts";
import { ReadingSchema } from "../../delivery/work/read-record.ts";
import { MemoryId } from "../../envelope/schema.ts";
import { PinsSchema } from "../../memory/pins.ts";
import { ImpactSchema } from "../../memory/quarantine/blast-radius.ts";
import {
  LiftSchema,
  LiftWhatSchema,
  QuarantinedSchema,
  QuarantineSchema,
  QuarantineWhatSchema,
} from "../../memory/quarantine/quarantine.ts";
import { RecentSchema, RelationsSchema } from "../../memory/read.ts";
import { RecallSchema } from "../../memory/recall/recall.ts";
import { RememberSchema } from "../../memory/recall/search-first.ts";
import { RedactSchema, RedactTargetSchema } from "../../memory/redaction/redact.ts";
import { type SqlOptions, SqlSchema } from "../../memory/sql.ts";
import { bytesRead, bytesWritten } from "../../wire/bytes.ts";
import { listed } from "../given.ts";
import type { Operations } from "../operation.ts";
import {
  CatchUpForm,
  DocumentReportForm,
  ImpactForm,
  KnownForm,
  MemoryInputForm,
  PinnedForm,
  QuarantinedForm,
  QuarantinedMemoryForm,
  ReadMemoryForm,
  RecalledForm,
  RecentMemoryForm,
  RedactReportForm,
  RelationForm,
  RememberedForm,
  SqlAnswer,
} from "../schemas/memories.ts";
import { DONE, Done } from "../schemas/plain.ts";

const OfMemory = z.strictObject({ id: MemoryId });
const Reason = z.string().meta({ description: "Why; it stays on the chain" });

const SqlParam = z.union([
  z.string(),
  z.number(),
  z.boolean(),
  z.null(),
  z.strictObject({ base64: z.string() }).meta({ description: "Bytes" }),
  z.array(z.number()).meta({ description: "A vector" }),
  z.strictObject({ text: z.string() }).meta({ description: "A text to be compared by meaning" }),
]);

export const memoriesOperations = {
  remember: {
    summary: "Remembers one thing, or many at once: all or none.",
    access: "agent",
    input: RememberSchema.extend({ memories: z.array(MemoryInputForm) }),
    output: z.array(RememberedForm),
    rest: true,
    run: async ({ agent }, { memories, ...options }) =>
      (await agent()).remember(listed(memories, "memories"), options),
  },
  known: {
    summary: "Tells what is known already of something, without writing it.",
    access: "reader",
    input: z.strictObject({ memory: MemoryInputForm }),
    output: z.array(KnownForm),
    run: async ({ agent }, { memory }) => (await agent()).known(memory),
  },
  readMemory: {
    summary: "Reads a memory by its id, exactly as it is; or what holds in its place.",
    access: "reader",
    input: ReadingSchema.extend({
      id: z.string().meta({ description: "Its id; of a delivery's view, also the short one" }),
    }),
    output: ReadMemoryForm,
    rest: true,
    run: async ({ reader }, { id, ...options }) => (await reader()).read(id, options),
  },
  recent: {
    summary: "Lists the newest memories of a task, agent, session, tag or type.",
    access: "reader",
    input: RecentSchema,
    output: z.array(RecentMemoryForm),
    rest: true,
    run: async ({ reader }, query) => (await reader()).recent(query),
  },
  recall: {
    summary: "Finds the memories that answer a question, best first, each with why.",
    access: "reader",
    input: RecallSchema.extend({ question: z.string() }),
    output: RecalledForm,
    rest: true,
    run: async ({ reader }, { question, ...query }) => (await reader()).recall(question, query),
  },
  relations: {
    summary: "Lists the edges at a memory.",
    access: "reader",
    input: RelationsSchema.extend(OfMemory.shape),
    output: z.array(RelationForm),
    rest: true,
    run: async ({ agent }, { id, ...query }) => (await agent()).relations(id, query),
  },
  impact: {
    summary: "Tells all that came of a memory: records, handoffs that carried it, who saw it.",
    access: "reader",
    input: ImpactSchema.extend(OfMemory.shape),
    output: ImpactForm,
    rest: true,
    run: async ({ reader }, { id, ...query }) => (await reader()).impact(id, query),
  },
  pin: {
    summary: "Makes a memory travel with everything.",
    access: "agent",
    input: OfMemory,
    output: Done,
    async run({ agent }, { id }) {
      await (await agent()).pin(id);
      return DONE;
    },
  },
  unpin: {
    summary: "Takes a pin off.",
    access: "agent",
    input: OfMemory,
    output: Done,
    async run({ agent }, { id }) {
      await (await agent()).unpin(id);
      return DONE;
    },
  },
  pins: {
    summary: "Lists what is pinned, as it holds now.",
    access: "reader",
    input: PinsSchema,
    output: z.array(PinnedForm),
    rest: true,
    run: async ({ agent }, query) => (await agent()).pins(query),
  },
  quarantine: {
    summary: "Takes records out of every look: by id, or all that an agent or session wrote.",
    access: "agent",
    input: QuarantineSchema.extend({ what: QuarantineWhatSchema, reason: Reason }),
    output: QuarantinedForm,
    rest: true,
    run: async ({ agent }, { what, reason, ...options }) =>
      (await agent()).quarantine(what, reason, options),
  },
  lift: {
    summary: "Puts quarantined records back in sight.",
    access: "admin",
    input: LiftSchema.extend({ what: LiftWhatSchema, reason: Reason }),
    output: QuarantinedForm,
    rest: true,
    run: async ({ agent }, { what, reason, ...options }) =>
      (await agent()).lift(what, reason, options),
  },
  quarantined: {
    summary: "Lists what is quarantined, by whom and why.",
    access: "reader",
    input: QuarantinedSchema,
    output: z.array(QuarantinedMemoryForm),
    rest: true,
    run: async ({ reader }, query) => (await reader()).quarantined(query),
  },
  redact: {
    summary: "Takes a secret away for good; digests stay, and the chain says who did it and why.",
    access: "admin",
    input: RedactSchema.omit({ onProgress: true }).extend({
      target: RedactTargetSchema,
      reason: Reason,
    }),
    output: RedactReportForm,
    rest: true,
    progress: true,
    run: async ({ agent, tell }, { target, reason, ...options }) =>
      (await agent()).redact(target, reason, { ...options, onProgress: tell }),
  },
  sql: {
    summary: "Asks one read-only question in SQL over the views of the workspace.",
    access: "agent",
    input: SqlSchema.omit({ embed: true, params: true }).extend({
      query: z.string(),
      params: z.array(SqlParam).optional(),
    }),
    output: SqlAnswer,
    rest: true,
    async run({ reader }, { query, params, ...options }) {
      const bound = Array.isArray(params) ? params.map(bytesRead) : params;
      const asked = { ...options, params: bound } as SqlOptions;
      const { columns, rows } = await (await reader()).sql(query, asked);
      return { columns, rows: rows.map((row) => mapped(row, bytesWritten)) };
    },
  },
  exportMarkdown: {
    summary: "Writes what is known, and still holds, as a document for people.",
    access: "reader",
    input: KeepingQuerySchema,
    output: z.strictObject({ text: z.string() }),
    rest: true,
    run: async ({ reader }, query) => ({ text: await (await reader()).exportMarkdown(query) }),
  },
  importMarkdown: {
    summary: "Takes a document in: new entries are remembered, changed ones supersede.",
    access: "agent",
    input: DocumentSchema.extend({ text: z.string() }),
    output: DocumentReportForm,
    rest: true,
    run: async ({ agent }, { text, ...options }) => (await agent()).importMarkdown(text, options),
  },
  catchUp: {
    summary: "Tells an agent what to know after waking up, within a token budget.",
    access: "reader",
    input: CatchUpSchema,
    output: CatchUpForm,
    rest: true,
    run: async ({ agent }, query) => (await agent()).catchUp(query),
  },
} satisfies Operations<
  | "remember"
  | "known"
  | "readMemory"
  | "recent"
  | "recall"
  | "relations"
  | "impact"
  | "pin"
  | "unpin"
  | "pins"
  | "quarantine"
  | "lift"
  | "quarantined"
  | "redact"
  | "sql"
  | "exportMarkdown"
  | "importMarkdown"
  | "catchUp"
>;

const mapped = (row: Readonly<Record<string, unknown>>, form: (value: unknown) => unknown) =>
  Object.fromEntries(Object.entries(row).map(([column, value]) => [column, form(value)]));
