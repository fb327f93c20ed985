/** Finds the command a line of words names, and lets it run. */
import type { Command } from "./command.ts";
import { COMMANDS } from "./commands.ts";
import { OK } from "./exit.ts";
import { sayCommandHelp, sayHelp } from "./help.ts";
import { parseCall, unknownCommand } from "./parse.ts";

export async function dispatch([word, ...rest]: readonly string[]): Promise<number> {
  if (word === undefined || word === "--help" || word === "-h") return help(undefined);
  if (word === "help") return help(rest[0]);
  const command = commandNamed(word);
  const call = parseCall(command, rest);
  return call === undefined ? help(word) : command.run(call);
}

function help(word: string | undefined): number {
  if (word === undefined) sayHelp(COMMANDS);
  else sayCommandHelp(commandNamed(word));
  return OK;
}

function commandNamed(word: string): Command {
  const found = COMMANDS.find(({ name }) => name === word);
  if (found !== undefined) return found;
  throw unknownCommand(word, [...COMMANDS.map(({ name }) => name), "help", "--help", "--version"]);
}
