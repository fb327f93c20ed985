/**
 * `npm run test:long -- [--factor n] [--seed n]`: runs the random, model-based and kill tests with
 * many more iterations than `npm test`.
 */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { chosenSeed } from "../test/support/random.ts";
import { finishTests, runTests } from "./run-tests.ts";
import { ROOT, runSteps, script } from "./tools.ts";

const { values: options } = parseArgs({
  options: { factor: { type: "string", default: "20" }, seed: { type: "string" } },
});
const seed = String(chosenSeed(options.seed));
console.log(`Seed: ${seed}`);

process.exitCode = await runSteps({
  "random tests": async () => {
    const env = { BATON_SEED: seed, BATON_RUNS_FACTOR: options.factor };
    return finishTests(await runTests([...randomTests(), "--testTimeout=3600000"], { env }));
  },
  kill: script("test/faults/kill-long.ts", "--seed", seed),
  "power loss": script("test/faults/power-loss/main.ts", "--seed", seed),
  "bit rot": script("test/faults/bit-rot-long.ts", "--seed", seed),
  "chaos, SQLite": script("test/faults/chaos/main.ts", "--seed", seed, "--store", "sqlite"),
  "chaos, PostgreSQL": script("test/faults/chaos/main.ts", "--seed", seed, "--store", "postgres"),
  fuzz: script("test/http/fuzz/main.ts", "--seed", seed),
  "scan cost": script("test/envelope/scan-cost/main.ts", "--seed", seed),
});

/** Returns the test files whose number of runs can be multiplied. */
function randomTests(): string[] {
  return readdirSync(join(ROOT, "test"), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".test.ts"))
    .map((file) => join("test", file))
    .filter((file) => readFileSync(join(ROOT, file), "utf8").includes("support/runs.ts"));
}
