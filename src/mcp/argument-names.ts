/**
 * Converts argument names between the tools (snake case) and the SDK (camel case), so that an error names
 * the argument as the caller spelled it. Keys inside the caller's data are left unchanged.
 */

/** Arguments with a value of caller-defined keys, which are not renamed. */
const FREE_FORM: readonly string[] = ["criteria", "data", "metadata", "outputs"];

/** Tool arguments by the SDK name they replace. */
const ARGUMENT_NAMES: Readonly<Record<string, string>> = {
  delivery: "handoff",
  failure: "text",
  id: "ids",
  lease: "handle",
  relations: "related",
  tokens: "max_tokens",
  work: "handle",
};

/** Settings below `handoffs` are top-level arguments of a tool. */
const OF_SETTINGS = /^handoffs\./;

/** Returns an SDK path in the spelling of the tools: `doNotRedo[0]` becomes `do_not_redo[0]`. */
export function argumentPath(path: string): string {
  const [, fields = "", data = ""] = PATH.exec(path.replace(OF_SETTINGS, "")) ?? [];
  const spelt = fields.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return spelt.replace(/^\w+/, (name) => ARGUMENT_NAMES[name] ?? name) + data;
}

const PATH = new RegExp(`^(.*?(?:\\b(?:${FREE_FORM.join("|")})\\b|$))(.*)$`, "s");

/** Returns arguments as fields of the SDK, without undefined values. */
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
