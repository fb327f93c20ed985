/**
 * Builds the statements that create the views of one query: temporary, owned by the hub's user, bound to the
 * workspace and the reader by constants that no query can change, and rolled back with the transaction. They
 * are security barriers: no expression of a query is evaluated on rows that a view excludes.
 */
import { definitionOf, quoteName } from "../../sql/view-definitions.ts";
import { columnsOf } from "../../sql/views.ts";
import type { RunQuery } from "../../sql-query.ts";
import type { PreparedQuery } from "./prepare-query.ts";
import { postgresDialect } from "./sql-dialect.ts";

/** Returns the statements, which also let the role read the views. Without a role, no right is granted. */
export function createViews(
  { views, usesSimilarity }: PreparedQuery,
  { query, schema, role }: { query: RunQuery; schema: string; role: string | undefined },
): string {
  const { workspace, sight, vectors } = query;
  const dialect = postgresDialect(schema, workspace);
  const definer = { dialect, sight, vectors, view: quoteName };
  const created = views.map((view) => {
    const columns = columnsOf(view).map(quoteName).join(", ");
    return `create temp view ${view} (${columns}) with (security_barrier)
      as ${definitionOf(view, definer)};`;
  });
  const names = views.map((view) => `pg_temp.${view}`).join(", ");
  if (role !== undefined && views.length > 0) created.push(`grant select on ${names} to ${role};`);
  if (usesSimilarity) created.push(similarityIn(schema));
  return created.join("\n");
}

/** The role has no right to the store's schema, so the function is called through a temporary one. */
const similarityIn = (schema: string): string => `
  create function pg_temp.cosine_similarity(a text, b text) returns double precision
  language sql immutable strict parallel safe return ${schema}.cosine_similarity(a, b);`;
