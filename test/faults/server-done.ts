/** Waits for a server that still executes what a killed process had sent. */
import pg from "pg";
import { isPostgresAddress, parsePostgresAddress } from "../../src/store/postgres/address.ts";
import { until } from "../support/until.ts";

/** Returns the store address with an application name for its connections. */
export function withConnectionName(address: string, name: string): string {
  if (!isPostgresAddress(address)) return address;
  const url = new URL(address);
  url.searchParams.set("application_name", name);
  return url.href;
}

/**
 * Waits until the server has closed all connections with the address's application name, if any.
 */
export async function serverIsDone(address: string): Promise<void> {
  const name = isPostgresAddress(address) && new URL(address).searchParams.get("application_name");
  if (!name) return;
  const client = new pg.Client(parsePostgresAddress(address).url);
  await client.connect();
  try {
    await until(`the connections of ${name} are closed`, async () => {
      const { rowCount } = await client.query(
        "select 1 from pg_stat_activity where application_name = $1 and pid <> pg_backend_pid()",
        [name],
      );
      return rowCount === 0;
    });
  } finally {
    await client.end();
  }
}
