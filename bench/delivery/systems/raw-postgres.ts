/**
 * The upper bound on PostgreSQL: one table, inserts in groups, claims of 64 with `for
 * update skip locked`, completions of 64. No retries, no leases, no events; an empty claim is
 * repeated after 2 ms.
 */
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import type { Body } from "../body.ts";
import type { Connection, Consuming, Consumption, System } from "../system.ts";

const BATCH = 64;
const WAY = "batches of 64";

export const rawPostgres: System = {
  name: "raw-postgres",
  title: "raw PostgreSQL queue",
  engine: "postgres",
  peer: false,
  synced: true,
  weight: 6,
  bulk: true,
  ways: { enqueue: WAY, rate: [WAY], latency: [], kill: [] },
  acknowledgesCompletion: true,
  open,
};

/** Runs as one transaction, in one process at a time. */
const SCHEMA = `
  select pg_advisory_xact_lock(1);
  create table if not exists jobs (
    id bigint generated always as identity primary key,
    state smallint not null default 0,
    body text not null
  ) with (fillfactor = 70);
  create index if not exists ready on jobs (id) where state = 0;
`;
const INSERT = {
  name: "insert",
  text: "insert into jobs (body) select * from unnest($1::text[])",
};
const CLAIM = {
  name: "claim",
  text: `update jobs set state = 1 where id in (
    select id from jobs where state = 0 order by id limit ${BATCH} for update skip locked
  ) returning id, body`,
};
const COMPLETE = {
  name: "complete",
  text: "update jobs set state = 2 where id = any($1::bigint[]) and state = 1",
};

async function open(address: string): Promise<Connection> {
  const pool = new pg.Pool({ connectionString: address, max: 8 });
  pool.on("error", () => {}); // The pool replaces idle connections that end.
  await pool.query(SCHEMA);
  const insert = (bodies: readonly Body[]) =>
    pool.query({ ...INSERT, values: [bodies.map((body) => JSON.stringify(body))] });
  return {
    send: grouped(insert),
    sendMany: insert,
    consume: (how) => consume(pool, how),
    async totals() {
      const { rows } = await pool.query<{ left: number; completed: number }>(
        `select count(*) filter (where state < 2)::int as left,
                count(*) filter (where state = 2)::int as completed from jobs`,
      );
      return rows[0] ?? { left: Number.NaN, completed: Number.NaN };
    },
    close: () => pool.end(),
  };
}

/** Groups inserts: the next group is sent once the previous one is acknowledged. */
function grouped(insert: (bodies: readonly Body[]) => Promise<unknown>) {
  let waiting: Body[] = [];
  let next: Promise<unknown> | undefined;
  let last: Promise<unknown> = Promise.resolve();
  return (body: Body): Promise<unknown> => {
    waiting.push(body);
    next ??= last.then(() => {
      const group = waiting;
      waiting = [];
      next = undefined;
      last = insert(group);
      return last;
    });
    return next;
  };
}

async function consume(pool: pg.Pool, how: Consuming): Promise<Consumption> {
  let stopped = false;
  const loops = Array.from({ length: how.consumers }, async (_, consumer) => {
    while (!stopped) {
      const { rows } = await pool.query<{ id: string; body: string }>(CLAIM);
      if (rows.length === 0) {
        await sleep(2);
        continue;
      }
      for (const row of rows) await how.take(JSON.parse(row.body) as Body, consumer);
      await pool.query({ ...COMPLETE, values: [rows.map((row) => row.id)] });
      for (const _ of rows) how.done(consumer);
    }
  });
  for (const loop of loops) loop.catch(how.failed);
  return {
    async stop() {
      stopped = true;
      await Promise.allSettled(loops);
    },
  };
}
