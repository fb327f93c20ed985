/**
 * A Vitest reporter that writes the result of a run to a file: the number of tests that passed,
 * failed and were skipped, and the failed tests, which `describeFailures` prints with a command to
 * repeat each.
 */

import { writeFileSync } from "node:fs";
import { relative } from "node:path";
import type { SerializedError } from "vitest";
import type { Reporter, TestModule, TestRunEndReason } from "vitest/node";
import { ROOT } from "./tools.ts";

/** The environment variable with the path of the file. */
export const REPORT_FILE = "BATON_TEST_REPORT";

export interface FailedTest {
  readonly file: string;
  /** The full title, including its `describe` titles; empty if the file could not be loaded. */
  readonly title: string;
  readonly message: string;
}

export interface TestReport {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  readonly seed: string;
  readonly failures: readonly FailedTest[];
  /** How the run ended: a file that cannot be loaded makes it fail as well. */
  readonly reason: TestRunEndReason;
}

// Vitest loads a reporter from the default export.
// biome-ignore lint/style/noDefaultExport: see above
export default class TestReporter implements Reporter {
  onTestRunEnd(
    modules: readonly TestModule[],
    errors: readonly SerializedError[],
    reason: TestRunEndReason,
  ): void {
    const counts = { passed: 0, failed: 0, skipped: 0 };
    const failures: FailedTest[] = [];
    for (const module of modules) {
      const file = relative(ROOT, module.moduleId);
      for (const { message } of module.errors()) failures.push({ file, title: "", message });
      for (const test of module.children.allTests()) {
        const { state, errors: found } = test.result();
        counts[state === "pending" ? "skipped" : state] += 1;
        if (state !== "failed") continue;
        failures.push({ file, title: test.fullName, message: found[0]?.message ?? "" });
      }
    }
    for (const { message } of errors) failures.push({ file: "", title: "", message });
    const seed = process.env["BATON_SEED"] ?? "";
    const report: TestReport = { ...counts, seed, failures, reason };
    const file = process.env[REPORT_FILE];
    if (file !== undefined) writeFileSync(file, JSON.stringify(report));
  }
}

/** Lists each failed test with the command that repeats it. */
export function describeFailures({ failures, seed }: TestReport): string {
  return failures
    .map(({ file, title, message }) => {
      const [firstLine = ""] = message.split("\n");
      return [`✗ ${[file, title].filter(Boolean).join(" > ") || "outside of any test"}`]
        .concat(firstLine === "" ? [] : `    ${firstLine}`)
        .concat(file === "" ? [] : `    repeat: ${repeatCommand(file, title, seed)}`)
        .join("\n");
    })
    .join("\n");
}

function repeatCommand(file: string, title: string, seed: string): string {
  const pattern = title.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&");
  const only = title === "" ? "" : ` -t '^${pattern.replaceAll("'", "'\\''")}$'`;
  return `BATON_SEED=${seed} npm test -- ${file}${only}`;
}
