/** What agents did, step by step. */
import * as z from "zod";
import { SessionsSchema, TracesSchema } from "../../memory/traces/traces.ts";
import { listed } from "../given.ts";
import type { Operations } from "../operation.ts";
import { MemoryForm, TracedForm } from "../schemas/memories.ts";
import { TraceCountsForm, TraceForm, TraceStepForm } from "../schemas/traces.ts";

export const tracesOperations = {
  trace: {
    summary: "Notes down what was done, on the session's trace.",
    access: "agent",
    input: z.strictObject({ steps: z.array(TraceStepForm) }),
    output: z.array(TracedForm),
    run: async ({ agent }, { steps }) => (await agent()).trace(listed(steps, "steps")),
  },
  traces: {
    summary: "Lists the newest steps of a session, a task or an agent, in order.",
    access: "reader",
    input: TracesSchema,
    output: z.array(MemoryForm),
    rest: true,
    run: async ({ reader }, query) => (await reader()).traces(query),
  },
  traceSessions: {
    summary: "Lists the sessions that left a trace, the one heard of last first.",
    access: "reader",
    input: SessionsSchema,
    output: z.array(TraceForm),
    rest: true,
    run: ({ hub }, query) => hub.traceSessions(query),
  },
  traceCounts: {
    summary: "Counts what came of all that was traced through this hub.",
    access: "reader",
    input: z.strictObject({}),
    output: TraceCountsForm,
    run: async ({ hub }) => hub.traceCounts(),
  },
} satisfies Operations<"trace" | "traces" | "traceSessions" | "traceCounts">;
