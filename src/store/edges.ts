/**
 * Computes the edges of a record from its text: its relations first, then a `references` edge for every
 * reference that is not a relation already. So records that build on another one are found from there,
 * whichever of the two forms the author used.
 */
import type { RelationEdge } from "./rows.ts";

const REFERENCES = "references";

/** The fields of a record that refer to other records. */
export interface RecordReferences {
  readonly refs?: readonly string[] | undefined;
  readonly relations?:
    | readonly {
        readonly kind: string;
        readonly to: string;
        readonly from?: number | undefined;
        readonly until?: number | undefined;
      }[]
    | undefined;
}

/** Returns the edges of a record, relations first. An edge without `from` or `until` gets 0 there. */
export function edgesOf(naming: RecordReferences): Omit<RelationEdge, "source">[] {
  const refs = listed(naming.refs);
  const stated = listed(naming.relations).map(({ kind, to, from, until }) => ({
    kind,
    target: to,
    validFrom: from ?? 0,
    validUntil: until ?? 0,
  }));
  if (refs.length === 0) return stated;
  const open = stated.filter((edge) => edge.validFrom === 0 && edge.validUntil === 0);
  const known = new Set(open.filter((edge) => edge.kind === REFERENCES).map((edge) => edge.target));
  const referred = [...new Set(refs)].filter((ref) => !known.has(ref));
  return [
    ...stated,
    ...referred.map((target) => ({ kind: REFERENCES, target, validFrom: 0, validUntil: 0 })),
  ];
}

/** Returns an empty list for anything but an array: a text that was tampered with can contain any value. */
const listed = <T>(list: readonly T[] | undefined): readonly T[] =>
  Array.isArray(list) ? (list as readonly T[]).filter((each) => each !== null) : [];
