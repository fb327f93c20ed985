/** One thing `baton doctor` looked at: how it is, what was found, and what to do about it. */
import { type ErrorCode, isBatonError } from "../../base/errors.ts";
import { hintFor } from "../hints.ts";

export type CheckResult =
  | { readonly check: string; readonly status: "ok"; readonly found: string }
  | {
      readonly check: string;
      readonly status: "warn";
      readonly found: string;
      readonly mend: string;
    }
  | {
      readonly check: string;
      readonly status: "fail";
      readonly found: string;
      readonly mend: string;
      /** Of the error table: the command exits with that of the first. */
      readonly code: ErrorCode;
    };

export const ok = (check: string, found: string): CheckResult => ({ check, status: "ok", found });

export const warn = (check: string, found: string, mend: string): CheckResult => ({
  check,
  status: "warn",
  found,
  mend,
});

/** What an error of the library says; anything else is a bug, and no finding. */
export function failed(check: string, error: unknown): CheckResult {
  if (!isBatonError(error)) throw error;
  const { code, message, hint } = error;
  return { check, status: "fail", found: message, mend: hintFor(error) ?? hint, code };
}
