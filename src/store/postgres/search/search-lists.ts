/** Reading the index's lists of positions: many at once, newest first, a block at a time. */
import type { StatementRunner } from "../lines.ts";
import { unpackInto } from "./search-tokens.ts";

export interface ListRequest {
  readonly key: string;
  /** Only positions below this one. */
  readonly below: number;
  readonly most: number;
}

/** No block that is full has fewer (indexer.ts). */
const BLOCK = 256;

/** In the order asked for. */
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
    // The block that grows may be short, and the one where reading begins is read in part.
    wanted.map(({ request }) => Math.ceil(request.most / BLOCK) + 2),
  ]);
  for (const row of rows) {
    const [place, positions] = row as [number, Buffer];
    const { request, n } = wanted[place - 1] as (typeof wanted)[number];
    unpackInto(lists[n] as number[], positions, { before: request.below, most: request.most });
  }
  return lists;
}
