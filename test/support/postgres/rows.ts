/**
 * Returns the rows of a workspace in PostgreSQL, read without Baton; without ballast and the index.
 */
import pg from "pg";
import { parsePostgresAddress } from "../../../src/store/postgres/address.ts";
import type { StoreDump, StoreRow } from "../store-dump.ts";
import type { TestSchema } from "./schema.ts";

const TABLES = [
  ...["agents", "agent_names", "chains", "memories", "relations", "envelopes", "deliveries"],
  ...["attempts", "events"],
];

export async function workspaceRows(
  { schema, query }: Pick<TestSchema, "schema" | "query">,
  workspace = "default",
): Promise<StoreDump> {
  const dump: Record<string, readonly StoreRow[]> = {};
  for (const table of TABLES) {
    const rows = await query(
      `select row_to_json(t) as row from ${schema}.${table} t
       where workspace = (select key from ${schema}.workspaces where name = $1)`,
      [workspace],
    );
    dump[table] = rows.map(({ row }) => withoutKey(row as StoreRow)).sort(byText);
  }
  dump["workspaces"] = (await query(
    `select position::float8 as position, event::float8 as event
     from ${schema}.workspaces where name = $1`,
    [workspace],
  )) as StoreRow[];
  return dump;
}

/** Runs SQL in the store's schema, without Baton. */
export async function runAt(address: string, sql: string): Promise<void> {
  const { url, schema } = parsePostgresAddress(address);
  const client = new pg.Client(url);
  await client.connect();
  try {
    await client.query(`set search_path = ${schema}`);
    await client.query(sql);
  } finally {
    await client.end();
  }
}

/** Returns the same, given only the store's address. */
export async function rowsAtAddress(address: string): Promise<StoreDump> {
  const { url, schema } = parsePostgresAddress(address);
  const client = new pg.Client(url);
  await client.connect();
  try {
    const query: TestSchema["query"] = async (text, values = []) =>
      (await client.query(text, values as unknown[])).rows;
    return await workspaceRows({ schema, query });
  } finally {
    await client.end();
  }
}

/** Removes the workspace's number, which differs between databases. */
function withoutKey({ workspace: _, ...row }: StoreRow): StoreRow {
  return row;
}

function byText(one: StoreRow, other: StoreRow): number {
  return JSON.stringify(one) < JSON.stringify(other) ? -1 : 1;
}
