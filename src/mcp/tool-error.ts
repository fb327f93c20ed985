/**
 * The result of a refused call: a text that says what was wrong and what to do, and the same error as in
 * every other interface, as data. A refused call stores nothing.
 */
import type { CallToolResult } from "@modelcontextprotocol/server";
import type { BatonError, ErrorCode } from "../base/errors.ts";
import { fenceLine, fenceText } from "../text/fence.ts";
import { argumentPath } from "./argument-names.ts";

type Details = Readonly<Record<string, unknown>>;

/** Hints that name tools and their arguments; undefined where the library's own hint says it well. */
const HINTS: Partial<
  Record<ErrorCode, (details: Details, error: BatonError) => string | undefined>
> = {
  agent_disabled: () => OTHER_RECEIVER,
  already_known: () =>
    'Read what is known; go on from it with related: [{ kind: "continues-from", to: … }] (or "supersedes", "corrects"), or write it anyway with if_known: "ignore".',
  budget_too_small: ({ atLeast }) => `Ask again with max_tokens: ${atLeast}.`,
  cancelled: () => "Stop working on it. Call catch_up for what waits now.",
  channel_closed: () => OTHER_RECEIVER,
  channel_paused: () => OTHER_RECEIVER,
  circuit_open: () => OTHER_RECEIVER,
  inbox_full: () => OTHER_RECEIVER,
  lease_lost: () =>
    "Stop working on it: it is not yours any more. Notes are still kept. Call catch_up for what waits now.",
  limit_exceeded: ({ limit, actual }) =>
    limit === "tokens" ? `Ask again with max_tokens: ${actual}.` : undefined,
  no_route: () =>
    'Pass to: an agent\'s name, "role:<role>" or "channel:<channel>". agents lists them.',
  not_open: ({ delivery }) => `Read ${delivery ?? "it"} to see where it stands.`,
  not_permitted: (_, { hint }) => hint.replace("; hub.settings.get() names the roles", ""),
  receipt_required: ({ constraints }) =>
    `Accept it with receipt: { goal, first_step, constraints: ${JSON.stringify(constraints ?? [])} }: goal and first step in your own words.`,
  unknown_agent: ({ near }) => receiverHint(near),
  unknown_branch: ({ near }) =>
    isEmpty(near) ? "Leave branch out: no tool begins a branch." : undefined,
  unknown_channel: ({ near }) => receiverHint(near),
  unknown_delivery: () => "Use a handoff's id (dlv_…) as a tool gave it.",
  unknown_memory: () => "Use a memory's id (mem_…) as a tool gave it, or find it with recall.",
  unknown_role: ({ near }) => receiverHint(near),
};

const OTHER_RECEIVER = "Hand it to another receiver (agents lists them), or retry later.";

const isEmpty = (near: unknown): boolean => !Array.isArray(near) || near.length === 0;

/** Where a name is close to a known one, the library's hint names it. */
const receiverHint = (near: unknown): string | undefined =>
  isEmpty(near) ? "Call agents for the agents, roles and channels there are." : undefined;

/** Errors whose words may be taken from what others stored: they are shown as data. */
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
 * Where the error is in a result, as data. Not in `structuredContent`: clients on version 1 of the SDK hold that
 * against the tool's output schema even when `isError` is set, and throw the text away with it.
 */
export const ERROR_KEY = "baton/error";

export interface ToolError {
  readonly code: ErrorCode;
  readonly message: string;
  readonly path: string;
  readonly hint: string;
  readonly retryable: boolean;
}

export function toolErrorOf(error: BatonError): ToolError {
  const { code, retryable } = error;
  const isQuoting = CODES_WITH_STORED_TEXT.includes(code);
  const shown = (text: string): string => {
    const spelt = withArgumentNames(text, error);
    return isQuoting ? fenceText(spelt) : spelt;
  };
  const hint = HINTS[code]?.(error.details, error) ?? shown(error.hint);
  return { code, message: shown(error.message), path: argumentPath(error.path), hint, retryable };
}

/** Violations name fields of the library (`doNotRedo[0]: …`, `Add "firstStep"`). */
function withArgumentNames(text: string, { violations }: BatonError): string {
  return violations.reduce((spelt, { path }) => {
    const argument = argumentPath(path);
    if (argument === path) return spelt;
    return spelt
      .replaceAll(`${path}: `, () => `${argument}: `)
      .replaceAll(`"${path}"`, () => `"${argument}"`);
  }, text);
}

export function failedCall(error: BatonError): CallToolResult {
  const failure = toolErrorOf(error);
  const { code, message, path, hint, retryable } = failure;
  const place = CODES_WITH_STORED_TEXT.includes(code) ? fenceLine(path) : path;
  const text = [
    `${message} (${code})`,
    ...(path === "" || message.includes(path) ? [] : [`At: ${place}`]),
    `What to do: ${hint}`,
    ...(retryable ? ["The same call may succeed later."] : []),
  ].join("\n");
  return { isError: true, content: [{ type: "text", text }], _meta: { [ERROR_KEY]: failure } };
}
