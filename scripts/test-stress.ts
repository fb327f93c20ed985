/**
 * `npm run test:stress -- [files] [--times n] [--load n] [--slow-disk] [--json]`: runs tests
 * repeatedly under load, each time in another order and with another seed, alternating between one
 * and two workers, and lists every test that failed at least once.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { parseArgs } from "node:util";
import { chosenSeed } from "../test/support/random.ts";
import { isGreen, runTests } from "./run-tests.ts";
import { describeFailures, type FailedTest } from "./test-report.ts";

const CPU_LOAD = "for (;;);";
/** Keeps the disk busy: writes and syncs a megabyte in a loop. */
const DISK_LOAD = `
  const { ftruncateSync, fsyncSync, openSync, unlinkSync, writeSync } = require("node:fs");
  const file = require("node:path").join(require("node:os").tmpdir(), "baton-stress-" + process.pid);
  const fd = openSync(file, "wx");
  unlinkSync(file);
  const block = Buffer.alloc(1 << 20, 1);
  for (;;) { writeSync(fd, block, 0, block.length, 0); fsyncSync(fd); }
`;

interface Failure extends FailedTest {
  times: number;
  readonly seed: string;
}

const { values: options, positionals: files } = parseArgs({
  allowPositionals: true,
  options: {
    times: { type: "string", default: "10" },
    load: { type: "string", default: "4" },
    "slow-disk": { type: "boolean", default: false },
    json: { type: "boolean", default: false },
  },
});
const times = wholeNumber("--times", options.times, 1);
const load = wholeNumber("--load", options.load, 0);
const failures = new Map<string, Failure>();
let green = 0;

const busy: ChildProcess[] = [];
process.on("exit", () => {
  for (const child of busy) child.kill("SIGKILL");
});
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => process.exit(130));
for (let n = 0; n < load; n++) busy.push(spawnLoad(CPU_LOAD));
if (options["slow-disk"]) busy.push(spawnLoad(DISK_LOAD));

for (let round = 1; round <= times; round++) {
  const seed = String(chosenSeed());
  const workers = round % 2 === 0 ? 1 : 2;
  const started = performance.now();
  const order = ["--sequence.shuffle.files", "--sequence.shuffle.tests", `--sequence.seed=${seed}`];
  const report = await runTests([...files, ...order, `--maxWorkers=${workers}`], {
    env: { BATON_SEED: seed },
    quiet: true,
  });
  if (report === undefined || report.passed + report.failed === 0) {
    console.error(`No tests ran. Check the files: ${files.join(" ") || "(all)"}`);
    process.exit(1);
  }
  if (isGreen(report)) green++;
  const seconds = Math.round((performance.now() - started) / 1000);
  const counts = `${report.passed} passed, ${report.failures.length} failed`;
  console.error(
    `round ${round} of ${times}: ${counts}, ${seconds} s, seed ${seed}, workers ${workers}`,
  );
  for (const failure of report.failures) {
    const key = JSON.stringify([failure.file, failure.title]);
    const known = failures.get(key);
    if (known === undefined) {
      failures.set(key, { ...failure, times: 1, seed });
      console.error(describeFailures({ ...report, failures: [failure] }));
    } else known.times++;
  }
}

const found = [...failures.values()].sort((one, other) => other.times - one.times);
if (options.json)
  console.log(JSON.stringify({ times, load, green, failures: found }, undefined, 2));
else {
  for (const { times: failed, file, title, seed } of found) {
    console.log(`${failed} of ${times} failed: ${file} > ${title} (first with seed ${seed})`);
  }
  console.log(`${green} of ${times} rounds passed`);
}
process.exit(green === times ? 0 : 1);

function spawnLoad(program: string): ChildProcess {
  return spawn(process.execPath, ["-e", program], { stdio: "ignore" });
}

function wholeNumber(name: string, text: string, least: number): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= least) return value;
  console.error(`Invalid ${name} "${text}": expected a whole number of at least ${least}.`);
  process.exit(64);
}
