/**
 * The messages of the team: the payload of every handoff and every result is one of these typed
 * objects, never a bare string. They are registered with the hub and checked when a handoff is
 * sent: a malformed message is refused with all of its violations and never delivered.
 */
import type { Hub, PayloadType } from "batonpass";
import * as z from "zod";

/** What the sender did, in one word, so that the receiver knows what to do next. */
export const Action = z.enum([
  "delegated",
  "needs_review",
  "changes_requested",
  "approved",
  "needs_test",
]);

export const Severity = z.enum(["blocker", "major", "minor"]);
export const Verdict = z.enum(["approved", "changes_requested"]);

/** The failure type of a missing dependency. */
export const MISSING_DEPENDENCY = "missing_dependency";

const Path = z.string().regex(/^[\w.-]+(\/[\w.-]+)*$/, { error: "must be a path in the project" });
const Sentence = z.string().min(1).max(500);
const Digest = z.string().regex(/^[0-9a-f]{64}$/, { error: "must be a SHA-256 digest in hex" });

/** Coordinator → coder: a part of the feature. */
export const Job = z.strictObject({
  make: z.enum(["endpoint", "types", "docs", "export"]),
  route: z.string().regex(/^(GET|POST|PUT|DELETE) \/[\w/:.-]+$/),
  files: z.array(Path).min(1),
});

/** Coder → reviewer: which files to read, each fixed by its digest, and which findings it fixes. */
export const Change = z.strictObject({
  files: z
    .array(z.strictObject({ path: Path, digest: Digest, change: z.enum(["added", "changed"]) }))
    .min(1),
  summary: Sentence,
  fixes: z.array(z.string()),
});

/** Reviewer → coder: the verdict, and unless it is "approved", what to change where. */
export const Review = z.strictObject({
  verdict: Verdict,
  findings: z.array(
    z.strictObject({
      rule: z.string(),
      severity: Severity,
      file: Path,
      line: z.int().positive(),
      problem: Sentence,
      todo: Sentence,
    }),
  ),
});

/** Coder → tester: what to run, and the expected behaviour. */
export const TestRequest = z.strictObject({
  command: z.array(z.string()).min(1),
  files: z.array(Path).min(1),
  expects: z.array(Sentence).min(1),
});

/** The tester's result. */
export const TestReport = z.strictObject({
  outcome: z.enum(["passed", "failed"]),
  tests: z.int().min(0),
  passed: z.int().min(0),
  failed: z.int().min(0),
});

export const MESSAGES = {
  job: Job,
  change: Change,
  review: Review,
  "test-request": TestRequest,
  "test-report": TestReport,
} as const;

export type Action = z.output<typeof Action>;
export type Job = z.output<typeof Job>;
export type Change = z.output<typeof Change>;
export type Review = z.output<typeof Review>;
export type TestRequest = z.output<typeof TestRequest>;
export type TestReport = z.output<typeof TestReport>;

/** The registered payload types: `say.review.of({ … })` creates a payload. */
export interface Say {
  readonly job: PayloadType<Job>;
  readonly change: PayloadType<Change>;
  readonly review: PayloadType<Review>;
  readonly testRequest: PayloadType<TestRequest>;
}

export async function registerMessages(hub: Hub): Promise<Say> {
  // The format of a result: the test request expects it.
  await hub.payloadTypes.define("test-report", TestReport);
  return {
    job: await hub.payloadTypes.define("job", Job),
    change: await hub.payloadTypes.define("change", Change),
    review: await hub.payloadTypes.define("review", Review),
    testRequest: await hub.payloadTypes.define("test-request", TestRequest),
  };
}

/** Returns the messages as JSON Schemas, for programs in any language. */
export function messageSchemas(): Record<string, object> {
  const schemas = Object.entries(MESSAGES).map(([name, schema]) => [name, z.toJSONSchema(schema)]);
  return { action: z.toJSONSchema(Action), ...Object.fromEntries(schemas) };
}
