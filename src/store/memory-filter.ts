/** What a filter means, the same for every store. The rows of an index are checked with it again. */
import { type MemoryRow, parseText, type RelationEdge } from "./rows.ts";

/** The fields of a record by which it can be found. */
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

export function facetsOf(row: Pick<MemoryRow, "id" | "text">): Facets {
  return parseText<Facets>(row);
}

/** A record without a session of its own belongs to the session of its author. */
export const sessionOf = (record: {
  readonly instance: string;
  readonly session?: string | undefined;
}): string => record.session ?? record.instance;

export interface MemoryFilter {
  readonly task?: string;
  readonly agent?: string;
  readonly session?: string;
  readonly tag?: string;
  readonly type?: string;
}

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

export function isEdgeValid(
  edge: RelationEdge,
  { kinds, at }: { readonly kinds?: readonly string[]; readonly at?: number },
): boolean {
  if (kinds !== undefined && !kinds.includes(edge.kind)) return false;
  if (at === undefined) return true;
  return edge.validFrom <= at && (edge.validUntil === 0 || at < edge.validUntil);
}
