/** What the command line exits with: 0, a code of the error table, or 70 for a bug of ours. */
import { ERROR_CODES } from "../base/errors.ts";

export const OK = 0;
/** `verify` found something that is not as it was written. */
export const VERIFY_FAILED = ERROR_CODES.store_corrupt.exit;
/** `lint` found an error. */
export const LINT_FAILED = ERROR_CODES.lint_refused.exit;
/** EX_SOFTWARE of sysexits. */
export const BUG = 70;
