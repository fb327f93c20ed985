/**
 * A step of a trace: a tool call, a prompt, a result, whatever an agent did. A memory like any other,
 * of type `trace`, on the chain of its session, so that it can be pruned with it. What was done stands
 * in its data, as it was; its content is the same for reading and searching.
 */
import * as z from "zod";
import { clip } from "../../base/clip.ts";
import { BatonError } from "../../base/errors.ts";
import { checkLimit, FORMAT_LIMITS } from "../../base/limits.ts";
import { compileLazily } from "../../envelope/lazy-compile.ts";
import { MemoryId, Name } from "../../envelope/schema.ts";
import { parseOrThrow } from "../../envelope/violations.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { citationsOf } from "../citations.ts";
import { refuseQuarantined } from "../quarantine/quarantine-mark.ts";
import { type Author, type Memory, writeRecord } from "../record.ts";
import { runEachWithoutSecrets, type WithSecrets } from "../redaction/secret-policy.ts";
import { refuseInvisibleReferences } from "../reference-visibility.ts";
import { type TraceCounts, TraceLog, type WrittenStep } from "./trace-log.ts";

export const TRACE = "trace";

/** The kinds agents really use. Any other lower-case word is fine too. */
export const STEP_KINDS = ["tool", "prompt", "result", "error"] as const;

/** What of an input or output can be read and searched; all of it stands in the data. */
const MAX_RENDERED_LENGTH = 8_000;

const Label = z.string().min(1).max(FORMAT_LIMITS.nameLength);

export const StepSchema = z.strictObject({
  content: z.string().max(FORMAT_LIMITS.textLength).optional(),
  /** Given by callers that retry: the same step again is the same step. */
  id: MemoryId.optional(),
  input: z.unknown().optional(),
  kind: z
    .string()
    .max(FORMAT_LIMITS.nameLength)
    .regex(/^[a-z][a-z0-9_-]*$/, { error: "must be a lower-case word such as tool" }),
  /** How long it took, in milliseconds. */
  ms: z.number().min(0).optional(),
  /** Of the tool, or the model. */
  name: Label.optional(),
  ok: z.boolean().optional(),
  output: z.unknown().optional(),
  refs: z.array(MemoryId).max(FORMAT_LIMITS.references).optional(),
  run: Name.optional(),
  tags: z.array(Label).max(FORMAT_LIMITS.tags).optional(),
  task: Name.optional(),
});

export type TraceStep = z.input<typeof StepSchema>;
type CheckedStep = z.output<typeof StepSchema>;

/** What a step's record has as data. */
export type TraceData = Pick<
  CheckedStep,
  "content" | "input" | "kind" | "ms" | "name" | "ok" | "output"
>;

/** The same schema, compiled: checked on every call, also by those who trace a lot. */
const CompiledStep = compileLazily(StepSchema);

/** By the workspace's root: all agents of a hub share one, which the hub empties when it closes. */
const logs = new WeakMap<object, TraceLog>();

/**
 * Notes down what was done. Returns when it is stored; who does not wait for it goes on at once, and
 * learns from `flush` whether all of it was. Refused, and counted, when more waits than may.
 */
export function traceSteps(
  workspace: Workspace,
  author: Author,
  steps: readonly TraceStep[],
): Promise<WithSecrets<Memory>[]> {
  const log = logs.get(workspace.root) ?? new TraceLog(workspace);
  logs.set(workspace.root, log);
  let isHeard = false;
  let arrive = () => {};
  const traced = runEachWithoutSecrets(workspace, steps, async (heard) => {
    isHeard = true;
    try {
      return log.add(author, writeSteps(workspace, author, heard)); // Told of by the log from here on.
    } catch (error) {
      log.refused(author, steps.length, error);
      throw error;
    } finally {
      arrive();
    }
  });
  traced.catch((error: unknown) => {
    if (isHeard) return;
    log.refused(author, steps.length, error);
    arrive();
  });
  // What is done about a secret in it is being asked: flushing and closing wait for that.
  if (!isHeard) log.expect(new Promise((resolve) => (arrive = resolve)));
  return traced;
}

/** Waits until all that was traced is stored; throws what an author's steps were refused with. */
export async function flushTraces({ root }: Workspace, author: Author): Promise<void> {
  await logs.get(root)?.flush(author);
}

/** Waits until nothing is left to store, whatever came of it. */
export async function drainTraces({ root }: Workspace): Promise<void> {
  await logs.get(root)?.drain();
}

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
      message: "There is nothing to trace: the list is empty.",
      hint: 'Pass at least one step, for instance { kind: "tool", name: "grep", input, output }.',
    });
  }
  const { ids, clock, limits } = workspace;
  const pen = { ids, now: clock.now(), limits };
  return steps.map((step, i) => {
    const path = steps.length === 1 ? "" : `[${i}]`;
    const checked = parseOrThrow(CompiledStep, step, {
      code: "invalid_memory",
      what: "The step",
      prefix: path,
    });
    const written = writeRecord(author, recordOf(checked), pen, path);
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

/** Keys nobody gave are not there: canonical text knows no undefined. */
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

/** What cannot be written is refused with its path when the data is: here it is left out. */
function renderValue(value: unknown): string {
  if (typeof value === "string") return clip(value, MAX_RENDERED_LENGTH);
  try {
    return clip(JSON.stringify(value) ?? "", MAX_RENDERED_LENGTH);
  } catch {
    return "";
  }
}
