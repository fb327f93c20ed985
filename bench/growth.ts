/**
 * Measures how the cost of delivery grows: claiming with a long history, claiming from a long
 * inbox, publishing to many receivers. Each is compared with the same operation on a small store,
 * in the same run, in alternating rounds; the median of the rounds counts.
 */
import { writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { DatabaseSync } from "node:sqlite";
import { parseArgs } from "node:util";
import pg from "pg";
import { type Agent, type Hub, openHub } from "../src/index.ts";
import type { Engine } from "./engines/engine.ts";
import { startPostgres } from "./engines/postgres.ts";
import { startSqlite } from "./engines/sqlite.ts";
import { callersLoop, median } from "./kit.ts";

const HELP = `npm run bench -- --only growth [--rounds 7] [--stores sqlite,postgres] [--history 1000000] [--inbox 100000] [--json FILE]
`;

const CALLERS = 16;
/** Claims timed in one round. */
const CLAIMS = 1_000;
/** Deliveries claimed and then replaced, so that the length of the inbox hardly changes. */
const BATCH_SIZE = 50;
const BATCHES = 10;
const FEW = 10;
const MANY = 1_000;
const PUBLICATIONS = 5;

interface Options {
  readonly rounds: number;
  readonly history: number;
  readonly inbox: number;
}

interface Comparison {
  readonly name: string;
  readonly store: string;
  /** Milliseconds per operation on the small and on the large store, by round. */
  readonly little: readonly number[];
  readonly much: readonly number[];
  readonly ratio: number;
  readonly goal: number;
}

type Stores = Readonly<Record<string, () => Promise<Engine>>>;
const STORES: Stores = { sqlite: startSqlite, postgres: startPostgres };

const LIMITS = { inbox: 10_000_000, leaseMs: 3_600_000, receivers: MANY };

/** Measures an operation on a small and on a large store, each in its own database. */
async function compare(
  engine: Engine,
  options: Options,
  of: {
    readonly name: string;
    readonly store: string;
    readonly goal: number;
    prepare(hub: Hub, address: string, much: boolean): Promise<void>;
    /** Returns milliseconds per operation. */
    measure(hub: Hub, much: boolean): Promise<number>;
  },
): Promise<Comparison> {
  await using littlePlace = await engine.place();
  await using muchPlace = await engine.place();
  await using little = await openHub(littlePlace.address, { limits: LIMITS });
  await using much = await openHub(muchPlace.address, { limits: LIMITS });
  await of.prepare(little, littlePlace.address, false);
  await of.prepare(much, muchPlace.address, true);
  const times = { little: [] as number[], much: [] as number[] };
  for (let round = 0; round <= options.rounds; round++) {
    const first = await of.measure(little, false);
    const second = await of.measure(much, true);
    if (round === 0) continue; // Not counted: warms up the JIT compiler and the caches.
    times.little.push(first);
    times.much.push(second);
  }
  const ratios = times.much.map((ms, i) => ms / (times.little[i] ?? Number.NaN));
  const { name, store, goal } = of;
  return { name, store, ...times, ratio: median(ratios), goal };
}

const team = async (hub: Hub): Promise<{ ada: Agent; ben: Agent }> => ({
  ada: await hub.agent("ada", { description: "sends" }),
  ben: await hub.agent("ben", { description: "receives" }),
});

let tasks = 0;
const send = (ada: Agent): Promise<unknown> =>
  ada.handoff({ to: "ben", task: `task-${++tasks}`, intent: "Measure", next: ["Take it"] });

async function elapsedMs(run: () => Promise<void>): Promise<number> {
  const start = performance.now();
  await run();
  return performance.now() - start;
}

/** Claims and accepts `count` deliveries from an inbox of that length, then completes them. */
async function claims(hub: Hub, count: number): Promise<number> {
  const { ada, ben } = await team(hub);
  const works: { complete(): Promise<unknown> }[] = [];
  await callersLoop(CALLERS, count, () => send(ada));
  const ms = await elapsedMs(() =>
    callersLoop(CALLERS, count, async () => {
      const work = await ben.accept();
      if (work === undefined) throw new Error("No delivery to claim");
      works.push(work);
    }),
  );
  await callersLoop(CALLERS, count, (n) => works[n]?.complete() ?? Promise.resolve());
  return ms / count;
}

/** Repeatedly claims a batch and sends a new one; only the claims are timed. */
async function batches(hub: Hub): Promise<number> {
  const { ada, ben } = await team(hub);
  let ms = 0;
  for (let n = 0; n < BATCHES; n++) {
    const works: { complete(): Promise<unknown> }[] = [];
    ms += await elapsedMs(() =>
      callersLoop(CALLERS, BATCH_SIZE, async () => {
        const work = await ben.accept();
        if (work !== undefined) works.push(work);
      }),
    );
    await callersLoop(CALLERS, works.length, (i) => works[i]?.complete() ?? Promise.resolve());
    await callersLoop(CALLERS, BATCH_SIZE, () => send(ada));
  }
  return ms / (BATCHES * BATCH_SIZE);
}

async function publications(hub: Hub, receivers: number): Promise<number> {
  const { ada } = await team(hub);
  const ms = await elapsedMs(async () => {
    for (let n = 0; n < PUBLICATIONS; n++) {
      await ada.channels.publish("news", { task: `news-${++tasks}`, intent: "Hear this" });
    }
  });
  return ms / (PUBLICATIONS * receivers);
}

/** Completes a few handoffs and copies their rows: hours of history in seconds. */
async function history(hub: Hub, address: string, count: number): Promise<void> {
  const seeds = 1_000;
  await claims(hub, seeds);
  const copies = Math.max(0, Math.ceil(count / seeds) - 1);
  const statements = copyStatements(copies);
  if (address.startsWith("sqlite:")) {
    const db = new DatabaseSync(address.slice("sqlite:".length));
    for (const statement of statements.sqlite) db.exec(statement);
    db.close();
    return;
  }
  const client = new pg.Client({ connectionString: address });
  await client.connect();
  for (const statement of statements.postgres) await client.query(statement);
  await client.query("analyze");
  await client.end();
}

function copyStatements(copies: number): Record<"sqlite" | "postgres", readonly string[]> {
  const series = `with recursive copies (n) as (select 1 union all select n + 1 from copies where n < ${copies})`;
  const columns = {
    deliveries: `state, turn, place, attempt, max_attempts, fence, lease_until, ready_at, sent_at,
      seen_at, accepted_at, settled_at, envelope, parent, task, sender, receiver, holder, instance,
      process, accepted_by, settled_by`,
    envelopes: "task, sender, text",
  };
  const far = 1_000_000_000;
  return {
    sqlite: [
      `insert into deliveries (pos, workspace, id, ${columns.deliveries})
       ${series} select ${far} + n * 100000 + pos, workspace, id || n, ${columns.deliveries}
       from deliveries, copies where state = 5 and pos < ${far}`,
      `insert into envelopes (pos, workspace, id, ${columns.envelopes})
       ${series} select ${far} + n * 100000 + pos, workspace, id || n, ${columns.envelopes}
       from envelopes, copies where pos < ${far}`,
    ],
    postgres: [
      `insert into baton.deliveries (workspace, id, ${columns.deliveries})
       select workspace, id || n, ${columns.deliveries}
       from baton.deliveries, generate_series(1, ${copies}) as n where state = 5 and workspace > 0`,
      `insert into baton.envelopes (pos, workspace, id, ${columns.envelopes})
       select ${far} + n * 100000 + pos, workspace, id || n, ${columns.envelopes}
       from baton.envelopes, generate_series(1, ${copies}) as n where workspace > 0`,
    ],
  };
}

async function growthOf(store: string, engine: Engine, options: Options): Promise<Comparison[]> {
  const little = 100;
  const logProgress = (what: string): void => void process.stderr.write(`${store}: ${what}\n`);
  logProgress(`claims after 0 and ${options.history} completed handoffs`);
  const claiming = await compare(engine, options, {
    name: `claim after ${options.history.toLocaleString("en")} completed`,
    store,
    goal: 1.2,
    prepare: async (hub, address, much) => {
      if (much) await history(hub, address, options.history);
    },
    measure: (hub) => claims(hub, CLAIMS),
  });
  logProgress(`claims from inboxes of ${little} and ${options.inbox} deliveries`);
  const inboxes = await compare(engine, options, {
    name: `claim from ${options.inbox.toLocaleString("en")} ready`,
    store,
    goal: 1.5,
    prepare: async (hub, _address, much) => {
      const { ada } = await team(hub);
      await callersLoop(64, much ? options.inbox : little, () => send(ada));
    },
    measure: batches,
  });
  logProgress(`publications to ${FEW} and ${MANY} receivers`);
  const publishing = await compare(engine, options, {
    name: `publish to ${MANY.toLocaleString("en")}, per receiver`,
    store,
    goal: 1.5,
    prepare: async (hub, _address, much) => {
      await hub.channels.set("news");
      for (let n = 0; n < (much ? MANY : FEW); n++) {
        await (await hub.agent(`reader-${n}`, { description: "reads" })).channels.subscribe("news");
      }
    },
    measure: (hub, much) => publications(hub, much ? MANY : FEW),
  });
  return [claiming, inboxes, publishing];
}

export async function runGrowth(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: "string" },
      help: { type: "boolean" },
      rounds: { type: "string", default: "7" },
      stores: { type: "string", default: Object.keys(STORES).join() },
      history: { type: "string", default: "1000000" },
      inbox: { type: "string", default: "100000" },
      json: { type: "string" },
    },
  });
  if (values.help) return void process.stdout.write(HELP);
  const [rounds, history, inbox] = [values.rounds, values.history, values.inbox].map(Number);
  const options = { rounds: rounds ?? 7, history: history ?? 0, inbox: inbox ?? 0 };
  const results: Comparison[] = [];
  for (const store of values.stores.split(",")) {
    const start = STORES[store];
    if (start === undefined) throw new Error(`Unknown store "${store}"`);
    await using engine = await start();
    results.push(...(await growthOf(store, engine, options)));
  }
  const at = new Date().toISOString();
  const machine = `${cpus().length} × ${cpus()[0]?.model ?? "unknown"}, ${process.platform}, Node ${process.version}`;
  process.stdout.write(`${at.slice(0, 10)}, ${machine}\n\n${report(results)}\n`);
  if (values.json === undefined) return;
  writeFileSync(values.json, `${JSON.stringify({ at, machine, options, results }, null, 2)}\n`);
}

function report(results: readonly Comparison[]): string {
  const micro = (ms: readonly number[]): string => (median(ms) * 1000).toFixed(0);
  return [
    "| workload | store | small store | large store | ratio (median) | goal |",
    "|---|---|---|---|---|---|",
    ...results.map(
      ({ name, store, little, much, ratio, goal }) =>
        `| ${name} | ${store} | ${micro(little)} µs | ${micro(much)} µs | **${ratio.toFixed(2)}** | ≤ ${goal} |`,
    ),
  ].join("\n");
}
