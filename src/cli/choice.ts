/** A word that can only be one of several. */
import { nearestNames } from "../nearest.ts";
import { didYouMean, mistake } from "./mistake.ts";

export function requireChoice(
  given: string,
  choices: readonly string[] | undefined,
  { what, path }: { readonly what: string; readonly path: string },
): void {
  if (choices === undefined || choices.includes(given)) return;
  throw mistake(
    path,
    `There is no ${what} "${given}".`,
    didYouMean(nearestNames(given, choices)) ?? `Known: ${choices.join(", ")}.`,
  );
}
