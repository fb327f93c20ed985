/** Operations on memories: remember, read, recall, pin, quarantine, redact, query with SQL, export. */

import * as z from "zod";
import { DocumentSchema } from "../archive/markdown/import-document.ts";
import { MemoryExportQuerySchema } from "../archive/memory-export-query.ts";
import { CatchUpSchema } from "../coordination/catch-up/catch-up.ts";
import { ReadOptionsSchema } from "../delivery/work/read-record.ts";
import { MemoryId } from "../envelope/schema.ts";
import { PinsSchema } from "../memory/pins.ts";
import { ImpactSchema } from "../memory/quarantine/blast-radius.ts";
import {
  LiftSchema,
  LiftTargetSchema,
  QuarantineQuerySchema,
  QuarantineSchema,
  QuarantineTargetSchema,
} from "../memory/quarantine/quarantine.ts";
import { RecentSchema, RelationsSchema } from "../memory/read.ts";
import { RecallSchema } from "../memory/recall/recall.ts";
import { RememberSchema } from "../memory/recall/remember-checked.ts";
import { AllowTextSchema } from "../memory/redaction/allowed-texts.ts";
import { RedactSchema, RedactTargetSchema } from "../memory/redaction/redact.ts";
import { SecretsQuerySchema } from "../memory/redaction/secrets-report.ts";
import { type SqlOptions, SqlSchema } from "../memory/sql.ts";
import { PruneSchema } from "../memory/traces/prune.ts";
import { operation } from "./operation.ts";
import { requireList } from "./required-fields.ts";
import { agentWithAccess } from "./rights/ownership.ts";
import { readableImpact, readableRecord, requireTraces } from "./rights/trace-access.ts";
import { Done, pageForm } from "./schemas/common.ts";
import {
  CatchUpForm,
  DocumentReportForm,
  ImpactForm,
  MemoryInputForm,
  PinnedMemoryForm,
  QuarantinedMemoryForm,
  QuarantineResultForm,
  ReadMemoryForm,
  RecallResultForm,
  RecentMemoryForm,
  RedactReportForm,
  RelationForm,
  RememberResultForm,
  SimilarMemoryForm,
  SqlAnswerForm,
} from "./schemas/memories.ts";
import { FoundSecretsForm, PruneReportForm } from "./schemas/workspace.ts";
import { decodeBytes, encodeBytes } from "./wire/bytes.ts";

const ById = z.strictObject({ id: MemoryId });
const Reason = z.string().meta({ description: "Why; recorded on the chain" });

const SqlParam = z.union([
  z.string(),
  z.number(),
  z.boolean(),
  z.null(),
  z.strictObject({ base64: z.string() }).meta({ description: "Bytes" }),
  z.array(z.number()).meta({ description: "A vector" }),
  z.strictObject({ text: z.string() }).meta({ description: "A text to compare by meaning" }),
]);

export const memoriesOperations = {
  remember: operation({
    summary: "Stores one memory or several: all or none.",
    route: "POST /v1/memories",
    access: "agent",
    on: "agent",
    args: ["memories"],
    input: RememberSchema.extend({ memories: z.array(MemoryInputForm) }),
    output: z.array(RememberResultForm),
    rest: true,
    run: async ({ agent }, { memories, ...options }) =>
      (await agent()).remember(requireList(memories, "memories"), options),
  }),
  "memories.similar": operation({
    summary: "Returns current records with the same or a contradicting statement. Stores nothing.",
    route: "POST /v1/memories/similar",
    access: "reader",
    on: "agent",
    args: ["memory"],
    input: z.strictObject({ memory: MemoryInputForm }),
    output: z.array(SimilarMemoryForm),
  }),
  "memories.read": operation({
    summary: "Returns a memory by its id, exactly as stored, or the record that replaced it.",
    route: "GET /v1/memories/:id",
    access: "reader",
    on: "reader",
    args: ["id"],
    input: ReadOptionsSchema.extend({
      id: z.string().meta({ description: "A memory's id, or its short id in a delivery's view" }),
    }),
    output: ReadMemoryForm,
    rest: true,
    run: async (acting, { id, ...options }) =>
      readableRecord(acting, await (await acting.reader()).memories.read(id, options)),
  }),
  "memories.recent": operation({
    summary: "Lists the newest memories of a task, agent, session, tag or type.",
    route: "GET /v1/memories",
    access: "reader",
    on: "reader",
    input: RecentSchema,
    output: pageForm(RecentMemoryForm),
    rest: true,
  }),
  recall: operation({
    summary: "Returns the memories that answer a question, best first, each with the reasons.",
    route: "POST /v1/recall",
    access: "reader",
    on: "reader",
    args: ["question"],
    input: RecallSchema.extend({ question: z.string() }),
    output: RecallResultForm,
    rest: true,
    guard: async (acting, { traces }) => {
      if (traces) requireTraces(acting);
    },
  }),
  "memories.relations": operation({
    summary: "Lists the relations of a memory.",
    route: "GET /v1/memories/:id/relations",
    access: "reader",
    on: "agent",
    args: ["id"],
    input: RelationsSchema.extend(ById.shape),
    output: pageForm(RelationForm),
    rest: true,
  }),
  "memories.impact": operation({
    summary:
      "Returns everything derived from a memory: records, handoffs and the agents that saw it.",
    route: "GET /v1/memories/:id/impact",
    access: "reader",
    on: "reader",
    args: ["id"],
    input: ImpactSchema.extend(ById.shape),
    output: ImpactForm,
    rest: true,
    run: async (acting, { id, ...query }) =>
      readableImpact(acting, await (await acting.reader()).memories.impact(id, query)),
  }),
  "memories.pin": operation({
    summary: "Includes a memory in every handoff.",
    route: "PUT /v1/pins/:id",
    access: "agent",
    on: "agent",
    args: ["id"],
    input: ById,
    output: Done,
  }),
  "memories.unpin": operation({
    summary: "Removes a pin.",
    route: "DELETE /v1/pins/:id",
    access: "agent",
    on: "agent",
    args: ["id"],
    input: ById,
    output: Done,
  }),
  "memories.pins": operation({
    summary: "Lists the pinned memories, in their current version.",
    route: "GET /v1/pins",
    access: "reader",
    on: "agent",
    input: PinsSchema,
    output: z.array(PinnedMemoryForm),
    rest: true,
  }),
  "memories.quarantine": operation({
    summary: "Hides records from every read; those of other agents for settings.keepers only.",
    route: "POST /v1/quarantine",
    access: "agent",
    on: "agent",
    args: ["what", "reason"],
    input: QuarantineSchema.extend({ what: QuarantineTargetSchema, reason: Reason }),
    output: QuarantineResultForm,
    rest: true,
    run: async (acting, { what, reason, ...options }) =>
      (await agentWithAccess(acting)).memories.quarantine(what, reason, options),
  }),
  "memories.lift": operation({
    summary: "Ends a quarantine; that of another agent for settings.keepers only.",
    route: "POST /v1/quarantine/lift",
    access: "agent",
    on: "agent",
    args: ["what", "reason"],
    input: LiftSchema.extend({ what: LiftTargetSchema, reason: Reason }),
    output: QuarantineResultForm,
    rest: true,
    run: async (acting, { what, reason, ...options }) =>
      (await agentWithAccess(acting)).memories.lift(what, reason, options),
  }),
  "memories.quarantined": operation({
    summary: "Lists quarantined memories, who quarantined each and why.",
    route: "GET /v1/quarantine",
    access: "reader",
    on: "reader",
    input: QuarantineQuerySchema,
    output: pageForm(QuarantinedMemoryForm),
    rest: true,
  }),
  "memories.redact": operation({
    summary: "Erases content permanently; digests stay, and the chain records who did it and why.",
    route: "POST /v1/redactions",
    access: "admin",
    on: "agent",
    args: ["target", "reason"],
    input: RedactSchema.omit({ onProgress: true }).extend({
      target: RedactTargetSchema,
      reason: Reason,
    }),
    output: RedactReportForm,
    rest: true,
    progress: true,
  }),
  "memories.sql": operation({
    summary: "Runs one read-only SQL query over the views of the workspace.",
    route: "POST /v1/sql",
    access: "agent",
    on: "reader",
    args: ["query"],
    input: SqlSchema.omit({ embed: true, params: true }).extend({
      query: z.string(),
      params: z.array(SqlParam).optional(),
    }),
    output: SqlAnswerForm,
    rest: true,
    async run({ reader }, { query, params, ...options }) {
      const bound = Array.isArray(params) ? params.map(decodeBytes) : params;
      const asked = { ...options, params: bound } as SqlOptions;
      const { columns, rows } = await (await reader()).memories.sql(query, asked);
      return { columns, rows: rows.map((row) => mapRow(row, encodeBytes)) };
    },
  }),
  "memories.exportMarkdown": operation({
    summary: "Returns current knowledge as a Markdown document for people.",
    route: "GET /v1/document",
    access: "reader",
    on: "reader",
    input: MemoryExportQuerySchema,
    field: "text",
    output: z.strictObject({ text: z.string() }),
    rest: true,
  }),
  "memories.importMarkdown": operation({
    summary: "Imports a Markdown document: new entries are stored, changed ones supersede.",
    route: "POST /v1/document",
    access: "agent",
    on: "agent",
    args: ["text"],
    input: DocumentSchema.extend({ text: z.string() }),
    output: DocumentReportForm,
    rest: true,
  }),
  catchUp: operation({
    summary: "Returns what an agent needs to know when it starts, within a token budget.",
    route: "POST /v1/catch-up",
    access: "reader",
    on: "agent",
    input: CatchUpSchema,
    output: CatchUpForm,
    rest: true,
  }),
  "memories.prune": operation({
    summary: "Applies the retention settings; without any, nothing is deleted.",
    route: "POST /v1/prune",
    access: "admin",
    on: "reader",
    input: PruneSchema.omit({ onProgress: true }),
    output: PruneReportForm,
    rest: true,
    progress: true,
  }),
  "memories.allowText": operation({
    summary: "Declares a text harmless that was redacted for the word beside it.",
    route: "POST /v1/allowed-texts",
    access: "agent",
    on: "agent",
    args: ["text", "reason"],
    input: AllowTextSchema,
    output: Done,
  }),
  "memories.secretsFound": operation({
    summary: "Lists where secrets were removed before storing, newest first.",
    route: "GET /v1/secrets-found",
    access: "reader",
    on: "hub",
    input: SecretsQuerySchema,
    output: FoundSecretsForm,
    rest: true,
  }),
};

const mapRow = (row: Readonly<Record<string, unknown>>, form: (value: unknown) => unknown) =>
  Object.fromEntries(Object.entries(row).map(([column, value]) => [column, form(value)]));
