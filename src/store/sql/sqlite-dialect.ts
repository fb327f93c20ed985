/** The views on SQLite's tables. */
import type { Dialect, Sql } from "./dialect.ts";

/** A function of ours, made known to each connection. */
export const STORED_VECTOR_FUNCTION = "kept_vector";

export function sqliteDialect(workspace: number): Dialect {
  return {
    table: (name) => `main.${name}`,
    workspace: `${workspace}`,
    literal,
    text: (column, ...path) => `(${column} ->> ${at(path)})`,
    integer: (column, ...path) => `(${column} ->> ${at(path)})`,
    real: (column, ...path) => `(${column} ->> ${at(path)})`,
    json: (column, ...path) => (path.length === 0 ? column : `(${column} -> ${at(path)})`),
    emptyList: "'[]'",
    vector: (column, ...path) =>
      `(case json_type(${column}, ${at(path)}) when 'array' then ${column} -> ${at(path)} end)`,
    keptVector: (column) => `${STORED_VECTOR_FUNCTION}(${column})`,
    together: () => "", // Positions and keys are of one workspace each.
  };
}

const at = (path: readonly string[]): Sql => `'$.${path.join(".")}'`;

/** In hex: nothing in it can end the constant or the text around it. */
const literal = (value: string): Sql => `cast(x'${Buffer.from(value).toString("hex")}' as text)`;
