/**
 * Runs many fuzzed calls: `npm run fuzz -- --requests 100000 --seed 7`. Prints the calls that broke
 * a rule, and exits with 1 if there are any. With `--minutes` it stops after that time.
 *
 * Every few thousand calls start on a new store, with a seed of their own that repeats them alone: what a
 * refused call must not have stored is found by reading the whole store, so its size sets the speed.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { listen } from "../../../src/http/listen.ts";
import { openLocalHub } from "../../../src/open/open-hub.ts";
import { chosenSeed } from "../../support/random.ts";
import { Report } from "./report.ts";
import { FUZZED_HUB, fuzz } from "./run.ts";

const REQUESTS_PER_STORE = 4_000;

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
const started = performance.now();
const stopAt = started + Number(values.minutes ?? Number.POSITIVE_INFINITY) * 60_000;

console.log(`${requests} requests, seed ${seed}`);
const bugs: unknown[] = [];
for (const event of ["uncaughtException", "unhandledRejection"] as const) {
  process.on(event, (error: unknown) => bugs.push(error));
}
const report = new Report();
let repeat = "";
for (let n = 0; report.requests < requests && performance.now() < stopAt; n++) {
  const count = Math.min(REQUESTS_PER_STORE, requests - report.requests);
  const part = await onNewStore(count, seed + n).catch((error: unknown) => {
    console.error(error);
    process.exit(1);
  });
  report.add(part);
  report.violations.push(...bugs.splice(0).map((bug) => `a bug: ${stackOf(bug)}`));
  if (report.violations.length === 0) continue;
  repeat = `npm run fuzz -- --requests ${count} --seed ${seed + n}`;
  break;
}

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
if (report.violations.length === 0) {
  console.log("No 500, no hang, no crash, nothing stored by a refused call.");
} else {
  for (const violation of report.violations.slice(0, 50)) console.error(`  ${violation}`);
  console.error(`Repeat: ${repeat}`);
  process.exitCode = 1;
}

async function onNewStore(count: number, ownSeed: number) {
  const folder = mkdtempSync(join(tmpdir(), "baton-fuzz-"));
  const file = join(folder, "hub.db");
  const hub = await openLocalHub(`sqlite:${file}`, FUZZED_HUB);
  const listening = await listen(hub, {
    port: 0,
    open: "coordinator",
    onBug: (bug) => bugs.push(bug),
  });
  try {
    return await fuzz({
      ...{ hub, file, port: listening.port, requests: count, seed: ownSeed },
      ...(values.minutes === undefined ? {} : { forMs: stopAt - performance.now() }),
      onProgress: (done) => {
        if (process.stderr.isTTY) process.stderr.write(`\r${report.requests + done}/${requests}`);
      },
    });
  } finally {
    await listening.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

function stackOf(bug: unknown): string {
  return bug instanceof Error ? (bug.stack ?? bug.message) : String(bug);
}
