/** Help, written from the table of commands. */
import type { Command } from "./command.ts";
import { flagOf, synopsisOf, usageOf } from "./parse.ts";
import { bold, dim, printLine, table } from "./terminal.ts";

export function printHelp(commands: readonly Command[]): void {
  printLine("Baton carries work from one AI agent to the next, and loses nothing on the way.");
  printLine();
  printCommands(commands, "baton help <command>");
}

/** Of the commands that begin with one word. */
export function printGroupHelp(word: string, commands: readonly Command[]): void {
  printCommands(commands, `baton help ${word} <command>`);
}

function printCommands(commands: readonly Command[], more: string): void {
  printLine(bold("Commands"));
  const rows = [...commands.map(rowOf), [`  ${more}`, "what a command takes"]];
  for (const row of table(rows)) printLine(row);
  printLine();
  printLine(dim("Every command knows --help; those that show data know --json."));
}

/** Choices that take more than this are listed by the help of their command alone. */
const MAX_CHOICES_LENGTH = 20;

const rowOf = (command: Command): string[] => [
  `  ${synopsisOf(command, MAX_CHOICES_LENGTH)}`,
  command.summary,
];

/** `group`: the commands that begin with its word, where it is that word. */
export function printCommandHelp(command: Command, group: readonly Command[] = []): void {
  printLine(command.summary);
  printLine();
  printLine(`${bold("Usage")}  ${usageOf(command)}`);
  const rows = [
    ...command.args.map(({ name, help }) => [`  <${name}>`, help]),
    ...Object.entries(command.options).map(([name, spec]) => [
      `  ${flagOf(name, spec)}`,
      spec.type === "texts" ? `${spec.help}; may be repeated` : spec.help,
    ]),
  ];
  if (rows.length > 0) printLine();
  for (const row of table(rows)) printLine(row);
  const others = group.filter((each) => each !== command);
  if (others.length === 0) return;
  printLine();
  printLine(bold("Also"));
  for (const row of table(others.map(rowOf))) printLine(row);
}
