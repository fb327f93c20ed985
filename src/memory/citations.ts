/** Lists the memories that an input builds on: its references, and its relations of certain kinds. */
import type { Citation } from "./quarantine/quarantine-mark.ts";
import type { MemoryInput, RelationKind } from "./record.ts";

/**
 * The relation kinds by which one memory builds on another. A memory that supersedes, corrects, contradicts
 * or branches from another does not build on it.
 */
export const DOWNSTREAM_KINDS: readonly RelationKind[] = [
  "derived-from",
  "references",
  "continues-from",
  "summarizes",
  "supports",
  "caused-by",
];

/** Returns the cited ids with their input paths. `prefix`: the path of the input in a list, such as `[2]`. */
export function citationsOf({ refs = [], relations = [] }: MemoryInput, prefix = ""): Citation[] {
  const at = prefix === "" ? "" : `${prefix}.`;
  return [
    ...refs.map((id, i) => ({ id, path: `${at}refs[${i}]` })),
    ...relations.flatMap(({ kind, to: id }, i) =>
      DOWNSTREAM_KINDS.includes(kind) ? [{ id, path: `${at}relations[${i}].to` }] : [],
    ),
  ];
}
