/**
 * Builds the tokens that a record has in the FTS5 table, and the FTS5 queries for facets. Terms are prefixed
 * with the number of their space: traces and other records of a workspace have separate term statistics. A
 * facet (type, agent, task, tag, …) is a hash that cannot be confused with a term; matches are checked
 * against the row.
 */
import { sha256 } from "../../../base/digest.ts";
import { GenerationalCache } from "../../../base/generational-cache.ts";
import type { MemoryFilter } from "../../memory-filter.ts";
import { type Facets, facetsOf, sessionOf } from "../../memory-filter.ts";
import type { MemoryRow } from "../../rows.ts";
import {
  facetsIn,
  type IndexedRecord,
  type SearchFilter,
  spaceKey,
  spaceOf,
} from "../../search.ts";

/** Returns the token of a term in a space. */
export const termToken = (space: number, token: string): string => `${space}x${token}`;

interface BranchKey {
  readonly workspace: number;
  readonly branch: string;
}

/** Returns all tokens of a record, separated by spaces; only its facets if it is not searchable. */
export function tokensOf(
  row: MemoryRow & { readonly workspace: number },
  indexed: IndexedRecord | undefined,
): string {
  const facets = facetTokens(row, indexed?.record ?? readFacets(row));
  if (indexed === undefined) return facets.join(" ");
  const space = spaceKey(row.workspace, spaceOf(row.branch));
  return [...indexed.tokens.map((token) => termToken(space, token)), ...facets].join(" ");
}

/** Returns only the branch for a record that cannot be read; records after it must still be found. */
function facetTokens(row: BranchKey, facets: RecordFacets | undefined): string[] {
  if (facets === undefined) return [facetToken(row, "branch", "")];
  const { type, agent, task, run, tags = [], concepts = [] } = facets;
  return [
    facetToken(row, "branch", ""),
    facetToken(row, "type", type),
    facetToken(row, "agent", agent),
    facetToken(row, "session", sessionOf(facets)),
    ...(task === undefined ? [] : [facetToken(row, "task", task)]),
    ...(run === undefined ? [] : [facetToken(row, "run", run)]),
    ...tags.map((tag) => facetToken(row, "tag", tag)),
    ...concepts.map((concept) => facetToken(row, "concept", concept)),
  ];
}

interface RecordFacets extends Facets {
  readonly run?: string;
}

function readFacets(row: MemoryRow): RecordFacets | undefined {
  try {
    return facetsOf(row);
  } catch {
    return undefined;
  }
}

/** Nine of ten facets were written a moment ago: same branch, type, author, task. */
const facetTokenCache = new GenerationalCache<string, string>(10_000);

function facetToken({ workspace, branch }: BranchKey, kind: string, value: string): string {
  const name = JSON.stringify([workspace, branch, kind, value]);
  const known = facetTokenCache.get(name);
  if (known !== undefined) return known;
  const token = `zq${sha256(name).slice(0, 24)}`;
  facetTokenCache.set(name, token);
  return token;
}

/** Returns the FTS5 query for a filter's facets on these branches; empty if it has none. */
export function facetQuery(
  workspace: number,
  branches: readonly string[],
  filter: MemoryFilter,
): string {
  const facets = Object.entries(filter).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  if (facets.length === 0) return "";
  const on = (branch: string): string =>
    facets
      .map(([kind, value]) => `"${facetToken({ workspace, branch }, kind, value)}"`)
      .join(" AND ");
  return branches.map((branch) => `(${on(branch)})`).join(" OR ");
}

/** Like `facetQuery`, for a search; without facets, it restricts to the branches only. */
export function restriction(
  workspace: number,
  branches: readonly string[],
  filter: SearchFilter,
): string {
  const facets = facetsIn(filter);
  const on = (branch: string): string => {
    const one = (kind: string, value: string): string =>
      `"${facetToken({ workspace, branch }, kind, value)}"`;
    if (facets.length === 0) return one("branch", "");
    return facets
      .map(([kind, values]) => `(${values.map((value) => one(kind, value)).join(" OR ")})`)
      .join(" AND ");
  };
  return branches.map((branch) => `(${on(branch)})`).join(" OR ");
}
