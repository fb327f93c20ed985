/** From words on the command line to a call, or an error that names the word that was meant. */
import { parseArgs } from "node:util";
import { BatonError } from "../errors.ts";
import { nearestNames } from "../nearest.ts";
import type { Call, Command, OptionSpec } from "./command.ts";

const HELP = { type: "flag", help: "show this" } as const;

/** Undefined when help was asked for. */
export function parseCall(command: Command, words: readonly string[]): Call | undefined {
  const specs: Readonly<Record<string, OptionSpec>> = { ...command.options, help: HELP };
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
  const options: Record<string, string | number | boolean> = {};
  const args: string[] = [];
  for (const token of tokens) {
    if (token.kind === "positional") args.push(token.value);
    if (token.kind !== "option") continue;
    const spec = Object.hasOwn(specs, token.name) ? specs[token.name] : undefined;
    if (spec === undefined) throw unknownOption(command, token.rawName, Object.keys(specs));
    options[token.name] = readValue(spec, token);
  }
  if (options["help"] === true) return undefined;
  checkArguments(command, args);
  return { args, options };
}

interface Given {
  readonly rawName: string;
  readonly value?: string | undefined;
  readonly inlineValue?: boolean | undefined;
}

function readValue(
  spec: OptionSpec,
  { rawName, value, inlineValue }: Given,
): string | number | true {
  if (spec.type === "flag") {
    if (value === undefined) return true;
    throw mistake(rawName, `${rawName} takes no value.`, `Write ${rawName} alone.`);
  }
  if (value === undefined || (value.startsWith("-") && inlineValue !== true)) {
    throw mistake(
      rawName,
      `${rawName} needs a value.`,
      `Write ${rawName}=${spec.value} or ${rawName} ${spec.value}.`,
    );
  }
  if (spec.type === "text") return value;
  const number = Number(value);
  if (value.trim() !== "" && Number.isSafeInteger(number)) return number;
  throw mistake(rawName, `${rawName} is "${value}", which is not a whole number.`, "Write digits.");
}

function checkArguments(command: Command, args: readonly string[]): void {
  for (const [i, spec] of command.args.entries()) {
    const given = args[i];
    if (given === undefined) {
      throw mistake(
        spec.name,
        `baton ${command.name} needs <${spec.name}>: ${spec.help}.`,
        `Write ${usageOf(command)}`,
      );
    }
    if (spec.choices !== undefined && !spec.choices.includes(given)) {
      throw mistake(
        spec.name,
        `There is no ${spec.name} "${given}".`,
        didYouMean(nearestNames(given, spec.choices)) ?? `Known: ${spec.choices.join(", ")}.`,
      );
    }
  }
  const extra = args[command.args.length];
  if (extra === undefined) return;
  throw mistake(
    extra,
    `baton ${command.name} does not know what to do with "${extra}".`,
    `Write ${usageOf(command)} (text with spaces in quotes).`,
  );
}

/** `baton line <task>` */
export function wordsOf({ name, args }: Command): string {
  const words = args.map((spec) => spec.choices?.join("|") ?? `<${spec.name}>`);
  return ["baton", name, ...words].join(" ");
}

export function usageOf(command: Command): string {
  return `${wordsOf(command)}${Object.keys(command.options).length > 0 ? " [options]" : ""}`;
}

export function unknownCommand(word: string, known: readonly string[]): BatonError {
  return mistake(
    word,
    `There is no command "${word}".`,
    didYouMean(nearestNames(word, known)) ?? "See baton help for all commands.",
  );
}

function unknownOption(command: Command, rawName: string, known: readonly string[]): BatonError {
  const near = nearestNames(rawName.replace(/^-+/, ""), known).map((name) => `--${name}`);
  return mistake(
    rawName,
    `baton ${command.name} has no option ${rawName}.`,
    didYouMean(near) ?? `See baton help ${command.name}.`,
  );
}

function didYouMean(near: readonly string[]): string | undefined {
  return near.length === 0 ? undefined : `Did you mean ${near.join(" or ")}?`;
}

function mistake(path: string, message: string, hint: string): BatonError {
  return new BatonError("invalid_input", { path, message, hint });
}
