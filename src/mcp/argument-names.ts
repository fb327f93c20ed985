/**
 * Names of arguments: snake case in the tools, camel case in the library. An error names the argument as
 * the caller spelt it. Keys of the caller's own data are left as they are.
 */

/** Arguments whose value is the caller's own data. */
const FREE_FORM: readonly string[] = ["criteria", "data", "metadata", "outputs"];

/** Arguments with another name here than in the library. */
const ARGUMENT_NAMES: Readonly<Record<string, string>> = {
  delivery: "handoff",
  failure: "text",
  id: "ids",
  lease: "handle",
  relations: "related",
  tokens: "max_tokens",
  work: "handle",
};

/** The tools take what is below this in the settings as arguments of their own. */
const OF_SETTINGS = /^handoffs\./;

/** `doNotRedo[0]` as the argument is spelt: `do_not_redo[0]`. */
export function argumentPath(path: string): string {
  const [, fields = "", data = ""] = PATH.exec(path.replace(OF_SETTINGS, "")) ?? [];
  const spelt = fields.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return spelt.replace(/^\w+/, (name) => ARGUMENT_NAMES[name] ?? name) + data;
}

const PATH = new RegExp(`^(.*?(?:\\b(?:${FREE_FORM.join("|")})\\b|$))(.*)$`, "s");

/** Arguments as fields of the library, without those that were left out. */
export function fieldsOf(args: object): Record<string, unknown> {
  const entries = Object.entries(args).filter(([, value]) => value !== undefined);
  return Object.fromEntries(
    entries.map(([name, value]) => [
      name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase()),
      FREE_FORM.includes(name) ? value : renamedWithin(value),
    ]),
  );
}

function renamedWithin(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(renamedWithin);
  return typeof value === "object" && value !== null ? fieldsOf(value) : value;
}
