/**
 * `postgres://user:password@host:port/database`, with what the driver understands (sslmode,
 * application_name, host of a socket …) and, of our own:
 *
 *   schema=baton        where the tables are; several stores can share a database
 *   pool=4              connections for reading; writing and listening have one each
 *   pgbouncer=true      the address is a pooler's: nothing is prepared by name, and there is no
 *                       listening, so that wake-ups from other hubs wait for the next look
 */
import { BatonError } from "../../base/errors.ts";

export interface PostgresAddress {
  /** For the driver. */
  readonly url: string;
  readonly schema: string;
  readonly pool: number;
  readonly pgbouncer: boolean;
  /** For people: without user and password. */
  readonly name: string;
}

const DEFAULT_POOL = 4;
const MAX_POOL = 100;

export function isPostgresAddress(address: unknown): address is string {
  return typeof address === "string" && /^postgres(ql)?:/.test(address);
}

export function parsePostgresAddress(address: string): PostgresAddress {
  const url = parseUrl(address);
  const schema = takeParameter(url, "schema") ?? "baton";
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(schema)) {
    throw invalidAddressError(
      "schema",
      "must be a lower-case name of letters, digits and _, at most 63 long",
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
  if (!URL.canParse(address)) throw invalidAddressError("address", "is no URL");
  const url = new URL(address);
  // What is left of a password that was not encoded would stand in the path, and be shown.
  const misplaced = !/^\w+:\/\//.test(address) || url.pathname.includes("@");
  if (misplaced || !isEncoded(url)) throw invalidAddressError("address", "is no URL of a database");
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

/** Shows nothing of the address itself: it may hold a password. */
function invalidAddressError(path: string, what: string): BatonError {
  return new BatonError("invalid_input", {
    message: `The PostgreSQL address: ${path} ${what}.`,
    path,
    hint: "Write postgres://user:password@host:5432/database?schema=baton, with special characters in the password percent-encoded.",
  });
}
