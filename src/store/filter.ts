/** What a filter means, the same for every store. The rows of an index are checked with it again. */
import type { MemoryRow, RelationEdge } from "./rows.ts";
import type { FindRelations, MemoryFilter } from "./store.ts";
import { findableText } from "./words.ts";

export function passes(row: MemoryRow, filter: MemoryFilter): boolean {
  return (
    row.branch === filter.branch &&
    (filter.task === undefined || row.task === filter.task) &&
    (filter.agent === undefined || row.agent === filter.agent) &&
    (filter.session === undefined || row.session === filter.session) &&
    (filter.type === undefined || row.type === filter.type) &&
    (filter.tag === undefined || findableText(row).tags.includes(filter.tag))
  );
}

export function holdsFor(
  edge: RelationEdge,
  { kinds, at }: Pick<FindRelations, "kinds" | "at">,
): boolean {
  if (kinds !== undefined && !kinds.includes(edge.kind)) return false;
  if (at === undefined) return true;
  return edge.validFrom <= at && (edge.validUntil === 0 || at < edge.validUntil);
}
