/** Options that describe a memory, for `remember` and `note`, and their conversion to the input. */
import type { MemoryInput, RelationKind } from "../../memory/record.ts";
import type { OptionSpecs, OptionValues } from "../command.ts";
import { usageError } from "../usage-error.ts";
import { requireChoice } from "./choice.ts";
import { parseFraction } from "./fraction.ts";
import { parseInstant } from "./instant.ts";
import { omitUndefined } from "./omit-undefined.ts";

/** Repeated here, so that parsing a command line does not load the schema. */
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

/** Options of a memory, except content and type. */
export const MEMORY_OPTIONS = {
  scope: {
    type: "text",
    value: "<scope>",
    help: "who may see it (default: team)",
    // Without session: every command is a separate session, which ends with the command.
    choices: ["agent", "user", "team"],
  },
  tag: { type: "texts", value: "<tag>", help: "tag to filter by" },
  concept: { type: "texts", value: "<concept>", help: "concept it is about" },
  importance: { type: "text", value: "<0…1>", help: "importance from 0 to 1" },
  confidence: { type: "text", value: "<0…1>", help: "confidence from 0 to 1" },
  session: { type: "text", value: "<name>", help: "session it belongs to" },
  run: { type: "text", value: "<name>", help: "run it belongs to" },
  ref: { type: "texts", value: "<memory>", help: "memory it is based on" },
  continues: { type: "texts", value: "<memory>", help: "memory it continues from" },
  supersedes: { type: "texts", value: "<memory>", help: "memory it replaces" },
  corrects: { type: "texts", value: "<memory>", help: "incorrect memory it corrects" },
  relation: {
    type: "texts",
    value: "<kind:memory>",
    help: `relation to another memory: ${RELATION_KINDS.join(", ")}`,
  },
  "valid-from": { type: "text", value: "<time>", help: "start of validity: 2026-01-31T12:00Z" },
  "valid-until": { type: "text", value: "<time>", help: "end of validity: 2026-01-31T12:00Z" },
  data: { type: "json", value: "<json>", help: "structured data as a JSON object, or @<file>" },
} as const satisfies OptionSpecs;

/** Builds the input of `remember`; throws if a number, time or relation is invalid. */
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
      data: data as MemoryInput["data"], // The library rejects values that are not objects.
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

/** Parses a relation: `supports:mem_…`. */
function relationOf(text: string): Relation {
  const [, kind = "", to = ""] = /^([^:]*):(.*)$/.exec(text) ?? [];
  if (to === "") {
    throw usageError(
      "--relation",
      `Invalid --relation "${text}": the memory is missing.`,
      "Write <kind>:<memory>, for example supports:mem_…",
    );
  }
  const message = `Invalid --relation "${text}": unknown kind "${kind}".`;
  requireChoice(kind, RELATION_KINDS, { message, path: "--relation" });
  return { kind: kind as RelationKind, to };
}
