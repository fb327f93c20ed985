/**
 * What a command is: a name, what it takes, and what it does. Command files hold both, import
 * nothing heavy at the top, and are listed in commands.ts; parsing, help and error messages are
 * made from the same description.
 */
export type OptionSpec =
  | { readonly type: "flag"; readonly help: string }
  | { readonly type: "number"; readonly value: string; readonly help: string }
  | { readonly type: "text"; readonly value: string; readonly help: string };

export type OptionSpecs = Readonly<Record<string, OptionSpec>>;

type ValueOf<Spec> = Spec extends { readonly type: "flag" }
  ? boolean
  : Spec extends { readonly type: "number" }
    ? number
    : string;

export type OptionValues<Specs extends OptionSpecs> = {
  readonly [Name in keyof Specs]?: ValueOf<Specs[Name]> | undefined;
};

export interface ArgumentSpec {
  readonly name: string;
  readonly help: string;
  /** The only words it may be. */
  readonly choices?: readonly string[];
}

export interface Call<Specs extends OptionSpecs = OptionSpecs> {
  /** One for each argument of the command: all are required. */
  readonly args: readonly string[];
  readonly options: OptionValues<Specs>;
}

export interface Command<Specs extends OptionSpecs = OptionSpecs> {
  readonly name: string;
  readonly summary: string;
  readonly args: readonly ArgumentSpec[];
  readonly options: Specs;
  /** Returns the exit code. */
  run(call: Call<Specs>): Promise<number>;
}

/** Checks a command against its own options, then forgets their types: the table holds many. */
export function command<const Specs extends OptionSpecs>(spec: Command<Specs>): Command {
  return spec;
}

/** Options of every command that opens a store. */
export const STORE_OPTIONS = {
  store: {
    type: "text",
    value: "<address>",
    help: "sqlite:<path>; else BATON_STORE, else .baton/",
  },
  workspace: { type: "text", value: "<name>", help: 'the workspace; else "default"' },
} as const satisfies OptionSpecs;

/** Of every command that shows data. */
export const JSON_OPTION = {
  json: { type: "flag", help: "print JSON, also of errors (to stderr)" },
} as const satisfies OptionSpecs;
