/** Help, written from the table of commands. */
import type { Command } from "./command.ts";
import { flagOf, usageOf, wordsOf } from "./parse.ts";
import { bold, dim, say, table } from "./terminal.ts";

export function sayHelp(commands: readonly Command[]): void {
  say("Baton carries work from one AI agent to the next, and loses nothing on the way.");
  say();
  sayCommands(commands, "baton help <command>");
}

/** Of the commands that begin with one word. */
export function sayGroupHelp(word: string, commands: readonly Command[]): void {
  sayCommands(commands, `baton help ${word} <command>`);
}

function sayCommands(commands: readonly Command[], more: string): void {
  say(bold("Commands"));
  const rows = commands.map((command) => [`  ${wordsOf(command)}`, command.summary]);
  for (const row of table([...rows, [`  ${more}`, "what a command takes"]])) say(row);
  say();
  say(dim("Every command knows --help; those that show data know --json."));
}

export function sayCommandHelp(command: Command): void {
  say(command.summary);
  say();
  say(`${bold("Usage")}  ${usageOf(command)}`);
  const rows = [
    ...command.args.map(({ name, help }) => [`  <${name}>`, help]),
    ...Object.entries(command.options).map(([name, spec]) => [
      `  ${flagOf(name, spec)}`,
      spec.type === "texts" ? `${spec.help}; may be repeated` : spec.help,
    ]),
  ];
  if (rows.length > 0) say();
  for (const row of table(rows)) say(row);
}
