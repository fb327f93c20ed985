/** Zod schemas for traces: steps, sessions and counts. */
import * as z from "zod";
import { StepSchema } from "../../memory/traces/trace.ts";
import type { TraceCounts } from "../../memory/traces/trace-log.ts";
import type { TraceInfo } from "../../memory/traces/traces.ts";
import { Count, Instant, Text } from "./common.ts";
import type { Fields } from "./fields.ts";

export const TraceStepForm = StepSchema.meta({
  id: "TraceStep",
  description: "One step of a session: a tool call, a prompt or a result.",
});

export const TraceForm = z
  .strictObject({
    session: Text,
    agent: Text.exactOptional().meta({ description: "Agent of the last step the caller can see" }),
    task: Text.exactOptional().meta({ description: "Task of the last step the caller can see" }),
    steps: Count,
    pruned: Count,
    from: Instant.exactOptional().meta({ description: "Absent if all steps were pruned" }),
    until: Instant,
  } satisfies Fields<TraceInfo>)
  .meta({ id: "Trace", description: "Summary of a session's trace." });

export const TraceCountsForm = z
  .strictObject({ stored: Count, failed: Count, waiting: Count } satisfies Fields<TraceCounts>)
  .meta({
    id: "TraceCounts",
    description: "How many steps traced through this hub are stored, failed or waiting.",
  });
