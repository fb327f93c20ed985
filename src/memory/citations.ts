/** What a memory builds on, as its author says it: its references, and relations of these kinds. */
import type { Citation } from "./quarantine/quarantine-mark.ts";
import type { MemoryInput, RelationKind } from "./record.ts";

/**
 * Kinds by which one record comes of another. Who supersedes, corrects or contradicts a record, or
 * branches from it, does not build on it.
 */
export const DOWNSTREAM_KINDS: readonly RelationKind[] = [
  "derived-from",
  "references",
  "continues-from",
  "summarizes",
  "supports",
  "caused-by",
];

export function citationsOf({ refs = [], relations = [] }: MemoryInput, prefix = ""): Citation[] {
  const at = prefix === "" ? "" : `${prefix}.`;
  return [
    ...refs.map((id, i) => ({ id, path: `${at}refs[${i}]` })),
    ...relations.flatMap(({ kind, to: id }, i) =>
      DOWNSTREAM_KINDS.includes(kind) ? [{ id, path: `${at}relations[${i}].to` }] : [],
    ),
  ];
}
