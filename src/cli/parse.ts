/** Parses the words of a command line into a call; errors suggest the command or option that was meant. */
import { parseArgs } from "node:util";
import type { BatonError } from "../base/errors.ts";
import { nearestNames } from "../base/nearest-names.ts";
import type { Call, Command, OptionSpec, OptionSpecs } from "./command.ts";
import { requireChoice } from "./options/choice.ts";
import { readValue } from "./options/option-value.ts";
import { didYouMean, usageError } from "./usage-error.ts";

const HELP = { type: "flag", help: "show this help" } as const;

/**
 * Parses the arguments and options of a command; returns undefined when help was requested.
 * `siblings`: commands with the same first word. Throws `invalid_input` for anything it cannot parse.
 */
export function parseCall(
  command: Command,
  words: readonly string[],
  siblings: readonly Command[] = [],
): Call | undefined {
  const specs: OptionSpecs = { ...command.options, help: HELP };
  const { tokens } = parseArgs({
    args: [...words],
    options: Object.fromEntries(
      Object.entries(specs).map(([name, { type }]) => [
        name,
        { type: type === "flag" ? "boolean" : "string", ...(name === "help" && { short: "h" }) },
      ]),
    ),
    allowPositionals: true,
    strict: false, // Its errors do not suggest the option that was meant; ours do.
    tokens: true,
  });
  const options: Record<string, unknown> = {};
  const args: string[] = [];
  for (const token of tokens) {
    if (token.kind === "positional") args.push(token.value);
    if (token.kind !== "option") continue;
    const spec = Object.hasOwn(specs, token.name) ? specs[token.name] : undefined;
    if (spec === undefined) {
      throw misspelt(args, siblings) ?? unknownOption(command, token.rawName, Object.keys(specs));
    }
    const value = readValue(spec, token);
    const before = (options[token.name] ?? []) as readonly unknown[];
    options[token.name] = spec.type === "texts" ? [...before, value] : value;
  }
  if (options["help"] === true) return undefined;
  checkArguments(command, args, siblings);
  for (const [name, spec] of Object.entries(command.options)) {
    const needed = spec.type !== "flag" && spec.required === true;
    if (needed && options[name] === undefined) throw missingOption(command, name);
  }
  return { args, options: options as Call["options"] };
}

function checkArguments(
  command: Command,
  args: readonly string[],
  siblings: readonly Command[],
): void {
  for (const [i, spec] of command.args.entries()) {
    const given = args[i];
    if (given === undefined) {
      if (spec.optional) continue;
      throw usageError(
        spec.name,
        `baton ${command.name} needs <${spec.name}>: ${spec.help}.`,
        `Usage: ${usageOf(command)}`,
      );
    }
    const message = `Unknown ${spec.name} "${given}".`;
    requireChoice(given, spec.choices, { message, path: spec.name });
  }
  const extra = args[command.args.length];
  if (extra === undefined || command.args.at(-1)?.many) return;
  const unexpectedArgument = usageError(
    extra,
    `Unexpected argument "${extra}" for baton ${command.name}.`,
    `Usage: ${usageOf(command)} (quote text that contains spaces).`,
  );
  // If the command has two words, the second one was recognized and is not misspelled.
  throw (command.name.includes(" ") ? undefined : misspelt(args, siblings)) ?? unexpectedArgument;
}

/** Shorter words resemble too many others. */
const MIN_MISSPELLED_LENGTH = 3;

/** Detects a misspelled second word that was parsed as an argument: `baton ledger relase …`. */
function misspelt(
  [word = ""]: readonly string[],
  siblings: readonly Command[],
): BatonError | undefined {
  if (word.length < MIN_MISSPELLED_LENGTH) return undefined;
  const seconds = siblings.flatMap(({ name }) => name.split(" ").slice(1));
  const first = siblings[0]?.name.split(" ")[0];
  const hint = didYouMean(nearestNames(word, seconds).map((each) => `baton ${first} ${each}`));
  if (hint === undefined) return undefined;
  return usageError(word, `Unknown command "${first} ${word}".`, hint);
}

/** Returns the error for a missing option, whether it is always required or only in this case. */
export function missingOption({ name, options }: Command, option: string): BatonError {
  const spec = options[option];
  const flag = spec === undefined ? `--${option}` : flagOf(option, spec);
  return usageError(
    `--${option}`,
    `baton ${name} needs --${option}: ${spec?.help ?? ""}.`,
    `Add ${flag}; see baton help ${name}.`,
  );
}

/** Returns an option as it is written: `--task <task>`. */
export const flagOf = (name: string, spec: OptionSpec): string =>
  spec.type === "flag" ? `--${name}` : `--${name} ${spec.value}`;

/** Returns `baton line <task>`; choices longer than `most` characters are shown as `<name>` instead. */
export function synopsisOf({ name, args }: Command, most = Number.POSITIVE_INFINITY): string {
  const words = args.map((spec) => {
    const choices = spec.choices?.join("|") ?? "";
    const word = choices === "" || choices.length > most ? `<${spec.name}>` : choices;
    const each = `${word}${spec.many ? "…" : ""}`;
    return spec.optional ? `[${each}]` : each;
  });
  return ["baton", name, ...words].join(" ");
}

/** Returns the synopsis with the required options: `baton pin <memory> --as <agent> [options]`. */
export function usageOf(command: Command): string {
  const needed = Object.entries(command.options)
    .filter(([, spec]) => spec.type !== "flag" && spec.required)
    .map(([name, spec]) => ` ${flagOf(name, spec)}`);
  const more = Object.keys(command.options).length > needed.length ? " [options]" : "";
  return `${synopsisOf(command)}${needed.join("")}${more}`;
}

/** Returns the error for an unknown command, with the nearest known ones. */
export function unknownCommand(word: string, known: readonly string[]): BatonError {
  return usageError(
    word,
    `Unknown command "${word}".`,
    didYouMean(nearestNames(word, known)) ?? "Run baton help to list all commands.",
  );
}

function unknownOption(command: Command, rawName: string, known: readonly string[]): BatonError {
  const name = rawName.replace(/^-+/, "");
  const near = nearestNames(name, known).map((each) => `--${each}`);
  const isArgument = command.args.some((arg) => arg.name === name);
  return usageError(
    rawName,
    `Unknown option ${rawName} for baton ${command.name}.`,
    isArgument
      ? `Pass it as an argument, without a name: baton ${command.name} "…".`
      : (didYouMean(near) ?? `Run baton help ${command.name} to list its options.`),
  );
}
