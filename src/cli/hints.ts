/** Replaces the hints of library errors, which name SDK methods, with commands and options. */
import type { BatonError, ErrorCode } from "../base/errors.ts";
import { localTime } from "./terminal.ts";

type Details = Readonly<Record<string, unknown>>;
type Hint = string | undefined;

/** Hints by error code; undefined keeps the library's hint. */
const HINTS: Partial<Record<ErrorCode, (details: Details, error: BatonError) => Hint>> = {
  already_known: ({ known }) => {
    const id = Array.isArray(known) ? known[0]?.id : undefined;
    return `Add --continues ${id} (or --supersedes, --corrects), or store it anyway with --force.`;
  },
  budget_too_small: ({ atLeast }) =>
    `Allow at least ${atLeast} tokens, shorten the longest items, or unpin and release what is no longer needed: baton pin <memory> --off, baton ledger release.`,
  circuit_open: ({ receiver, passesAt }) =>
    `Retry after ${localTime(Number(passesAt))}, name a --fallback, or reset the breaker: baton breaker reset ${receiver}`,
  channel_closed: ({ channel }) => `Open the channel: baton channel open ${channel}`,
  channel_paused: ({ channel }) => `Open the channel: baton channel open ${channel}`,
  unknown_channel: ({ channel, near }) => {
    if (near === undefined) {
      return `Subscribe first (baton channel subscribe ${channel} --as <agent>), or pass --receiver.`;
    }
    return isNone(near) ? `Create the channel first: baton channel open ${channel}` : undefined;
  },
  unknown_agent: ({ name, near }) =>
    isNone(near) ? `Register the agent first: baton agent add ${name} --role <role>` : undefined,
  unknown_role: ({ role, near }) =>
    isNone(near)
      ? `Register an agent with this role: baton agent add <name> --role ${role}`
      : undefined,
  unknown_branch: ({ branch, near }) =>
    isNone(near)
      ? `Create the branch first: baton branch create ${branch} --as <agent>`
      : undefined,
  context_conflict: ({ version }) =>
    version === null
      ? "Check the item's history (baton context history); omit --based-on to create it again."
      : `Read the current version (baton context), then run the command again with --based-on ${version}`,
  contradiction: ({ contradictions }) => {
    const keys = Array.isArray(contradictions) ? contradictions.map(({ key }) => key) : [];
    const despite = keys.map((key) => `--despite ${key}`).join(" ");
    return `Replace that decision (--supersedes ${keys[0]}), or store both (${despite}).`;
  },
  not_permitted: ({ agent, delivery }, { hint }) =>
    typeof agent === "string" && typeof delivery === "string"
      ? `Give the agent the role (baton agent add ${agent} --role coordinator), or ask an agent that has it.`
      : hint.replace("hub.settings.get()", "baton ledger releasers"),
  id_conflict: ({ id }, { path }) =>
    path === "branch"
      ? `Continue on that branch (--branch ${id}), or choose another name.`
      : undefined,
  identity_mismatch: () =>
    "The agent has a signing key, which no command accepts: use the SDK with the key.",
  invalid_input: (_, { violations }) => formHint(violations),
  lint_refused: (_, { violations: [first, ...more] }) =>
    first !== undefined && more.length === 0 ? ruleHint(first) : undefined,
  no_route: ({ action }) =>
    `Pass --to <receiver>, or set a route: baton route set <name> --action ${action} --to <receiver>`,
  receipt_required: ({ constraints }) =>
    [
      "Accept it with --receipt-goal <text> --receipt-first-step <text>",
      ...(Array.isArray(constraints) ? constraints.map((id) => `--receipt-constraint ${id}`) : []),
    ].join(" "),
  invalid_result: () =>
    "Pass outputs with --output <name>=<value> and confirm criteria with --met <criterion>.",
  not_open: ({ delivery }) => `Check its state: baton handoff show ${delivery}`,
  work_extended: ({ delivery, envelope }) =>
    `Read the addition (baton handoff show ${delivery}), then run the command again with --seen ${envelope}`,
  task_closed: ({ task }) =>
    `Start a new task that continues it, or reopen it: baton task reopen ${JSON.stringify(task)} --as <agent> --reason <text>`,
  task_open: ({ task, by, deliveries }) => {
    if (by !== undefined) {
      return `Choose another name, send a handoff for the existing task (baton handoff send --task ${task}), or pass --key so that repeated calls add the task once.`;
    }
    return deliveries === undefined
      ? undefined
      : `Wait for the open deliveries to end, or cancel the task: baton task cancel ${JSON.stringify(task)} --as <agent> --reason <text>`;
  },
  unknown_payload_type: ({ near }) =>
    isNone(near) ? "List the known types: baton payload-type list." : undefined,
  sql_failed: () => "Check the columns of a view: baton sql <view>.",
  unknown_token: () => "List the tokens: baton token list.",
  lease_lost: () =>
    "Stop working on it; its notes are kept. Run baton inbox for the next delivery.",
  cancelled: () => "Stop working on it; its notes are kept. Run baton inbox for the next delivery.",
};

/** Hints of lint rules, with command-line options instead of draft fields. */
const RULE_HINTS: Readonly<Record<string, string>> = {
  no_next_step: 'Name the first step: --next "Extract validateToken()"',
  no_criteria: 'Name the expected output and its criteria: --expect "patch:diff=All tests pass"',
  transcript:
    "Summarize the result instead. To keep the conversation, store it with baton remember and pass --ref <memory>; to allow conversations in this workspace, run baton lint --rules transcript=warn.",
};

/** Returns the hint of a lint finding or violation, with options instead of draft fields. */
export const ruleHint = ({
  rule,
  hint,
}: {
  readonly rule: string;
  readonly hint: string;
}): string =>
  RULE_HINTS[rule] ??
  hint
    .replace(/refs: \["(\w[^"]*)"\]/, "--ref $1")
    .replace(/releases: \[\{ id: "([^"]*)", reason: "…" \}\]/, '--release "$1=<reason>"');

/** Hints for malformed values: a pattern of the violation's message, and where to find a valid value. */
const FORMS: readonly (readonly [RegExp, string])[] = [
  [
    /\basOf\b/,
    "Use a time (2026-03-01T12:00:00Z), or the id of an accepted delivery (dlv_…) or envelope (env_…).",
  ],
  [/\(mem_…\)/, "Copy the id from baton recent, baton recall or baton trace show."],
  [/\(dlv_…\)/, "Copy the id from baton inbox, baton line, baton failure or baton dead list."],
  [/\(tok_…\)/, "Copy the id from baton token list."],
  [/must say who gets it/, "Pass --to <agent> or --to role:<role>."],
];

/** Returns the hint for the violations if all of them need the same one. */
function formHint(violations: BatonError["violations"]): Hint {
  const [first, ...others] = violations.map(
    ({ message }) => FORMS.find(([form]) => form.test(message))?.[1],
  );
  return others.every((hint) => hint === first) ? first : undefined;
}

const isNone = (near: unknown): boolean => Array.isArray(near) && near.length === 0;

/** Returns the command-line hint for an error, or undefined if the library's hint applies. */
export function hintFor(error: BatonError): Hint {
  return HINTS[error.code]?.(error.details, error);
}
