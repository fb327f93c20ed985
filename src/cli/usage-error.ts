/** Creates errors about a command line, and "Did you mean …?" hints. */
import { BatonError } from "../base/errors.ts";

/** Returns an `invalid_input` error about the argument or option `path`. */
export function usageError(path: string, message: string, hint: string): BatonError {
  return new BatonError("invalid_input", { path, message, hint });
}

/** Returns a hint with the nearest names, or undefined if there are none. */
export function didYouMean(near: readonly string[]): string | undefined {
  return near.length === 0 ? undefined : `Did you mean ${near.join(" or ")}?`;
}
