/** The options that describe a memory, for `remember` and `note`, and the input they come to. */
import type { MemoryInput, RelationKind } from "../../memory/record.ts";
import type { OptionSpecs, OptionValues } from "../command.ts";
import { usageError } from "../usage-error.ts";
import { requireChoice } from "./choice.ts";
import { parseFraction } from "./fraction.ts";
import { parseInstant } from "./instant.ts";
import { omitUndefined } from "./omit-undefined.ts";

/** Listed here too, so that parsing a command line does not load the schema. */
export const RELATION_KINDS = [
  "continues-from",
  "summarizes",
  "supersedes",
  "corrects",
  "contradicts",
  "supports",
  "derived-from",
  "caused-by",
  "references",
  "branches-from",
] as const satisfies readonly RelationKind[];

export const MEMORY_OPTIONS = {
  scope: {
    type: "text",
    value: "<scope>",
    help: "who may see it; default: team",
    // No session: a call of the command line is one of its own, and over when it has answered.
    choices: ["agent", "user", "team"],
  },
  tag: { type: "texts", value: "<tag>", help: "a word to find it by" },
  concept: { type: "texts", value: "<concept>", help: "something it is about" },
  importance: { type: "text", value: "<0…1>", help: "how much it matters" },
  confidence: { type: "text", value: "<0…1>", help: "how sure it is" },
  session: { type: "text", value: "<name>", help: "the session it belongs to" },
  run: { type: "text", value: "<name>", help: "the run it belongs to" },
  ref: { type: "texts", value: "<memory>", help: "a memory it rests on" },
  continues: { type: "texts", value: "<memory>", help: "a memory it continues from" },
  supersedes: { type: "texts", value: "<memory>", help: "a memory it replaces" },
  corrects: { type: "texts", value: "<memory>", help: "a memory that was wrong" },
  relation: {
    type: "texts",
    value: "<kind:memory>",
    help: `a relation to another memory: ${RELATION_KINDS.join(", ")}`,
  },
  "valid-from": { type: "text", value: "<time>", help: "true since: 2026-01-31T12:00Z" },
  "valid-until": { type: "text", value: "<time>", help: "true until: 2026-01-31T12:00Z" },
  data: { type: "json", value: "<json>", help: "structured data: an object, or @<file>" },
} as const satisfies OptionSpecs;

export function memoryInputOf(
  content: string,
  options: OptionValues<typeof MEMORY_OPTIONS>,
): MemoryInput {
  const { scope, session, run, tag, concept, ref, data } = options;
  const relations = relationsOf(options);
  return {
    content,
    ...omitUndefined({
      scope: scope as MemoryInput["scope"],
      session,
      run,
      tags: tag?.slice(),
      concepts: concept?.slice(),
      refs: ref?.slice(),
      relations: relations.length === 0 ? undefined : relations,
      importance: parseFraction("--importance", options.importance),
      confidence: parseFraction("--confidence", options.confidence),
      validFrom: parseInstant("--valid-from", options["valid-from"]),
      validUntil: parseInstant("--valid-until", options["valid-until"]),
      data: data as MemoryInput["data"], // The library refuses what is not an object.
    }),
  };
}

type Relation = NonNullable<MemoryInput["relations"]>[number];

function relationsOf(options: OptionValues<typeof MEMORY_OPTIONS>): Relation[] {
  const { continues = [], supersedes = [], corrects = [], relation = [] } = options;
  return [
    ...continues.map((to) => ({ kind: "continues-from" as const, to })),
    ...supersedes.map((to) => ({ kind: "supersedes" as const, to })),
    ...corrects.map((to) => ({ kind: "corrects" as const, to })),
    ...relation.map(relationOf),
  ];
}

/** `supports:mem_…` */
function relationOf(text: string): Relation {
  const [, kind = "", to = ""] = /^([^:]*):(.*)$/.exec(text) ?? [];
  if (to === "") {
    throw usageError(
      "--relation",
      `--relation is "${text}", which does not name a memory.`,
      "Write <kind>:<memory>, as in supports:mem_…",
    );
  }
  const message = `--relation is "${text}", and "${kind}" is not a kind of relation.`;
  requireChoice(kind, RELATION_KINDS, { message, path: "--relation" });
  return { kind: kind as RelationKind, to };
}
