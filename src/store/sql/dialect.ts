/** Interface of an SQL dialect: what the view definitions need to know about an engine's tables and JSON. */

/** A piece of SQL, as opposed to a value. */
export type Sql = string;

/** Builds the engine-specific SQL of the view definitions. */
export interface Dialect {
  /** Returns the qualified name of a base table. */
  table(name: string): Sql;
  /** Expression for the key of the workspace that the views show. */
  readonly workspace: Sql;
  /** Returns a text constant; safe for any value. */
  literal(value: string): Sql;
  /** Returns the value at a path in a column of JSON text, without quotes; NULL if it does not exist. */
  text(column: Sql, ...path: readonly string[]): Sql;
  integer(column: Sql, ...path: readonly string[]): Sql;
  real(column: Sql, ...path: readonly string[]): Sql;
  /** Returns the JSON at a path, for the engine's JSON operators; without a path, the whole document. */
  json(column: Sql, ...path: readonly string[]): Sql;
  /** The empty list, used where a list does not exist. */
  readonly emptyList: Sql;
  /** Returns an array of numbers at a path as JSON text; NULL for any other value. */
  vector(column: Sql, ...path: readonly string[]): Sql;
  /** Returns a stored vector (search/embedding/quantise.ts) as JSON text. */
  keptVector(column: Sql): Sql;
  /** Returns the condition that rows of two tables belong to one workspace; empty if positions imply it. */
  together(a: string, b: string): Sql;
}
