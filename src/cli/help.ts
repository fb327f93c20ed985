/** Prints help for all commands, a group of commands or one command, from their descriptions. */
import type { Command } from "./command.ts";
import { flagOf, synopsisOf, usageOf } from "./parse.ts";
import { bold, dim, printLine, table } from "./terminal.ts";

/** Prints the list of all commands. */
export function printHelp(commands: readonly Command[]): void {
  printLine("Baton hands work from one AI agent to the next and keeps their shared memory.");
  printLine();
  printCommands(commands, "baton help <command>");
}

/** Prints the commands that share a first word. */
export function printGroupHelp(word: string, commands: readonly Command[]): void {
  printCommands(commands, `baton help ${word} <command>`);
}

function printCommands(commands: readonly Command[], more: string): void {
  printLine(bold("Commands"));
  const rows = [
    ...commands.map(rowOf),
    [`  ${more}`, "Show the arguments and options of a command"],
  ];
  for (const row of table(rows)) printLine(row);
  printLine();
  printLine(dim("Every command accepts --help; commands that print data accept --json."));
}

/** Longer lists of choices are shown only in the help of their command. */
const MAX_CHOICES_LENGTH = 20;

const rowOf = (command: Command): string[] => [
  `  ${synopsisOf(command, MAX_CHOICES_LENGTH)}`,
  command.summary,
];

/** Prints the help of one command. `group`: commands that share its first word, listed under "Also". */
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
