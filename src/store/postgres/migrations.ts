/**
 * The schema, as steps that were shipped, applied by whichever hub comes first: an advisory lock
 * makes the others wait and find the work done.
 */
import type pg from "pg";
import { BatonError } from "../../base/errors.ts";
import type { PostgresAddress } from "./address.ts";
import { DROP_FUNCTIONS, functionsIn } from "./functions/index.ts";
import {
  BALLAST,
  DECISIONS,
  INDEX_TABLES,
  RANKED_SEARCH,
  REFERENCES,
  RENEWED_VECTORS,
  TABLES,
} from "./schema.ts";

/** What is stored. Functions and their types are code: they are made anew after every step. */
interface Migration {
  readonly version: number;
  readonly name: string;
  readonly sql: string;
}

const MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    name: "memories, envelopes, deliveries, events",
    sql: [TABLES, INDEX_TABLES, BALLAST].join("\n"),
  },
  {
    version: 2,
    name: "deadlines, times to decide, entries, inboxes of roles",
    sql: DECISIONS,
  },
  { version: 3, name: "references are edges too", sql: REFERENCES },
  { version: 4, name: "ranked search, vectors", sql: RANKED_SEARCH },
  { version: 5, name: "claims share a reservation", sql: "" }, // Only a function has changed.
  { version: 6, name: "vectors of handoffs and results", sql: RENEWED_VECTORS },
];

const NEWEST = MIGRATIONS.length;
const OLDEST_SERVER = 150_000;

export interface MigrateOptions {
  /** False: an error where there is no store yet. */
  readonly create: boolean;
  /** For tests: an earlier version than the newest, with nothing that could write to it. */
  readonly to?: number;
}

/** Brings the store to the newest version. Refuses other programs' schemas and newer stores. */
export async function migrate(
  client: pg.Client,
  address: PostgresAddress,
  { create, to = NEWEST }: MigrateOptions,
): Promise<void> {
  await refuseServer(client, address);
  const version = await versionOf(client, address);
  if (version >= to) return;
  if (version === 0 && !create) throw missing(address);
  await client.query("begin");
  try {
    const lock = `baton migrations of ${address.schema}`;
    await client.query("select pg_advisory_xact_lock(hashtextextended($1, 0))", [lock]);
    await client.query("set local synchronous_commit = on");
    await bringUpToDate(client, address, to);
    await client.query("commit");
  } catch (error) {
    await client.query("rollback");
    throw error;
  }
}

async function bringUpToDate(
  client: pg.Client,
  address: PostgresAddress,
  to: number,
): Promise<void> {
  const { schema } = address;
  const version = await versionOf(client, address);
  if (version === 0 && !(await hasSchema(client, schema))) {
    await client.query(`create schema ${schema}`);
  }
  await client.query(`set local search_path = ${schema}, pg_temp`);
  if (version === 0) {
    await client.query(
      "create table baton_migrations (version int primary key, name text, at timestamptz)",
    );
  }
  if (version >= to) return; // Somebody else was quicker.
  for (const step of MIGRATIONS.slice(version, to)) {
    await client.query(step.sql);
    await client.query("insert into baton_migrations values ($1, $2, now())", [
      step.version,
      step.name,
    ]);
  }
  await client.query(DROP_FUNCTIONS);
  if (to === NEWEST) await client.query(functionsIn(schema));
}

function missing({ name }: PostgresAddress): BatonError {
  return new BatonError("store_missing", {
    message: `${name}: there is no store yet.`,
    path: name,
    hint: "Check database and schema; whoever writes first makes the store.",
  });
}

/** Creating one takes a right of its own, also when there is nothing to create. */
async function hasSchema(client: pg.Client, schema: string): Promise<boolean> {
  const { rows } = await client.query("select to_regnamespace($1) is not null as there", [schema]);
  return rows[0]?.there === true;
}

/** 0 where there is nothing yet. */
async function versionOf(client: pg.Client, { schema, name }: PostgresAddress): Promise<number> {
  const { rows } = await client.query<{ ours: boolean; tables: string }>(
    `select bool_or(relname = 'baton_migrations') as ours, count(*) as tables
     from pg_class where relnamespace = to_regnamespace($1) and relkind in ('r', 'v', 'm', 'p')`,
    [schema],
  );
  const [found] = rows;
  if (!found?.ours) {
    if (Number(found?.tables ?? 0) === 0) return 0;
    throw new BatonError("store_foreign", {
      message: `${name}: the schema holds tables of another program.`,
      path: name,
      hint: "Name another schema, for instance ?schema=baton.",
    });
  }
  const versions = await client.query<{ version: number }>(
    `select max(version) as version from ${schema}.baton_migrations`,
  );
  const version = versions.rows[0]?.version ?? 0;
  if (version > NEWEST) {
    throw new BatonError("store_too_new", {
      message: `${name} has schema version ${version}; this Baton knows versions up to ${NEWEST}.`,
      path: name,
      hint: "Upgrade batonpass: npm install batonpass@latest. Nothing was changed.",
      details: { found: version, known: NEWEST },
    });
  }
  return version;
}

async function refuseServer(client: pg.Client, { name: path }: PostgresAddress): Promise<void> {
  const { rows } = await client.query<{ version: string; encoding: string }>(
    `select current_setting('server_version_num') as version,
       current_setting('server_encoding') as encoding`,
  );
  const { version, encoding } = rows[0] ?? { version: "0", encoding: "" };
  if (Number(version) < OLDEST_SERVER) {
    throw new BatonError("store_unsupported", {
      message: `The server is PostgreSQL ${Math.floor(Number(version) / 10_000)}; Baton needs 15.`,
      path,
      hint: "Upgrade the server.",
    });
  }
  if (encoding !== "UTF8") {
    throw new BatonError("store_unsupported", {
      message: `The database's encoding is ${encoding}; Baton needs UTF8.`,
      path,
      hint: "Create a database with: createdb --encoding UTF8 --template template0 <name>.",
    });
  }
}
