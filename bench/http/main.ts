/**
 * `npm run bench -- --only http`: measures the overhead of HTTP per operation, and the throughput
 * of a hub with many connections relative to an embedded hub. Compares the embedded hub, the client
 * and plain requests, in turn in every round. The embedded and the served hub each have a SQLite
 * file.
 */
import { writeFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { parseArgs } from "node:util";
import { openHub } from "../../src/index.ts";
import { callersLoop, inScratch, median, quantile } from "../kit.ts";
import { byRequests, bySdk, OPERATIONS, type OperationName, type Way } from "./operations.ts";
import { type Serving, serve } from "./serving.ts";
import { Line } from "./socket.ts";

const HELP = `npm run bench -- --only http [--rounds 5] [--calls 400] [--connections 64] [--total 4000] [--profile FOLDER] [--json FILE]
`;

const WAYS = ["embedded", "requests", "client"] as const;
type WayName = (typeof WAYS)[number];
/** Requests per operation. */
const REQUESTS: Readonly<Record<OperationName, number>> = {
  remember: 1,
  read: 1,
  handoff: 1,
  cycle: 3,
};

type Samples<T> = Record<OperationName, Record<WayName, T>>;

export async function runHttp(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: "string" },
      rounds: { type: "string", default: "5" },
      calls: { type: "string", default: "400" },
      connections: { type: "string", default: "64" },
      total: { type: "string", default: "4000" },
      profile: { type: "string" },
      json: { type: "string" },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return;
  }
  const size = {
    rounds: Number(values.rounds),
    calls: Number(values.calls),
    connections: Number(values.connections),
    total: Number(values.total),
  };
  const report = await inScratch(async (folder) => {
    await using serving = await serve(`sqlite:${folder.file("served.db")}`, values.profile);
    const embedded = await openHub(`sqlite:${folder.file("embedded.db")}`);
    const remote = await openHub(serving.address);
    const hubs = { embedded, remote, serving };
    try {
      return { latency: await latencies(hubs, size), rates: await ratesOf(hubs, size) };
    } finally {
      await remote.close();
      await embedded.close();
    }
  });
  printReport(report, size);
  if (values.json !== undefined) {
    const machine = { cpu: cpus()[0]?.model, cores: cpus().length, node: process.version };
    const dated = { at: new Date().toISOString(), machine, load: loadavg(), ...size, ...report };
    writeFileSync(values.json, `${JSON.stringify(dated, undefined, 2)}\n`);
  }
}

interface Size {
  readonly rounds: number;
  readonly calls: number;
  readonly connections: number;
  readonly total: number;
}

interface Hubs {
  readonly embedded: Awaited<ReturnType<typeof openHub>>;
  readonly remote: Awaited<ReturnType<typeof openHub>>;
  readonly serving: Serving;
}

const empty = <T>(make: () => T): Samples<T> =>
  Object.fromEntries(
    OPERATIONS.map((name) => [name, Object.fromEntries(WAYS.map((way) => [way, make()]))]),
  ) as Samples<T>;

const lineTo =
  ({ port }: Serving) =>
  (agent: string): Line =>
    new Line(port, { "baton-agent": agent, "baton-session": `s-${agent}` });

/** Makes one call after the other. Returns the median latency of each round. */
async function latencies({ embedded, remote, serving }: Hubs, { rounds, calls }: Size) {
  const client = await bySdk(remote, "one"); // Also registers the agents of the plain requests.
  using requests = await byRequests(lineTo(serving), "one");
  const ways: Record<WayName, Way> = { embedded: await bySdk(embedded, "one"), requests, client };
  const p50 = empty<number[]>(() => []);
  let n = 0;
  for (let round = -1; round < rounds; round++) {
    for (const operation of OPERATIONS) {
      for (const way of WAYS) {
        const times: number[] = [];
        for (let call = 0; call < calls; call++) {
          const start = performance.now();
          await ways[way][operation](n++);
          times.push(performance.now() - start);
        }
        if (round >= 0) p50[operation][way].push(quantile(times, 0.5)); // Round -1 is a warm-up.
      }
    }
  }
  return p50;
}

/** Makes as many calls at once as there are connections. Returns operations per second by round. */
async function ratesOf(hubs: Hubs, { rounds, connections, total }: Size) {
  const names = Array.from({ length: connections }, (_, n) => `many-${n}`);
  const { embedded, remote, serving } = hubs;
  const sdk = await Promise.all(names.map((name) => bySdk(embedded, name)));
  const client = await Promise.all(names.map((name) => bySdk(remote, name)));
  const lines = await Promise.all(names.map((name) => byRequests(lineTo(serving), name)));
  const ways: Record<WayName, readonly Way[]> = { embedded: sdk, requests: lines, client };
  const rates = empty<number[]>(() => []);
  let n = 1_000_000;
  for (let round = -1; round < rounds; round++) {
    for (const operation of OPERATIONS) {
      for (const way of WAYS) {
        const count = Math.ceil(total / REQUESTS[operation]);
        const idle = [...ways[way]];
        const start = performance.now();
        await callersLoop(connections, count, async () => {
          const one = idle.pop() as Way; // No two loops use the same one at once.
          await one[operation](n++);
          idle.push(one);
        });
        const rate = (count * REQUESTS[operation] * 1_000) / (performance.now() - start);
        if (round >= 0) rates[operation][way].push(rate);
      }
    }
  }
  for (const line of lines) line[Symbol.dispose]();
  return rates;
}

interface Report {
  readonly latency: Samples<number[]>;
  readonly rates: Samples<number[]>;
}

function printReport({ latency, rates }: Report, { connections }: Size): void {
  const lines = ["sequential calls, p50 in ms (goal: HTTP adds ≤ 1)"];
  for (const operation of OPERATIONS) {
    const of = latency[operation];
    const [own, requests, client] = WAYS.map((way) => median(of[way])) as [number, number, number];
    const each = REQUESTS[operation];
    lines.push(
      `  ${operation.padEnd(10)} embedded ${own.toFixed(3)}  requests ${requests.toFixed(3)} (+${((requests - own) / each).toFixed(3)} each)  client ${client.toFixed(3)} (+${((client - own) / each).toFixed(3)} each)`,
    );
  }
  lines.push(`${connections} connections, operations per second (goal: HTTP ≥ 0.30 of embedded)`);
  for (const operation of OPERATIONS) {
    const of = rates[operation];
    const ratio = (way: WayName): string =>
      median(of[way].map((rate, i) => rate / (of.embedded[i] ?? Number.NaN))).toFixed(2);
    lines.push(
      `  ${operation.padEnd(10)} embedded ${median(of.embedded).toFixed(0)}  requests ${median(of.requests).toFixed(0)} (${ratio("requests")})  client ${median(of.client).toFixed(0)} (${ratio("client")})`,
    );
  }
  process.stdout.write(`${lines.join("\n")}\n`);
}
