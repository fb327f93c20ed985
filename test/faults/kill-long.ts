/**
 * Runs a long kill test: `npm run kill -- --kills 200 --seed 7`, on SQLite or, with
 * `--store postgres://…`, on PostgreSQL (its schema should be empty). On a violation it keeps the
 * store for inspection and exits with 1.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { chosenSeed } from "../support/random.ts";
import { killRun } from "./kill-run.ts";

const BAR = 30;

const { values } = parseArgs({
  options: {
    kills: { type: "string", default: "200" },
    seed: { type: "string" },
    store: { type: "string" },
  },
});
const kills = Number(values.kills);
if (!Number.isSafeInteger(kills) || kills < 1) throw new Error("--kills takes a whole number");
const seed = chosenSeed(values.seed);
const folder = mkdtempSync(join(tmpdir(), "baton-kill-"));
const started = performance.now();

console.log(`${kills} kills, seed ${seed}`);
const address = values.store ?? `sqlite:${join(folder, "hub.db")}`;
const report = await killRun({ address, kills, seed, onKill: showProgress });
const seconds = ((performance.now() - started) / 1000).toFixed(1);

console.log(`${report.kills} kills, ${report.facts} facts acknowledged, in ${seconds} s:`);
for (const [kind, count] of Object.entries(report.byKind)) console.log(`  ${kind} ${count}`);
console.log(`  redelivered after a kill ${report.redelivered}`);

if (report.violations.length === 0) {
  console.log("No acknowledged fact was lost or doubled; the chain verifies; the totals match.");
  rmSync(folder, { recursive: true, force: true });
} else {
  console.error(`${report.violations.length} violations (store kept in ${folder}):`);
  for (const violation of report.violations.slice(0, 50)) console.error(`  ${violation}`);
  console.error(`Again: npm run kill -- --kills ${kills} --seed ${seed}`);
  process.exitCode = 1;
}

function showProgress(progress: { readonly kills: number; readonly facts: number }): void {
  if (!process.stderr.isTTY) return;
  const filled = Math.round((progress.kills / kills) * BAR);
  const bar = "█".repeat(filled) + "░".repeat(BAR - filled);
  const end = progress.kills === kills ? "\n" : "";
  process.stderr.write(`\r${bar} ${progress.kills}/${kills} kills, ${progress.facts} facts${end}`);
}
