/** Traces, as they are described and answered. */
import * as z from "zod";
import { StepSchema } from "../../memory/traces/trace.ts";
import type { TraceCounts } from "../../memory/traces/trace-log.ts";
import type { TraceInfo } from "../../memory/traces/traces.ts";
import { Count, Instant, Text } from "./common.ts";
import type { Fields } from "./fields.ts";

export const TraceStepForm = StepSchema.meta({
  id: "TraceStep",
  description: "Something that was done: a tool call, a prompt, a result.",
});

export const TraceForm = z
  .strictObject({
    session: Text,
    agent: Text.exactOptional().meta({ description: "Of the last step the caller may see" }),
    task: Text.exactOptional().meta({ description: "Of the last step the caller may see" }),
    steps: Count,
    pruned: Count,
    from: Instant.exactOptional().meta({ description: "Absent when all steps were pruned" }),
    until: Instant,
  } satisfies Fields<TraceInfo>)
  .meta({ id: "Trace", description: "A session's trace as it stands." });

export const TraceCountsForm = z
  .strictObject({ stored: Count, failed: Count, waiting: Count } satisfies Fields<TraceCounts>)
  .meta({ id: "TraceCounts", description: "What came of all that was traced through this hub." });
