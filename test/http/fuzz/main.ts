/**
 * Runs many fuzzed calls: `npm run fuzz -- --requests 100000 --seed 7`. Prints the calls that broke
 * a rule, and exits with 1 if there are any. With `--minutes` it stops after that time.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { listen } from "../../../src/http/listen.ts";
import { openLocalHub } from "../../../src/open/open-hub.ts";
import { chosenSeed } from "../../support/random.ts";
import { FUZZED_HUB, fuzz } from "./run.ts";

const { values } = parseArgs({
  options: {
    requests: { type: "string", default: "100000" },
    seed: { type: "string" },
    minutes: { type: "string" },
  },
});
const requests = Number(values.requests);
if (!Number.isSafeInteger(requests) || requests < 1) throw new Error("--requests takes a number");
const seed = chosenSeed(values.seed);
const folder = mkdtempSync(join(tmpdir(), "baton-fuzz-"));
const file = join(folder, "hub.db");
const started = performance.now();

console.log(`${requests} requests, seed ${seed}`);
const bugs: unknown[] = [];
for (const event of ["uncaughtException", "unhandledRejection"] as const) {
  process.on(event, (error: unknown) => bugs.push(error));
}
const hub = await openLocalHub(`sqlite:${file}`, FUZZED_HUB);
const listening = await listen(hub, {
  port: 0,
  open: "coordinator",
  onBug: (bug) => bugs.push(bug),
});
const report = await fuzz({
  ...{ hub, file, port: listening.port, requests, seed },
  ...(values.minutes === undefined ? {} : { forMs: Number(values.minutes) * 60_000 }),
  onProgress: (done) => {
    if (process.stderr.isTTY) process.stderr.write(`\r${done}/${requests}`);
  },
}).catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});
await listening.close();
rmSync(folder, { recursive: true, force: true });

const seconds = ((performance.now() - started) / 1_000).toFixed(0);
console.log(
  `\n${report.requests} answered in ${seconds} s, of them ${report.raw} bytes on a socket`,
);
const most = (counts: Readonly<Record<string, number>>): string =>
  Object.entries(counts)
    .sort(([, a], [, b]) => b - a)
    .map(([what, count]) => `${what} ${count}`)
    .join(", ");
console.log(`  by status (0: hung up): ${most(report.byStatus)}`);
console.log(`  by kind: ${most(report.byKind)}`);
console.log(`  by method: ${most(report.byMethod)}`);
const called = Object.keys(report.byOperation);
const unsuccessful = called.filter((name) => !report.succeeded.has(name));
console.log(
  `  by operation: ${called.length} called, at least ${Math.min(...Object.values(report.byOperation))} times each; never 2xx: ${unsuccessful.join(", ") || "none"}`,
);
const violations = [...report.violations, ...bugs.map((bug) => `a bug: ${stackOf(bug)}`)];
if (violations.length === 0) {
  console.log("No 500, no hang, no crash, nothing stored by a refused call.");
} else {
  for (const violation of violations.slice(0, 50)) console.error(`  ${violation}`);
  console.error(`Again: npm run fuzz -- --requests ${requests} --seed ${seed}`);
  process.exitCode = 1;
}

function stackOf(bug: unknown): string {
  return bug instanceof Error ? (bug.stack ?? bug.message) : String(bug);
}
