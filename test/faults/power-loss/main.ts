/**
 * The power-loss test at length: `npm run powerloss -- --states 10000 --seed 7`. Runs without a fault, with a
 * fault at every write and every sync, and with failed checkpoints; exits with 1 if a promise was broken. With
 * `--minutes` it stops after that time, with what it has done by then.
 */
import { parseArgs } from "node:util";
import { chosenSeed } from "../../support/random.ts";
import { failedCheckpoint, faultScenarios } from "./fault-plans.ts";
import { cutPower, type PowerLossReport } from "./power-loss.ts";
import { whyNotRecorded } from "./recording.ts";
import type { Scenario } from "./scenarios.ts";

/** Recorded in one process: their traces are in memory together. */
const SCENARIOS_AT_ONCE = 25;
/** Of runs without a fault, and of runs whose checkpoint fails. */
const PLAIN_STATES = 1_000;
const CHECKPOINT_RUNS = 5;
const CHECKPOINT_STATES = 40;

const { values } = parseArgs({
  options: {
    states: { type: "string", default: "10000" },
    seed: { type: "string" },
    minutes: { type: "string" },
  },
});
const wanted = Number(values.states);
if (!Number.isSafeInteger(wanted) || wanted < 1) throw new Error("--states takes a whole number");
const seed = chosenSeed(values.seed);
const stopAt = performance.now() + Number(values.minutes ?? Number.POSITIVE_INFINITY) * 60_000;
const missing = whyNotRecorded();
if (missing === undefined) await main();
else console.log(`Skipped: ${missing}.`);

async function main(): Promise<void> {
  const started = performance.now();
  console.log(`At least ${wanted} power cuts, seed ${seed}`);
  const reports = await allReports();
  const states = reports.reduce((sum, report) => sum + report.states, 0);
  const violations = reports.flatMap((report) => report.violations);
  const recordings = reports.flatMap((report) => report.recordings);
  const acknowledged = recordings
    .flatMap(({ notes }) => notes)
    .filter((note) => !("failed" in note)).length;
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  console.log(`${states} states of ${acknowledged} answers, in ${seconds} s.`);
  const faulty = recordings.filter(({ scenario }) => scenario.fault !== undefined);
  const fired = faulty.filter(({ failures }) => failures > 0).length;
  console.log(`${fired} of ${faulty.length} runs with a planned fault reached it.`);
  if (violations.length === 0) {
    console.log("No acknowledged write was lost or doubled; every store opened and verified.");
    return;
  }
  console.error(`${violations.length} violations:`);
  for (const violation of violations.slice(0, 50)) console.error(`  ${violation}`);
  console.error(`Again: npm run powerloss -- --states ${wanted} --seed ${seed}`);
  process.exitCode = 1;
}

async function allReports(): Promise<PowerLossReport[]> {
  const plain: Scenario = { name: "plain", kind: "short", seed };
  const first = await cutPower({
    scenarios: [plain],
    states: Math.min(PLAIN_STATES, wanted),
    seed,
  });
  const reports = [first];
  for (let n = 0; n < CHECKPOINT_RUNS; n++) {
    const scenarios = [failedCheckpoint(seed + n)];
    reports.push(
      withoutCalls(await cutPower({ scenarios, states: CHECKPOINT_STATES, seed: seed + n })),
    );
  }
  const faults = first.recordings.flatMap(faultScenarios);
  const rest = wanted - reports.reduce((sum, report) => sum + report.states, 0);
  const states = Math.max(1, Math.ceil(rest / faults.length));
  for (let at = 0; at < faults.length && performance.now() < stopAt; at += SCENARIOS_AT_ONCE) {
    const scenarios = faults.slice(at, at + SCENARIOS_AT_ONCE);
    reports.push(withoutCalls(await cutPower({ scenarios, states, seed: seed + at })));
    showProgress(at + scenarios.length, faults.length);
  }
  return reports;
}

/** The traces of all runs would not fit in memory. */
function withoutCalls(report: PowerLossReport): PowerLossReport {
  const recordings = report.recordings.map((recording) => ({ ...recording, calls: [] }));
  return { ...report, recordings };
}

function showProgress(done: number, all: number): void {
  if (process.stderr.isTTY)
    process.stderr.write(`\r${done}/${all} faults${done === all ? "\n" : ""}`);
}
