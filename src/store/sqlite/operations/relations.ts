/** Finds the edges of a record that a reader sees, oldest first. */
import { edgeOf, memoryOf } from "../../codecs.ts";
import { isEdgeValid } from "../../memory-filter.ts";
import type { RelationEdge } from "../../rows.ts";
import type { FindRelations } from "../../store.ts";
import { isEdgeVisible } from "../../visibility.ts";
import { scalarOf } from "../scalar.ts";
import type { Statements } from "../statements.ts";

/** Returns up to `limit` visible edges of a record, in one direction. */
export function findRelations(
  sql: Statements,
  workspace: number,
  operation: FindRelations,
): RelationEdge[] {
  const { direction, sight, limit } = operation;
  const memory = scalarOf<number>(sql.memoryPosition.get(workspace, operation.memory)) ?? 0;
  const edges = direction === "in" ? sql.edgesIn : sql.edgesOut;
  const found: RelationEdge[] = [];
  for (const row of edges.iterate(memory)) {
    if (found.length === limit) break;
    const edge = edgeOf(row);
    if (!isEdgeValid(edge, operation)) continue;
    const other = memoryOf(sql.memoryAt.get((row as unknown as unknown[]).at(-1) as number));
    if (isEdgeVisible(other, direction, sight)) found.push(edge);
  }
  return found;
}
