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
  const rows = [...commands.map(rowOf), [`  ${more}`, "what a command takes"]];
  for (const row of table(rows)) say(row);
  say();
  say(dim("Every command knows --help; those that show data know --json."));
}

/** Choices that take more than this are listed by the help of their command alone. */
const MOST_CHOICES = 20;

const rowOf = (command: Command): string[] => [
  `  ${wordsOf(command, MOST_CHOICES)}`,
  command.summary,
];

/** `group`: the commands that begin with its word, where it is that word. */
export function sayCommandHelp(command: Command, group: readonly Command[] = []): void {
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
  const others = group.filter((each) => each !== command);
  if (others.length === 0) return;
  say();
  say(bold("Also"));
  for (const row of table(others.map(rowOf))) say(row);
}
