/**
 * Assembles the SQL that creates the store's functions in the database. Every operation is one function call,
 * planned once per connection, even behind a pooler that does not keep prepared statements. The entry points
 * fix the planner settings, so that every lookup uses an index, whatever the statistics are.
 */
import { PART_TYPES, TYPES } from "../parts.ts";
import { ACCEPT } from "./accept.ts";
import { APPEND } from "./append.ts";
import { CLAIM } from "./claim.ts";
import { DELIVER } from "./deliver.ts";
import { DUE } from "./due.ts";
import { ENTRIES } from "./entries.ts";
import { MOVE } from "./move.ts";
import { REFUSE } from "./refuse.ts";
import { REGISTER } from "./register.ts";
import { RENEW } from "./renew.ts";
import { ROWS } from "./rows.ts";
import { SETTLE } from "./settle.ts";
import { SIMILARITY } from "./similarity.ts";
import { WRITE } from "./write.ts";

/** Functions that the hub calls directly. */
const ENTRY_POINTS = [
  `write(text, bigint, uuid, bigint, boolean, boolean, boolean, boolean, bytea, ${PART_TYPES})`,
  "pick(text, bigint, claim_part[])",
  "register(text, bigint, json, int, json)",
  "doubt(uuid, bigint)",
];

/** Planner settings of the entry points. */
const SETTINGS = {
  plan_cache_mode: "force_generic_plan",
  enable_seqscan: "off",
  enable_hashjoin: "off",
  enable_mergejoin: "off",
  enable_bitmapscan: "off",
  enable_material: "off",
  jit: "off",
};

const FUNCTIONS = [
  ...[ROWS, REFUSE, APPEND, ENTRIES, SETTLE, DELIVER, ACCEPT, RENEW, DUE, CLAIM, MOVE, WRITE],
  REGISTER,
  SIMILARITY,
].join("\n");

/** Returns the SQL that creates types and functions. The store's schema must be first in the search path. */
export function functionsIn(schema: string): string {
  const settings = [
    `set search_path = ${schema}, pg_temp`,
    ...Object.entries(SETTINGS).map(([name, value]) => `set ${name} = ${value}`),
  ].join(" ");
  return [
    TYPES,
    FUNCTIONS,
    ...ENTRY_POINTS.map((signature) => `alter function ${signature} ${settings};`),
  ].join("\n");
}

const NAMES = [...FUNCTIONS.matchAll(/create function (\w+)/g)].map(([, name]) => `${name}`);

/**
 * Drops the functions, by name, and their types. By name, because the store's schema may contain other
 * functions, such as those of an extension. A migration step that removes a function has to drop it itself.
 */
export const DROP_FUNCTIONS = `
  do $$
  declare
    dropped text;
  begin
    for dropped in select p.oid::regprocedure::text from pg_proc p
      where p.pronamespace = current_schema()::regnamespace
        and p.proname in (${NAMES.map((name) => `'${name}'`).join(", ")})
        and not exists (select from pg_depend d where d.classid = 'pg_proc'::regclass
          and d.objid = p.oid and d.deptype = 'e')
    loop
      execute 'drop function ' || dropped;
    end loop;
    for dropped in select t.oid::regtype::text from pg_type t
      where t.typnamespace = current_schema()::regnamespace and t.typtype = 'c'
        and t.typname like '%\\_part'
    loop
      execute 'drop type ' || dropped || ' cascade';
    end loop;
  end $$;
`;
