/**
 * Compares Baton on SQLite with the raw engine: one run, interleaved, medians of several rounds.
 * Only the ratios are meaningful: machines differ, and shared ones are noisy.
 */
import { writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { parseArgs } from "node:util";
import { openHub } from "../src/index.ts";
import { appends } from "./append.ts";
import { cycles, fusedCycles } from "./cycle.ts";
import { inScratch, median } from "./kit.ts";
import { type Million, million } from "./million.ts";
import { rawInserts } from "./raw.ts";

const HELP = `npm run bench -- [--only append,cycle,million] [--rounds 5] [--records 1000000] [--json FILE]
npm run bench -- --only delivery --help   compare with queues, on SQLite and PostgreSQL
npm run bench -- --only growth --help     long history, long inbox, many receivers
npm run bench -- --only driver --help     compare PostgreSQL drivers
`;

/** One result of one round, and the raw engine's result in the same round. */
interface Sample {
  readonly name: string;
  readonly value: number;
  readonly raw: number;
}

interface Result {
  readonly name: string;
  readonly perSecond: number;
  readonly rawPerSecond: number;
  readonly ratio: number;
  readonly ratios: readonly number[];
  readonly goal: number;
}

const GOALS: Readonly<Record<string, number>> = {
  "append 300 B, acknowledged": 0.25,
  "append 300 B, sustained": 0.12,
  "handoff cycle": 0.1,
  "handoff cycle, claim and accept fused": 0.12,
};

interface Lag {
  readonly records: number;
  readonly ms: number;
}

async function appendRound(lags: Lag[]): Promise<Sample[]> {
  const raw = await inScratch((folder) => rawInserts(folder, { bytes: 300, rows: 100_000 }));
  const measured = await inScratch((folder) => appends(openHub, folder, 60_000));
  lags.push({ records: measured.lagRecords, ms: measured.lagMs });
  return [
    { name: "append 300 B, acknowledged", value: measured.acknowledged, raw },
    { name: "append 300 B, sustained", value: measured.sustained, raw },
  ];
}

async function cycleRound(): Promise<Sample[]> {
  const raw = await inScratch((folder) => rawInserts(folder, { bytes: 4096, rows: 30_000 }));
  return [
    {
      name: "handoff cycle",
      value: await inScratch((folder) => cycles(openHub, folder, 10_000)),
      raw,
    },
    {
      name: "handoff cycle, claim and accept fused",
      value: await inScratch((folder) => fusedCycles(openHub, folder, 10_000)),
      raw,
    },
  ];
}

function summarise(samples: readonly Sample[]): Result[] {
  return [...new Set(samples.map((sample) => sample.name))].map((name) => {
    const own = samples.filter((sample) => sample.name === name);
    const ratios = own.map((sample) => sample.value / sample.raw);
    return {
      name,
      perSecond: Math.round(median(own.map((sample) => sample.value))),
      rawPerSecond: Math.round(median(own.map((sample) => sample.raw))),
      ratio: median(ratios),
      ratios,
      goal: GOALS[name] ?? 0,
    };
  });
}

function report(
  results: readonly Result[],
  lags: readonly Lag[],
  history: Million | undefined,
): string {
  const lines = [
    "| workload | per second | raw inserts per second | ratio (median) | ratio per round | goal |",
    "|---|---|---|---|---|---|",
    ...results.map(
      (r) =>
        `| ${r.name} | ${r.perSecond.toLocaleString("en")} | ${r.rawPerSecond.toLocaleString("en")} | **${r.ratio.toFixed(3)}** | ${r.ratios.map((each) => each.toFixed(3)).join(" ")} | ≥ ${r.goal} |`,
    ),
  ];
  if (lags.length > 0) {
    const behind = Math.round(median(lags.map((lag) => lag.records)));
    const ms = Math.round(median(lags.map((lag) => lag.ms)));
    lines.push("", `Index lag at the last acknowledgement: ${behind} records, ${ms} ms.`);
  }
  if (history !== undefined) {
    lines.push(
      "",
      `At ${history.records.toLocaleString("en")} records, 64 callers: commit latency ${history.commitP50.toFixed(1)} ms (p50), ${history.commitP99.toFixed(1)} ms (p99, goal ≤ 20), ${history.commitMax.toFixed(1)} ms (max).`,
      `Opening the store and reading its newest record takes ${history.openFullMs.toFixed(1)} ms, with an empty store ${history.openEmptyMs.toFixed(1)} ms: ${(history.openFullMs / history.openEmptyMs).toFixed(2)} × (goal ≤ 2).`,
    );
  }
  return lines.join("\n");
}

export async function runFoundation(args: readonly string[]): Promise<void> {
  const { values: options } = parseArgs({
    args: [...args],
    options: {
      rounds: { type: "string", default: "5" },
      records: { type: "string", default: "1000000" },
      only: { type: "string", default: "append,cycle,million" },
      json: { type: "string" },
      help: { type: "boolean" },
    },
  });
  if (options.help) return void process.stdout.write(HELP);
  const only = new Set(options.only.split(","));
  const samples: Sample[] = [];
  const lags: Lag[] = [];
  // Not counted: the JIT compiler needs about 100,000 calls to settle; the raw engine needs none.
  process.stderr.write("warming up\n");
  if (only.has("append")) await inScratch((folder) => appends(openHub, folder, 100_000));
  if (only.has("cycle")) {
    await inScratch((folder) => cycles(openHub, folder, 10_000));
    await inScratch((folder) => fusedCycles(openHub, folder, 10_000));
  }
  for (let round = 1; round <= Number(options.rounds); round++) {
    process.stderr.write(`round ${round} of ${options.rounds}\n`);
    if (only.has("append")) samples.push(...(await appendRound(lags)));
    if (only.has("cycle")) samples.push(...(await cycleRound()));
  }
  let history: Million | undefined;
  if (only.has("million")) {
    process.stderr.write(`filling a store with ${options.records} records\n`);
    history = await inScratch((folder) => million(folder, Number(options.records)));
  }
  const results = summarise(samples);
  const machine = `${cpus().length} × ${cpus()[0]?.model ?? "unknown"}, ${process.platform}, Node ${process.version}`;
  process.stdout.write(
    `${new Date().toISOString().slice(0, 10)}, ${machine}\n\n${report(results, lags, history)}\n`,
  );
  if (options.json !== undefined) {
    const text = JSON.stringify(
      { at: new Date().toISOString(), machine, results, lags, history },
      null,
      2,
    );
    writeFileSync(options.json, `${text}\n`);
  }
}
