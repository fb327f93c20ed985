/**
 * Keys of the index's lists, and the encoding of positions in them. The key of a list is 64 bits of a hash:
 * of a term with its space, or of a facet on a branch. If two lists share a key, some records are read that
 * do not match; they are checked, so that the result is the same.
 */
import { hash } from "node:crypto";
import { GenerationalCache } from "../../../base/generational-cache.ts";
import { type Facets, facetsOf, sessionOf } from "../../memory-filter.ts";
import type { MemoryRow } from "../../rows.ts";
import type { IndexableRow, IndexedRecord, SearchFilter } from "../../search.ts";
import { facetsIn, spaceOf } from "../../search.ts";

/** Memories (`known`) and traces (`traced`) are counted and listed separately. */
export type Space = ReturnType<typeof spaceOf>;

/** Cached: hashing takes a microsecond, and a team uses the same words all day. */
const cache = new GenerationalCache<string, string>(25_000);

/** Returns the key of a list, as the database writes 64-bit integers. */
function listKey(name: string): string {
  const known = cache.get(name);
  if (known !== undefined) return known;
  const bits = BigInt(`0x${hash("sha256", name, "hex").slice(0, 16)}`);
  const key = BigInt.asIntN(64, bits).toString();
  cache.set(name, key);
  return key;
}

/** Returns the key of the list of a term in a space. */
export const termKey = (space: Space, token: string): string => listKey(`${space} ${token}`);

function facetKey(branch: string, kind: string, value: string): string {
  return listKey(JSON.stringify([branch, kind, value]));
}

/** Returns the keys of all lists that contain a record. */
export function keysOf(row: IndexableRow, indexed: IndexedRecord): string[] {
  const space = spaceOf(row.branch);
  return [...indexed.tokens.map((token) => termKey(space, token)), ...facetKeys(row)];
}

function facetKeys(row: MemoryRow): string[] {
  const facets: Facets & { readonly run?: string } = facetsOf(row);
  const { type, agent, task, run, tags = [], concepts = [] } = facets;
  const key = (kind: string, value: string): string => facetKey(row.branch, kind, value);
  return [
    key("branch", ""),
    key("type", type),
    key("agent", agent),
    key("session", sessionOf(facets)),
    ...(task === undefined ? [] : [key("task", task)]),
    ...(run === undefined ? [] : [key("run", run)]),
    ...new Set(tags.map((tag) => key("tag", tag))),
    ...new Set(concepts.map((concept) => key("concept", concept))),
  ];
}

/** Returns the conditions of a filter: a record is in at least one list of each. Default: the branches. */
export function conditionsOf(branches: readonly string[], filter: SearchFilter): string[][] {
  const facets = facetsIn(filter);
  const wanted = facets.length === 0 ? ([["branch", [""]]] as const) : facets;
  return wanted.map(([kind, values]) =>
    branches.flatMap((branch) => values.map((value) => facetKey(branch, kind, value))),
  );
}

/** Bytes per position; enough for 10^12 records in a workspace. */
export const POSITION_BYTES = 5;

/** Encodes positions as big-endian integers. */
export function packPositions(positions: readonly number[]): Buffer {
  const packed = Buffer.allocUnsafe(positions.length * POSITION_BYTES);
  for (const [n, pos] of positions.entries())
    packed.writeUIntBE(pos, n * POSITION_BYTES, POSITION_BYTES);
  return packed;
}

/** Appends positions below `before`, newest first, until `found` has `most`. */
export function unpackInto(
  found: number[],
  packed: Buffer,
  { before, most }: { readonly before: number; readonly most: number },
): void {
  for (
    let at = packed.length - POSITION_BYTES;
    at >= 0 && found.length < most;
    at -= POSITION_BYTES
  ) {
    const pos = packed.readUIntBE(at, POSITION_BYTES);
    if (pos < before) found.push(pos);
  }
}
