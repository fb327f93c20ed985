/**
 * `npm test`: runs the checks and the tests, then checks the package that would be published; `npm
 * test -- <filter>` runs only matching tests. Ends with each failed test, the command to repeat it,
 * and a line such as `12 passed, 0 failed, 0 skipped`.
 */

import { CHECKS } from "./check.ts";
import { finishTests, isGreen, runTests } from "./run-tests.ts";
import type { TestReport } from "./test-report.ts";
import { runSteps, script } from "./tools.ts";

const filter = process.argv.slice(2);
let report: TestReport | undefined;

const tests = async (): Promise<number> => {
  report = await runTests(filter);
  return report !== undefined && isGreen(report) ? 0 : 1;
};
const steps = { ...CHECKS, tests, package: script("scripts/check-package.ts") };
process.exitCode = await runSteps(filter.length === 0 ? steps : { tests });
if (report !== undefined) finishTests(report);
