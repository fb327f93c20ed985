/** From words on the command line to a call, or an error that names the word that was meant. */
import { parseArgs } from "node:util";
import type { BatonError } from "../base/errors.ts";
import { nearestNames } from "../base/nearest-names.ts";
import type { Call, Command, OptionSpec, OptionSpecs } from "./command.ts";
import { requireChoice } from "./options/choice.ts";
import { readValue } from "./options/option-value.ts";
import { didYouMean, usageError } from "./usage-error.ts";

const HELP = { type: "flag", help: "show this" } as const;

/** Undefined when help was asked for. `siblings`: commands that begin with the same word. */
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
    strict: false, // Its errors do not say which word was meant; ours do.
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
        `Write ${usageOf(command)}`,
      );
    }
    const message = `There is no ${spec.name} "${given}".`;
    requireChoice(given, spec.choices, { message, path: spec.name });
  }
  const extra = args[command.args.length];
  if (extra === undefined || command.args.at(-1)?.many) return;
  const told = usageError(
    extra,
    `baton ${command.name} does not know what to do with "${extra}".`,
    `Write ${usageOf(command)} (text with spaces in quotes).`,
  );
  // Of a command with two words, the second was recognized.
  throw (command.name.includes(" ") ? undefined : misspelt(args, siblings)) ?? told;
}

/** Shorter words are in too many others. */
const MIN_MISSPELLED_LENGTH = 3;

/** `baton ledger relase …`: what stands where a task could is the second word of another command. */
function misspelt(
  [word = ""]: readonly string[],
  siblings: readonly Command[],
): BatonError | undefined {
  if (word.length < MIN_MISSPELLED_LENGTH) return undefined;
  const seconds = siblings.flatMap(({ name }) => name.split(" ").slice(1));
  const first = siblings[0]?.name.split(" ")[0];
  const hint = didYouMean(nearestNames(word, seconds).map((each) => `baton ${first} ${each}`));
  if (hint === undefined) return undefined;
  return usageError(word, `There is no command "${first} ${word}".`, hint);
}

/** Of an option that is needed always, or in this case. */
export function missingOption({ name, options }: Command, option: string): BatonError {
  const spec = options[option];
  const flag = spec === undefined ? `--${option}` : flagOf(option, spec);
  return usageError(
    `--${option}`,
    `baton ${name} needs --${option}: ${spec?.help ?? ""}.`,
    `Write ${flag}; see baton help ${name}.`,
  );
}

/** `--task <task>` */
export const flagOf = (name: string, spec: OptionSpec): string =>
  spec.type === "flag" ? `--${name}` : `--${name} ${spec.value}`;

/** `baton line <task>`; choices that take more room than `most` are named, not listed. */
export function synopsisOf({ name, args }: Command, most = Number.POSITIVE_INFINITY): string {
  const words = args.map((spec) => {
    const choices = spec.choices?.join("|") ?? "";
    const word = choices === "" || choices.length > most ? `<${spec.name}>` : choices;
    const each = `${word}${spec.many ? "…" : ""}`;
    return spec.optional ? `[${each}]` : each;
  });
  return ["baton", name, ...words].join(" ");
}

export function usageOf(command: Command): string {
  const needed = Object.entries(command.options)
    .filter(([, spec]) => spec.type !== "flag" && spec.required)
    .map(([name, spec]) => ` ${flagOf(name, spec)}`);
  const more = Object.keys(command.options).length > needed.length ? " [options]" : "";
  return `${synopsisOf(command)}${needed.join("")}${more}`;
}

export function unknownCommand(word: string, known: readonly string[]): BatonError {
  return usageError(
    word,
    `There is no command "${word}".`,
    didYouMean(nearestNames(word, known)) ?? "See baton help for all commands.",
  );
}

function unknownOption(command: Command, rawName: string, known: readonly string[]): BatonError {
  const name = rawName.replace(/^-+/, "");
  const near = nearestNames(name, known).map((each) => `--${each}`);
  const isArgument = command.args.some((arg) => arg.name === name);
  return usageError(
    rawName,
    `baton ${command.name} has no option ${rawName}.`,
    isArgument
      ? `It stands without a name: baton ${command.name} "…".`
      : (didYouMean(near) ?? `See baton help ${command.name}.`),
  );
}
