/** The command line of the delivery benchmark. */
import { parseArgs } from "node:util";
import type { Asked } from "./report.ts";
import { RATE_WORKLOADS } from "./samples.ts";
import { RAW_SQLITE, SYSTEMS } from "./systems.ts";

const WORKLOADS = [...Object.keys(RATE_WORKLOADS), "latency", "kill"];
const NAMES = [...SYSTEMS.map((system) => system.name), RAW_SQLITE.name];

export const HELP = `npm run bench -- --only delivery [options]

Compares Baton on SQLite and PostgreSQL with BullMQ, pg-boss, graphile-worker and the raw engines.
Installs the peers into bench/peers on the first run. Redis is used if redis-server is installed.

  --rounds 5            Rounds of the rate workloads, after one warm-up round
  --count 2000          Messages per run for the slowest system; faster systems get up to 6 times as many
  --systems a,b         Any of: ${NAMES.join(", ")}
  --workloads a,b       Any of: ${WORKLOADS.join(", ")}
  --latency-rounds 3    Rounds of the latency workload
  --seconds 20          Duration of each latency run, at 100 messages per second
  --idle-seconds 10     Duration of the idle CPU measurement in the first latency round (0: skip)
  --kills 9             Kills of a Baton consumer; peers are killed once
  --kill-cap 60         Seconds to wait for a redelivery
  --kill-peers no       Exclude the peers from the kill workload
  --json FILE           Write every sample, with date, machine and versions
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
    throw new Error(`Invalid ${option} "${text}": expected a whole number`);
  return value;
}

function chosen(option: string, text: string, known: readonly string[]): Set<string> {
  const names = text.split(",");
  const unknown = names.filter((name) => !known.includes(name));
  if (unknown.length === 0) return new Set(names);
  throw new Error(`Invalid ${option} "${unknown.join(", ")}": expected any of ${known.join(", ")}`);
}
