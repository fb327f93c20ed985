/** Prints lint findings with their hints. */
import type { Finding } from "../../context/lint/rule.ts";
import type { LintReport } from "../../delivery/send/lint-handoff.ts";
import { ruleHint } from "../hints.ts";
import { bad, bold, dim, good, oneLine, plural, printLine, styled } from "../terminal.ts";

/** Prints all findings and the number of errors and warnings. */
export function printLintReport({ findings }: LintReport): void {
  if (findings.length === 0) {
    printLine(good("No findings."));
    return;
  }
  printFindings(findings);
  const errors = findings.filter(({ level }) => level === "error").length;
  printLine(bold(`${plural(errors, "error")}, ${plural(findings.length - errors, "warning")}`));
}

/** Prints two lines per finding: message and hint. */
export function printFindings(findings: readonly Finding[]): void {
  for (const finding of findings) {
    const { rule, level, message } = finding;
    const mark = level === "error" ? bad("error") : styled("yellow", "warn ");
    printLine(`${mark} ${oneLine(message, 6)}${dim(`  ${rule}`)}`);
    printLine(dim(`      ${oneLine(ruleHint(finding), 6)}`));
  }
}
