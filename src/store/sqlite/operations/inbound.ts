/** Who points at any of many records, whoever may see it: oldest edge first. */
import { edgeOf } from "../../codecs.ts";
import type { RelationEdge } from "../../rows.ts";
import type { FindInbound } from "../../store.ts";
import type { Statements } from "../statements.ts";

export function findInbound(
  sql: Statements,
  workspace: number,
  { memories, kinds, limit }: FindInbound,
): RelationEdge[] {
  return sql.edgesInto
    .all(workspace, JSON.stringify(memories), JSON.stringify(kinds), limit)
    .map(edgeOf);
}
