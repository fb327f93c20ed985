/**
 * Checks what PostgreSQL itself makes of a query, after it has resolved every name: the second wall behind the
 * guard, which only knows the text. The query is stored as a temporary view that is never read; the tree in
 * `pg_rewrite` then names each function, operator, type and relation by its number, however it was written.
 *
 * Allowed are the functions and types of the guard's lists, casts and operators of `pg_catalog`, and the views
 * of the query. Nothing runs before this check, and everything is rolled back after it.
 */
import type pg from "pg";
import { FUNCTIONS, TYPES } from "./sql-grammar.ts";
import type { QueryRefusal } from "./sql-guard.ts";

/** Name of the temporary view that holds the tree of the query. */
const RESOLVED_VIEW = "pg_temp.baton_query";

/** Nodes that act without naming a function: they lock, sample, count up sequences or build XML. */
const REFUSED_NODES = [
  ...["ROWMARKCLAUSE", "TABLESAMPLECLAUSE", "NEXTVALUEEXPR", "CURRENTOFEXPR"],
  ...["TABLEFUNC", "XMLEXPR", "COERCETODOMAIN"],
];

/** Returns the statement that resolves a query. `text` is the query without parameters. */
export const resolveStatement = (text: string): string =>
  `create view ${RESOLVED_VIEW} as select exists (\n${text}\n) as found`;

const listOf = (names: Iterable<string>): string => `'{${[...names].join(",")}}'::name[]`;
const FUNCTION_NAMES = listOf(FUNCTIONS);
const TYPE_NAMES = listOf([...TYPES, "record", "unknown"]);

/** Names in the tree are escaped, so that a match is never missed; one too many refuses the query. */
const findRefused = (views: readonly string[]): string => `
  with tree (text) as (
    select ev_action::text from pg_rewrite where ev_class = '${RESOLVED_VIEW}'::regclass
  ), used (kind, id) as (
    select case when field in ('funcid', 'aggfnoid', 'winfnoid') then 'function'
      when field = 'relid' then 'relation' when field like '%type%' then 'type'
      else 'operator' end, number[1]::oid
    from tree, regexp_matches(text, ':(funcid|aggfnoid|winfnoid|relid|consttype|resulttype|row_typeid|opnos?|eqop|sortop|cycle_mark_neop) (\\(o [0-9 ]+\\)|[0-9]+)', 'g') as named (match),
      lateral (select match[1], match[2]) as m (field, numbers),
      lateral regexp_matches(numbers, '[0-9]+', 'g') as each (number)
  ), refused (kind, name) as (
    select kind, id::regproc::text from used where kind = 'function' and not exists (
      select from pg_proc p where p.oid = id and (
        p.pronamespace = 'pg_catalog'::regnamespace and p.proname = any (${FUNCTION_NAMES})
        or p.pronamespace = pg_my_temp_schema() and p.proname = 'cosine_similarity'
        or p.pronamespace = 'pg_catalog'::regnamespace
          and exists (select from pg_cast where castfunc = p.oid)))
    union all
    select kind, id::regclass::text from used where kind = 'relation' and id <> 0 and not exists (
      select from pg_class c where c.oid = id and c.relkind = 'v'
        and c.relnamespace = pg_my_temp_schema() and c.relname = any (${listOf(views)}))
    union all
    select kind, id::regoperator::text from used where kind = 'operator' and id <> 0
      and not exists (select from pg_operator o
        where o.oid = id and o.oprnamespace = 'pg_catalog'::regnamespace)
    union all
    select kind, id::regtype::text from used where kind = 'type' and not exists (
      select from pg_type t left join pg_type e on e.oid = t.typelem and e.typarray = t.oid
      where t.oid = id and t.typnamespace = 'pg_catalog'::regnamespace
        and coalesce(e.typname, t.typname) = any (${TYPE_NAMES}))
    union all
    select 'expression', lower(node[1]) from tree,
      regexp_matches(text, '\\{(${REFUSED_NODES.join("|")})', 'g') as nodes (node)
    union all
    select 'query', '' where not exists (select from tree)
  )
  select kind, name from refused limit 1`;

/**
 * Returns why the query that was just resolved is refused; undefined if it may run. `views` are the names of
 * the views that it may read; `seal` are statements to run in the same round trip.
 */
export async function inspectResolved(
  client: pg.ClientBase,
  { views, seal }: { readonly views: readonly string[]; readonly seal: string },
): Promise<QueryRefusal | undefined> {
  const results = await client.query(`${findRefused(views)}; ${seal}`);
  // The driver returns a list of results for several statements, which its types do not say.
  const [{ rows }] = results as unknown as [pg.QueryResult<{ kind: string; name: string }>];
  const [refused] = rows;
  if (refused === undefined) return undefined;
  return {
    reason: `it uses the ${refused.kind} ${refused.name}, which is not allowed`,
    hint: "See docs/SQL.md for the allowed views, functions and types.",
  };
}
