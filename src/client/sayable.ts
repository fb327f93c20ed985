/**
 * What JSON cannot say is refused before it is sent: on the way a date would become a text and what is
 * not a number null, and nobody would be told. Everything else is for the hub to check, which refuses it
 * with the same words here as anywhere.
 */
import { canonicalFaults } from "../canonical.ts";
import { BatonError, type ErrorCode, type Violation } from "../errors.ts";
import type { CallName } from "../wire/calls.ts";

const UNSAYABLE: readonly string[] = ["circular", "finite", "json", "json_depth", "reserved_key"];

/** The part of a call that is its caller's own, and how the rooms refuse it. */
interface Subject {
  readonly field: string;
  readonly code: ErrorCode;
  /** Where a fault in it is, as its caller sees it. */
  readonly path?: string;
}

const DRAFT: Subject = { field: "draft", code: "invalid_envelope" };
const RESULT: Subject = { field: "result", code: "invalid_input", path: "result" };

const SUBJECTS: Partial<Record<CallName, Subject>> = {
  handoff: DRAFT,
  joinHandoffs: DRAFT,
  handOn: DRAFT,
  preview: DRAFT,
  lintDraft: DRAFT,
  addTask: { field: "task", code: "invalid_envelope" },
  remember: { field: "memories", code: "invalid_memory" },
  known: { field: "memory", code: "invalid_memory" },
  note: { field: "note", code: "invalid_memory" },
  trace: { field: "steps", code: "invalid_memory" },
  complete: RESULT,
  recordOnce: RESULT,
  resolveOnce: RESULT,
};

export function requireSayable(name: CallName, input: Readonly<Record<string, unknown>>): void {
  const subject = SUBJECTS[name];
  const faults =
    subject === undefined
      ? canonicalFaults(input)
      : canonicalFaults(input[subject.field] ?? null, subject.path ?? "");
  const all = faults.filter(({ rule }) => UNSAYABLE.includes(rule));
  const found = all.map((fault) => ofOne(fault, input[subject?.field ?? ""]));
  const [first] = found;
  if (first === undefined) return;
  throw new BatonError(subject?.code ?? "invalid_input", { ...first, violations: found });
}

/** One alone is not called the first of a list. */
function ofOne(fault: Violation, subject: unknown): Violation {
  if (!Array.isArray(subject) || subject.length !== 1) return fault;
  const plain = (text: string): string => text.replace(/\[0\]\.?/, "");
  return { ...fault, path: plain(fault.path), message: plain(fault.message) };
}
