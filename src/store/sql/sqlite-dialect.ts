/** The SQLite expressions in the definitions of the SQL views that user queries read. */
import type { Dialect, Sql } from "./dialect.ts";

/** Name of the SQL function that decodes a stored vector; registered on each connection. */
export const STORED_VECTOR_FUNCTION = "kept_vector";

/** Returns the dialect for the workspace with this key. */
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
    together: () => "", // A position or key belongs to exactly one workspace.
  };
}

const at = (path: readonly string[]): Sql => `'$.${path.join(".")}'`;

/** Returns the constant in hex: no value can end the constant or the text around it. */
const literal = (value: string): Sql => `cast(x'${Buffer.from(value).toString("hex")}' as text)`;
