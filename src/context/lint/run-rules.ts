/** Runs lint rules on one handoff. */
import type { AllLintRules, Finding, LintRule, LintSubject, Remark, RuleName } from "./rule.ts";
import { RULE_NAMES } from "./rule.ts";
import { RULE_TABLE } from "./rule-table.ts";

/**
 * Returns the findings of all rules that are not off, in their order. Findings of a binding rule are errors.
 */
export async function runRules(
  subject: LintSubject,
  rules: AllLintRules,
  names: readonly RuleName[] = RULE_NAMES,
): Promise<Finding[]> {
  const found: Finding[] = [];
  for (const name of names) {
    if (rules[name] === "off") continue;
    const { read, query } = RULE_TABLE[name];
    const remarks = [...(read?.(subject) ?? []), ...((await query?.(subject)) ?? [])];
    found.push(...remarks.map((remark) => finding(name, rules, remark)));
  }
  return found;
}

/** The same for rules that read the handoff alone, without querying the store. */
export function runLocalRules(
  subject: LintSubject,
  rules: AllLintRules,
  names: readonly RuleName[] = RULE_NAMES,
): Finding[] {
  return names.flatMap((name) => {
    if (rules[name] === "off") return [];
    const remarks = RULE_TABLE[name].read?.(subject) ?? [];
    return remarks.map((remark) => finding(name, rules, remark));
  });
}

function finding(rule: RuleName, rules: AllLintRules, remark: Remark): Finding {
  const { level }: LintRule = RULE_TABLE[rule];
  return { rule, level: rules[rule] === "refuse" ? "error" : level, ...remark };
}
