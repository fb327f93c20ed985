/**
 * The schemas of the shared context's items: project facts, decisions, constraints and conventions, each
 * identified by section and key. Types, the published JSON Schema and input validation derive from them.
 * Each item is also stored as a memory with a readable text, so that recall and other readers can use it.
 */
import * as z from "zod";
import { FORMAT_LIMITS } from "../base/limits.ts";
import { CONSTRAINT_LEVELS, FreeForm, Name, Slug } from "../envelope/schema.ts";

/** The sections in the order they are shown: binding ones first. */
export const CONTEXT_SECTIONS = ["constraints", "conventions", "decisions", "project"] as const;
export type ContextSection = (typeof CONTEXT_SECTIONS)[number];

const Line = z.string().min(1).max(FORMAT_LIMITS.lineLength);
const Text = z.string().min(1).max(FORMAT_LIMITS.textLength);
/** Short enough that 16 reasons and 16 rejected options fit into one memory. */
const Reason = z.string().min(1).max(1_000);
const MAX_REASONS = 16;

/** The key of an item: a slug of at most 64 characters. */
export const ContextKey = Slug.max(64).meta({
  description: "A lower-case identifier that does not change, such as database or no-fixtures.",
});

/** The roles that the item applies to; absent: all roles. */
const roles = z.array(Name).min(1).max(FORMAT_LIMITS.tags).optional().meta({
  description: "The roles it applies to. Default: all roles.",
});

const RejectedOption = z.strictObject({ option: Line, why: Reason });

const ProjectItem = z
  .strictObject({
    section: z.literal("project"),
    key: ContextKey,
    content: Text,
    data: FreeForm.optional(),
    roles,
  })
  .meta({ description: "A fact about the project; usual keys are branch, files and changes." });

/** A decision of the team. */
export const DecisionItem = z
  .strictObject({
    section: z.literal("decisions"),
    key: ContextKey,
    question: Line,
    choice: Line,
    reasons: z.array(Reason).max(MAX_REASONS).default([]),
    rejected: z.array(RejectedOption).max(MAX_REASONS).default([]),
    task: Name.optional().meta({ description: "The task the decision was made for." }),
    supersedes: ContextKey.optional().meta({
      description: "The key of the decision that this one replaces; that decision is retired.",
    }),
    roles,
  })
  .meta({ description: "A question, the choice with its reasons, and the rejected options." });

const ConstraintItem = z
  .strictObject({
    section: z.literal("constraints"),
    key: ContextKey,
    rule: Line,
    level: z.enum(CONSTRAINT_LEVELS).default("must"),
    why: Reason.optional(),
    source: Line.optional().meta({ description: "The person, document or law that requires it." }),
    roles,
  })
  .meta({ description: "A rule that must, should or may be followed." });

const ConventionItem = z
  .strictObject({
    section: z.literal("conventions"),
    key: ContextKey,
    rule: Line,
    why: Reason.optional(),
    roles,
  })
  .meta({ description: "How things are done in this project." });

/** Any item, by its section. */
export const ContextItemSchema = z.discriminatedUnion("section", [
  ProjectItem,
  DecisionItem,
  ConstraintItem,
  ConventionItem,
]);

/** Makes a type readonly at every level, so that constants (`as const`) are accepted as input. */
type DeepReadonly<T> = T extends readonly (infer Each)[]
  ? readonly DeepReadonly<Each>[]
  : T extends object
    ? { readonly [Field in keyof T]: DeepReadonly<T[Field]> }
    : T;

/** An item as a caller passes it, with optional fields. */
export type ContextInput = DeepReadonly<z.input<typeof ContextItemSchema>>;
/** An item after validation, with defaults filled in. */
export type ContextBody = z.output<typeof ContextItemSchema>;
/** A decision after validation. */
export type DecisionBody = z.output<typeof DecisionItem>;

/** A current item with its version, memory, author and time. */
export type ContextItem = ContextBody & {
  /** The version of the whole context that wrote it; a change names it as `basedOn`. */
  readonly version: number;
  /** The id of the memory that stores it. */
  readonly memory: string;
  /** The agent that wrote it. */
  readonly by: string;
  /** When it was written, in ms since the epoch. */
  readonly at: number;
};

/** Returns the JSON Schema (draft 2020-12) of an item, generated from the zod schema. */
export function contextJsonSchema(): Record<string, unknown> {
  return {
    $id: "https://batonpass.dev/schemas/shared-context-item-1.0.json",
    ...z.toJSONSchema(ContextItemSchema, { io: "input", target: "draft-2020-12" }),
  };
}

/** The memory type of each section's items. */
export const MEMORY_TYPE = {
  constraints: "constraint",
  conventions: "convention",
  decisions: "decision",
  project: "fact",
} as const satisfies Record<ContextSection, string>;

/** Returns the text of an item as its memory stores it. */
export function itemTextOf(item: ContextBody): string {
  switch (item.section) {
    case "project":
      return `The project's ${item.key}: ${item.content}`;
    case "decisions": {
      const { question, choice, reasons, rejected } = item;
      const because = reasons.length === 0 ? "" : ` Because: ${reasons.join("; ")}`;
      const not = rejected.map(({ option, why }) => ` Not ${option}: ${why}`);
      return [`${question} ${choice}`, because, ...not].join("\n").trim();
    }
    case "constraints": {
      const why = item.why === undefined ? "" : `\nBecause: ${item.why}`;
      const source = item.source === undefined ? "" : `\nRequired by: ${item.source}`;
      return `${item.level}: ${item.rule}${why}${source}`;
    }
    case "conventions":
      return `${item.rule}${item.why === undefined ? "" : `\nBecause: ${item.why}`}`;
  }
}

/** Returns the name of an item in texts and errors: `section/key`. */
export const nameOf = ({
  section,
  key,
}: {
  readonly section: string;
  readonly key: string;
}): string => `${section}/${key}`;

/** Returns whether the item applies to a role; without a role, every item applies. */
export const isFor = ({ roles: of }: ContextBody, role: string | undefined): boolean =>
  of === undefined || role === undefined || of.includes(role);

/** Returns whether the item is a must-constraint. */
export const isMust = (item: ContextBody): boolean =>
  item.section === "constraints" && item.level === "must";
