/** Every command, loaded, in the order help shows them: for help, for hints, and for the pages. */
import type { Command } from "./command.ts";
import { WORDS } from "./words.ts";

export const COMMANDS: readonly Command[] = (
  await Promise.all(Object.values(WORDS).map((load) => load()))
).flat();
