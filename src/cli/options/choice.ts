/** Checks values that must be one of several choices. */
import { nearestNames } from "../../base/nearest-names.ts";
import { didYouMean, usageError } from "../usage-error.ts";

/** Throws `message` with the nearest choices, or all of them, if the value is not one of them. */
export function requireChoice(
  given: string,
  choices: readonly string[] | undefined,
  { message, path }: { readonly message: string; readonly path: string },
): void {
  if (choices === undefined || choices.includes(given)) return;
  throw usageError(
    path,
    message,
    didYouMean(nearestNames(given, choices)) ?? `Use one of: ${choices.join(", ")}.`,
  );
}
