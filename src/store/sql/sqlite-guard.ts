/**
 * What SQLite may be asked for: reads of the views, and functions that compute. SQLite itself says
 * what a text does, after parsing it, however it is written; whatever is not named here is denied.
 *
 * A view is in two parts. The one people name is a select from its base, and only the base reads
 * tables. Reads of tables are told apart by the base they are made from, and SQLite tells that by
 * name, also where the name is that of a subquery of the text: so no text may contain such a name.
 */
import { constants, type DatabaseSync } from "node:sqlite";
import { isViewName, VIEWS_HINT, type ViewName } from "./views.ts";

const BASE = "baton_base_";

export const baseOf = (view: ViewName): string => `${BASE}${view}`;

/** Names of bases are written out or they are not there: a quoted name in SQLite has no escapes. */
export const containsBaseView = (text: string): boolean => text.toLowerCase().includes(BASE);

/** Tables made from JSON. */
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

export interface Denial {
  readonly reason: string;
  readonly hint: string;
}

/** Watches what is prepared on this connection from now on; remembers the first thing it denied. */
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
    if (name.startsWith(BASE)) return undefined; // No text names one, so a view does.
    if (reader?.startsWith(BASE)) return undefined;
    // Where only the name is told, the schema is as the text has it: in any case of letters, or not
    // at all, which means the temporary one first.
    if (isViewName(name) && (schema ?? "temp").toLowerCase() === "temp") return undefined;
    if (TABLE_FUNCTIONS.has(name)) return undefined;
    // Of a subquery nothing is read but that it is there; of a table that would be told here too.
    if (column === "" && schema === null && !this.#tables.has(name)) return undefined;
    return { reason: `it reads ${table}, which is none of the views`, hint: VIEWS_HINT };
  }
}

function refuseFunction(name: string): Denial | undefined {
  if (FUNCTIONS.has(name.toLowerCase())) return undefined;
  return {
    reason: `it calls ${name}(), which is not among the functions that only compute`,
    hint: "See docs/SQL.md for the functions there are.",
  };
}

/** Whatever a name without a schema could mean, besides a subquery. */
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
