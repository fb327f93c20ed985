/** A word that can only be one of several. */
import { nearestNames } from "../../base/nearest.ts";
import { didYouMean, mistake } from "../mistake.ts";

export function requireChoice(
  given: string,
  choices: readonly string[] | undefined,
  { message, path }: { readonly message: string; readonly path: string },
): void {
  if (choices === undefined || choices.includes(given)) return;
  throw mistake(
    path,
    message,
    didYouMean(nearestNames(given, choices)) ?? `Known: ${choices.join(", ")}.`,
  );
}
