/** Runs rules on one handoff. */
import type { AllLintRules, Finding, LintRule, Remark, RuleName, Subject } from "./rule.ts";
import { RULE_NAMES } from "./rule.ts";
import { RULES } from "./rules.ts";

/** What the rules find that are not off, in their order. A binding rule finds errors, whatever its own level is. */
export async function findingsOf(
  subject: Subject,
  rules: AllLintRules,
  names: readonly RuleName[] = RULE_NAMES,
): Promise<Finding[]> {
  const found: Finding[] = [];
  for (const name of names) {
    if (rules[name] === "off") continue;
    const { read, query } = RULES[name];
    const remarks = [...(read?.(subject) ?? []), ...((await query?.(subject)) ?? [])];
    found.push(...remarks.map((remark) => finding(name, rules, remark)));
  }
  return found;
}

/** The same of what the handoff itself shows, without querying the store. */
export function findingsIn(
  subject: Subject,
  rules: AllLintRules,
  names: readonly RuleName[] = RULE_NAMES,
): Finding[] {
  return names.flatMap((name) => {
    if (rules[name] === "off") return [];
    const remarks = RULES[name].read?.(subject) ?? [];
    return remarks.map((remark) => finding(name, rules, remark));
  });
}

function finding(rule: RuleName, rules: AllLintRules, remark: Remark): Finding {
  const { level }: LintRule = RULES[rule];
  return { rule, level: rules[rule] === "refuse" ? "error" : level, ...remark };
}
