/** Classifies errors of PostgreSQL and the network, and translates them into `BatonError`s. */
import { DatabaseError } from "pg";
import { BatonError, type ErrorCode } from "../../base/errors.ts";

/** SQLSTATE codes (postgresql.org/docs/current/errcodes-appendix.html). */
const DENIED = new Set(["28000", "28P01", "42501"]);
const MISSING = new Set(["3D000"]);
const READ_ONLY = new Set(["25006"]);
const FULL = new Set(["53100", "53200", "54000"]);
const TOO_MANY_CONNECTIONS = new Set(["53300"]);
/** Aborted because of a conflict or a timeout: nothing was committed. */
const ABORTED = new Set(["40001", "40P01", "55P03", "57014"]);
/** The server closes this connection, or does not accept connections yet. */
const SHUTTING_DOWN = new Set(["57P01", "57P02", "57P03", "57P05", "25P03", "25P04"]);

/** Returns the SQLSTATE of an error; empty if it does not come from the server. */
export const sqlState = (error: unknown): string =>
  error instanceof DatabaseError ? (error.code ?? "") : "";

/** Returns whether the connection is lost or could not be opened: a new one may work. */
export function isDisconnected(error: unknown): boolean {
  if (error instanceof BatonError) return false;
  const state = sqlState(error);
  if (state !== "") return SHUTTING_DOWN.has(state) || state.startsWith("08");
  return (
    error instanceof Error && (isSystemError(error) || DISCONNECTED_MESSAGE.test(error.message))
  );
}

/** Messages of the driver, which has no error codes. */
const DISCONNECTED_MESSAGE = /connection|not queryable|timeout expired|read timeout/i;
const NO_PASSWORD = /^SASL: .*password/;
const POOL_EXHAUSTED_MESSAGE = /timeout exceeded when trying to connect/;

const isDriverError = (error: unknown): boolean =>
  error instanceof Error &&
  (NO_PASSWORD.test(error.message) || POOL_EXHAUSTED_MESSAGE.test(error.message));

/** Returns whether a unique index rejected a row. */
export const isDuplicate = (error: unknown): boolean => sqlState(error) === "23505";

/** Returns whether the host name could not be resolved. */
export const isUnknownHost = (error: unknown): boolean =>
  error instanceof Error && "code" in error && error.code === "ENOTFOUND";

/** Returns whether a retry may succeed; nothing was committed. */
export const isTransient = (error: unknown): boolean =>
  ABORTED.has(sqlState(error)) || TOO_MANY_CONNECTIONS.has(sqlState(error));

/** Returns whether the statement itself is the cause, not the state of the server or the network. */
export const isStatementError = (error: unknown): boolean =>
  sqlState(error) !== "" && !isTransient(error) && !isDisconnected(error);

function isSystemError(error: Error): boolean {
  return "syscall" in error || ("code" in error && /^E[A-Z]+$/.test(String(error.code)));
}

/** Returns a `BatonError` for errors of the server or the network, and any other error unchanged (a bug). */
export function storeFailure(error: unknown, store: string): unknown {
  if (error instanceof BatonError) return error;
  if (!(error instanceof DatabaseError) && !isDisconnected(error) && !isDriverError(error)) {
    return error;
  }
  const { code, message, hint } = explain(error as Error);
  return new BatonError(code, {
    message: `${store}: ${message}`,
    path: store,
    hint,
    details: { sqlstate: sqlState(error) },
    cause: error,
  });
}

interface Explanation {
  readonly code: ErrorCode;
  readonly message: string;
  readonly hint: string;
}

function explain(error: Error): Explanation {
  const state = sqlState(error);
  const say = (code: ErrorCode, hint: string): Explanation => ({
    code,
    message: `${error.message}.`,
    hint,
  });
  if (POOL_EXHAUSTED_MESSAGE.test(error.message)) {
    const message = "all connections for reading are in use.";
    return { code: "store_busy", message, hint: "Retry, or raise ?pool= in the address." };
  }
  if (DENIED.has(state) || NO_PASSWORD.test(error.message)) {
    return say("store_denied", "Check user and password, and the user's privileges on the schema.");
  }
  if (MISSING.has(state)) {
    return say("store_missing", "Create the database: createdb <name>.");
  }
  if (READ_ONLY.has(state)) {
    return say("store_read_only", "Connect to the primary server: this one is read-only.");
  }
  if (FULL.has(state))
    return say("store_full", "Free disk space or memory on the server, then retry.");
  if (TOO_MANY_CONNECTIONS.has(state)) {
    return say("store_busy", "Raise the server's max_connections, or use a connection pooler.");
  }
  if (ABORTED.has(state)) {
    return say("store_busy", "Retry (nothing was committed), and check the server's timeouts.");
  }
  return say("store_unavailable", "Check that the server is running and reachable, then retry.");
}
