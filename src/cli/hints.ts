/** What to do about an error of the library, as somebody at a command line would do it. */
import type { BatonError, ErrorCode } from "../base/errors.ts";
import { localTime } from "./terminal.ts";

type Details = Readonly<Record<string, unknown>>;
type Hint = string | undefined;

/** Undefined where the library's own hint says it well. */
const HINTS: Partial<Record<ErrorCode, (details: Details, error: BatonError) => Hint>> = {
  already_known: ({ known }) => {
    const id = Array.isArray(known) ? known[0]?.id : undefined;
    return `Say --continues ${id} (or --supersedes, --corrects), or write it anyway: --force`;
  },
  budget_too_small: ({ atLeast }) =>
    `Give it at least ${atLeast} tokens, say the longest shorter, or let go of what need not always travel: baton pin <memory> --off, baton ledger release`,
  circuit_open: ({ receiver, passesAt }) =>
    `Try again after ${localTime(Number(passesAt))}, name a --fallback, or: baton breaker reset ${receiver}`,
  channel_closed: ({ channel }) => `Open it: baton channel open ${channel}`,
  channel_paused: ({ channel }) => `Open it: baton channel open ${channel}`,
  unknown_channel: ({ channel, near }) => {
    if (near === undefined) {
      return `Subscribe first (baton channel subscribe ${channel} --as <agent>), or name a --receiver.`;
    }
    return isNone(near) ? `Make it first: baton channel open ${channel}` : undefined;
  },
  unknown_agent: ({ name, near }) =>
    isNone(near) ? `Register it first: baton agent add ${name} --role <role>` : undefined,
  unknown_role: ({ role, near }) =>
    isNone(near) ? `Register somebody for it: baton agent add <name> --role ${role}` : undefined,
  unknown_branch: ({ branch, near }) =>
    isNone(near) ? `Begin it first: baton branch create ${branch} --as <agent>` : undefined,
  context_conflict: ({ version }) =>
    version === null
      ? "Look at its history (baton context history); without --based-on it is written anew."
      : `Look at what is there now (baton context), then write again with --based-on ${version}`,
  contradiction: ({ contradictions }) => {
    const keys = Array.isArray(contradictions) ? contradictions.map(({ key }) => key) : [];
    const despite = keys.map((key) => `--despite ${key}`).join(" ");
    return `Let it take the place of that one (--supersedes ${keys[0]}), or write it all the same (${despite}).`;
  },
  not_permitted: ({ agent, delivery }, { hint }) =>
    typeof agent === "string" && typeof delivery === "string"
      ? `Take the role (baton agent add ${agent} --role coordinator), or ask whoever has it.`
      : hint.replace("hub.settings.get()", "baton ledger releasers"),
  id_conflict: ({ id }, { path }) =>
    path === "branch" ? `Go on with it (--branch ${id}), or choose another name.` : undefined,
  identity_mismatch: () => "It has a key, which no command takes: do it in code, with the key.",
  invalid_input: (_, { violations }) => formHint(violations),
  lint_refused: (_, { violations: [first, ...more] }) =>
    first !== undefined && more.length === 0 ? ruleHint(first) : undefined,
  no_route: ({ action }) =>
    `Say --to <receiver>, or set a route: baton route set <name> --action ${action} --to <receiver>`,
  receipt_required: ({ constraints }) =>
    [
      "Accept it with --receipt-goal <text> --receipt-first-step <text>",
      ...(Array.isArray(constraints) ? constraints.map((id) => `--receipt-constraint ${id}`) : []),
    ].join(" "),
  invalid_result: () =>
    "Hand in outputs with --output <name>=<value>; confirm criteria with --met <criterion>.",
  not_open: ({ delivery }) => `Where it stands: baton handoff show ${delivery}`,
  work_extended: ({ delivery, envelope }) =>
    `Read it (baton handoff show ${delivery}), then run the command again with --seen ${envelope}`,
  task_closed: ({ task }) =>
    `Begin a task of its own that continues it, or: baton task reopen ${JSON.stringify(task)} --as <agent> --reason <text>`,
  task_open: ({ task, by, deliveries }) => {
    if (by !== undefined) {
      return `Choose another name, hand over what is new (baton handoff send --task ${task}), or say a --key to add it once however often you try.`;
    }
    return deliveries === undefined
      ? undefined
      : `Let them end, or take it all back: baton task cancel ${JSON.stringify(task)} --as <agent> --reason <text>`;
  },
  unknown_payload_type: ({ near }) => (isNone(near) ? "See baton payload-type list." : undefined),
  unknown_token: () => "See baton token list.",
  lease_lost: () => "Stop working on it; notes are kept. See baton inbox for what is next.",
  cancelled: () => "Stop working on it; notes are kept. See baton inbox for what is next.",
};

/** What to do about a finding of the lint, with options instead of fields. */
const RULE_HINTS: Readonly<Record<string, string>> = {
  no_next_step: 'Say what comes first: --next "Extract validateToken()"',
  no_criteria:
    'Say what should come back, and when it is good: --expect "patch:diff=All tests pass"',
  transcript:
    "Write what came of it. To keep the conversation: baton remember, then --ref <memory>. To allow conversations in this workspace: baton lint --rules transcript=warn",
};

/** The hint of a finding, or of a rule that was broken. */
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

/** Where what is asked for can be copied from, by the form that was missed. */
const FORMS: readonly (readonly [RegExp, string])[] = [
  [/\basOf\b/, "Write a time (2026-03-01T12:00:00Z), or a dlv_… or env_… that was accepted."],
  [/\(mem_…\)/, "Copy it from baton recent, baton recall or baton trace show."],
  [/\(dlv_…\)/, "Copy it from baton inbox, baton line, baton failure or baton dead list."],
  [/\(tok_…\)/, "Copy it from baton token list."],
  [/must say who gets it/, "Say --to <agent> or --to role:<role>."],
];

function formHint(violations: BatonError["violations"]): Hint {
  const [first, ...others] = violations.map(
    ({ message }) => FORMS.find(([form]) => form.test(message))?.[1],
  );
  return others.every((hint) => hint === first) ? first : undefined;
}

const isNone = (near: unknown): boolean => Array.isArray(near) && near.length === 0;

export function hintFor(error: BatonError): Hint {
  return HINTS[error.code]?.(error.details, error);
}
