/**
 * What the shared context holds: the state of the project, decisions, constraints and conventions, each
 * item under a section and a key. Types, the published JSON Schema and the check of what is written all
 * come from here. Each item is also a memory, with a text that reads well wherever memories are read.
 */
import * as z from "zod";
import { FORMAT_LIMITS } from "../base/limits.ts";
import { CONSTRAINT_LEVELS, FreeForm, Name, Slug } from "../envelope/schema.ts";

/** In the order they are shown: what binds first. */
export const CONTEXT_SECTIONS = ["constraints", "conventions", "decisions", "project"] as const;
export type ContextSection = (typeof CONTEXT_SECTIONS)[number];

/** What every item of the shared context is tagged with. */
export const SHARED_TAG = "shared-context";

const Line = z.string().min(1).max(FORMAT_LIMITS.lineLength);
const Text = z.string().min(1).max(FORMAT_LIMITS.textLength);
/** Sixteen reasons and sixteen rejected options of this length fit into one memory. */
const Reason = z.string().min(1).max(1_000);
const MAX_REASONS = 16;

export const ContextKey = Slug.max(64).meta({
  description: "A lower-case word that stays the same: database, no-fixtures",
});

/** For whom it matters; without it, for everybody. */
const roles = z.array(Name).min(1).max(FORMAT_LIMITS.tags).optional().meta({
  description: "The roles it matters to; without any, everybody",
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
  .meta({ description: "How the project stands; commonly branch, files and changes" });

export const DecisionItem = z
  .strictObject({
    section: z.literal("decisions"),
    key: ContextKey,
    question: Line,
    choice: Line,
    reasons: z.array(Reason).max(MAX_REASONS).default([]),
    rejected: z.array(RejectedOption).max(MAX_REASONS).default([]),
    task: Name.optional().meta({ description: "The task it was made for" }),
    supersedes: ContextKey.optional().meta({
      description: "The decision that it takes the place of; that one is retired with it",
    }),
    roles,
  })
  .meta({ description: "What was asked, what was chosen and why, and what was not chosen" });

const ConstraintItem = z
  .strictObject({
    section: z.literal("constraints"),
    key: ContextKey,
    rule: Line,
    level: z.enum(CONSTRAINT_LEVELS).default("must"),
    why: Reason.optional(),
    source: Line.optional().meta({ description: "Who or what demands it" }),
    roles,
  })
  .meta({ description: "What must, should or may be done" });

const ConventionItem = z
  .strictObject({
    section: z.literal("conventions"),
    key: ContextKey,
    rule: Line,
    why: Reason.optional(),
    roles,
  })
  .meta({ description: "How things are done here" });

export const ContextItemSchema = z.discriminatedUnion("section", [
  ProjectItem,
  DecisionItem,
  ConstraintItem,
  ConventionItem,
]);

/** Takes constants as they are. */
type DeepReadonly<T> = T extends readonly (infer Each)[]
  ? readonly DeepReadonly<Each>[]
  : T extends object
    ? { readonly [Field in keyof T]: DeepReadonly<T[Field]> }
    : T;

/** An item as its writer gives it. */
export type ContextInput = DeepReadonly<z.input<typeof ContextItemSchema>>;
export type ContextBody = z.output<typeof ContextItemSchema>;
export type DecisionBody = z.output<typeof DecisionItem>;

/** An item as it holds: what was written, by whom, when, and as of which version of the whole. */
export type ContextItem = ContextBody & {
  /** Of the whole context when it was written: orders all changes, and is what a change is based on. */
  readonly version: number;
  readonly memory: string;
  readonly by: string;
  readonly at: number;
};

/** The published form of an item: JSON Schema (draft 2020-12), generated, never written. */
export function contextJsonSchema(): Record<string, unknown> {
  return {
    $id: "https://batonpass.dev/schemas/shared-context-item-1.0.json",
    ...z.toJSONSchema(ContextItemSchema, { io: "input", target: "draft-2020-12" }),
  };
}

/** The type of memory an item is. */
export const MEMORY_TYPE = {
  constraints: "constraint",
  conventions: "convention",
  decisions: "decision",
  project: "fact",
} as const satisfies Record<ContextSection, string>;

/** An item in words, as a memory has it. */
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
      const source = item.source === undefined ? "" : `\nDemanded by: ${item.source}`;
      return `${item.level}: ${item.rule}${why}${source}`;
    }
    case "conventions":
      return `${item.rule}${item.why === undefined ? "" : `\nBecause: ${item.why}`}`;
  }
}

/** How an item is called wherever it is named. */
export const nameOf = ({
  section,
  key,
}: {
  readonly section: string;
  readonly key: string;
}): string => `${section}/${key}`;

/** Whether it matters to a role; nobody's role is everybody's. */
export const isFor = ({ roles: of }: ContextBody, role: string | undefined): boolean =>
  of === undefined || role === undefined || of.includes(role);

export const isMust = (item: ContextBody): boolean =>
  item.section === "constraints" && item.level === "must";
