/** Operations on traces: what agents did, step by step. */

import * as z from "zod";
import { SessionsSchema, TracesSchema } from "../memory/traces/traces.ts";
import { operation } from "./operation.ts";
import { requireList } from "./required-fields.ts";
import { requireTracesOf } from "./rights/trace-access.ts";
import { pageForm } from "./schemas/common.ts";
import { MemoryForm, TraceResultForm } from "./schemas/memories.ts";
import { TraceCountsForm, TraceForm, TraceStepForm } from "./schemas/traces.ts";

export const tracesOperations = {
  trace: operation({
    summary: "Records steps on the session's trace: all or none.",
    route: "POST /v1/traces",
    access: "agent",
    on: "agent",
    args: ["steps"],
    input: z.strictObject({ steps: z.array(TraceStepForm) }),
    output: z.array(TraceResultForm),
    run: async ({ agent }, { steps }) => (await agent()).trace(requireList(steps, "steps")),
  }),
  "traces.list": operation({
    summary:
      "Lists the newest steps of a session, a task or an agent; readers: only their agent's.",
    route: "GET /v1/traces",
    access: "reader",
    on: "reader",
    input: TracesSchema,
    output: pageForm(MemoryForm),
    rest: true,
    guard: requireTracesOf,
  }),
  "traces.sessions": operation({
    summary: "Lists the sessions that have a trace, the most recently active first.",
    route: "GET /v1/traces/sessions",
    access: "agent",
    on: "hub",
    input: SessionsSchema,
    output: pageForm(TraceForm),
    rest: true,
  }),
  "traces.counts": operation({
    summary: "Counts the steps traced through this hub: stored, failed and waiting.",
    route: "GET /v1/traces/counts",
    access: "reader",
    on: "hub",
    input: z.strictObject({}),
    output: TraceCountsForm,
  }),
};
