/**
 * Refuses values that JSON cannot represent before they are sent: a date would silently become a string, and
 * NaN null. Everything else is checked by the hub.
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

/** The part of a call's input that contains the caller's data, and the error that the hub would return. */
interface Subject {
  readonly code: ErrorCode;
  /** Returns the part that is checked. */
  of(input: Readonly<Record<string, unknown>>): unknown;
  /** Prefix of the paths in the error; default: none. */
  readonly path?: string;
  /** True: a draft, for which the hub reports all violations at once. */
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

/** A step is stored as the data of a memory. */
const traceRecordsOf = (steps: unknown): unknown =>
  Array.isArray(steps) ? steps.map((data) => ({ data })) : steps;

const WHOLE_INPUT: Subject = { code: "invalid_input", of: (input) => input };

/** The values of a call that JSON cannot represent. */
export interface JsonFaults {
  readonly error: BatonError;
  /** Set for a draft: a copy without these values, so that the hub can check the rest. */
  readonly draft?: unknown;
}

/** Returns the values of a call that JSON cannot represent; undefined if there are none. */
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

/** Returns one error with the violations of both; if both report a path, the hub's is used. */
export function mergeFaults(hubs: BatonError, ours: BatonError): BatonError {
  const paths = new Set(hubs.violations.map(({ path }) => path));
  const others = ours.violations.filter(({ path }) => !paths.has(path));
  return rejection(hubs.code, "The handoff", [...hubs.violations, ...others]);
}

/** Returns a copy with null in place of every value that JSON cannot represent. */
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

/** Removes the index `[0]` from a path if the list has one item. */
function withoutSingleIndex(fault: Violation, subject: unknown): Violation {
  if (!Array.isArray(subject) || subject.length !== 1) return fault;
  const plain = (text: string): string => text.replace(/\[0\]\.?/, "");
  return { ...fault, path: plain(fault.path), message: plain(fault.message) };
}
