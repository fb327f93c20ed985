/** The options that describe an item of the shared context, and the item they come to. */
import type { ContextInput, ContextSection } from "../../shared-context/items.ts";
import type { ArgumentSpec, OptionSpecs, OptionValues } from "../command.ts";
import { usageError } from "../usage-error.ts";
import { omitUndefined } from "./omit-undefined.ts";

/** As in shared-context/items.ts, which brings the validator along. */
export const SECTIONS = [
  "constraints",
  "conventions",
  "decisions",
  "project",
] as const satisfies readonly ContextSection[];

export const ITEM_ARGS: readonly [ArgumentSpec, ArgumentSpec] = [
  { name: "section", help: SECTIONS.join(", "), choices: SECTIONS },
  { name: "key", help: "a lower-case word that stays the same, such as no-fixtures" },
];

export const TEXT_ARG: ArgumentSpec = {
  name: "text",
  help: "the rule; of the project how it stands; of a decision the choice",
  optional: true,
};

export const BASED_ON = {
  "based-on": {
    type: "number",
    value: "<version>",
    help: "the version of the item you saw; needed where there is one",
  },
} as const satisfies OptionSpecs;

export const DECISION_OPTIONS = {
  question: { type: "text", value: "<text>", help: "of a decision: what was asked" },
  because: { type: "texts", value: "<text>", help: "of a decision: a reason for the choice" },
  rejected: { type: "texts", value: "<option=why>", help: "of a decision: what was not chosen" },
  task: { type: "text", value: "<task>", help: "of a decision: the task it was made for" },
  supersedes: {
    type: "text",
    value: "<key>",
    help: "of a decision: the one it takes the place of",
  },
  role: { type: "texts", value: "<role>", help: "for whom it matters; else for everybody" },
} as const satisfies OptionSpecs;

export const ITEM_OPTIONS = {
  level: {
    type: "text",
    value: "<level>",
    help: "of a constraint: must, should or may; else must",
    choices: ["must", "should", "may"],
  },
  why: { type: "text", value: "<text>", help: "of a constraint or convention: why" },
  source: { type: "text", value: "<text>", help: "of a constraint: who or what demands it" },
  data: { type: "json", value: "<json>", help: "of the project: more, as an object, or @<file>" },
  ...DECISION_OPTIONS,
} as const satisfies OptionSpecs;

type Options = OptionValues<typeof ITEM_OPTIONS>;
type Field = keyof typeof ITEM_OPTIONS;

/** What each section takes; for all: whom it matters to. */
const FIELDS: Readonly<Record<ContextSection, readonly Field[]>> = {
  constraints: ["level", "why", "source"],
  conventions: ["why"],
  decisions: ["question", "because", "rejected", "task", "supersedes"],
  project: ["data"],
};

/** The library says what is missing or wrong in it. */
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
    `An item of ${section} has no --${foreign}.`,
    `It takes ${own.map((name) => `--${name}`).join(", ")}.`,
  );
}

/** What shall go is only named. */
export function refuseContent(text: string | undefined, options: Options): void {
  const fields = Object.keys(ITEM_OPTIONS) as Field[];
  const field = fields.find((name) => options[name] !== undefined);
  if (text === undefined && field === undefined) return;
  const what = text === undefined ? `--${field}` : "a text";
  throw usageError(
    "--retire",
    `With --retire the item goes, and ${what} says what it should be.`,
    "Say either; why it should go is its --reason.",
  );
}

/** `MongoDB=No transactions when we looked` */
function rejectedOf(text: string): { readonly option: string; readonly why: string } {
  const at = text.indexOf("=");
  const why = text.slice(at + 1).trim();
  if (at > 0 && why !== "") return { option: text.slice(0, at).trim(), why };
  throw usageError(
    "--rejected",
    `--rejected is "${text}", which does not say why.`,
    'Write --rejected "<option>=<why it was not chosen>".',
  );
}
