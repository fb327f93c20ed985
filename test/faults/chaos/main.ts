/**
 * Runs a long chaos test: `npm run chaos -- --minutes 5 --processes 32 --store sqlite --seed 7`.
 * The store is `sqlite`, `postgres` (a server installed by npm, started for the run) or the address
 * of an empty store. On a violation it keeps the SQLite file and exits with 1.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { type PostgresServer, startPostgres } from "../../support/postgres/server.ts";
import { chosenSeed } from "../../support/random.ts";
import { type ChaosProgress, type ChaosReport, chaosRun } from "./run.ts";

const BAR = 30;

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "1" },
    processes: { type: "string", default: "16" },
    store: { type: "string", default: "sqlite" },
    seed: { type: "string" },
  },
});
const minutes = positive(values.minutes, "--minutes");
const processes = positive(values.processes, "--processes");
const seed = chosenSeed(values.seed);
const again = `npm run chaos -- --minutes ${minutes} --processes ${processes} --store ${values.store} --seed ${seed}`;

console.log(`${processes} processes for ${minutes} min on ${values.store}, seed ${seed}`);
let server: PostgresServer | undefined;
const folder = mkdtempSync(join(tmpdir(), "baton-chaos-"));
try {
  if (values.store === "postgres") server = await startPostgres(["max_connections=500"]);
  const address =
    values.store === "sqlite" ? `sqlite:${join(folder, "hub.db")}` : (server?.url ?? values.store);
  const forMs = minutes * 60_000;
  summarize(await chaosRun({ address, forMs, processes, seed, onProgress }));
} finally {
  await server?.stop();
  if (process.exitCode !== 1) rmSync(folder, { recursive: true, force: true });
}

function positive(text: string, option: string): number {
  const number = Number(text);
  if (Number.isFinite(number) && number > 0) return number;
  throw new Error(`${option} takes a number above 0`);
}

function summarize(report: ChaosReport): void {
  const { kills, stops, redelivered, refused, deliveries, events, violations } = report;
  console.log(
    `${deliveries} deliveries; ${kills} processes killed, ${stops} stopped past a lease;`,
  );
  console.log(`${redelivered} redelivered, ${refused} late answers refused. Events:`);
  for (const [kind, count] of Object.entries(events)) console.log(`  ${kind} ${count}`);
  if (violations.length === 0) {
    console.log("0 violations: one holder at a time, one settlement each, nothing lost.");
    return;
  }
  console.error(`${violations.length} violations (a SQLite store is kept in ${folder}):`);
  for (const violation of violations.slice(0, 50)) console.error(`  ${violation}`);
  console.error(`Again: ${again}`);
  process.exitCode = 1;
}

function onProgress({ share, facts, kills, stops }: ChaosProgress): void {
  if (!process.stderr.isTTY) return;
  const filled = Math.round(share * BAR);
  const bar = "█".repeat(filled) + "░".repeat(BAR - filled);
  const end = share === 1 ? "\n" : "";
  process.stderr.write(`\r${bar} ${facts} facts, ${kills} kills, ${stops} stops${end}`);
}
