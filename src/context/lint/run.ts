/** Lets rules look at one handoff. */
import type { Finding, RuleName, Subject } from "./rule.ts";
import { RULES } from "./rules.ts";

/** What these rules find, in their order. `binding` ones find errors, whatever they weigh otherwise. */
export async function findingsOf(
  subject: Subject,
  names: readonly RuleName[],
  binding: ReadonlySet<RuleName>,
): Promise<Finding[]> {
  const found: Finding[] = [];
  for (const rule of names) {
    const { level, check } = RULES[rule];
    const weighs = binding.has(rule) ? "error" : level;
    for (const remark of await check(subject)) found.push({ rule, level: weighs, ...remark });
  }
  return found;
}
