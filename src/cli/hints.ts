/** Replaces the hints of library errors, which name SDK methods, with commands and options. */
import type { BatonError, ErrorCode } from "../base/errors.ts";
import { withCommands } from "../operations/wire/hint-words.ts";
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
  unknown_channel: ({ channel, near }) =>
    near === undefined
      ? `Subscribe first (baton channel subscribe ${channel} --as <agent>), or pass --receiver.`
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
      : withCommands(hint),
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
  sql_failed: () => "Check the columns of a view: baton sql <view>.",
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
  [
    /not a work handle/,
    "Copy the handle from the output of baton accept, or from baton inbox <agent>.",
  ],
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

/** Returns the hint for an error, with commands and options instead of SDK methods. */
export function hintFor(error: BatonError): string {
  return HINTS[error.code]?.(error.details, error) ?? withCommands(error.hint);
}

/** Returns whether the hint is about all violations of the error, and not only the first. */
export const isSharedHint = (error: BatonError): boolean =>
  HINTS[error.code]?.(error.details, error) !== undefined;
