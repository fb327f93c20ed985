/**
 * What JSON cannot say is refused before it is sent: on the way a date would become a text and what is
 * not a number null, and nobody would be told. Everything else is for the hub to check, which refuses it
 * with the same words here as anywhere.
 */
import { canonicalFaults } from "../base/canonical.ts";
import { BatonError, type ErrorCode, type Violation } from "../base/errors.ts";
import { checkDraft } from "../delivery/send/check-draft.ts";
import type { CallName } from "../wire/calls.ts";

const UNSAYABLE: readonly string[] = ["circular", "finite", "json", "json_depth", "reserved_key"];

/** The part of a call that is its caller's own, and how the rooms refuse it. */
interface Subject {
  readonly code: ErrorCode;
  /** As the rooms look at it. */
  of(input: Readonly<Record<string, unknown>>): unknown;
  /** Where a fault in it is, as its caller sees it. */
  readonly path?: string;
  /** Throws with everything that is wrong with it, where the rooms tell all at once. */
  readonly check?: (subject: unknown) => unknown;
}

const draftIn = (field: string): Subject => ({
  code: "invalid_envelope",
  of: (input) => input[field],
  check: (draft) => checkDraft(draft, undefined),
});
const memoryIn = (field: string): Subject => ({
  code: "invalid_memory",
  of: (input) => input[field],
});
const RESULT: Subject = { code: "invalid_input", of: (input) => input["result"], path: "result" };

const SUBJECTS: Partial<Record<CallName, Subject>> = {
  handoff: draftIn("draft"),
  joinHandoffs: draftIn("draft"),
  handOn: { ...draftIn("draft"), check: () => {} },
  preview: draftIn("draft"),
  lintDraft: draftIn("draft"),
  addTask: { ...draftIn("task"), check: () => {} },
  remember: memoryIn("memories"),
  known: memoryIn("memory"),
  note: memoryIn("note"),
  trace: { code: "invalid_memory", of: ({ steps }) => kept(steps) },
  importMarkdown: { code: "invalid_input", of: ({ text }) => text, path: "document" },
  complete: RESULT,
  recordOnce: RESULT,
  resolveOnce: RESULT,
};

/** What was done stands in a record's data. */
const kept = (steps: unknown): unknown =>
  Array.isArray(steps) ? steps.map((data) => ({ data })) : steps;

const WHOLE: Subject = { code: "invalid_input", of: (input) => input };

export function requireSayable(name: CallName, input: Readonly<Record<string, unknown>>): void {
  const { code, of, path = "", check } = SUBJECTS[name] ?? WHOLE;
  const subject = of(input);
  const faults = canonicalFaults(subject ?? null, path)
    .filter(({ rule }) => UNSAYABLE.includes(rule))
    .map((fault) => ofOne(fault, subject));
  const [first] = faults;
  if (first === undefined) return;
  check?.(subject);
  throw new BatonError(code, { ...first, violations: faults });
}

/** One alone is not called the first of a list. */
function ofOne(fault: Violation, subject: unknown): Violation {
  if (!Array.isArray(subject) || subject.length !== 1) return fault;
  const plain = (text: string): string => text.replace(/\[0\]\.?/, "");
  return { ...fault, path: plain(fault.path), message: plain(fault.message) };
}
