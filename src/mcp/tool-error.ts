/**
 * Builds the result of a refused tool call: a text that says what was wrong and what to do, and the same
 * error as every other interface returns, as data. A refused call stores nothing.
 */
import type { CallToolResult } from "@modelcontextprotocol/server";
import type { BatonError, ErrorCode, Violation } from "../base/errors.ts";
import { rewriteCalls, withCommands } from "../operations/wire/hint-words.ts";
import { fenceLine, fenceText, withBoundary } from "../text/fence.ts";
import { visibleText } from "../text/visible.ts";
import { argumentPath } from "./argument-names.ts";

type Details = Readonly<Record<string, unknown>>;

/** Hints that name tools and arguments instead of SDK methods; undefined: the SDK's hint is used. */
const HINTS: Partial<
  Record<ErrorCode, (details: Details, error: BatonError) => string | undefined>
> = {
  agent_disabled: () => OTHER_RECEIVER,
  already_known: () =>
    'Read the known memory, then repeat with related: [{ kind: "continues-from", to: … }] (or "supersedes", "corrects"), or store it anyway with if_known: "ignore".',
  budget_too_small: ({ atLeast }) => `Repeat the call with max_tokens: ${atLeast}.`,
  cancelled: () => "Stop working on it, and call catch_up to see what is waiting.",
  channel_closed: () => OTHER_RECEIVER,
  channel_paused: () => OTHER_RECEIVER,
  circuit_open: () => OTHER_RECEIVER,
  inbox_full: () => OTHER_RECEIVER,
  lease_lost: () =>
    "Stop working on it: you no longer hold it. Notes are still stored. Call catch_up to see what is waiting.",
  limit_exceeded: ({ limit, actual }) =>
    limit === "tokens" ? `Repeat the call with max_tokens: ${actual}.` : undefined,
  no_route: () =>
    'Pass to: an agent\'s name, "role:<role>" or "channel:<channel>"; call agents to list them.',
  not_open: ({ delivery }) => `Call read with ${delivery ?? "its id"} to see its state.`,
  not_permitted: (_, { hint }) => hint.replace("; hub.settings.get() names the roles", ""),
  receipt_required: ({ constraints }) =>
    `Call accept with receipt: { goal, first_step, constraints: ${JSON.stringify(constraints ?? [])} }, with goal and first_step in your own words.`,
  unknown_agent: ({ near }) => receiverHint(near),
  unknown_branch: ({ near }) =>
    isEmpty(near) ? "Omit branch: no tool creates branches." : undefined,
  unknown_channel: ({ near }) => receiverHint(near),
  unknown_delivery: () => "Use a handoff id (dlv_…) that a tool returned.",
  unknown_memory: () => "Use a memory id (mem_…) that a tool returned, or find it with recall.",
  unknown_role: ({ near }) => receiverHint(near),
};

const OTHER_RECEIVER = "Hand it to another receiver (call agents to list them), or retry later.";

const isEmpty = (near: unknown): boolean => !Array.isArray(near) || near.length === 0;

/** Undefined if a known name is similar: the SDK's hint then suggests it. */
const receiverHint = (near: unknown): string | undefined =>
  isEmpty(near) ? "Call agents to list agents, roles and channels." : undefined;

/** The tool for an SDK call, for calls that a tool makes. Other calls are named as commands. */
const TOOLS: Readonly<Record<string, string>> = {
  "deliveries.waiting": "catch_up",
  handoff: "hand_off",
  "questions.list": "catch_up",
  "tasks.board": "catch_up",
};

/** Returns a text with tools instead of SDK calls, and commands for calls that no tool makes. */
const withTools = (text: string): string =>
  withCommands(rewriteCalls(text, ({ name }) => TOOLS[name]));

/** Errors that can quote text stored by others: their text is fenced as data. */
const CODES_WITH_STORED_TEXT: readonly ErrorCode[] = [
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

/**
 * The key of `_meta` with the error as data. Not `structuredContent`: clients on version 1 of the SDK
 * validate that against the tool's output schema even if `isError` is set, and then discard the text as well.
 */
export const ERROR_KEY = "baton/error";

/** An error in the words of the tools. */
export interface ToolError {
  readonly code: ErrorCode;
  readonly message: string;
  readonly path: string;
  readonly hint: string;
  readonly retryable: boolean;
}

/** Returns an error with tool and argument names, and with stored text fenced. */
export function toolErrorOf(error: BatonError): ToolError {
  const { code, retryable } = error;
  const isQuoting = CODES_WITH_STORED_TEXT.includes(code);
  const shown = (text: string): string => {
    const spelt = withTools(withArgumentNames(text, error));
    return isQuoting ? fenceText(spelt) : visibleText(spelt);
  };
  const hint = HINTS[code]?.(error.details, error) ?? shown(error.hint);
  const [first] = error.violations;
  const path = first?.path === error.path ? argumentOf(first) : argumentPath(error.path);
  return { code, message: shown(error.message), path: visibleText(path), hint, retryable };
}

/** Returns the same with the number of an answer in its fences. */
export const numberedError = (error: BatonError, boundary: string): ToolError => {
  const { message, hint, ...rest } = toolErrorOf(error);
  return {
    ...rest,
    message: withBoundary(message, boundary),
    hint: withBoundary(hint, boundary),
  };
};

/** Returns the argument of a violation. An unknown one at the top level is spelled as the caller wrote it. */
const argumentOf = ({ path, rule }: Violation): string =>
  rule === "unknown_field" && /^\w+$/.test(path) ? path : argumentPath(path);

/** Replaces the SDK field names in violations (`doNotRedo[0]: …`, `Add "firstStep"`). */
function withArgumentNames(text: string, { violations }: BatonError): string {
  return violations.reduce((spelt, violation) => {
    const { path } = violation;
    const argument = argumentOf(violation);
    if (argument === path) return spelt;
    return spelt
      .replaceAll(`${path}: `, () => `${argument}: `)
      .replaceAll(`"${path}"`, () => `"${argument}"`);
  }, text);
}

/** Returns the result of a refused call. `boundary`: the number in its fences. */
export function failedCall(error: BatonError, boundary: string): CallToolResult {
  const failure = numberedError(error, boundary);
  const { code, message, path, hint, retryable } = failure;
  const place = CODES_WITH_STORED_TEXT.includes(code)
    ? withBoundary(fenceLine(path), boundary)
    : path;
  const text = [
    `${message} (${code})`,
    ...(path === "" || message.includes(path) ? [] : [`At: ${place}`]),
    `What to do: ${hint}`,
    ...(retryable ? ["The same call may succeed later."] : []),
  ].join("\n");
  return { isError: true, content: [{ type: "text", text }], _meta: { [ERROR_KEY]: failure } };
}
