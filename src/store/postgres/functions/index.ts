/**
 * The operations, as functions in the database: one call each, planned once per connection, also
 * behind a pooler that cannot keep prepared statements. The entry points fix what their plans may
 * depend on: every look-up in here is by an index, whatever the statistics say.
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

const ENTRY_POINTS = [
  `write(text, bigint, uuid, bigint, boolean, boolean, boolean, boolean, bytea, ${PART_TYPES})`,
  "pick(text, bigint, claim_part[])",
  "register(text, bigint, json, int)",
  "doubt(uuid, bigint)",
];

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

/** To be run with the store's schema first in the search path. */
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
 * Drops the functions by name, and the types: the store's schema may contain others, an extension's for
 * instance. A step that removes a function drops it itself.
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
