/**
 * `npm run bench:telephone`: measures how much of the original information reaches the end of a
 * line of agents, and at what cost, for five ways of handing off.
 */
import { writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { parseArgs } from "node:util";
import { inScratch } from "../kit.ts";
import { chartOf } from "./chart.ts";
import { tableOf } from "./report.ts";
import { GENERATORS, type Generator, run } from "./run.ts";
import { LONGEST } from "./tasks.ts";

const HELP = `npm run bench:telephone [-- --tasks 200] [--hops 12] [--seed 1] [--generator first|second] [--json FILE] [--chart FILE]

  --tasks      Number of generated tasks
  --hops       Agents on the longest line, 2 to ${LONGEST}
  --generator  Task generator; the second has different domains and sentences
  --json       Write all results, and every item that Baton lost
  --chart      Write the chart of the README (full run: docs/telephone.svg)
`;

const { values } = parseArgs({
  options: {
    tasks: { type: "string", default: "200" },
    hops: { type: "string", default: String(LONGEST) },
    seed: { type: "string", default: "1" },
    generator: { type: "string", default: "first" },
    json: { type: "string" },
    chart: { type: "string" },
    help: { type: "boolean", default: false },
  },
});

const whole = (name: "tasks" | "hops" | "seed", least: number, most: number): number => {
  const value = Number(values[name]);
  if (Number.isSafeInteger(value) && value >= least && value <= most) return value;
  process.stderr.write(
    `Invalid --${name}: expected a whole number from ${least} to ${most}.\n${HELP}`,
  );
  process.exit(64);
};

const generator = (): Generator => {
  if (Object.hasOwn(GENERATORS, values.generator)) return values.generator as Generator;
  process.stderr.write(
    `Invalid --generator: expected one of ${Object.keys(GENERATORS).join(", ")}.\n${HELP}`,
  );
  process.exit(64);
};

if (values.help) {
  process.stdout.write(HELP);
} else {
  const options = {
    tasks: whole("tasks", 1, 100_000),
    agents: whole("hops", 2, LONGEST),
    seed: whole("seed", 0, 2 ** 31),
    generator: generator(),
  };
  const began = performance.now();
  const report = await inScratch((folder) => run(folder.file("telephone.db"), options, progress));
  const seconds = (performance.now() - began) / 1_000;
  progress("");
  process.stdout.write(`${tableOf(report)}\nfinished in ${seconds.toFixed(0)} s\n`);
  if (values.json !== undefined) {
    const machine = { cpu: cpus()[0]?.model, cores: cpus().length, node: process.version };
    const whenWhere = { at: new Date().toISOString(), machine, seconds };
    writeFileSync(values.json, `${JSON.stringify({ ...whenWhere, ...report }, undefined, 2)}\n`);
  }
  if (values.chart !== undefined) {
    const caption = `${report.tasks} tasks with ${report.items} planted items, handed off along lines of agents`;
    writeFileSync(values.chart, chartOf(report.figures, caption));
  }
}

function progress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`);
}
