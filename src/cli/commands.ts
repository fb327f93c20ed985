/** Loads every command, in the order help lists them; used by help, hints and the generated reference. */
import type { Command } from "./command.ts";
import { COMMAND_LOADERS } from "./command-loaders.ts";

/** All commands of the command line. */
export const COMMANDS: readonly Command[] = (
  await Promise.all(Object.values(COMMAND_LOADERS).map((load) => load()))
).flat();
