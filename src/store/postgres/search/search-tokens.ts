/**
 * What the index's lists are called, and how positions stand in them. A list is known by 64 bits of a
 * hash: of a term with the space it is counted in, or of a facet on a branch. Two that share their
 * bits cost a look at a record that does not fit, and nothing else.
 */
import { hash } from "node:crypto";
import { GenerationalCache } from "../../../base/generational-cache.ts";
import { type Facets, facetsOf, sessionOf } from "../../memory-filter.ts";
import type { MemoryRow } from "../../rows.ts";
import type { IndexableRow, IndexedRecord, SearchFilter } from "../../search.ts";
import { facetsIn, spaceOf } from "../../search.ts";

export type Space = ReturnType<typeof spaceOf>;

/** Hashing takes a microsecond, and a team uses the same words all day. */
const cache = new GenerationalCache<string, string>(25_000);

/** As the database writes 64 bits. */
function listKey(name: string): string {
  const known = cache.get(name);
  if (known !== undefined) return known;
  const bits = BigInt(`0x${hash("sha256", name, "hex").slice(0, 16)}`);
  const key = BigInt.asIntN(64, bits).toString();
  cache.set(name, key);
  return key;
}

export const termKey = (space: Space, token: string): string => listKey(`${space} ${token}`);

function facetKey(branch: string, kind: string, value: string): string {
  return listKey(JSON.stringify([branch, kind, value]));
}

/** Every list a record is in. */
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

/** What has to be so: of each, a record is in at least one list. Without facets, the branches. */
export function conditionsOf(branches: readonly string[], filter: SearchFilter): string[][] {
  const facets = facetsIn(filter);
  const wanted = facets.length === 0 ? ([["branch", [""]]] as const) : facets;
  return wanted.map(([kind, values]) =>
    branches.flatMap((branch) => values.map((value) => facetKey(branch, kind, value))),
  );
}

/** Enough for a million million records in a workspace. */
export const POSITION_BYTES = 5;

export function packPositions(positions: readonly number[]): Buffer {
  const packed = Buffer.allocUnsafe(positions.length * POSITION_BYTES);
  for (const [n, pos] of positions.entries())
    packed.writeUIntBE(pos, n * POSITION_BYTES, POSITION_BYTES);
  return packed;
}

/** From the newest on: those below `before`, until there are `most`. */
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
