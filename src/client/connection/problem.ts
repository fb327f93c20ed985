/** Turns problem responses back into the errors that the hub threw, and creates errors of the connection. */
import { BatonError, ERROR_CODES, type ErrorCode, type Violation } from "../../base/errors.ts";

/** The fields of a problem response that the client uses. */
export interface Problem {
  readonly code: string;
  readonly message: string;
  readonly path?: string;
  readonly hint?: string;
  readonly violations?: readonly Violation[];
  readonly details?: Readonly<Record<string, unknown>>;
}

/** Returns whether a value is a problem response of a hub. */
export function isProblem(value: unknown): value is Problem {
  if (typeof value !== "object" || value === null) return false;
  const { code, message } = value as Partial<Problem>;
  return typeof code === "string" && typeof message === "string";
}

/** Returns the error that the hub threw. */
export function errorOf(problem: Problem): BatonError {
  const { code, message, path, hint = "", violations, details } = problem;
  const isKnown = Object.hasOwn(ERROR_CODES, code);
  return new BatonError(isKnown ? (code as ErrorCode) : "internal", {
    message,
    hint,
    ...(path === undefined ? {} : { path }),
    ...(violations === undefined ? {} : { violations }),
    // A newer hub can have codes that this client does not know.
    details: isKnown ? (details ?? {}) : { ...details, code },
  });
}

/** The error of a hub that cannot be reached. */
export function hubUnreachable(hub: string, why: string, cause?: unknown): BatonError {
  return new BatonError("hub_unreachable", {
    message: `Cannot reach the hub at ${hub}: ${why}.`,
    path: "address",
    hint: "Check the address and that the hub is running (baton start), then retry.",
    ...(cause === undefined ? {} : { cause }),
  });
}

/** Returns the reason of a network error, which fetch puts into the cause of its error. */
export function networkReason(error: unknown): string {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  if (!(cause instanceof Error)) return "no connection";
  return (cause as NodeJS.ErrnoException).code ?? cause.message;
}

/** The error of calls after `hub.close()`. */
export function hubClosed(hub: string): BatonError {
  return new BatonError("store_closed", {
    message: `The client of the hub at ${hub} is closed.`,
    path: "hub",
    hint: "Open it again with openHub().",
  });
}
