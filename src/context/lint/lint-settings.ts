/**
 * Lint settings of a workspace, and their enforcement. A rule set to "refuse" stops a handoff before it is
 * stored; "warn" reports its findings with the handoff and when lint is called; "off" disables it. Sending
 * reads the setting at most once a second.
 */
import * as z from "zod";
import type { DetectedSecret } from "../../envelope/mask-secrets.ts";
import type { CheckedDraft, Envelope } from "../../envelope/schema.ts";
import { parseOrThrow, rejection } from "../../envelope/violations.ts";
import { changeSetting } from "../../memory/audit/change-setting.ts";
import { SYSTEM } from "../../memory/system-author.ts";
import { entryValue } from "../../workspace/entries.ts";
import { SettingCache } from "../../workspace/setting-cache.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { contentOfDraft } from "./handoff-content.ts";
import { remarksOn } from "./repeats-handoff.ts";
import type { Repeat } from "./rule.ts";
import {
  type AllLintRules,
  type Finding,
  type LintSubject,
  RULE_MODES,
  RULE_NAMES,
  type RuleName,
} from "./rule.ts";
import { RULE_TABLE } from "./rule-table.ts";
import { runLocalRules, runRules } from "./run-rules.ts";

const LINT = "lint";
/** Name of the only entry of a workspace. */
const RULES = "rules";

/** Modes of some rules. */
export const LintRulesSchema = z.partialRecord(z.enum(RULE_NAMES), z.enum(RULE_MODES));

/** New modes of rules; an omitted rule keeps its mode. */
export type LintRules = z.input<typeof LintRulesSchema>;

/** Returns the mode of every rule, read from the store. */
export async function readLintRules(workspace: Workspace): Promise<AllLintRules> {
  const entry = await workspace.store.findEntry(workspace.name, LINT, RULES);
  return withDefaults(entryValue<LintRules>(entry));
}

const withDefaults = (rules: LintRules = {}): AllLintRules =>
  Object.fromEntries(
    RULE_NAMES.map((name) => [name, rules[name] ?? RULE_TABLE[name].binding ?? "warn"]),
  ) as AllLintRules;

/** The modes of a workspace without settings. */
export const DEFAULT_LINT_RULES = withDefaults();

/** Changes the modes of rules and returns those of all; throws `invalid_input`. */
export async function setLintRules(workspace: Workspace, rules: LintRules): Promise<AllLintRules> {
  const checked = parseOrThrow(LintRulesSchema, rules, {
    code: "invalid_input",
    what: "The rules",
  });
  const stored = await changeSetting<LintRules>(workspace, { kind: LINT, name: RULES }, (now) => ({
    value: { ...now, ...checked },
  }));
  const all = withDefaults(stored);
  cachedRules.set(workspace, all);
  return all;
}

const cachedRules = new SettingCache<AllLintRules>(readLintRules);

/** Returns the mode of every rule, read at most once a second. */
export const cachedLintRules = (workspace: Workspace): Promise<AllLintRules> =>
  cachedRules.get(workspace);

interface BindingRules {
  readonly names: readonly RuleName[];
  /** Whether one of them queries the store. */
  readonly query: boolean;
}

/** Cached by settings object, which thousands of sends share. */
const bindings = new WeakMap<AllLintRules, BindingRules>();

function bindingIn(rules: AllLintRules): BindingRules {
  const known = bindings.get(rules);
  if (known !== undefined) return known;
  const names = RULE_NAMES.filter((name) => rules[name] === "refuse");
  const binding = { names, query: names.some((name) => RULE_TABLE[name].query !== undefined) };
  bindings.set(rules, binding);
  return binding;
}

/** The sender of a handoff, and the work it hands on. */
interface LintedSender {
  readonly agent: string;
  readonly work?: { readonly envelope: Envelope };
}

/** A handoff that is about to be sent. */
interface OutgoingHandoff {
  readonly draft: CheckedDraft;
  readonly to: Envelope["to"];
  readonly task: string;
  readonly sending: { readonly redacted?: readonly DetectedSecret[] | undefined };
}

/**
 * Throws `lint_refused` with every violation of a binding rule, and returns the rules that were applied.
 * Handoffs sent by the hub itself are not checked.
 */
export async function enforceLintRules(
  workspace: Workspace,
  { agent, work }: LintedSender,
  { draft, to, task, sending: { redacted } }: OutgoingHandoff,
): Promise<AllLintRules> {
  if (agent === SYSTEM) return DEFAULT_LINT_RULES;
  const rules = await cachedLintRules(workspace);
  const subject = {
    // Computed when a rule reads it, which none does for most handoffs.
    get letter() {
      return { ...contentOfDraft(draft), task };
    },
    ...{ workspace, to, given: draft, redacted, before: work?.envelope },
  };
  await refuseAll(subject, rules);
  return rules;
}

/** The same for an envelope that is edited: checks the given fields only. */
export async function enforceLintRulesOnFields(
  workspace: Workspace,
  envelope: Envelope,
  { fields, redacted }: { readonly fields: readonly string[] } & OutgoingHandoff["sending"],
): Promise<void> {
  const rules = await cachedLintRules(workspace);
  const subject = { workspace, letter: envelope, to: envelope.to, given: envelope, redacted };
  await refuseAll(subject, rules, ({ path }) => fields.includes(path.split(/[.[]/, 1)[0] ?? ""));
}

/**
 * Throws `lint_refused` if a handoff repeats an earlier one and the rule `repeats_handoff` is set to
 * "refuse".
 */
export function refuseRepeats(rules: AllLintRules, repeats: readonly Repeat[]): void {
  if (rules.repeats_handoff !== "refuse" || repeats.length === 0) return;
  refuse(
    remarksOn(repeats).map((remark) => ({ rule: "repeats_handoff", level: "error", ...remark })),
  );
}

async function refuseAll(
  subject: LintSubject,
  rules: AllLintRules,
  isMeant: (finding: Finding) => boolean = () => true,
): Promise<void> {
  const { names, query } = bindingIn(rules);
  const findings = query
    ? await runRules(subject, rules, names)
    : runLocalRules(subject, rules, names);
  refuse(findings.filter(isMeant));
}

function refuse(findings: readonly Finding[]): void {
  if (findings.length === 0) return;
  const violations = findings.map(({ path, rule, message, hint }) => ({
    path,
    rule,
    message,
    hint,
  }));
  throw rejection("lint_refused", "The handoff", violations);
}
