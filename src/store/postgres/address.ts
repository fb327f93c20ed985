/**
 * Parses PostgreSQL addresses: `postgres://user:password@host:port/database`, with the parameters of the
 * driver (sslmode, application_name, host of a socket, …) and these of Baton:
 *
 *   schema=baton        schema of the tables; several stores can share a database
 *   pool=4              connections for reading; writing and listening use their own
 *   pgbouncer=true      the address is that of a pooler: statements are not prepared by name, and the hub
 *                       does not listen, so that it finds work from other hubs when it next polls
 */
import { BatonError } from "../../base/errors.ts";

/** A parsed address. */
export interface PostgresAddress {
  /** Connection string for the driver. */
  readonly url: string;
  readonly schema: string;
  /** Maximum number of connections for reading. */
  readonly pool: number;
  readonly pgbouncer: boolean;
  /** For messages: without user and password. */
  readonly name: string;
}

const DEFAULT_POOL = 4;
const MAX_POOL = 100;

/** Returns whether an address is that of a PostgreSQL store. */
export function isPostgresAddress(address: unknown): address is string {
  return typeof address === "string" && /^postgres(ql)?:/.test(address);
}

/** Parses an address. Throws `invalid_input` without showing the address, which may contain a password. */
export function parsePostgresAddress(address: string): PostgresAddress {
  const url = parseUrl(address);
  const schema = takeParameter(url, "schema") ?? "baton";
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(schema)) {
    throw invalidAddressError(
      "schema",
      "must be a name of lowercase letters, digits and _, with at most 63 characters",
    );
  }
  const pool = Number(takeParameter(url, "pool") ?? DEFAULT_POOL);
  if (!Number.isInteger(pool) || pool < 1 || pool > MAX_POOL) {
    throw invalidAddressError("pool", `must be a whole number from 1 to ${MAX_POOL}`);
  }
  const pgbouncer = takeParameter(url, "pgbouncer") ?? "false";
  if (pgbouncer !== "true" && pgbouncer !== "false") {
    throw invalidAddressError("pgbouncer", "must be true or false");
  }
  const name = `postgres ${url.host}${url.pathname} (${schema})`;
  return { url: url.href, schema, pool, pgbouncer: pgbouncer === "true", name };
}

function parseUrl(address: string): URL {
  if (!URL.canParse(address)) throw invalidAddressError("address", "is not a URL");
  const url = new URL(address);
  // The rest of a password that was not encoded would be part of the path, and be shown.
  const misplaced = !/^\w+:\/\//.test(address) || url.pathname.includes("@");
  if (misplaced || !isEncoded(url)) throw invalidAddressError("address", "is not a database URL");
  return url;
}

function isEncoded({ username, password, hostname, pathname }: URL): boolean {
  try {
    for (const part of [username, password, hostname, pathname]) decodeURIComponent(part);
    return true;
  } catch {
    return false;
  }
}

function takeParameter(url: URL, name: string): string | undefined {
  const value = url.searchParams.get(name) ?? undefined;
  url.searchParams.delete(name);
  return value;
}

/** Does not show the address itself: it may contain a password. */
function invalidAddressError(path: string, what: string): BatonError {
  return new BatonError("invalid_input", {
    message: `Invalid PostgreSQL address: ${path} ${what}.`,
    path,
    hint: "Write postgres://user:password@host:5432/database?schema=baton, with special characters in the password percent-encoded.",
  });
}
