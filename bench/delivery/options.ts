/** The command line of the delivery benchmark. */
import { parseArgs } from "node:util";
import type { Asked } from "./report.ts";
import { RATE_WORKLOADS } from "./samples.ts";
import { RAW_SQLITE, SYSTEMS } from "./systems.ts";

const WORKLOADS = [...Object.keys(RATE_WORKLOADS), "latency", "kill"];
const NAMES = [...SYSTEMS.map((system) => system.name), RAW_SQLITE.name];

export const HELP = `npm run bench -- --only delivery [options]

Baton on SQLite and on PostgreSQL against BullMQ, pg-boss, graphile-worker and the raw engines.
Installs the peers into bench/peers the first time; Redis is used when redis-server is installed.

  --rounds 5            rounds of the rates, after one that is not counted
  --count 2000          messages a run for the slowest system; faster ones get up to 6 times as many
  --systems a,b         of: ${NAMES.join(", ")}
  --workloads a,b       of: ${WORKLOADS.join(", ")}
  --latency-rounds 3
  --seconds 20          of each latency run, at 100 messages a second
  --idle-seconds 10     of idle CPU, in the first latency round; 0 leaves it out
  --kills 9             kills of a consumer of Baton; of the peers one
  --kill-cap 60         seconds after which a redelivery is no longer waited for
  --kill-peers no       leaves the peers out of the kill workload
  --json FILE           every sample, with date, machine and versions
`;

export interface Options extends Asked {
  readonly help: boolean;
  readonly rounds: number;
  readonly count: number;
  readonly latencyRounds: number;
  readonly seconds: number;
  readonly idleSeconds: number;
  readonly kills: number;
  readonly killCapMs: number;
  readonly killPeers: boolean;
  readonly json: string | undefined;
}

export function readOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: "string" },
      help: { type: "boolean", default: false },
      rounds: { type: "string", default: "5" },
      count: { type: "string", default: "2000" },
      systems: { type: "string", default: NAMES.join() },
      workloads: { type: "string", default: WORKLOADS.join() },
      "latency-rounds": { type: "string", default: "3" },
      seconds: { type: "string", default: "20" },
      "idle-seconds": { type: "string", default: "10" },
      kills: { type: "string", default: "9" },
      "kill-cap": { type: "string", default: "60" },
      "kill-peers": { type: "string", default: "yes" },
      json: { type: "string" },
    },
  });
  const systems = chosen("--systems", values.systems, NAMES);
  return {
    help: values.help,
    rounds: whole("--rounds", values.rounds),
    count: whole("--count", values.count),
    systems: SYSTEMS.filter((system) => systems.has(system.name)),
    rawSqlite: systems.has(RAW_SQLITE.name),
    workloads: chosen("--workloads", values.workloads, WORKLOADS),
    latencyRounds: whole("--latency-rounds", values["latency-rounds"]),
    seconds: whole("--seconds", values.seconds),
    idleSeconds: whole("--idle-seconds", values["idle-seconds"]),
    kills: whole("--kills", values.kills),
    killCapMs: whole("--kill-cap", values["kill-cap"]) * 1000,
    killPeers: values["kill-peers"] !== "no",
    json: values.json,
  };
}

function whole(option: string, text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 0)
    throw new Error(`${option}: "${text}" is no count`);
  return value;
}

function chosen(option: string, text: string, known: readonly string[]): Set<string> {
  const names = text.split(",");
  const unknown = names.filter((name) => !known.includes(name));
  if (unknown.length === 0) return new Set(names);
  throw new Error(`${option}: there is no ${unknown.join(", ")}; known: ${known.join(", ")}`);
}
