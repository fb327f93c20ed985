/**
 * Searches everything stored for a text, one slice per call, in the housekeeper's thread. No index covers
 * parts of words, so everything is read once. Memories come last, up to the newest, so that what is written
 * meanwhile is found as well.
 */
import type { DatabaseSync, StatementSync } from "node:sqlite";
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
} from "../../codecs.ts";
import type { SeekText, SeekTextResult, TextOccurrence } from "../../store.ts";
import { numberOf } from "../scalar.ts";

/** Rows read per slice: some milliseconds of the thread, if they are not very long. */
const SLICE = 1_000;
/** Maximum matches per slice, because each can be as long as a record may be. */
const MAX_MATCHES = 50;

/** One table to search. */
interface Stage {
  /** The columns that order the rows: one, or two. */
  readonly keys: readonly [string, string];
  readonly from: string;
  /** Condition for cutting slices; rows of other workspaces count where no index excludes them. */
  readonly within: string;
  readonly found: string;
  /** The SQL expression to search. */
  readonly text: string;
  readonly sighting: (row: unknown) => TextOccurrence;
}

const STAGES: readonly Stage[] = [
  {
    keys: ["a.id", "0"],
    from: "agents a",
    within: "a.workspace = $workspace",
    found: `select ${AGENT_COLUMNS}, a.id, 0 from agents a
      where a.workspace = $workspace`,
    text: "a.profile || ' ' || a.id || ' ' || a.aliases || ' ' || a.role",
    sighting: (row) => ({ kind: "agent", row: agentOf(row) }),
  },
  {
    keys: ["n.kind", "n.name"],
    from: "entries n",
    within: "n.workspace = $workspace",
    found: `select ${ENTRY_COLUMNS}, n.kind, n.name from entries n
      where n.workspace = $workspace`,
    text: "n.value || ' ' || n.name",
    sighting: (row) => ({ kind: "entry", row: entryOf(row) }),
  },
  {
    keys: ["t.key", "0"],
    from: "attempts t",
    within: "true",
    found: `select ${ATTEMPT_COLUMNS}, t.key, 0 from attempts t
      where t.workspace = $workspace`,
    text: "t.reason",
    sighting: (row) => ({ kind: "attempt", row: attemptOf(row) }),
  },
  {
    keys: ["e.pos", "0"],
    from: "envelopes e",
    within: "true",
    found: `select ${ENVELOPE_COLUMNS}, e.pos, 0 from envelopes e join memories m on m.pos = e.pos
      where e.workspace = $workspace`,
    text: "e.text",
    sighting: (row) => ({ kind: "envelope", row: envelopeOf(row) }),
  },
  {
    keys: ["m.pos", "0"],
    from: "memories m",
    within: "true",
    found: `select ${MEMORY_COLUMNS}, m.pos, 0 from memories m join chains c on c.key = m.chain
      where m.workspace = $workspace`,
    text: "m.text",
    sighting: (row) => ({ kind: "memory", row: memoryOf(row) }),
  },
];

type Key = readonly [string | number, string | number];

/** Where a slice starts: the stage, and the row to continue after. */
interface Cursor {
  readonly stage: number;
  readonly after: Key | undefined;
}

/** Searches one slice. */
export function seekText(
  db: DatabaseSync,
  { workspace: name, forms, after }: SeekText,
): SeekTextResult {
  const { stage, after: from } = cursorOf(after);
  const { keys, sighting, ...sql } = STAGES[stage] as Stage;
  const order = keys.filter((key) => key !== "0").join(", ");
  const range = (sign: string, to: string): string =>
    keys[1] === "0" ? `${keys[0]} ${sign} $${to}` : `(${keys}) ${sign} ($${to}, $${to}2)`;
  const begins = from === undefined ? "" : `and ${range(">", "after")}`;
  const workspace = numberOf(
    prepareStatement(db, "select key from workspaces where name = $name").get({ name }),
  );
  const given = {
    workspace,
    ...Object.fromEntries(forms.map((form, n) => [`form${n}`, form])),
    ...keyParameters("after", from),
  };
  const has = forms.map((_, n) => `instr(${sql.text}, $form${n}) > 0`).join(" or ");
  const end = prepareStatement(
    db,
    `select ${keys} from ${sql.from} where ${sql.within} ${begins}
     order by ${order} limit 1 offset ${SLICE - 1}`,
  ).get(given) as Key | undefined;
  const ends = end === undefined ? "" : `and ${range("<=", "end")}`;
  const rows = prepareStatement(
    db,
    `${sql.found} ${begins} ${ends} and (${has || "false"}) order by ${order} limit ${MAX_MATCHES}`,
  ).all({ ...given, ...keyParameters("end", end) }) as unknown as unknown[][];
  const stopped = rows.length === MAX_MATCHES ? (rows.at(-1)?.slice(-2) as unknown as Key) : end;
  return {
    found: rows.map(sighting),
    next: nextOf(stage, stopped),
    ...progress(db, stage, stopped),
  };
}

/** Prepares per call: there are a few calls per second, each of milliseconds. */
function prepareStatement(db: DatabaseSync, sql: string): StatementSync {
  const statement = db.prepare(sql);
  statement.setReturnArrays(true);
  statement.setAllowUnknownNamedParameters(true);
  return statement;
}

const keyParameters = (name: string, key: Key | undefined) =>
  key === undefined ? {} : { [name]: key[0], [`${name}2`]: key[1] };

function cursorOf(text: string): Cursor {
  if (text === "") return { stage: 0, after: undefined };
  const [stage, after] = JSON.parse(text) as [number, Key?];
  return { stage, after };
}

function nextOf(stage: number, stopped: Key | undefined): string | undefined {
  if (stopped !== undefined) return JSON.stringify([stage, stopped]);
  return stage + 1 < STAGES.length ? JSON.stringify([stage + 1]) : undefined;
}

/** Measured by position in the last two stages; the others are short. */
function progress(
  db: DatabaseSync,
  stage: number,
  stopped: Key | undefined,
): Pick<SeekTextResult, "checked" | "total"> {
  const last = numberOf(prepareStatement(db, "select max(pos) from memories").get()) || 0;
  const whole = Math.max(0, stage - STAGES.length + 2) * last;
  const within = stage < STAGES.length - 2 ? 0 : stopped === undefined ? last : Number(stopped[0]);
  return { checked: whole + within, total: 2 * last };
}
