/**
 * Counts what operations cost on PostgreSQL: rows by triggers on every table, which do not touch
 * the connections of the store; statements, round trips and transactions in the driver.
 *
 * Reads are not counted as rows: which ones the server touches depends on the plan that it has
 * chosen (postgres-cost.test.ts bounds them). Statements within SQL functions are not seen either.
 * The index is filled in the background from 256 records of a workspace on, and at its first one:
 * a workspace that is measured has its first record before that, and never gets that many.
 */
import type { EventEmitter } from "node:events";
import pg from "pg";
import { systemClock } from "../../../src/base/clock.ts";
import { DEFAULT_LIMITS } from "../../../src/base/limits.ts";
import { openPostgresStore } from "../../../src/store/postgres/open.ts";
import { type TestSchema, testSchema } from "../../support/postgres/schema.ts";
import { add, type Counter, sorted } from "./counter.ts";

export function postgresCounter(): Counter {
  const schema = testSchema();
  const driver = new DriverCounter(schema.schema);
  let isPrepared = false;
  return {
    async open(hasTimers) {
      const options = { address: schema.address, limits: DEFAULT_LIMITS };
      const clock = hasTimers ? undefined : systemClock;
      const store = await openPostgresStore({ ...options, clock });
      if (!isPrepared) await countRows(schema);
      isPrepared = true;
      return store;
    },
    isBusy: () => driver.isBusy,
    async take() {
      return { rows: await takeRows(schema), ...driver.take() };
    },
    async [Symbol.asyncDispose]() {
      driver.stop();
      await schema[Symbol.asyncDispose]();
    },
  };
}

/** Creates triggers that note each written row in a table of their own. */
async function countRows({ schema, query }: TestSchema): Promise<void> {
  await query(`create table ${schema}.written (place text not null)`);
  await query(`
    create function ${schema}.note_row() returns trigger language plpgsql as $$
    begin
      insert into ${schema}.written values (case tg_table_name
        when 'entries' then 'entries ' || (coalesce(to_jsonb(new), to_jsonb(old)) ->> 'kind')
        else tg_table_name end);
      return null;
    end $$`);
  await query(`
    do $$ declare name text; begin
      for name in select c.oid::regclass from pg_class c
        where c.relnamespace = '${schema}'::regnamespace and c.relkind = 'r'
          and c.relname not in ('written', 'baton_migrations')
      loop
        execute 'create trigger note_row after insert or update or delete on ' || name
          || ' for each row execute function ${schema}.note_row()';
      end loop;
    end $$`);
}

async function takeRows({ schema, query }: TestSchema): Promise<Record<string, number>> {
  const rows = await query(`
    with taken as (delete from ${schema}.written returning place)
    select place, count(*)::int as count from taken group by place`);
  const counts = rows.map(({ place, count }) => [String(place), Number(count)] as const);
  return sorted(new Map(counts));
}

/** A connection, with members that the driver's types leave out. */
type Connection = pg.Client & {
  readonly connection: EventEmitter;
  readonly connectionParameters: { readonly application_name?: string };
  readonly pipeline: boolean;
};

interface Query {
  readonly name?: string;
  readonly text?: string;
  readonly values?: readonly unknown[];
}

/** Counts the queries of all connections with an application name. */
class DriverCounter {
  readonly #application: string;
  readonly #prototype: pg.Client;
  readonly #original: Pick<pg.Client, "connect" | "query">;
  /** Queries without an answer, by connection. */
  readonly #open = new Map<Connection, number>();
  #connecting = 0;
  #statements = new Map<string, number>();
  #roundTrips = 0;
  #transactions = 0;

  constructor(application: string) {
    this.#application = application;
    this.#prototype = driverPrototype();
    const { connect, query } = this.#prototype;
    this.#original = { connect, query };
    const counter = this;
    Object.assign(this.#prototype, {
      connect(this: Connection, ...given: unknown[]): unknown {
        counter.#connects(this);
        return Reflect.apply(connect, this, given);
      },
      query(this: Connection, ...given: unknown[]): unknown {
        counter.#sends(this, given);
        return Reflect.apply(query, this, given);
      },
    });
  }

  get isBusy(): boolean {
    return this.#connecting > 0 || [...this.#open.values()].some((open) => open > 0);
  }

  take() {
    const counted = {
      statements: sorted(this.#statements),
      transactions: this.#transactions,
      roundTrips: this.#roundTrips,
    };
    this.#statements = new Map();
    this.#roundTrips = 0;
    this.#transactions = 0;
    return counted;
  }

  stop(): void {
    Object.assign(this.#prototype, this.#original);
  }

  #isCounted({ connectionParameters }: Connection): boolean {
    return connectionParameters.application_name === this.#application;
  }

  #connects(client: Connection): void {
    if (!this.#isCounted(client)) return;
    this.#connecting++;
    let isConnecting = true;
    const done = (): void => {
      if (isConnecting) this.#connecting--;
      isConnecting = false;
    };
    for (const event of ["connect", "end", "error"]) client.once(event as "end", done);
  }

  /** Queries that are sent while others of a pipelined connection are under way wait with them. */
  #sends(client: Connection, [query, values]: readonly unknown[]): void {
    if (!this.#isCounted(client)) return;
    const open = this.#open.get(client);
    if (open === undefined) this.#follow(client);
    this.#open.set(client, (open ?? 0) + 1);
    if (!client.pipeline || !open) this.#roundTrips++;
    const config = typeof query === "string" ? { text: query } : (query as Query);
    add(this.#statements, nameOf({ values: values as readonly unknown[], ...config }));
  }

  /** A server that is ready for a query has answered one; outside a transaction, that has ended. */
  #follow(client: Connection): void {
    client.connection.prependListener("readyForQuery", ({ status }: { status: string }) => {
      this.#open.set(client, (this.#open.get(client) ?? 0) - 1);
      if (status === "I") this.#transactions++;
    });
    client.once("end", () => this.#open.delete(client));
  }
}

/** Returns the prototype of the driver's own client: tests use a subclass (kept-connections.ts). */
function driverPrototype(): pg.Client {
  let prototype = pg.Client.prototype;
  while (!Object.hasOwn(prototype, "query")) prototype = Object.getPrototypeOf(prototype);
  return prototype;
}

/** Returns the name in statements.ts; the beginning of the text of a statement without a name. */
function nameOf({ name, text = "", values }: Query): string {
  if (name === undefined) return text.trim().replaceAll(/\s+/g, " ").slice(0, 60);
  const short = name.replace(/^baton_/, "");
  return short === "entry" || short === "entries" ? `${short} ${values?.[1]}` : short;
}
