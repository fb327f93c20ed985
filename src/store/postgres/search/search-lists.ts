/** Reads the index's lists of positions: many at once, newest first, block by block. */
import type { StatementRunner } from "../lines.ts";
import { unpackInto } from "./search-tokens.ts";

/** A request for the newest positions of one list. */
export interface ListRequest {
  readonly key: string;
  /** Only positions below this one. */
  readonly below: number;
  /** Maximum number of positions. */
  readonly most: number;
}

/** Minimum number of positions in a full block (indexer.ts). */
const BLOCK = 256;

/** Returns the positions for each request, in the order of the requests. */
export async function readLists(
  { sql, read }: StatementRunner,
  workspace: string,
  requests: readonly ListRequest[],
): Promise<number[][]> {
  const lists = requests.map((): number[] => []);
  const wanted = requests.flatMap((request, n) =>
    request.most > 0 && request.below > 1 ? [{ request, n }] : [],
  );
  if (wanted.length === 0) return lists;
  const rows = await read(sql.postings, [
    workspace,
    wanted.map(({ request }) => request.key),
    wanted.map(({ request }) => request.below),
    // The growing block may be short, and the first block is read only in part.
    wanted.map(({ request }) => Math.ceil(request.most / BLOCK) + 2),
  ]);
  for (const row of rows) {
    const [place, positions] = row as [number, Buffer];
    const { request, n } = wanted[place - 1] as (typeof wanted)[number];
    unpackInto(lists[n] as number[], positions, { before: request.below, most: request.most });
  }
  return lists;
}
