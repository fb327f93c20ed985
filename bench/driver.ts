/**
 * Compares PostgreSQL drivers: `pg` with its defaults, `pg` with `pipeline: true`, and `postgres`
 * (which always pipelines), one connection each, in interleaved rounds. One caller at a time, like
 * group commit, which sends a transaction and waits for its commit.
 */
import { parseArgs } from "node:util";
import pg from "pg";
import { startPostgres } from "./engines/postgres.ts";
import { median } from "./kit.ts";
import { installPeers, loadPeer } from "./peers/load.ts";

const HELP = `npm run bench -- --only driver [--rounds 5] [--seconds 2]
`;

/** A connection that runs prepared statements in the order of the calls. */
interface Driver {
  readonly name: string;
  run(text: string, values: readonly unknown[]): Promise<unknown>;
  close(): Promise<void>;
}

async function openPg(address: string, pipeline: boolean): Promise<Driver> {
  const client = new pg.Client({ connectionString: address, pipeline });
  await client.connect();
  const names = new Map<string, string>();
  return {
    name: pipeline ? "pg, pipeline" : "pg",
    run(text, values) {
      const name = names.get(text) ?? `s${names.size}`;
      names.set(text, name);
      return client.query({ name, text, values: [...values] });
    },
    close: () => client.end(),
  };
}

interface PostgresJs {
  readonly default: (
    address: string,
    options: { max: number },
  ) => {
    unsafe(
      text: string,
      values: readonly unknown[],
      options: { prepare: boolean },
    ): Promise<unknown>;
    end(): Promise<void>;
  };
}

async function openPostgresJs(address: string): Promise<Driver> {
  const { default: postgres } = await loadPeer<PostgresJs>("postgres");
  const sql = postgres(address, { max: 1 });
  return {
    name: "postgres",
    // This driver sends a query only once it is awaited; calling `then` here sends it at once.
    run: (text, values) => sql.unsafe(text, values, { prepare: true }).then((rows) => rows),
    close: () => sql.end(),
  };
}

const TEXT = "the lease of the delivery is renewed by every call ".repeat(82).slice(0, 4096);
const BYTES = Buffer.alloc(256 * 1024, TEXT);

const SCHEMA = `
  create table heads (name text primary key, seq bigint not null);
  create table rows (seq bigint generated always as identity primary key, body text not null);
  create table blobs (seq bigint generated always as identity primary key, body bytea not null);
  insert into heads select 'head-' || n, 0 from generate_series(1, 100) n;
  alter table blobs alter column body set storage external;
`;

/** Sends eight statements between begin and commit before it awaits the first result. */
async function transaction(driver: Driver, blob: Buffer | undefined): Promise<void> {
  const sent = [driver.run("begin", [])];
  for (let i = 1; i <= 3; i++) {
    sent.push(driver.run("select seq from heads where name = $1", [`head-${i}`]));
    sent.push(driver.run("update heads set seq = seq + 1 where name = $1", [`head-${i}`]));
  }
  sent.push(driver.run("insert into rows (body) values ($1)", [TEXT]));
  sent.push(
    blob === undefined
      ? driver.run("insert into rows (body) values ($1)", ["short"])
      : driver.run("insert into blobs (body) values ($1)", [blob]),
  );
  sent.push(driver.run("commit", []));
  await Promise.all(sent);
}

const WORKLOADS: Readonly<Record<string, (driver: Driver) => Promise<unknown>>> = {
  "transaction of 8, 4 KB text": (driver) => transaction(driver, undefined),
  "transaction of 8, 4 KB text and 256 KB bytea": (driver) => transaction(driver, BYTES),
  "one prepared select": (driver) =>
    driver.run("select seq from heads where name = $1", ["head-7"]),
  "64 prepared selects at once": (driver) =>
    Promise.all(
      Array.from({ length: 64 }, (_, i) =>
        driver.run("select seq from heads where name = $1", [`head-${i}`]),
      ),
    ),
};

interface Sample {
  readonly perSecond: number;
  /** CPU time of this process per operation: what the driver costs the event loop. */
  readonly cpuMicros: number;
}

async function measure(run: () => Promise<unknown>, seconds: number): Promise<Sample> {
  const cpu = process.cpuUsage();
  const start = performance.now();
  let done = 0;
  while (performance.now() - start < seconds * 1000) {
    await run();
    done++;
  }
  const elapsed = performance.now() - start;
  const { user, system } = process.cpuUsage(cpu);
  return { perSecond: (done / elapsed) * 1000, cpuMicros: (user + system) / done };
}

function table(samples: ReadonlyMap<string, readonly Sample[]>): string {
  const lines = [
    "| workload | driver | per second (median) | client CPU µs per operation | per second, by round |",
    "|---|---|---|---|---|",
  ];
  for (const [what, own] of samples) {
    const rates = own.map((sample) => Math.round(sample.perSecond));
    const cpu = Math.round(median(own.map((sample) => sample.cpuMicros)));
    lines.push(`| ${what} | **${Math.round(median(rates))}** | ${cpu} | ${rates.join(" ")} |`);
  }
  return lines.join("\n");
}

export async function runDriver(args: readonly string[]): Promise<void> {
  const { values: options } = parseArgs({
    args: [...args],
    options: {
      only: { type: "string" },
      rounds: { type: "string", default: "5" },
      seconds: { type: "string", default: "2" },
      help: { type: "boolean" },
    },
  });
  if (options.help) return void process.stdout.write(HELP);
  await installPeers();
  await using engine = await startPostgres();
  await using place = await engine.place();
  const drivers = [
    await openPg(place.address, false),
    await openPg(place.address, true),
    await openPostgresJs(place.address),
  ];
  const [first] = drivers;
  for (const statement of SCHEMA.split(";\n"))
    if (statement.trim()) await first?.run(statement, []);
  const samples = new Map<string, Sample[]>();
  for (let round = 0; round <= Number(options.rounds); round++) {
    process.stderr.write(round === 0 ? "warming up\n" : `round ${round} of ${options.rounds}\n`);
    for (const [workload, run] of Object.entries(WORKLOADS)) {
      for (const driver of drivers) {
        const seconds = round === 0 ? 0.5 : Number(options.seconds);
        const sample = await measure(() => run(driver), seconds);
        const what = `${workload} | ${driver.name}`;
        if (round > 0) samples.set(what, [...(samples.get(what) ?? []), sample]);
      }
      await first?.run("truncate rows, blobs", []);
    }
  }
  await Promise.all(drivers.map((driver) => driver.close()));
  process.stdout.write(`${engine.version}\n\n${table(samples)}\n`);
}
