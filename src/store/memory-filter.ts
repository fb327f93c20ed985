/**
 * Defines what memory filters match, for every store. Rows that an index returns are checked again with it.
 */
import { type MemoryRow, parseText, type RelationEdge } from "./rows.ts";

/** The fields of a record that filters can match. */
export interface Facets {
  readonly agent: string;
  readonly instance: string;
  readonly session?: string;
  readonly task?: string;
  readonly type: string;
  readonly content: string;
  readonly tags?: readonly string[];
  readonly concepts?: readonly string[];
}

/** Returns the facets of a record. Throws `store_corrupt` if its text is damaged. */
export function facetsOf(row: Pick<MemoryRow, "id" | "text">): Facets {
  return parseText<Facets>(row);
}

/** Returns the session of a record: the one it names, or else its author's. */
export const sessionOf = (record: {
  readonly instance: string;
  readonly session?: string | undefined;
}): string => record.session ?? record.instance;

/** Values that a record must have; an absent field matches every record. */
export interface MemoryFilter {
  readonly task?: string;
  readonly agent?: string;
  readonly session?: string;
  readonly tag?: string;
  readonly type?: string;
}

/** Returns whether a record has all values of the filter. */
export function matchesMemoryFilter(row: MemoryRow, filter: MemoryFilter): boolean {
  if (Object.keys(filter).length === 0) return true;
  const facets = facetsOf(row);
  return (
    (filter.task === undefined || facets.task === filter.task) &&
    (filter.agent === undefined || facets.agent === filter.agent) &&
    (filter.session === undefined || sessionOf(facets) === filter.session) &&
    (filter.type === undefined || facets.type === filter.type) &&
    (filter.tag === undefined || (facets.tags ?? []).includes(filter.tag))
  );
}

/** Returns whether an edge has one of the kinds and is valid at the time; either may be absent. */
export function isEdgeValid(
  edge: RelationEdge,
  { kinds, at }: { readonly kinds?: readonly string[]; readonly at?: number },
): boolean {
  if (kinds !== undefined && !kinds.includes(edge.kind)) return false;
  if (at === undefined) return true;
  return edge.validFrom <= at && (edge.validUntil === 0 || at < edge.validUntil);
}
