/** How a workspace is kept: verified, embedded, pruned, counted, watched. */

import * as z from "zod";
import { operation } from "./operation.ts";
import { Count, Done, pageForm } from "./schemas/common.ts";
import { IndexStateForm } from "./schemas/memories.ts";
import { EmbedProgressForm, EventForm, ModelForm, VerifyReportForm } from "./schemas/workspace.ts";

const Nothing = z.strictObject({});

export const hubOperations = {
  verify: operation({
    summary: "Reads everything and compares it with its hashes and signatures.",
    route: "POST /v1/verify",
    access: "coordinator",
    on: "hub",
    input: Nothing,
    output: VerifyReportForm,
    progress: true,
  }),
  "index.state": operation({
    summary: "Returns how far the search index has come; records beyond it are scanned.",
    route: "GET /v1/index",
    access: "reader",
    on: "hub",
    input: Nothing,
    output: IndexStateForm,
  }),
  "index.models": operation({
    summary: "Lists the models whose vectors are stored, and how far each has come.",
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
      progress: EmbedProgressForm.nullable().meta({ description: "null: there is no embedder" }),
    }),
    progress: true,
  }),
  "events.list": operation({
    summary: "Returns what happened after an event, oldest first.",
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
