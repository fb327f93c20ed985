/**
 * `npm run bench -- --only http-load`: many clients on one hub, each with its own connections and
 * agents, which remember, read, hand off, accept and complete. Reports errors, latency and the
 * hub's memory over time.
 */
import { writeFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { setTimeout as pause } from "node:timers/promises";
import { parseArgs } from "node:util";
import { openHub } from "../../src/index.ts";
import { inScratch, quantile } from "../kit.ts";
import { byRequests, OPERATIONS } from "./operations.ts";
import { type Serving, serve } from "./serving.ts";
import { Line } from "./socket.ts";

const HELP = `npm run bench -- --only http-load [--clients 1000] [--seconds 60] [--json FILE]
`;

export interface Loading {
  readonly clients: number;
  readonly seconds: number;
  /** Called every second, for example to sample the hub's memory. */
  readonly onSecond?: (second: number) => Promise<void>;
}

export interface LoadReport {
  readonly operations: number;
  readonly errors: readonly string[];
  /** Milliseconds of every operation. */
  readonly times: readonly number[];
}

export async function runHttpLoad(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: "string" },
      clients: { type: "string", default: "1000" },
      seconds: { type: "string", default: "60" },
      json: { type: "string" },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return;
  }
  const [clients, seconds] = [Number(values.clients), Number(values.seconds)];
  const memory: Record<number, number> = {};
  const report = await inScratch(async (folder) => {
    await using serving = await serve(`sqlite:${folder.file("hub.db")}`);
    const onSecond = async (second: number): Promise<void> => {
      memory[second] = await residentMb(serving);
    };
    return await load(serving, { clients, seconds, onSecond }); // Before the hub is stopped.
  });
  const { operations, errors, times } = report;
  const figures = {
    ...{ clients, seconds, operations, errors: errors.length, perSecond: operations / seconds },
    ...{ p50: quantile(times, 0.5), p95: quantile(times, 0.95), p99: quantile(times, 0.99) },
    max: quantile(times, 1),
    memoryMb: memory,
  };
  process.stdout.write(`${JSON.stringify(figures, undefined, 2)}\n`);
  for (const error of errors.slice(0, 10)) process.stdout.write(`  ${error}\n`);
  if (values.json !== undefined) {
    const machine = { cpu: cpus()[0]?.model, cores: cpus().length, node: process.version };
    const dated = { at: new Date().toISOString(), machine, load: loadavg(), ...figures };
    writeFileSync(values.json, `${JSON.stringify(dated, undefined, 2)}\n`);
  }
  if (errors.length > 0) process.exitCode = 1;
}

/** Runs the clients, each with one operation after the other, until the time is up. */
export async function load(
  { port, address }: Pick<Serving, "port" | "address">,
  { clients, seconds, onSecond = async () => {} }: Loading,
): Promise<LoadReport> {
  const hub = await openHub(address);
  const names = Array.from({ length: clients }, (_, n) => `client-${n}`);
  for (const name of names) {
    await hub.agent(`${name}-ada`, { role: "planner" });
    await hub.agent(`${name}-bob`, { role: "executor" });
    await hub.agent(`${name}-sink`, { role: "executor" });
  }
  await hub.close();
  const open = (agent: string) =>
    new Line(port, { "baton-agent": agent, "baton-session": `s-${agent}` });
  const times: number[] = [];
  const errors: string[] = [];
  let isOver = false;
  const one = async (name: string): Promise<void> => {
    using way = await byRequests(open, name);
    for (let n = 0; !isOver; n++) {
      const start = performance.now();
      await way[OPERATIONS[n % OPERATIONS.length] as (typeof OPERATIONS)[number]](n);
      times.push(performance.now() - start);
    }
  };
  const running = names.map((name) =>
    one(name).catch((error: unknown) => void errors.push(String(error))),
  );
  for (let second = 1; second <= seconds; second++) {
    await pause(1_000);
    await onSecond(second);
  }
  isOver = true;
  await Promise.all(running);
  return { operations: times.length, errors, times };
}

/** Returns the hub's resident memory in MB, from its metrics. */
async function residentMb({ address }: Serving): Promise<number> {
  const text = await (await fetch(`${address}/metrics`)).text();
  const bytes = Number(/^process_resident_memory_bytes (\d+)/m.exec(text)?.[1]);
  return Math.round(bytes / 1e6);
}
