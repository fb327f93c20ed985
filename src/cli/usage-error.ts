/** What is wrong with a command line, with the word that may have been meant. */
import { BatonError } from "../base/errors.ts";

export function usageError(path: string, message: string, hint: string): BatonError {
  return new BatonError("invalid_input", { path, message, hint });
}

export function didYouMean(near: readonly string[]): string | undefined {
  return near.length === 0 ? undefined : `Did you mean ${near.join(" or ")}?`;
}
