/** A Vitest reporter that writes how many tests passed, failed and were skipped to a file. */

import { writeFileSync } from "node:fs";
import type { SerializedError } from "vitest";
import type { Reporter, TestModule, TestRunEndReason } from "vitest/node";

export const COUNTS_FILE = "BATON_TEST_COUNTS";

export interface Counts {
  passed: number;
  failed: number;
  skipped: number;
  /** How the run ended: also a file that cannot be loaded makes it fail. */
  reason: TestRunEndReason;
}

// Vitest takes a reporter from the default export.
// biome-ignore lint/style/noDefaultExport: see above
export default class CountReporter implements Reporter {
  onTestRunEnd(
    modules: readonly TestModule[],
    _errors: readonly SerializedError[],
    reason: TestRunEndReason,
  ): void {
    const counts: Counts = { passed: 0, failed: 0, skipped: 0, reason };
    for (const module of modules) {
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        counts[state === "pending" ? "skipped" : state] += 1;
      }
    }
    const file = process.env[COUNTS_FILE];
    if (file !== undefined) writeFileSync(file, JSON.stringify(counts));
  }
}
