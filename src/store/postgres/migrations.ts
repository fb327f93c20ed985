/**
 * Creates and upgrades the schema of a PostgreSQL store. The first hub to open it does so, while others
 * wait for an advisory lock and then find it done.
 */
import type pg from "pg";
import { BatonError } from "../../base/errors.ts";
import { type SchemaStep, schemaVersion } from "../schema-steps.ts";
import type { PostgresAddress } from "./address.ts";
import { DROP_FUNCTIONS, functionsIn } from "./functions/index.ts";
import { INITIAL } from "./schema.ts";

/** Steps that change stored data. Functions and their types are code: every upgrade creates them again. */
export const POSTGRES_STEPS: readonly SchemaStep[] = [
  { version: 1, name: "initial schema", sql: INITIAL },
];

/** PostgreSQL 15, as the server reports it. */
const MIN_SERVER_VERSION = 150_000;

/** Options of `migrate`. */
export interface MigrateOptions {
  /** If false, a missing store is an error. */
  readonly create: boolean;
  /** Overrides the steps of this version; for tests. */
  readonly steps?: readonly SchemaStep[] | undefined;
}

/** Applies missing steps. Throws for a server, encoding, schema or version that is not supported. */
export async function migrate(
  client: pg.Client,
  address: PostgresAddress,
  { create, steps = POSTGRES_STEPS }: MigrateOptions,
): Promise<void> {
  await requireSupportedServer(client, address);
  const version = await versionOf(client, address, steps);
  if (version === steps.length) return;
  if (version === 0 && !create) throw missingStoreError(address);
  await client.query("begin");
  try {
    const lock = `baton migrations of ${address.schema}`;
    await client.query("select pg_advisory_xact_lock(hashtextextended($1, 0))", [lock]);
    await client.query("set local synchronous_commit = on");
    await upgradeSchema(client, address, steps);
    await client.query("commit");
  } catch (error) {
    await client.query("rollback");
    throw error;
  }
}

async function upgradeSchema(
  client: pg.Client,
  address: PostgresAddress,
  steps: readonly SchemaStep[],
): Promise<void> {
  const { schema } = address;
  const version = await versionOf(client, address, steps);
  if (version === 0 && !(await hasSchema(client, schema))) {
    await client.query(`create schema ${schema}`);
  }
  await client.query(`set local search_path = ${schema}, pg_temp`);
  if (version === 0) {
    await client.query(
      "create table baton_migrations (version int primary key, name text, at timestamptz)",
    );
  }
  if (version === steps.length) return; // Another hub was faster.
  for (const step of steps.slice(version)) {
    await client.query(step.sql);
    await client.query("insert into baton_migrations values ($1, $2, now())", [
      step.version,
      step.name,
    ]);
  }
  await client.query(DROP_FUNCTIONS);
  await client.query(functionsIn(schema));
}

function missingStoreError({ name }: PostgresAddress): BatonError {
  return new BatonError("store_missing", {
    message: `${name}: the store does not exist yet.`,
    path: name,
    hint: "Check database and schema; the first write creates the store.",
  });
}

/** Returns whether the schema exists: creating one needs a privilege even if it exists already. */
async function hasSchema(client: pg.Client, schema: string): Promise<boolean> {
  const { rows } = await client.query("select to_regnamespace($1) is not null as there", [schema]);
  return rows[0]?.there === true;
}

/** Returns the version of the schema; 0 if the store does not exist. */
async function versionOf(
  client: pg.Client,
  { schema, name }: PostgresAddress,
  steps: readonly SchemaStep[],
): Promise<number> {
  const { rows } = await client.query<{ ours: boolean; tables: string }>(
    `select bool_or(relname = 'baton_migrations') as ours, count(*) as tables
     from pg_class where relnamespace = to_regnamespace($1) and relkind in ('r', 'v', 'm', 'p')`,
    [schema],
  );
  const [found] = rows;
  if (!found?.ours) {
    if (Number(found?.tables ?? 0) === 0) return 0;
    throw new BatonError("store_foreign", {
      message: `${name}: the schema contains tables of another program.`,
      path: name,
      hint: "Choose another schema, for example ?schema=baton.",
    });
  }
  const recorded = await client.query<SchemaStep>(
    `select version, name from ${schema}.baton_migrations order by version`,
  );
  return schemaVersion(recorded.rows, { steps, store: name });
}

async function requireSupportedServer(
  client: pg.Client,
  { name: path }: PostgresAddress,
): Promise<void> {
  const { rows } = await client.query<{ version: string; encoding: string }>(
    `select current_setting('server_version_num') as version,
       current_setting('server_encoding') as encoding`,
  );
  const { version, encoding } = rows[0] ?? { version: "0", encoding: "" };
  if (Number(version) < MIN_SERVER_VERSION) {
    throw new BatonError("store_unsupported", {
      message: `The server is PostgreSQL ${Math.floor(Number(version) / 10_000)}; Baton needs 15 or later.`,
      path,
      hint: "Upgrade the server.",
    });
  }
  if (encoding !== "UTF8") {
    throw new BatonError("store_unsupported", {
      message: `The encoding of the database is ${encoding}; Baton needs UTF8.`,
      path,
      hint: "Create a database with: createdb --encoding UTF8 --template template0 <name>.",
    });
  }
}
