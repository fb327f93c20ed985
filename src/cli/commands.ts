/** Every command, loaded, in the order help shows them: for help, for hints, and for the pages. */
import type { Command } from "./command.ts";
import { COMMAND_LOADERS } from "./command-loaders.ts";

export const COMMANDS: readonly Command[] = (
  await Promise.all(Object.values(COMMAND_LOADERS).map((load) => load()))
).flat();
