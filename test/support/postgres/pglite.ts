/**
 * PostgreSQL in this process (PGlite) with pgvector, for statements that need the extension, which
 * the server from npm does not have. It has one connection and no socket: modules that run SQL get
 * a reader on it; the store as a whole, which needs several connections, cannot use it.
 */
import { PGlite } from "@electric-sql/pglite";
import { vector } from "@electric-sql/pglite-pgvector";
import type pg from "pg";
import { parsePostgresAddress } from "../../../src/store/postgres/address.ts";
import type { ExecuteSql } from "../../../src/store/postgres/archive/export.ts";
import type { StatementRunner } from "../../../src/store/postgres/lines.ts";
import { migrate } from "../../../src/store/postgres/migrations.ts";
import { statementsIn } from "../../../src/store/postgres/statements.ts";

const INT8 = 20;
const BYTEA = 17;
const SCHEMA = "baton";

export interface InProcess extends AsyncDisposable {
  readonly reader: StatementRunner;
  readonly ask: ExecuteSql;
  /** Runs operations that write in one transaction, as the store does. */
  inOneGo<T>(act: (reader: StatementRunner) => Promise<T>): Promise<T>;
}

/** Starts PGlite with a store's tables; the extension is available but not created. */
export async function startPglite(): Promise<InProcess> {
  const db = await PGlite.create({
    extensions: { vector },
    // Parses values like the driver (connection.ts).
    parsers: { [INT8]: Number, [BYTEA]: (hex) => Buffer.from(hex.slice(2), "hex") },
  });
  const rowsOf = async (text: string, values: readonly unknown[]): Promise<unknown[][]> =>
    (await db.query<unknown[]>(text, [...values], { rowMode: "array" })).rows;
  // Only what migrate() uses of a client: several statements at once, or one with values.
  const client = {
    query: async (text: string, values?: unknown[]) =>
      values === undefined ? (await db.exec(text)).at(-1) : db.query(text, values),
  };
  const address = parsePostgresAddress(`postgres://127.0.0.1/postgres?schema=${SCHEMA}`);
  await migrate(client as unknown as pg.Client, address, { create: true });
  const reader: StatementRunner = {
    sql: statementsIn(SCHEMA),
    read: ({ text }, values) => rowsOf(text, values),
  };
  return {
    reader,
    ask: (text, values) => rowsOf(text.replaceAll("$schema", SCHEMA), values),
    async inOneGo(act) {
      await db.exec("begin");
      try {
        const outcome = await act(reader);
        await db.exec("commit");
        return outcome;
      } catch (error) {
        await db.exec("rollback");
        throw error;
      }
    },
    [Symbol.asyncDispose]: () => db.close(),
  };
}
