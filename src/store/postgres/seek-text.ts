/**
 * Searches for a text in everything that is stored, one slice at a time. No index contains parts of words, so
 * the server reads everything once. Memories come last, up to the newest, so that records written meanwhile
 * are found as well.
 */
import {
  AGENT_COLUMNS,
  ATTEMPT_COLUMNS,
  agentOf,
  attemptOf,
  ENTRY_COLUMNS,
  ENVELOPE_COLUMNS,
  entryOf,
  envelopeOf,
  MEMORY_COLUMNS,
  memoryOf,
} from "../codecs.ts";
import type { SeekText, SeekTextResult, TextOccurrence } from "../store.ts";
import type { ExecuteSql } from "./archive/export.ts";
import type { Row } from "./connection.ts";

/** Rows read per slice. */
const SLICE = 1_000;
/** Maximum number of matches per slice: each can be as long as a record. */
const MAX_MATCHES = 50;

interface Stage {
  /** Key columns that slices are ordered by, and their types. */
  readonly keys: readonly string[];
  readonly types: readonly string[];
  readonly columns: string;
  readonly table: string;
  readonly joined?: string;
  readonly alias: string;
  readonly text: string;
  readonly sighting: (row: Row) => TextOccurrence;
}

const STAGES: readonly Stage[] = [
  {
    keys: ["a.id"],
    types: ["text"],
    columns: AGENT_COLUMNS,
    table: "$schema.agents a",
    alias: "a",
    text: "(a.profile || ' ' || a.id || ' ' || a.aliases || ' ' || a.role)",
    sighting: (row) => ({ kind: "agent", row: agentOf(row) }),
  },
  {
    keys: ["n.kind", "n.name"],
    types: ["text", "text"],
    columns: ENTRY_COLUMNS,
    table: "$schema.entries n",
    alias: "n",
    text: "(n.value || ' ' || n.name)",
    sighting: (row) => ({ kind: "entry", row: entryOf(row) }),
  },
  {
    keys: ["t.delivery", "t.attempt"],
    types: ["text", "int"],
    columns: ATTEMPT_COLUMNS,
    table: "$schema.attempts t",
    alias: "t",
    text: "t.reason",
    sighting: (row) => ({ kind: "attempt", row: attemptOf(row) }),
  },
  {
    keys: ["e.id"],
    types: ["text"],
    columns: ENVELOPE_COLUMNS,
    table: "$schema.envelopes e",
    joined: "join $schema.memories m on m.workspace = e.workspace and m.pos = e.pos",
    alias: "e",
    text: "e.text",
    sighting: (row) => ({ kind: "envelope", row: envelopeOf(row) }),
  },
  {
    keys: ["m.pos"],
    types: ["bigint"],
    columns: MEMORY_COLUMNS,
    table: "$schema.memories m",
    joined: "join $schema.chains c on c.workspace = m.workspace and c.key = m.chain",
    alias: "m",
    text: "m.text",
    sighting: (row) => ({ kind: "memory", row: memoryOf(row) }),
  },
];

type Key = readonly (string | number)[];

/** Reads the next slice. Returns its matches, the cursor of the next slice and the progress. */
export async function seekText(
  ask: ExecuteSql,
  { workspace, forms, after }: SeekText,
): Promise<SeekTextResult> {
  const [stage, from] = after === "" ? [0] : (JSON.parse(after) as [number, Key?]);
  const { keys, types, columns, alias, text, sighting, ...tables } = STAGES[stage] as Stage;
  const { table, joined = "" } = tables;
  const [here] = await ask("select key, position from $schema.workspaces where name = $1", [
    workspace,
  ]);
  const [key, last] = (here ?? [0, 0]) as [number, number];
  const range = (sign: string, first: number): string => {
    const bounds = types.map((type, n) => `$${first + n}::${type}`);
    return `and (${keys}) ${sign} (${bounds})`;
  };
  const begins = from === undefined ? "" : range(">", 2);
  const [end] = await ask(
    `select ${keys} from ${table} where ${alias}.workspace = $1 ${begins}
     order by ${keys} limit 1 offset ${SLICE - 1}`,
    [key, ...(from ?? [])],
  );
  const ends = end === undefined ? "" : range("<=", 2 + (from?.length ?? 0));
  const values = [key, ...(from ?? []), ...((end as Key | undefined) ?? []), forms];
  const rows = await ask(
    `select ${columns}, ${keys} from ${table} ${joined} where ${alias}.workspace = $1 ${begins} ${ends}
       and exists (select from unnest($${values.length}::text[]) f where strpos(${text}, f) > 0)
     order by ${keys} limit ${MAX_MATCHES}`,
    values,
  );
  const full = rows.length === MAX_MATCHES;
  const stopped = (full ? rows.at(-1)?.slice(-keys.length) : end) as Key | undefined;
  const found = rows.map((row) => sighting(row.slice(0, -keys.length)));
  const isLast = stage === STAGES.length - 1;
  const checked = !isLast ? 0 : stopped === undefined ? last : Number(stopped[0]);
  return { found, next: nextOf(stage, stopped), checked, total: last };
}

function nextOf(stage: number, stopped: Key | undefined): string | undefined {
  if (stopped !== undefined) return JSON.stringify([stage, stopped]);
  return stage + 1 < STAGES.length ? JSON.stringify([stage + 1]) : undefined;
}
