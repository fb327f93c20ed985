/**
 * `npm run test:quick`: runs the checks and the tests that need neither PostgreSQL nor processes,
 * for everyday use. `npm test` runs all tests.
 */

import { CHECKS } from "./check.ts";
import { finishTests, runTests } from "./run-tests.ts";
import { runSteps } from "./tools.ts";

/** Folders whose tests start processes or servers, inject faults, or are randomized. */
const FOLDERS = "cli client coordination examples faults harness http mcp tooling".split(" ");
/** Such tests in other folders. */
const FILES = [
  "bad-input/sql-attacks.test.ts",
  "archive/backup.test.ts",
  "delivery/receive/lease-kinds.test.ts",
  "delivery/receive/waking.test.ts",
  "store/model.test.ts",
  "store/pgvector.test.ts",
];
const exclude = [
  ...FOLDERS.map((folder) => `test/${folder}/**`),
  ...FILES.map((file) => `test/${file}`),
  "test/**/postgres*",
];
const args = [...exclude.map((glob) => `--exclude=${glob}`), ...process.argv.slice(2)];

process.exitCode = await runSteps({
  ...CHECKS,
  tests: async () => finishTests(await runTests(args, { env: { BATON_STORES: "sqlite" } })),
});
