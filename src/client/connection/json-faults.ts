/**
 * Refuses what JSON cannot carry before it is sent: a date would silently become a string, and NaN null.
 * Everything else is checked by the hub.
 */
import { findCanonicalViolations } from "../../base/canonical-json.ts";
import { BatonError, type ErrorCode, type Violation } from "../../base/errors.ts";
import { FORMAT_LIMITS } from "../../base/limits.ts";
import { rejection } from "../../envelope/violations.ts";

const UNREPRESENTABLE_RULES: readonly string[] = [
  "circular",
  "finite",
  "json",
  "json_depth",
  "reserved_key",
];

/** The part of a call that is the caller's own data, and how the hub refuses it. */
interface Subject {
  readonly code: ErrorCode;
  /** As the hub checks it. */
  of(input: Readonly<Record<string, unknown>>): unknown;
  /** Where a fault in it is, as its caller sees it. */
  readonly path?: string;
  /** True: a draft, of which the hub reports every violation at once. */
  readonly isDraft?: true;
}

const envelopeIn = (field: string): Subject => ({
  code: "invalid_envelope",
  of: (input) => input[field],
});
const draftIn = (field: string): Subject => ({ ...envelopeIn(field), isDraft: true });
const memoryIn = (field: string): Subject => ({
  code: "invalid_memory",
  of: (input) => input[field],
});
const RESULT: Subject = { code: "invalid_input", of: (input) => input["result"], path: "result" };

const SUBJECTS: Readonly<Record<string, Subject>> = {
  handoff: draftIn("draft"),
  "handoffs.join": draftIn("draft"),
  "work.handoff": envelopeIn("draft"),
  "handoffs.preview": draftIn("draft"),
  "handoffs.lint": draftIn("draft"),
  "tasks.add": envelopeIn("task"),
  remember: memoryIn("memories"),
  "memories.similar": memoryIn("memory"),
  "deliveries.note": memoryIn("note"),
  trace: { code: "invalid_memory", of: ({ steps }) => traceRecordsOf(steps) },
  "memories.importMarkdown": { code: "invalid_input", of: ({ text }) => text, path: "document" },
  "work.complete": RESULT,
  "effects.record": RESULT,
  "effects.resolve": RESULT,
};

/** What was done stands in a record's data. */
const traceRecordsOf = (steps: unknown): unknown =>
  Array.isArray(steps) ? steps.map((data) => ({ data })) : steps;

const WHOLE_INPUT: Subject = { code: "invalid_input", of: (input) => input };

/** What is wrong with the input of a call. */
export interface JsonFaults {
  readonly error: BatonError;
  /** Set for a draft: the same without the faults, to ask the hub what else is wrong with it. */
  readonly draft?: unknown;
}

/** Returns what of a call JSON cannot carry. */
export function jsonFaults(
  name: string,
  input: Readonly<Record<string, unknown>>,
): JsonFaults | undefined {
  const { code, of, path = "", isDraft } = SUBJECTS[name] ?? WHOLE_INPUT;
  const subject = of(input);
  const faults = findCanonicalViolations(subject ?? null, path)
    .filter(({ rule }) => UNREPRESENTABLE_RULES.includes(rule))
    .map((fault) => withoutSingleIndex(fault, subject));
  const [first] = faults;
  if (first === undefined) return undefined;
  const error = new BatonError(code, { ...first, violations: faults });
  return isDraft ? { error, draft: withoutFaults(subject, []) } : { error };
}

/** One error with the violations of both; where both report a path, the hub's counts. */
export function mergeFaults(hubs: BatonError, ours: BatonError): BatonError {
  const paths = new Set(hubs.violations.map(({ path }) => path));
  const others = ours.violations.filter(({ path }) => !paths.has(path));
  return rejection(hubs.code, "The handoff", [...hubs.violations, ...others]);
}

/** A copy with null in place of everything that JSON cannot carry. */
function withoutFaults(value: unknown, ancestors: readonly object[]): unknown {
  if (typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value === "number") return Number.isFinite(value) ? value : null;
  if (typeof value !== "object" || value === null) return value === undefined ? undefined : null;
  const isTooDeep = ancestors.length >= FORMAT_LIMITS.jsonDepth;
  if (isTooDeep || ancestors.includes(value)) return null;
  const within = [...ancestors, value];
  if (Array.isArray(value)) return value.map((item) => withoutFaults(item, within) ?? null);
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return null;
  const fields = Object.entries(value).filter(([key]) => key !== "__proto__");
  return Object.fromEntries(fields.map(([key, item]) => [key, withoutFaults(item, within)]));
}

/** One alone is not called the first of a list. */
function withoutSingleIndex(fault: Violation, subject: unknown): Violation {
  if (!Array.isArray(subject) || subject.length !== 1) return fault;
  const plain = (text: string): string => text.replace(/\[0\]\.?/, "");
  return { ...fault, path: plain(fault.path), message: plain(fault.message) };
}
