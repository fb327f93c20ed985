/** Runs Vitest in a separate process and returns its report. */

import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runChild } from "./run.mjs";
import { describeFailures, REPORT_FILE, type TestReport } from "./test-report.ts";
import { ROOT } from "./tools.ts";

export interface TestOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Hides the output of the run. */
  readonly quiet?: boolean;
}

/** Returns undefined if Vitest exited without a report, for example for an unknown option. */
export async function runTests(
  args: readonly string[],
  { env = {}, quiet = false }: TestOptions = {},
): Promise<TestReport | undefined> {
  const folder = mkdtempSync(join(tmpdir(), "baton-test-"));
  const file = join(folder, "report.json");
  const vitest = join(ROOT, "node_modules/vitest/vitest.mjs");
  const reporters = [
    ...(quiet ? [] : ["--reporter=default"]),
    "--reporter=./scripts/test-report.ts",
  ];
  try {
    await runChild(process.execPath, [vitest, "run", ...reporters, ...args], {
      cwd: ROOT,
      env: { ...process.env, ...env, [REPORT_FILE]: file },
      ...(quiet ? { stdio: "ignore" } : {}),
    });
    return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as TestReport) : undefined;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Returns whether all tests passed, according to the report, not to the exit code of Vitest. */
export const isGreen = (report: TestReport): boolean =>
  report.reason === "passed" && report.failures.length === 0 && report.passed > 0;

/** Prints each failed test and how to repeat it, then the counts; returns the exit code. */
export function finishTests(report: TestReport | undefined): number {
  if (report === undefined) return 1; // Vitest has printed the reason.
  if (report.failures.length > 0) console.log(describeFailures(report));
  console.log(`${report.passed} passed, ${report.failed} failed, ${report.skipped} skipped`);
  return isGreen(report) ? 0 : 1;
}
