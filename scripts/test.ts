/**
 * `npm test`: checks, tests, then the package as it would be published; `npm test -- <filter>`:
 * only the tests that match. The last line of a good run counts them: `12 passed, 0 failed`.
 */

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CHECKS } from "./check.ts";
import { COUNTS_FILE, type Counts } from "./count-reporter.ts";
import { runSteps, script, tool } from "./tools.ts";

const filter = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), "baton-test-"));
const countsFile = join(folder, "counts.json");
const reporters = ["--reporter=default", "--reporter=./scripts/count-reporter.ts"];
process.env[COUNTS_FILE] = countsFile;

try {
  const tests = { tests: tool("vitest", "run", ...reporters, ...filter) };
  const all = { ...CHECKS, ...tests, package: script("scripts/check-package.ts") };
  process.exitCode = await runSteps(filter.length === 0 ? all : tests);
  if (process.exitCode === 0) conclude(countsFile);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** The counts decide, whatever the test runner's exit code said. */
function conclude(file: string): void {
  const { passed, failed, skipped, reason } = JSON.parse(readFileSync(file, "utf8")) as Counts;
  console.log(`${passed} passed, ${failed} failed${skipped === 0 ? "" : `, ${skipped} skipped`}`);
  if (reason !== "passed" || failed > 0 || passed === 0) process.exitCode = 1;
}
