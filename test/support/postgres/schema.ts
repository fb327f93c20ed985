/**
 * A separate schema for each test. Creating Baton's tables takes fifty times as long as emptying
 * them, so most tests use a `reusableSchema`: it is emptied after the test and reused by a later
 * test of the process.
 */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { inject } from "vitest";
import { describeSchema } from "./describe-schema.ts";
import { keepConnections, keptProcesses } from "./kept-connections.ts";

export interface TestSchema extends AsyncDisposable {
  /** The store's address. */
  readonly address: string;
  readonly schema: string;
  query(text: string, values?: readonly unknown[]): Promise<Record<string, unknown>[]>;
}

export function postgresUrl(): string {
  return inject("postgres");
}

/** Returns a schema that does not exist yet; dropped on disposal. */
export function testSchema(url: string = postgresUrl()): TestSchema {
  const schema = `${inject("schemas")}${randomUUID().replaceAll("-", "")}`;
  const address = new URL(url);
  address.searchParams.set("schema", schema);
  address.searchParams.set("application_name", schema);
  const pool = new pg.Pool({ connectionString: url, max: 2, allowExitOnIdle: true });
  pool.on("error", () => {}); // The test stopped the server; the next query reconnects.
  const query: TestSchema["query"] = async (text, values = []) =>
    (await pool.query(text, values as unknown[])).rows;
  return {
    address: address.href,
    schema,
    query,
    async [Symbol.asyncDispose]() {
      try {
        await query(`drop schema if exists ${schema} cascade`);
      } finally {
        await pool.end();
      }
    },
  };
}

/** A closed connection ends within this time; one that stays longer was left open. */
const ENDING_MS = 500;

/** Schemas with the tables of a new store, for later tests of this process. */
const unused: ReusedSchema[] = [];

interface ReusedSchema extends TestSchema {
  /** Versions of its tables and functions when they were those of a new store. */
  versions?: string;
}

/** Returns an empty schema: it does not exist yet, or has the tables of a new store. */
export function reusableSchema(): TestSchema {
  const schema: ReusedSchema = unused.pop() ?? testSchema();
  keepConnections(schema.schema);
  return {
    ...schema,
    async [Symbol.asyncDispose]() {
      if (await isEmptied(schema)) unused.push(schema);
      else await schema[Symbol.asyncDispose]();
    },
  };
}

/** Waits for connections to end: the server lists one for some milliseconds after it was closed. */
async function isDisconnected({ schema, query }: TestSchema): Promise<boolean> {
  const connected =
    "select 1 from pg_stat_activity where application_name = $1 and pid <> all ($2) limit 1";
  for (const until = performance.now() + ENDING_MS; performance.now() < until; ) {
    if ((await query(connected, [schema, keptProcesses(schema)])).length === 0) return true;
    await sleep(1);
  }
  return false;
}

/**
 * Deletes what a test has stored. Returns false if the schema cannot be reused: the test did not
 * create the tables, changed them, or left a connection open that may write later.
 */
async function isEmptied(reused: ReusedSchema): Promise<boolean> {
  const { schema, query } = reused;
  if (!(await isDisconnected(reused))) return false;
  // Every change of a table or function creates a new version of its row.
  const [found] = await query(
    `select md5(string_agg(concat(oid, ' ', xmin), ',' order by oid)) as versions from (
       select oid, xmin from pg_class where relnamespace = to_regnamespace($1)
       union all select oid, xmin from pg_proc where pronamespace = to_regnamespace($1)
     ) as versions`,
    [schema],
  );
  if (reused.versions !== found?.["versions"]) {
    if (reused.versions !== undefined) return false;
    if ((await describeSchema(query, schema)) !== inject("newStore")) return false;
    reused.versions = String(found?.["versions"]);
  }
  await query(`
    do $$ declare statement text; begin
      for statement in
        select format('delete from %s', c.oid::regclass) ||
          case when a.attname is null then '' else ' where workspace <> 0' end -- 0: see BALLAST.
        from pg_class c left join pg_attribute a on a.attrelid = c.oid and a.attname = 'workspace'
        where c.relnamespace = '${schema}'::regnamespace and c.relkind = 'r'
          and c.relname <> 'baton_migrations'
        union all
        select format('select setval(%L, 1, false)', c.oid::regclass)
        from pg_class c where c.relnamespace = '${schema}'::regnamespace and c.relkind = 'S'
      loop execute statement; end loop;
    end $$`);
  return true;
}
