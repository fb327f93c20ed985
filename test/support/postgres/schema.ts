/** A schema of its own for each test, dropped when it is over. */
import { randomUUID } from "node:crypto";
import pg from "pg";
import { inject } from "vitest";

export interface TestSchema extends AsyncDisposable {
  /** The store's address. */
  readonly address: string;
  readonly schema: string;
  query(text: string, values?: readonly unknown[]): Promise<Record<string, unknown>[]>;
}

export function postgresUrl(): string {
  return inject("postgres");
}

export function testSchema(url: string = postgresUrl()): TestSchema {
  const schema = `t_${randomUUID().replaceAll("-", "")}`;
  const address = new URL(url);
  address.searchParams.set("schema", schema);
  const pool = new pg.Pool({ connectionString: url, max: 2, allowExitOnIdle: true });
  pool.on("error", () => {}); // The test has ended the server: the next query finds it again.
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
