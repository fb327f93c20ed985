/** The result of one check of `baton doctor`: status, finding and fix. */
import { type ErrorCode, isBatonError } from "../../base/errors.ts";
import { hintFor } from "../hints.ts";

/** `found` is what the check found, `fix` how to fix it. */
export type CheckResult =
  | { readonly check: string; readonly status: "ok"; readonly found: string }
  | {
      readonly check: string;
      readonly status: "warn";
      readonly found: string;
      readonly fix: string;
    }
  | {
      readonly check: string;
      readonly status: "fail";
      readonly found: string;
      readonly fix: string;
      /** The error code; the command exits with the code of the first failure. */
      readonly code: ErrorCode;
    };

/** Returns a passed check. */
export const ok = (check: string, found: string): CheckResult => ({ check, status: "ok", found });

/** Returns a warning with its fix. */
export const warn = (check: string, found: string, fix: string): CheckResult => ({
  check,
  status: "warn",
  found,
  fix,
});

/** Turns a library error into a failed check; rethrows anything else, which is a bug. */
export function failed(check: string, error: unknown): CheckResult {
  if (!isBatonError(error)) throw error;
  const { code, message } = error;
  return { check, status: "fail", found: message, fix: hintFor(error), code };
}
