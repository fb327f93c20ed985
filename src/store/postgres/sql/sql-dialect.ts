/** The SQL dialect of PostgreSQL for the view definitions. */
import { escapeLiteral } from "pg";
import type { Dialect, Sql } from "../../sql/dialect.ts";

/** Returns the dialect for one workspace of the store in a schema. */
export function postgresDialect(schema: string, workspace: string): Dialect {
  const at = (column: Sql, path: readonly string[]): Sql =>
    `(${column}::json #> '{${path.join(",")}}')`;
  const text = (column: Sql, path: readonly string[]): Sql =>
    `(${column}::json #>> '{${path.join(",")}}')`;
  return {
    table: (name) => `${schema}.${name}`,
    workspace: `(select key from ${schema}.workspaces where name = ${escapeLiteral(workspace)})`,
    literal: escapeLiteral,
    text: (column, ...path) => text(column, path),
    integer: (column, ...path) => `${text(column, path)}::bigint`,
    real: (column, ...path) => `${text(column, path)}::float8`,
    json: (column, ...path) => (path.length === 0 ? `${column}::json` : at(column, path)),
    emptyList: "'[]'::json",
    vector: (column, ...path) =>
      `(case json_typeof(${at(column, path)}) when 'array' then ${text(column, path)} end)`,
    keptVector: (column) => `${schema}.vector_text(${column})`,
    together: (a, b) => ` and ${a}.workspace = ${b}.workspace`,
  };
}
