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
import { REFUSE } from "./refuse.ts";
import { REGISTER } from "./register.ts";
import { RENEW } from "./renew.ts";
import { ROWS } from "./rows.ts";
import { SETTLE } from "./settle.ts";
import { SWEEP } from "./sweep.ts";
import { WRITE } from "./write.ts";

const ENTRY_POINTS = [
  `write(text, bigint, uuid, bigint, boolean, boolean, boolean, text[], bytea, ${PART_TYPES})`,
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

/** To be run with the store's schema first in the search path. */
export function functionsIn(schema: string): string {
  const settings = [
    `set search_path = ${schema}, pg_temp`,
    ...Object.entries(SETTINGS).map(([name, value]) => `set ${name} = ${value}`),
  ].join(" ");
  return [
    TYPES,
    ROWS,
    REFUSE,
    APPEND,
    SETTLE,
    DELIVER,
    ACCEPT,
    RENEW,
    SWEEP,
    CLAIM,
    WRITE,
    REGISTER,
    ...ENTRY_POINTS.map((signature) => `alter function ${signature} ${settings};`),
  ].join("\n");
}
