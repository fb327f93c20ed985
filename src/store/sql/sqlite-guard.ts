/**
 * Restricts SQL queries on SQLite to reading the views and calling functions that only compute. SQLite's
 * authorizer reports what a statement does after parsing, no matter how it is written; everything that is not
 * listed here is denied.
 *
 * Each view has two parts: the public view selects from its base, and only the base reads tables. Reads of
 * tables are allowed according to the base they come from. SQLite reports that base by name only, even if the
 * name is that of a subquery in the query, so a query must not contain the name of a base.
 */
import { constants, type DatabaseSync } from "node:sqlite";
import { isViewName, VIEWS_HINT, type ViewName } from "./views.ts";

const BASE = "baton_base_";

/** Returns the name of the base of a view. */
export const baseOf = (view: ViewName): string => `${BASE}${view}`;

/** Returns whether a text contains the name of a base. Quoted names in SQLite have no escapes to hide it. */
export const containsBaseView = (text: string): boolean => text.toLowerCase().includes(BASE);

/** Table-valued functions over JSON. */
const TABLE_FUNCTIONS = new Set(["json_each", "json_tree"]);

const FUNCTIONS = new Set(
  `-> ->> abs acos asin atan atan2 avg ceil ceiling char coalesce concat concat_ws cos
   cosine_similarity count cume_dist current_date current_time current_timestamp date datetime
   degrees dense_rank exp first_value floor format glob group_concat hex if ifnull iif instr json
   json_array json_array_length json_extract json_group_array json_group_object json_insert
   json_object json_patch json_pretty json_quote json_remove json_replace json_set json_type
   json_valid julianday kept_vector lag last_value lead length like ln log log10 log2 lower ltrim max min mod
   nth_value ntile nullif octet_length percent_rank pi pow power printf quote radians rank replace
   round row_number rtrim sign sin sqrt strftime string_agg substr substring sum tan time timediff
   total trim trunc typeof unicode unixepoch upper`.split(/\s+/),
);

/** Why a statement was denied, and what to do instead. */
export interface Denial {
  readonly reason: string;
  readonly hint: string;
}

/** Authorizes every statement prepared on a connection from now on; keeps the first denial. */
export class Guard {
  denial: Denial | undefined;
  readonly #tables: ReadonlySet<string>;

  constructor(db: DatabaseSync) {
    this.#tables = namesIn(db);
    db.setAuthorizer((action, ...about) => {
      const denial = this.#refuse(action, about);
      this.denial ??= denial;
      return denial === undefined ? constants.SQLITE_OK : constants.SQLITE_DENY;
    });
  }

  #refuse(action: number, about: readonly (string | null)[]): Denial | undefined {
    switch (action) {
      case constants.SQLITE_SELECT:
      case constants.SQLITE_RECURSIVE:
        return undefined;
      case constants.SQLITE_READ:
        return this.#refuseRead(about);
      case constants.SQLITE_FUNCTION:
        return refuseFunction(about[1] ?? "");
      default:
        return { reason: "it does something other than reading", hint: VIEWS_HINT };
    }
  }

  #refuseRead([table, column, schema, reader]: readonly (string | null)[]): Denial | undefined {
    const name = (table ?? "").toLowerCase();
    if (name.startsWith(BASE)) return undefined; // A query cannot name one, so a view does.
    if (reader?.startsWith(BASE)) return undefined;
    // If only the name is reported, the schema is as written in the query: in any letter case, or missing,
    // which means the temporary schema first.
    if (isViewName(name) && (schema ?? "temp").toLowerCase() === "temp") return undefined;
    if (TABLE_FUNCTIONS.has(name)) return undefined;
    // A subquery of which no column is read is reported by name only; so is a table, which is excluded.
    if (column === "" && schema === null && !this.#tables.has(name)) return undefined;
    return { reason: `it reads ${table}, which is not one of the views`, hint: VIEWS_HINT };
  }
}

function refuseFunction(name: string): Denial | undefined {
  if (FUNCTIONS.has(name.toLowerCase())) return undefined;
  return {
    reason: `it calls ${name}(), which is not one of the allowed functions`,
    hint: "See docs/SQL.md for the allowed functions.",
  };
}

/** Returns everything that a name without a schema can refer to, other than a subquery or a view. */
function namesIn(db: DatabaseSync): ReadonlySet<string> {
  const rows = db
    .prepare(
      `select name from main.sqlite_schema union select name from temp.sqlite_schema
       union select name from pragma_module_list
       union values ('sqlite_schema'), ('sqlite_master'), ('sqlite_temp_schema'), ('sqlite_temp_master')`,
    )
    .all() as unknown as (readonly [string])[];
  return new Set(rows.map(([name]) => name.toLowerCase()).filter((name) => !isViewName(name)));
}
