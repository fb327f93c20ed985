/**
 * Writes trace steps: a tool call, a prompt, a result, or anything else an agent did. A step is a memory of
 * type `trace` on the chain of its session, so that it can be pruned with it. Its data contains the step as
 * given; its content is a rendering for reading and search.
 */
import * as z from "zod";
import { clip } from "../../base/clip.ts";
import { BatonError } from "../../base/errors.ts";
import { checkLimit, FORMAT_LIMITS } from "../../base/limits.ts";
import { compileLazily } from "../../envelope/lazy-compile.ts";
import { MemoryId, Name } from "../../envelope/schema.ts";
import { parseOrThrow } from "../../envelope/violations.ts";
import { traceBranch } from "../../store/visibility.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { citationsOf } from "../citations.ts";
import { refuseQuarantined } from "../quarantine/quarantine-mark.ts";
import { type Author, type Memory, writeRecord } from "../record.ts";
import { runEachWithoutSecrets, type WithSecrets } from "../redaction/secret-policy.ts";
import { refuseInvisibleReferences } from "../reference-visibility.ts";
import { type TraceCounts, TraceLog, type WrittenStep } from "./trace-log.ts";

/** The memory type of a step. */
export const TRACE = "trace";

/** The common kinds of steps. Any other lower-case word is valid too. */
export const STEP_KINDS = ["tool", "prompt", "result", "error"] as const;

/** The characters of an input or output in the content; the data contains all of it. */
const MAX_RENDERED_LENGTH = 8_000;

const Label = z.string().min(1).max(FORMAT_LIMITS.nameLength);

/** Input of trace(). */
export const StepSchema = z.strictObject({
  content: z.string().max(FORMAT_LIMITS.textLength).optional(),
  /** Set by callers that retry: a step with the same id and content is stored once. */
  id: MemoryId.optional(),
  input: z.unknown().optional(),
  kind: z
    .string()
    .max(FORMAT_LIMITS.nameLength)
    .regex(/^[a-z][a-z0-9_-]*$/, { error: "must be a lower-case word such as tool" }),
  /** The duration, in ms. */
  ms: z.number().min(0).optional(),
  /** The name of the tool or model. */
  name: Label.optional(),
  ok: z.boolean().optional(),
  output: z.unknown().optional(),
  refs: z.array(MemoryId).max(FORMAT_LIMITS.references).optional(),
  run: Name.optional(),
  tags: z.array(Label).max(FORMAT_LIMITS.tags).optional(),
  task: Name.optional(),
});

/** A step as a caller passes it. */
export type TraceStep = z.input<typeof StepSchema>;
type CheckedStep = z.output<typeof StepSchema>;

/** The data of a step's record. */
export type TraceData = Pick<
  CheckedStep,
  "content" | "input" | "kind" | "ms" | "name" | "ok" | "output"
>;

/** The same schema, compiled, because agents may trace very often. */
const CompiledStep = compileLazily(StepSchema);

/** By the workspace's root: all agents of a hub share one log, which the hub drains when it closes. */
const logs = new WeakMap<object, TraceLog>();

/**
 * Traces steps. Resolves when they are stored. A caller that does not wait learns from flushTraces() whether
 * all were stored. Rejects with `limit_exceeded` if the buffer is full; rejected steps are counted.
 */
export function traceSteps(
  workspace: Workspace,
  author: Author,
  steps: readonly TraceStep[],
): Promise<WithSecrets<Memory>[]> {
  const log = logs.get(workspace.root) ?? new TraceLog(workspace);
  logs.set(workspace.root, log);
  let isStoring = false;
  let arrive = () => {};
  const store = async (redacted: readonly TraceStep[]): Promise<Memory[]> => {
    isStoring = true;
    try {
      return log.add(author, writeSteps(workspace, author, redacted)); // From here on the log reports errors.
    } catch (error) {
      log.refused(author, steps.length, error);
      throw error;
    } finally {
      arrive();
    }
  };
  const traced = runEachWithoutSecrets(workspace, steps, store, {
    limit: "traceBytes",
    path: "step",
  });
  traced.catch((error: unknown) => {
    if (isStoring) return;
    log.refused(author, steps.length, error);
    arrive();
  });
  // Still being searched, or the secret policy is being read: flushing and closing wait for these steps.
  if (!isStoring) log.expect(new Promise((resolve) => (arrive = resolve)));
  return traced;
}

/** Waits until all steps are stored; throws the first error of the author's steps. */
export async function flushTraces({ root }: Workspace, author: Author): Promise<void> {
  await logs.get(root)?.flush(author);
}

/** Waits until no steps are left to store, whether they were stored or rejected. */
export async function drainTraces({ root }: Workspace): Promise<void> {
  await logs.get(root)?.drain();
}

/** Returns how many steps of this hub were stored, failed and are waiting. */
export function traceCounts({ root }: Workspace): TraceCounts {
  return logs.get(root)?.counts ?? { stored: 0, failed: 0, waiting: 0 };
}

function writeSteps(
  workspace: Workspace,
  author: Author,
  steps: readonly TraceStep[],
): WrittenStep[] {
  if (!Array.isArray(steps) || steps.length === 0) {
    throw new BatonError("invalid_input", {
      message: "The list of steps is empty.",
      hint: 'Pass at least one step, for example { kind: "tool", name: "grep", input, output }.',
    });
  }
  const { ids, clock, limits } = workspace;
  const context = { ids, now: clock.now(), limits, branch: traceBranch(author.instance) };
  return steps.map((step, i) => {
    const path = steps.length === 1 ? "" : `[${i}]`;
    const checked = parseOrThrow(CompiledStep, step, {
      code: "invalid_memory",
      what: "The step",
      prefix: path,
    });
    const written = writeRecord(author, recordOf(checked), context, path);
    const actual = Buffer.byteLength(written.record.text);
    checkLimit(limits, "traceBytes", { actual, path: path || "step" });
    if (written.record.mentions.length === 0) return { written };
    const cited = citationsOf(recordOf(checked), path);
    return {
      written,
      refuse: async () => {
        await refuseInvisibleReferences(workspace, [written]);
        await refuseQuarantined(workspace, cited);
      },
    };
  });
}

function recordOf({ id, refs, run, tags, task, ...data }: CheckedStep) {
  return { id, type: TRACE, content: renderStep(data), data: defined(data), refs, run, tags, task };
}

/** Removes undefined keys, because canonical JSON has no undefined. */
const defined = (data: TraceData): Record<string, unknown> =>
  Object.fromEntries(Object.entries(data).filter(([, value]) => value !== undefined));

function renderStep({ kind, name, ok, ms, content, input, output }: TraceData): string {
  const head = [kind, name, ok === false ? "failed" : "", ms === undefined ? "" : `(${ms} ms)`];
  return [
    head.filter(Boolean).join(" "),
    content ?? "",
    input === undefined ? "" : `input: ${renderValue(input)}`,
    output === undefined ? "" : `output: ${renderValue(output)}`,
  ]
    .filter(Boolean)
    .join("\n");
}

/** Renders a value. What JSON cannot represent is omitted here, and refused with its path in the data. */
function renderValue(value: unknown): string {
  if (typeof value === "string") return clip(value, MAX_RENDERED_LENGTH);
  try {
    return clip(JSON.stringify(value) ?? "", MAX_RENDERED_LENGTH);
  } catch {
    return "";
  }
}
