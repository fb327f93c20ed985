/** The command `baton lint`: checks drafts and sent handoffs, and sets the mode of lint rules. */
import { nearestNames } from "../../../base/nearest-names.ts";
import type { LintRules } from "../../../context/lint/lint-settings.ts";
import { RULE_MODES, type RuleMode, type RuleName } from "../../../context/lint/rule.ts";
import type { LintReport } from "../../../delivery/send/lint-handoff.ts";
import type { Hub } from "../../../hub/hub.ts";
import { command, JSON_OPTION, type OptionValues, STORE_OPTIONS } from "../../command.ts";
import { LINT_FAILED, OK } from "../../exit.ts";
import {
  draftFromOptions,
  HANDOFF_OPTIONS,
  handoffRequestOf,
  standaloneDraftOf,
} from "../../options/handoff-options.ts";
import { printLintReport } from "../../render/findings.ts";
import { bad, bold, dim, printJson, printLine } from "../../terminal.ts";
import { didYouMean, usageError } from "../../usage-error.ts";
import { LEASE_OPTION, openForWork } from "../../work-by-handle.ts";

const OPTIONS = {
  rules: { type: "flag", help: "show the mode of each rule; <rule>=refuse, warn or off sets it" },
  ...HANDOFF_OPTIONS,
  ...LEASE_OPTION,
  ...STORE_OPTIONS,
  ...JSON_OPTION,
} as const;

export const lint = command({
  name: "lint",
  summary:
    "Check a handoff for common problems, before (same options as sending) or after it is sent",
  args: [
    {
      name: "intent",
      help: "intent in quotes, a sent handoff (env_…, dlv_…), or with --rules <rule>=refuse",
      optional: true,
      many: true,
    },
  ],
  options: OPTIONS,

  async run({ args, options }) {
    const { lease, store, workspace, json, rules } = options;
    const call = rules ? undefined : lintCallOf(args, options);
    await using hub = await openForWork({ store, workspace, lease });
    if (call === undefined) {
      await showRules(hub, args, json);
      return OK;
    }
    const report = await call(hub);
    if (json) printJson(report);
    else printLintReport(report);
    return report.ok ? OK : LINT_FAILED;
  },
});

/** Parses what to check before a store is opened; returns the function that checks it. */
function lintCallOf(
  [first, extra]: readonly string[],
  options: OptionValues<typeof OPTIONS>,
): (hub: Hub) => Promise<LintReport> {
  if (extra !== undefined) {
    throw usageError(
      extra,
      `Unexpected argument "${extra}" for baton lint.`,
      "Write the intent in quotes; set rules with --rules.",
    );
  }
  if (first?.startsWith("env_")) return (hub) => hub.handoffs.lintSent(first);
  if (first?.startsWith("dlv_")) {
    return async (hub) => hub.handoffs.lintSent((await hub.deliveries.get(first)).envelope.id);
  }
  const said = draftFromOptions(lint, first, options);
  return async (hub) => {
    const sending = await handoffRequestOf(hub, said, options);
    const { sender, draft } = await standaloneDraftOf(hub, options.as, sending);
    return sender.handoffs.lint(draft);
  };
}

async function showRules(
  hub: Hub,
  args: readonly string[],
  json: boolean | undefined,
): Promise<void> {
  const known = (await hub.settings.get()).lint;
  const wanted = args.map((text) => settingOf(text, Object.keys(known)));
  const rules =
    wanted.length === 0
      ? known
      : (await hub.settings.update({ lint: Object.fromEntries(wanted) })).lint;
  if (json) {
    printJson(rules);
    return;
  }
  const { RULE_TABLE: RULES } = await import("../../../context/lint/rule-table.ts");
  const names = Object.keys(RULES) as RuleName[];
  const width = Math.max(...names.map((name) => name.length));
  for (const rule of names) {
    printLine(
      `${bold(rule.padEnd(width))}  ${coloredBinding(rules[rule])}  ${RULES[rule].meaning}`,
    );
  }
  printLine(
    dim("refuse: the handoff is not sent. warn: reported with the handoff. off: not checked."),
  );
}

function coloredBinding(counts: RuleMode): string {
  const word = counts.padEnd("refuse".length);
  return counts === "refuse" ? bad(word) : counts === "off" ? dim(word) : word;
}

/** Parses the mode of a rule: `no_next_step=refuse`. */
function settingOf(text: string, known: readonly string[]): [keyof LintRules, RuleMode] {
  const [rule = "", value] = text.split("=", 2);
  if (!known.includes(rule)) {
    throw usageError(
      rule,
      `Unknown rule "${rule}".`,
      didYouMean(nearestNames(rule, known)) ?? `Use one of: ${known.join(", ")}.`,
    );
  }
  const binding = RULE_MODES.find((each) => each === value);
  if (binding !== undefined) return [rule as keyof LintRules, binding];
  throw usageError(
    rule,
    `Invalid mode for the rule ${rule} in "${text}".`,
    `Write ${rule}=refuse, ${rule}=warn or ${rule}=off.`,
  );
}
