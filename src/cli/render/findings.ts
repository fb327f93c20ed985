/** What the lint found, each with what to write instead. */
import type { Finding } from "../../context/lint/rule.ts";
import type { LintReport } from "../../delivery/send/lint.ts";
import { ruleHint } from "../hints.ts";
import { bad, bold, dim, good, oneLine, plural, say, styled } from "../terminal.ts";

export function sayFindings({ findings }: LintReport): void {
  if (findings.length === 0) {
    say(good("Nothing to find fault with."));
    return;
  }
  sayEach(findings);
  const errors = findings.filter(({ level }) => level === "error").length;
  say(bold(`${plural(errors, "error")}, ${plural(findings.length - errors, "warning")}`));
}

/** Two lines each: what was found, and what to write instead. */
export function sayEach(findings: readonly Finding[]): void {
  for (const finding of findings) {
    const { rule, level, message } = finding;
    const mark = level === "error" ? bad("error") : styled("yellow", "warn ");
    say(`${mark} ${oneLine(message, 6)}${dim(`  ${rule}`)}`);
    say(dim(`      ${oneLine(ruleHint(finding), 6)}`));
  }
}
