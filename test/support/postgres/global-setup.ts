/** Starts one server for all test files of a run, and describes a new store on it. */
import pg from "pg";
import type { TestProject } from "vitest/node";
import { DEFAULT_LIMITS } from "../../../src/base/limits.ts";
import { openPostgresStore } from "../../../src/store/postgres/open.ts";
import { describeSchema } from "./describe-schema.ts";
import type { TestSchema } from "./schema.ts";
import { type PostgresServer, startPostgres } from "./server.ts";

declare module "vitest" {
  interface ProvidedContext {
    readonly postgres: string;
    /** Prefix of the names of the run's schemas. */
    readonly schemas: string;
    /** The result of `describeSchema` for a new store. */
    readonly newStore: string;
    /** Limit of connections that a process keeps for later tests. */
    readonly keptConnections: number;
  }
}

const SCHEMAS = `t_${process.pid.toString(36)}_${Date.now().toString(36)}_`;

let server: PostgresServer | undefined;

export async function setup(project: TestProject): Promise<void> {
  const named = process.env["DATABASE_URL"] || undefined;
  // No test simulates a power failure, so waiting for the disk at each commit would only take time.
  if (named === undefined) server = await startPostgres(["fsync=off", "max_connections=400"]);
  const url = named ?? server?.url ?? "";
  const { maxWorkers } = project.config;
  project.provide("keptConnections", Math.floor((await maxConnections(url)) / maxWorkers / 4));
  project.provide("postgres", url);
  project.provide("schemas", SCHEMAS);
  project.provide("newStore", await newStore(url));
}

/** Stops the run's own server with everything on it; on another server, drops the run's schemas. */
export async function teardown(): Promise<void> {
  const named = process.env["DATABASE_URL"];
  if (server === undefined && named) {
    await ask(named, async (query) => {
      const rows = await query("select nspname from pg_namespace where starts_with(nspname, $1)", [
        SCHEMAS,
      ]);
      for (const { nspname } of rows) await query(`drop schema ${nspname} cascade`);
    });
  }
  await server?.stop();
}

const maxConnections = (url: string): Promise<number> =>
  ask(url, async (query) => Number((await query("show max_connections"))[0]?.["max_connections"]));

async function newStore(url: string): Promise<string> {
  const schema = `${SCHEMAS}new`;
  const address = new URL(url);
  address.searchParams.set("schema", schema);
  const store = await openPostgresStore({ address: address.href, limits: DEFAULT_LIMITS });
  await store.close();
  return ask(url, async (query) => {
    const description = await describeSchema(query, schema);
    await query(`drop schema ${schema} cascade`);
    return description;
  });
}

async function ask<T>(url: string, act: (query: TestSchema["query"]) => Promise<T>): Promise<T> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    return await act(async (text, values = []) => (await client.query(text, [...values])).rows);
  } finally {
    await client.end();
  }
}
