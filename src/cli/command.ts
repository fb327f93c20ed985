/**
 * What a command is: a name, what it takes, and what it does. Command files hold both, import
 * nothing heavy at the top, and are listed in words.ts; parsing, help and error messages are made
 * from the same description.
 */
export type OptionSpec =
  | { readonly type: "flag"; readonly help: string }
  | (ValueOption & { readonly type: "number" })
  | (ValueOption & {
      readonly type: "text";
      /** The only words it may be. */
      readonly choices?: readonly string[];
    })
  /** May be given again and again. */
  | (ValueOption & { readonly type: "texts" })
  /** 15s, 5m, 2h: in milliseconds. */
  | (ValueOption & { readonly type: "duration" })
  /** JSON, or @ and the path of a file with JSON. */
  | (ValueOption & { readonly type: "json" });

interface ValueOption {
  readonly value: string;
  readonly help: string;
  readonly required?: true;
}

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

export type OptionValues<Specs extends OptionSpecs> = {
  readonly [Name in RequiredNames<Specs>]: ValueOf<Specs[Name]>;
} & {
  readonly [Name in Exclude<keyof Specs, RequiredNames<Specs>>]?: ValueOf<Specs[Name]> | undefined;
};

export interface ArgumentSpec {
  readonly name: string;
  readonly help: string;
  /** The only words it may be. */
  readonly choices?: readonly string[];
  /** May be left out; only the last ones can be. */
  readonly optional?: true;
  /** May be given again and again; only the last one can be. */
  readonly many?: true;
}

export interface Call<Specs extends OptionSpecs = OptionSpecs> {
  /** One for each argument, but for optional ones that were left out; of the last, there may be many. */
  readonly args: readonly string[];
  readonly options: OptionValues<Specs>;
}

export interface Command<Specs extends OptionSpecs = OptionSpecs> {
  /** One word, or two: `inbox`, `handoff send`. */
  readonly name: string;
  readonly summary: string;
  readonly args: readonly ArgumentSpec[];
  readonly options: Specs;
  /** Returns the exit code. */
  run(call: Call<Specs>): Promise<number>;
}

/** Checks a command against its own options, then forgets their types: the table holds many. */
export function command<const Specs extends OptionSpecs>(spec: Command<Specs>): Command {
  return spec as unknown as Command;
}

/** Options of every command that opens a store. */
export const STORE_OPTIONS = {
  store: {
    type: "text",
    value: "<address>",
    help: "a file, postgres://… or a hub's http(s)://…; default: BATON_STORE, else .baton/hub.db",
  },
  workspace: { type: "text", value: "<name>", help: 'the workspace; else "default"' },
} as const satisfies OptionSpecs;

/** Of every command that shows data. */
export const JSON_OPTION = {
  json: { type: "flag", help: "print JSON, also of errors (to stderr)" },
} as const satisfies OptionSpecs;

/** Of every command that lists a page. */
export const AFTER_OPTION = {
  after: { type: "text", value: "<cursor>", help: "the next page: what the page before printed" },
} as const satisfies OptionSpecs;

/** Of every command that does something in somebody's name. */
export const AS_OPTION = {
  as: { type: "text", value: "<agent>", help: "who does it; must be registered", required: true },
} as const satisfies OptionSpecs;

/** The argument of commands about one delivery. */
export const DELIVERY: ArgumentSpec = { name: "delivery", help: "the delivery's id (dlv_…)" };
