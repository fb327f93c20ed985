/** What the definitions of the views need of an engine: its tables, and how it reads JSON. */

/** A piece of SQL, as opposed to a value. */
export type Sql = string;

export interface Dialect {
  /** A base table by its name. */
  table(name: string): Sql;
  /** The key of the one workspace that is seen. */
  readonly workspace: Sql;
  /** A text constant, whatever is in it. */
  literal(value: string): Sql;
  /** The value at a path in a column of JSON text, without quotes; NULL when there is none. */
  text(column: Sql, ...path: readonly string[]): Sql;
  integer(column: Sql, ...path: readonly string[]): Sql;
  real(column: Sql, ...path: readonly string[]): Sql;
  /** As JSON: what the engine's JSON operators work on. Without a path, all of it. */
  json(column: Sql, ...path: readonly string[]): Sql;
  /** What a list is that is not there: an empty one. */
  readonly emptyList: Sql;
  /** An array of numbers at a path, as JSON text; NULL for anything else. */
  vector(column: Sql, ...path: readonly string[]): Sql;
  /** A stored vector (search/embedding/quantise.ts) as JSON text. */
  keptVector(column: Sql): Sql;
  /** That rows of two tables are of one workspace, where positions do not say so. */
  together(a: string, b: string): Sql;
}
