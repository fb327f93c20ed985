/** What PostgreSQL and the network report, as the errors callers know. */
import { DatabaseError } from "pg";
import { BatonError, type ErrorCode } from "../../base/errors.ts";

/** SQLSTATE codes (postgresql.org/docs/current/errcodes-appendix.html). */
const DENIED = new Set(["28000", "28P01", "42501"]);
const MISSING = new Set(["3D000"]);
const READ_ONLY = new Set(["25006"]);
const FULL = new Set(["53100", "53200", "54000"]);
const TOO_MANY_CONNECTIONS = new Set(["53300"]);
/** Given up in favour of somebody else, or for taking too long: nothing of it was kept. */
const ABORTED = new Set(["40001", "40P01", "55P03", "57014"]);
/** The server ends this connection, or does not accept any yet. */
const SHUTTING_DOWN = new Set(["57P01", "57P02", "57P03", "57P05", "25P03", "25P04"]);

export const sqlState = (error: unknown): string =>
  error instanceof DatabaseError ? (error.code ?? "") : "";

/** The connection is gone (or never was): a new one may work. */
export function isDisconnected(error: unknown): boolean {
  if (error instanceof BatonError) return false;
  const state = sqlState(error);
  if (state !== "") return SHUTTING_DOWN.has(state) || state.startsWith("08");
  return (
    error instanceof Error && (isSystemError(error) || DISCONNECTED_MESSAGE.test(error.message))
  );
}

/** What the driver says, which has no codes of its own. */
const DISCONNECTED_MESSAGE = /connection|not queryable|timeout expired|read timeout/i;
const NO_PASSWORD = /^SASL: .*password/;
const POOL_EXHAUSTED_MESSAGE = /timeout exceeded when trying to connect/;

const isDriverError = (error: unknown): boolean =>
  error instanceof Error &&
  (NO_PASSWORD.test(error.message) || POOL_EXHAUSTED_MESSAGE.test(error.message));

/** A unique index has it already. */
export const isDuplicate = (error: unknown): boolean => sqlState(error) === "23505";

export const isUnknownHost = (error: unknown): boolean =>
  error instanceof Error && "code" in error && error.code === "ENOTFOUND";

/** Tried again, it may go through; nothing of it was kept. */
export const isTransient = (error: unknown): boolean =>
  ABORTED.has(sqlState(error)) || TOO_MANY_CONNECTIONS.has(sqlState(error));

/** Neither the server's nor the network's state is to blame: it is about what was asked. */
export const isStatementError = (error: unknown): boolean =>
  sqlState(error) !== "" && !isTransient(error) && !isDisconnected(error);

function isSystemError(error: Error): boolean {
  return "syscall" in error || ("code" in error && /^E[A-Z]+$/.test(String(error.code)));
}

/** A `BatonError` for what the server or the network said; anything else is our bug, unchanged. */
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
    return { code: "store_busy", message, hint: "Try again, or raise ?pool= in the address." };
  }
  if (DENIED.has(state) || NO_PASSWORD.test(error.message)) {
    return say("store_denied", "Check user and password, and that the user may use the schema.");
  }
  if (MISSING.has(state)) {
    return say("store_missing", "Create the database first: createdb <name>.");
  }
  if (READ_ONLY.has(state)) {
    return say("store_read_only", "Connect to the primary server: this one only answers reads.");
  }
  if (FULL.has(state)) return say("store_full", "Make room on the server, then try again.");
  if (TOO_MANY_CONNECTIONS.has(state)) {
    return say("store_busy", "Raise the server's max_connections, or put a pooler before it.");
  }
  if (ABORTED.has(state)) {
    return say("store_busy", "Nothing of it was kept. Try again; look at the server's timeouts.");
  }
  return say("store_unavailable", "Check that the server runs and can be reached, then try again.");
}
