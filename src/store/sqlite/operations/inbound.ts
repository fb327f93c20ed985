/** Finds the edges that point to any of many records, regardless of visibility, oldest first. */
import { edgeOf } from "../../codecs.ts";
import type { RelationEdge } from "../../rows.ts";
import type { FindInbound } from "../../store.ts";
import type { Statements } from "../statements.ts";

/** Returns up to `limit` edges of the given kinds. */
export function findInbound(
  sql: Statements,
  workspace: number,
  { memories, kinds, limit }: FindInbound,
): RelationEdge[] {
  return sql.edgesInto
    .all(workspace, JSON.stringify(memories), JSON.stringify(kinds), limit)
    .map(edgeOf);
}
