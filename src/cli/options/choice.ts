/** A word that can only be one of several. */
import { nearestNames } from "../../base/nearest-names.ts";
import { didYouMean, usageError } from "../usage-error.ts";

export function requireChoice(
  given: string,
  choices: readonly string[] | undefined,
  { message, path }: { readonly message: string; readonly path: string },
): void {
  if (choices === undefined || choices.includes(given)) return;
  throw usageError(
    path,
    message,
    didYouMean(nearestNames(given, choices)) ?? `Known: ${choices.join(", ")}.`,
  );
}
