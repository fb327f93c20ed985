/** Options that describe an item of the shared context, and their conversion to the item. */
import type { ContextInput, ContextSection } from "../../shared-context/items.ts";
import type { ArgumentSpec, OptionSpecs, OptionValues } from "../command.ts";
import { usageError } from "../usage-error.ts";
import { omitUndefined } from "./omit-undefined.ts";

/** Repeated from shared-context/items.ts, because importing that file loads the validator. */
export const SECTIONS = [
  "constraints",
  "conventions",
  "decisions",
  "project",
] as const satisfies readonly ContextSection[];

/** The arguments that identify an item. */
export const ITEM_ARGS: readonly [ArgumentSpec, ArgumentSpec] = [
  { name: "section", help: SECTIONS.join(", "), choices: SECTIONS },
  { name: "key", help: "stable lower-case key of the item, such as no-fixtures" },
];

/** The text argument of an item. */
export const TEXT_ARG: ArgumentSpec = {
  name: "text",
  help: "the rule, the choice (decisions) or the fact (project)",
  optional: true,
};

/** Option for optimistic concurrency: the version a change is based on. */
export const BASED_ON = {
  "based-on": {
    type: "number",
    value: "<version>",
    help: "version of the item that you read; required if the item exists",
  },
} as const satisfies OptionSpecs;

/** Options of decisions, and the roles of any item. */
export const DECISION_OPTIONS = {
  question: { type: "text", value: "<text>", help: "decisions: the question that was decided" },
  because: { type: "texts", value: "<text>", help: "decisions: a reason for the choice" },
  rejected: { type: "texts", value: "<option=why>", help: "decisions: a rejected option and why" },
  task: { type: "text", value: "<task>", help: "decisions: the task it was made for" },
  supersedes: {
    type: "text",
    value: "<key>",
    help: "decisions: key of the decision it replaces",
  },
  role: { type: "texts", value: "<role>", help: "role that the item is for (default: all)" },
} as const satisfies OptionSpecs;

/** Options of items of all sections. */
export const ITEM_OPTIONS = {
  level: {
    type: "text",
    value: "<level>",
    help: "constraints: must, should or may (default: must)",
    choices: ["must", "should", "may"],
  },
  why: { type: "text", value: "<text>", help: "constraints and conventions: the reason" },
  source: { type: "text", value: "<text>", help: "constraints: where the rule comes from" },
  data: {
    type: "json",
    value: "<json>",
    help: "project: structured data as a JSON object, or @<file>",
  },
  ...DECISION_OPTIONS,
} as const satisfies OptionSpecs;

type Options = OptionValues<typeof ITEM_OPTIONS>;
type Field = keyof typeof ITEM_OPTIONS;

/** The options of each section; --role applies to all of them. */
const FIELDS: Readonly<Record<ContextSection, readonly Field[]>> = {
  constraints: ["level", "why", "source"],
  conventions: ["why"],
  decisions: ["question", "because", "rejected", "task", "supersedes"],
  project: ["data"],
};

/** Builds the item; throws if an option belongs to another section. The library validates the rest. */
export function itemFrom(
  section: string,
  key: string,
  text: string | undefined,
  options: Options,
): ContextInput {
  const known = SECTIONS.find((each) => each === section) ?? "conventions";
  refuseOthers(known, options);
  const { level, why, source, data, question, because, rejected, task, supersedes } = options;
  const roles = options.role;
  const fields = {
    constraints: { rule: text, level, why, source },
    conventions: { rule: text, why },
    decisions: {
      question,
      choice: text,
      reasons: because,
      rejected: rejected?.map(rejectedOf),
      task,
      supersedes,
    },
    project: { content: text, data },
  }[known];
  return { section: known, key, ...omitUndefined({ ...fields, roles }) } as unknown as ContextInput;
}

function refuseOthers(section: ContextSection, options: Options): void {
  const own: readonly string[] = [...FIELDS[section], "role"];
  const fields = Object.keys(ITEM_OPTIONS) as Field[];
  const foreign = fields.find((name) => options[name] !== undefined && !own.includes(name));
  if (foreign === undefined) return;
  throw usageError(
    `--${foreign}`,
    `--${foreign} does not apply to items of the section ${section}.`,
    `Options of this section: ${own.map((name) => `--${name}`).join(", ")}.`,
  );
}

/** Throws if an item that is to be retired also has a text or fields. */
export function refuseContent(text: string | undefined, options: Options): void {
  const fields = Object.keys(ITEM_OPTIONS) as Field[];
  const field = fields.find((name) => options[name] !== undefined);
  if (text === undefined && field === undefined) return;
  const what = text === undefined ? `--${field}` : "a text";
  throw usageError(
    "--retire",
    `--retire removes the item and cannot be combined with ${what}.`,
    "Use one or the other; pass the reason for retiring it with --reason.",
  );
}

/** Parses a rejected option: `MongoDB=No transactions in 2026`. */
function rejectedOf(text: string): { readonly option: string; readonly why: string } {
  const at = text.indexOf("=");
  const why = text.slice(at + 1).trim();
  if (at > 0 && why !== "") return { option: text.slice(0, at).trim(), why };
  throw usageError(
    "--rejected",
    `Invalid --rejected "${text}": the reason is missing.`,
    'Write --rejected "<option>=<why it was not chosen>".',
  );
}
