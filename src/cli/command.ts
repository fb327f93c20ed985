/**
 * Defines what a command is: a name, arguments, options and a `run` function. Parsing, help and error
 * messages are derived from this description. Command files import nothing heavy at the top and are
 * listed in command-loaders.ts.
 */
/** Describes one option: the type of its value and its help text. */
export type OptionSpec =
  | { readonly type: "flag"; readonly help: string }
  | (ValueOption & { readonly type: "number" })
  | (ValueOption & {
      readonly type: "text";
      /** The allowed values; absent: any text. */
      readonly choices?: readonly string[];
    })
  /** May be repeated; all values are collected. */
  | (ValueOption & { readonly type: "texts" })
  /** Written as 15s, 5m or 2h; parsed to milliseconds. */
  | (ValueOption & { readonly type: "duration" })
  /** JSON, or @ followed by the path of a JSON file. */
  | (ValueOption & { readonly type: "json" });

interface ValueOption {
  /** The placeholder shown in help: `<task>`. */
  readonly value: string;
  readonly help: string;
  readonly required?: true;
}

/** The options of a command, by their name without the dashes. */
export type OptionSpecs = Readonly<Record<string, OptionSpec>>;

interface Values {
  readonly flag: boolean;
  readonly number: number;
  readonly text: string;
  readonly texts: readonly string[];
  readonly duration: number;
  readonly json: unknown;
}

type ValueOf<Spec extends OptionSpec> = Values[Spec["type"]];

type RequiredNames<Specs extends OptionSpecs> = {
  [Name in keyof Specs]: Specs[Name] extends { readonly required: true } ? Name : never;
}[keyof Specs];

/** The parsed values: required options are always present, others may be undefined. */
export type OptionValues<Specs extends OptionSpecs> = {
  readonly [Name in RequiredNames<Specs>]: ValueOf<Specs[Name]>;
} & {
  readonly [Name in Exclude<keyof Specs, RequiredNames<Specs>>]?: ValueOf<Specs[Name]> | undefined;
};

/** Describes one positional argument. */
export interface ArgumentSpec {
  readonly name: string;
  readonly help: string;
  /** The allowed values; absent: any text. */
  readonly choices?: readonly string[];
  /** The argument can be omitted; only trailing arguments may be optional. */
  readonly optional?: true;
  /** The argument may be repeated; allowed for the last one only. */
  readonly many?: true;
}

/** A parsed command line. */
export interface Call<Specs extends OptionSpecs = OptionSpecs> {
  /** One value per argument, without omitted optional ones; a repeatable last argument adds several. */
  readonly args: readonly string[];
  readonly options: OptionValues<Specs>;
}

/** One command of the command line. */
export interface Command<Specs extends OptionSpecs = OptionSpecs> {
  /** One or two words: `inbox`, `handoff send`. */
  readonly name: string;
  readonly summary: string;
  readonly args: readonly ArgumentSpec[];
  readonly options: Specs;
  /** Runs the command and resolves to the exit code. */
  run(call: Call<Specs>): Promise<number>;
}

/** Type-checks a command against its options, then erases their types so that all commands fit one table. */
export function command<const Specs extends OptionSpecs>(spec: Command<Specs>): Command {
  return spec as unknown as Command;
}

/** Options of every command that opens a store. */
export const STORE_OPTIONS = {
  store: {
    type: "text",
    value: "<address>",
    help: "store: a file, postgres://… or a hub's http(s)://… (default: BATON_STORE or .baton/hub.db)",
  },
  workspace: { type: "text", value: "<name>", help: 'workspace name (default: "default")' },
} as const satisfies OptionSpecs;

/** Option of every command that prints data. */
export const JSON_OPTION = {
  json: { type: "flag", help: "print JSON; errors are printed as JSON to stderr" },
} as const satisfies OptionSpecs;

/** Option of every command that prints a page of a list. */
export const AFTER_OPTION = {
  after: {
    type: "text",
    value: "<cursor>",
    help: "cursor of the next page, as printed by the previous one",
  },
} as const satisfies OptionSpecs;

/** Option of every command that acts on behalf of an agent. */
export const AS_OPTION = {
  as: {
    type: "text",
    value: "<agent>",
    help: "agent that acts; must be registered",
    required: true,
  },
} as const satisfies OptionSpecs;

/** The argument of commands about one delivery. */
export const DELIVERY: ArgumentSpec = { name: "delivery", help: "delivery id (dlv_…)" };
