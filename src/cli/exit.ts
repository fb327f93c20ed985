/** Exit codes of the command line: 0, the exit code of an error code, or 70 for a bug in Baton. */
import { ERROR_CODES } from "../base/errors.ts";

/** Success. */
export const OK = 0;
/** `verify` found a record that differs from what was written. */
export const VERIFY_FAILED = ERROR_CODES.store_corrupt.exit;
/** `lint` reported an error. */
export const LINT_FAILED = ERROR_CODES.lint_refused.exit;
/** A bug in Baton: EX_SOFTWARE of sysexits. */
export const BUG = 70;
