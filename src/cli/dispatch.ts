/** Finds the command that the words of a command line name, and runs it. */
import type { Command } from "./command.ts";
import { COMMAND_LOADERS } from "./command-loaders.ts";
import { OK } from "./exit.ts";
import { parseCall, unknownCommand } from "./parse.ts";

const isHelp = (word: string | undefined): boolean => word === "--help" || word === "-h";

/** Runs the command, or prints help, and returns the exit code; throws for an unknown command. */
export async function dispatch(words: readonly string[]): Promise<number> {
  const [word, ...rest] = words;
  if (word === undefined || isHelp(word)) return help([]);
  if (word === "help") return help(rest);
  const commands = await commandsOf(word);
  const found = findCommand(word, rest, commands);
  if (found === undefined) return help([word]);
  const call = parseCall(found.command, found.rest, commands);
  return call === undefined ? help(found.command.name.split(" ")) : found.command.run(call);
}

async function help([word, ...rest]: readonly string[]): Promise<number> {
  const {
    printCommandHelp: sayCommandHelp,
    printGroupHelp: sayGroupHelp,
    printHelp: sayHelp,
  } = await import("./help.ts");
  if (word === undefined) {
    const { COMMANDS } = await import("./commands.ts");
    sayHelp(COMMANDS);
    return OK;
  }
  const commands = await commandsOf(word);
  const found = findCommand(word, rest, commands);
  if (found === undefined) sayGroupHelp(word, commands);
  else sayCommandHelp(found.command, found.command.name === word ? commands : []);
  return OK;
}

async function commandsOf(word: string): Promise<readonly Command[]> {
  const load = Object.hasOwn(COMMAND_LOADERS, word) ? COMMAND_LOADERS[word] : undefined;
  if (load !== undefined) return load();
  throw unknownCommand(word, [...Object.keys(COMMAND_LOADERS), "help", "--help", "--version"]);
}

/**
 * Finds the command with these two words, else the one named by the first word alone. Returns undefined
 * when only help of the group can be shown.
 */
function findCommand(
  word: string,
  rest: readonly string[],
  commands: readonly Command[],
): { readonly command: Command; readonly rest: readonly string[] } | undefined {
  const [second, ...others] = rest;
  const command = commands.find(({ name }) => name === `${word} ${second}`);
  if (command !== undefined) return { command, rest: others };
  const single = commands.find(({ name }) => name === word);
  if (single !== undefined) return { command: single, rest };
  if (second === undefined || isHelp(second)) return undefined;
  throw unknownCommand(
    `${word} ${second}`,
    commands.map(({ name }) => name),
  );
}
