/** Operations on the whole workspace: verification, the search index, embeddings and events. */

import * as z from "zod";
import { VerifySchema } from "../archive/heads.ts";
import { AuditQuerySchema } from "../memory/audit/read-audit.ts";
import { operation } from "./operation.ts";
import { AuditEntryForm } from "./schemas/audit.ts";
import { Count, Done, pageForm } from "./schemas/common.ts";
import { IndexStateForm } from "./schemas/memories.ts";
import {
  EmbedProgressForm,
  EventForm,
  ModelForm,
  VerifyReportForm,
  WorkspaceHeadForm,
} from "./schemas/workspace.ts";

const Nothing = z.strictObject({});

export const hubOperations = {
  verify: operation({
    summary: "Verifies every record against its hashes and signatures, and against expected heads.",
    route: "POST /v1/verify",
    access: "coordinator",
    on: "hub",
    input: VerifySchema,
    output: VerifyReportForm,
    progress: true,
  }),
  "archive.head": operation({
    summary: "Returns the newest position and link of every chain, to keep outside the store.",
    route: "GET /v1/head",
    access: "coordinator",
    on: "hub",
    input: Nothing,
    output: WorkspaceHeadForm,
  }),
  "index.state": operation({
    summary: "Returns the progress of the search index; records not yet indexed are scanned.",
    route: "GET /v1/index",
    access: "reader",
    on: "hub",
    input: Nothing,
    output: IndexStateForm,
  }),
  "index.models": operation({
    summary: "Lists the embedding models with stored vectors, and the progress of each.",
    route: "GET /v1/models",
    access: "reader",
    on: "hub",
    input: Nothing,
    output: z.array(ModelForm),
  }),
  "index.deleteModel": operation({
    summary: "Deletes the vectors of a model.",
    route: "DELETE /v1/models/:model",
    access: "admin",
    on: "hub",
    args: ["model"],
    input: z.strictObject({ model: z.string() }),
    output: Done,
  }),
  "index.embed": operation({
    summary: "Computes missing vectors with the hub's embedder.",
    route: "POST /v1/embed",
    access: "coordinator",
    on: "hub",
    input: Nothing,
    field: "progress",
    output: z.strictObject({
      progress: EmbedProgressForm.nullable().meta({
        description: "null if the hub has no embedder",
      }),
    }),
    progress: true,
  }),
  "events.audit": operation({
    summary:
      "Lists audit records, newest first: changes, denied calls and reads of administrators.",
    route: "GET /v1/audit",
    access: "admin",
    on: "hub",
    input: AuditQuerySchema,
    output: pageForm(AuditEntryForm, Count),
    rest: true,
  }),
  "events.list": operation({
    summary: "Lists the events after a number, oldest first.",
    route: "GET /v1/events",
    access: "reader",
    on: "hub",
    input: z.strictObject({
      after: z.int().min(0).default(0),
      limit: z.int().positive().default(100),
    }),
    output: pageForm(EventForm, Count),
  }),
};
