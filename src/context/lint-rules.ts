/**
 * Which rules of the lint count in a workspace: entries that the team shares. A rule that is "refuse"
 * stops a handoff before it is stored; "off" finds nothing; "warn", the default, is told to whoever
 * asks. Sending looks for binding rules once a second and lets only those look at a handoff.
 */
import * as z from "zod";
import { changeEntry, entryValue } from "../delivery/entries.ts";
import { SettingCache } from "../delivery/setting-cache.ts";
import type { CheckedDraft, Envelope } from "../envelope/schema.ts";
import type { SecretAt } from "../envelope/secrets-within.ts";
import { parseOr, rejection } from "../envelope/violations.ts";
import { SYSTEM } from "../memory/agents.ts";
import type { Workspace } from "../store/workspace.ts";
import { letterOfDraft } from "./lint/letter.ts";
import { type Finding, RULE_NAMES, type RuleName } from "./lint/rule.ts";
import { findingsOf } from "./lint/run.ts";

const LINT = "lint";
/** One entry per workspace. */
const RULES = "rules";

export const BINDINGS = ["refuse", "warn", "off"] as const;
export type Binding = (typeof BINDINGS)[number];

export const LintRulesSchema = z.partialRecord(z.enum(RULE_NAMES), z.enum(BINDINGS));

/** What is not named stays as it is. */
export type LintRules = z.input<typeof LintRulesSchema>;

/** How every rule counts. */
export async function lintRules(workspace: Workspace): Promise<Record<RuleName, Binding>> {
  const entry = await workspace.store.findEntry(workspace.name, LINT, RULES);
  return completed(entryValue<LintRules>(entry));
}

const completed = (rules: LintRules = {}): Record<RuleName, Binding> =>
  Object.fromEntries(RULE_NAMES.map((name) => [name, rules[name] ?? "warn"])) as Record<
    RuleName,
    Binding
  >;

export async function setLintRules(
  workspace: Workspace,
  rules: LintRules,
): Promise<Record<RuleName, Binding>> {
  const checked = parseOr(LintRulesSchema, rules, { code: "invalid_input", what: "The rules" });
  const entry = await changeEntry<LintRules>(workspace, { kind: LINT, name: RULES }, (now) => ({
    value: { ...now, ...checked },
  }));
  const all = completed(entryValue<LintRules>(entry));
  bindingRules.set(workspace, bindingIn(all));
  return all;
}

export const bindingIn = (rules: Record<RuleName, Binding>): ReadonlySet<RuleName> =>
  new Set(RULE_NAMES.filter((name) => rules[name] === "refuse"));

const bindingRules = new SettingCache<ReadonlySet<RuleName>>(async (workspace) =>
  bindingIn(await lintRules(workspace)),
);

/** What is about to be sent. */
interface Leaving {
  readonly draft: CheckedDraft;
  readonly to: Envelope["to"];
  readonly task: string;
  readonly sending: { readonly redacted?: readonly SecretAt[] | undefined };
}

/** Throws when a handoff breaks binding rules, with all it breaks. The hub's own are not held up. */
export async function refuseBroken(
  workspace: Workspace,
  sender: { readonly agent: string },
  { draft, to, task, sending: { redacted } }: Leaving,
): Promise<void> {
  const binding = await bindingRules.get(workspace);
  if (binding.size === 0 || sender.agent === SYSTEM) return;
  const letter = { ...letterOfDraft(draft), task };
  const subject = { workspace, letter, to, given: draft, redacted };
  refuse(await findingsOf(subject, [...binding], binding));
}

/** The same of what is said anew in a handoff that was sent before: of these fields, and no others. */
export async function refuseBrokenIn(
  workspace: Workspace,
  envelope: Envelope,
  { fields, redacted }: { readonly fields: readonly string[] } & Leaving["sending"],
): Promise<void> {
  const binding = await bindingRules.get(workspace);
  if (binding.size === 0) return;
  const subject = { workspace, letter: envelope, to: envelope.to, given: envelope, redacted };
  const findings = await findingsOf(subject, [...binding], binding);
  refuse(findings.filter(({ path }) => fields.includes(path.split(/[.[]/, 1)[0] ?? "")));
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
