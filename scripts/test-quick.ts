/**
 * `npm run test:quick`: checks and the tests that need neither PostgreSQL nor processes, for the daily loop.
 * What it leaves out, `npm test` runs.
 */

import { CHECKS } from "./check.ts";
import { finishTests, runTests } from "./run-tests.ts";
import { runSteps } from "./tools.ts";

/** Folders whose tests start processes or servers, or break things. */
const LEFT_OUT = ["cli", "client", "examples", "faults", "harness", "http", "mcp", "tooling"];
const exclude = [...LEFT_OUT.map((folder) => `test/${folder}/**`), "test/**/postgres*"];
const args = [...exclude.map((glob) => `--exclude=${glob}`), ...process.argv.slice(2)];

process.exitCode = await runSteps({
  ...CHECKS,
  tests: async () => finishTests(await runTests(args, { env: { BATON_STORES: "sqlite" } })),
});
