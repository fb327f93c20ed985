/**
 * Runs many bit flips: `npm run bitrot -- --flips 1000 --seed 7`. Exits with 1 if `verify` misses one that
 * changed what is stored or what an index finds.
 */
import { parseArgs } from "node:util";
import { chosenSeed } from "../support/random.ts";
import { bitRotRun } from "./bit-rot-run.ts";

const { values } = parseArgs({
  options: { flips: { type: "string", default: "1000" }, seed: { type: "string" } },
});
const flips = Number(values.flips);
if (!Number.isSafeInteger(flips) || flips < 1) throw new Error("--flips takes a whole number");
const seed = chosenSeed(values.seed);
const started = performance.now();

console.log(`${flips} flips, seed ${seed}`);
const report = await bitRotRun({ flips, seed, onFlip: showProgress });
const seconds = ((performance.now() - started) / 1000).toFixed(1);
const { changed, reported, missed } = report;
console.log(
  `${changed} of ${flips} flips changed something, ${reported} were reported, in ${seconds} s.`,
);
for (const each of missed) console.error(`  missed: ${each}`);
if (missed.length > 0) {
  console.error(`Again: npm run bitrot -- --flips ${flips} --seed ${seed}`);
  process.exitCode = 1;
}

function showProgress(done: number): void {
  if (process.stderr.isTTY) process.stderr.write(`\r${done}/${flips}${done === flips ? "\n" : ""}`);
}
