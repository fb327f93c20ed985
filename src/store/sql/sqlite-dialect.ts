/** The SQLite expressions in the definitions of the SQL views that user queries read. */
import type { Dialect, Sql } from "./dialect.ts";

/** Name of the SQL function that decodes a stored vector; registered on each connection. */
export const STORED_VECTOR_FUNCTION = "kept_vector";

/** Where the rows of a table are, if not in the table of that name. */
type Tables = Readonly<Record<string, Sql>>;

/** Returns the dialect for the workspace with this key. */
export function sqliteDialect(workspace: number, elsewhere: Tables = {}): Dialect {
  return {
    table: (name) => elsewhere[name] ?? `main.${name}`,
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

/** In a store's file, several events share a row. */
export const GROUPED_EVENTS: Tables = {
  events: `(select g.last - g.count + 1 + e.key as number, g.workspace, g.at,
    e.value ->> 0 as attempt, e.value ->> 1 as kind, e.value ->> 2 as agent, e.value ->> 3 as task,
    e.value ->> 4 as delivery, e.value ->> 5 as envelope
  from main.event_groups g, json_each(g.text) e)`,
};

const at = (path: readonly string[]): Sql => `'$.${path.join(".")}'`;

/** Returns the constant in hex: no value can end the constant or the text around it. */
const literal = (value: string): Sql => `cast(x'${Buffer.from(value).toString("hex")}' as text)`;
