/** Ways to call a function in a query: written as a call, or disguised as a column, type, alias or subquery. */

/** A query that reaches `name` with the argument, if nothing refuses it. Both are SQL. */
export type CallForm = (name: string, argument: string) => string;

export const CALL_FORMS: Readonly<Record<string, CallForm>> = {
  call: (f, x) => `select ${f}(${x})`,
  "qualified call": (f, x) => `select pg_catalog.${f}(${x})`,
  "call without arguments": (f) => `select ${f}()`,
  "call over a window": (f, x) => `select ${f}(${x}) over ()`,
  "call in FROM": (f, x) => `select * from ${f}(${x}) as f`,
  "call in LIMIT": (f, x) => `select 1 limit ${f}(${x})`,
  "call in VALUES": (f, x) => `values (${f}(${x}))`,
  "call in a condition": (f, x) => `select id from memories where ${f}(${x}) is not null`,
  "call in a filter": (f, x) => `select count(*) filter (where ${f}(${x}) is not null)`,
  "field of an alias": (f, x) => `select f.${f} from unnest(array[${x}]) as f`,
  "field of an alias, named elsewhere": (f, x) =>
    `select f.${f} from unnest(array[${x}]) as f, (select 1 as ${f}) z`,
  "field of an alias, renamed": (f, x) => `select ${f}.${f} from unnest(array[${x}]) as ${f}(x)`,
  "field of a function": (f, x) => `select unnest.${f} from unnest(array[${x}])`,
  "field of an element": (f) => `select e.${f} from json_array_elements_text('["x"]') as e`,
  "field of an expression": (f, x) => `select (${x}).${f}`,
  "field of a column": (f, x) => `select (q.c).${f} from (select ${x} as c) q`,
  "field of a view": (f) => `select m.${f} from memories m`,
  "field of a view, named elsewhere": (f) => `select m.${f} from memories m, (select 1 as ${f}) z`,
  "field of a join": (f, x) =>
    `select j.${f} from (unnest(array[${x}]) as a cross join (select 1 as ${f}) as b) as j(p, q)`,
  "name of a subquery": (f, x) =>
    `with q(${f}) as (select 1) select f.${f} from unnest(array[${x}]) as f, q`,
  "alias of an outer query": (f, x) =>
    `select (select f.${f} from (select 1 as ${f}) as f) from unnest(array[${x}]) as f`,
  "alias of an inner query": (f, x) =>
    `select f.${f}, (select f.f from unnest(array[${x}]) as f limit 1) from (select 1 as ${f}) as f`,
  "alias hidden by a join": (f, x) =>
    `select (select f.${f} from (unnest(array[1]) as g cross join (select 1 as ${f}) as f) as j)
     from unnest(array[${x}]) as f`,
  "lateral alias": (f, x) =>
    `select g.y from unnest(array[${x}]) as f, lateral (select f.${f} as y) as g, (select 1 as ${f}) z`,
  "in a recursion": (f, x) =>
    `with recursive t(n, ${f}) as (select 1, 1 union all
       select n + 1, 1 from t where n < 2 and exists (select f.${f} from unnest(array[${x}]) as f))
     select t.${f} from t`,
  type: (f, x) => `select cast(${x} as ${f})`,
  "type before a literal": (f) => `select ${f} '1'`,
  "array type": (f, x) => `select array[${x}]::${f}[]`,
};

/** A random query of nested scopes, in which a few names are aliases, columns and functions. */
export function randomQuery(names: readonly string[], below: (n: number) => number): string {
  const pick = (from: readonly string[] = names): string => from[below(from.length)] as string;
  const item = (depth: number, aliases: string[]): string => {
    const alias = pick();
    aliases.push(alias);
    const columns = below(3) === 0 ? `(${pick()})` : "";
    switch (below(depth > 0 ? 6 : 3)) {
      case 0:
        return `unnest(array['1']) as ${alias}${columns}`;
      case 1:
        return `json_each_text('{"a":"1"}') as ${alias}${columns}`;
      case 2:
        return `memories as ${alias}${columns}`;
      case 3:
        return `(${select(depth - 1, aliases)}) as ${alias}${columns}`;
      case 4:
        return `lateral (${select(depth - 1, aliases)}) as ${alias}${columns}`;
      default: {
        const sides = `${item(depth - 1, aliases)} cross join ${item(depth - 1, aliases)}`;
        return `(${sides})${below(2) === 0 ? ` as ${alias}` : ""}`;
      }
    }
  };
  const select = (depth: number, outer: readonly string[]): string => {
    const aliases = [...outer];
    const count = 1 + below(2);
    const from = Array.from({ length: count }, () => item(depth, aliases)).join(", ");
    const field = `${pick(aliases)}.${pick()}`;
    const target = [`${field} as ${pick()}`, field, "*", `1 as ${pick()}`][below(4)];
    const isNested = depth > 0 && below(3) === 0;
    const nested = isNested ? `, (${select(depth - 1, aliases)} limit 1) as ${pick()}` : "";
    return `select ${target}${nested} from ${from}`;
  };
  return select(2, []);
}
