/**
 * What a model is told when a call was refused: the same error as at every door, as data, and a text
 * that says what to do now. Nothing was stored by a call that was refused.
 */
import type { CallToolResult } from "@modelcontextprotocol/server";
import { fenced } from "../context/fence.ts";
import type { BatonError, ErrorCode } from "../errors.ts";

type Details = Readonly<Record<string, unknown>>;

/** Hints that name tools and their arguments; undefined where the library's own hint says it well. */
const HINTS: Partial<Record<ErrorCode, (details: Details) => string | undefined>> = {
  already_known: () =>
    'Read what is known; go on from it with related: [{ kind: "continues-from", to: … }] (or "supersedes", "corrects"), or write it anyway with if_known: "ignore".',
  budget_too_small: ({ atLeast }) => `Ask again with max_tokens: ${atLeast}.`,
  cancelled: () => "Stop working on it. Call catch_up for what waits now.",
  circuit_open: () => "Hand it to somebody else, or wait and try again.",
  inbox_full: () => "Hand it to somebody else, or wait and try again.",
  lease_lost: () =>
    "Stop working on it: it is not yours any more. Notes are still kept. Call catch_up for what waits now.",
  limit_exceeded: ({ limit, actual }) =>
    limit === "tokens" ? `Ask again with max_tokens: ${actual}.` : undefined,
  no_route: () => 'Say to: an agent\'s name, or "role:<role>".',
  not_open: ({ envelope, delivery }) =>
    envelope === undefined ? `Read ${delivery ?? "it"} to see where it stands.` : undefined,
  receipt_required: ({ constraints }) =>
    `Accept it with receipt: { goal, first_step, constraints: ${JSON.stringify(constraints ?? [])} }: goal and first step in your own words.`,
  unknown_delivery: () => "Use a handoff's id (dlv_…) as a tool gave it.",
  unknown_memory: () => "Use a memory's id (mem_…) as a tool gave it, or find it with recall.",
};

/** Errors whose words may be taken from what others stored: they are shown as data. */
const QUOTING: readonly ErrorCode[] = [
  "already_known",
  "contradiction",
  "invalid_result",
  "lint_refused",
  "not_on_ledger",
  "quarantined",
  "receipt_required",
  "task_closed",
  "task_open",
  "unknown_task",
];

/** Arguments that have another name here than in the library. */
const ARGUMENTS: Readonly<Record<string, string>> = {
  delivery: "handoff",
  failure: "text",
  id: "ids",
  lease: "handle",
  relations: "related",
  tokens: "max_tokens",
  work: "handle",
};

/** The place in the call, as its argument is spelt: `do_not_redo[0]`. */
function placeOf(path: string): string {
  const spelt = path.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return spelt.replace(/^\w+/, (name) => ARGUMENTS[name] ?? name);
}

export interface ToolError {
  readonly code: ErrorCode;
  readonly message: string;
  readonly path: string;
  readonly hint: string;
  readonly retryable: boolean;
}

export function toolErrorOf(error: BatonError): ToolError {
  const { code, retryable } = error;
  const isQuoting = QUOTING.includes(code);
  const shown = (text: string): string => (isQuoting ? fenced(text) : text);
  const hint = HINTS[code]?.(error.details) ?? shown(error.hint);
  return { code, message: shown(error.message), path: placeOf(error.path), hint, retryable };
}

export function failedCall(error: BatonError): CallToolResult {
  const told = toolErrorOf(error);
  const again = told.retryable ? ["The same call may succeed later."] : [];
  const text = [`${told.message} (${told.code})`, `What to do: ${told.hint}`, ...again].join("\n");
  return { isError: true, content: [{ type: "text", text }], structuredContent: { ...told } };
}
