/** What a hub's answer says that went wrong, as the very error the hub threw; and what is no answer at all. */
import { BatonError, ERROR_CODES, type ErrorCode, type Violation } from "../../base/errors.ts";

/** The wire form of an error, as far as it can be believed. */
export interface Problem {
  readonly code: string;
  readonly message: string;
  readonly path?: string;
  readonly hint?: string;
  readonly violations?: readonly Violation[];
  readonly details?: Readonly<Record<string, unknown>>;
}

export function isProblem(value: unknown): value is Problem {
  if (typeof value !== "object" || value === null) return false;
  const { code, message } = value as Partial<Problem>;
  return typeof code === "string" && typeof message === "string";
}

export function errorOf(problem: Problem): BatonError {
  const { code, message, path, hint = "", violations, details } = problem;
  const isKnown = Object.hasOwn(ERROR_CODES, code);
  return new BatonError(isKnown ? (code as ErrorCode) : "internal", {
    message,
    hint,
    ...(path === undefined ? {} : { path }),
    ...(violations === undefined ? {} : { violations }),
    // A newer hub may have codes that are not known here.
    details: isKnown ? (details ?? {}) : { ...details, code },
  });
}

export function hubUnreachable(hub: string, why: string, cause?: unknown): BatonError {
  return new BatonError("hub_unreachable", {
    message: `The hub at ${hub} could not be reached: ${why}.`,
    path: "address",
    hint: "Check the address, and that the hub runs there (baton serve); then try again.",
    ...(cause === undefined ? {} : { cause }),
  });
}

/** fetch hides what happened in the cause of its error. */
export function networkReason(error: unknown): string {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  if (!(cause instanceof Error)) return "no connection";
  return (cause as NodeJS.ErrnoException).code ?? cause.message;
}

export function hubClosed(hub: string): BatonError {
  return new BatonError("store_closed", {
    message: `The hub at ${hub} was closed here.`,
    path: "hub",
    hint: "Open it again with openHub().",
  });
}
