/**
 * The schema of a SQLite store, and the steps that upgrade it.
 *
 * Identity and order are stored here and written with the record. Whatever only serves search (words, tags,
 * tasks, authors) is in the index file and written after the acknowledgement. An index over task or agent
 * here would touch one leaf page per record, and each touched page is 4 KB of log: measured, it halves the
 * append rate.
 *
 * Columns that change are NOT NULL integers at the front, so that an update rewrites them in place.
 */
import type { DatabaseSync } from "node:sqlite";
import { BatonError } from "../../base/errors.ts";
import { type SchemaStep, schemaVersion } from "../schema-steps.ts";
import { type ColumnValue, rowSum } from "./row-sums.ts";

/** "BATN": distinguishes Baton's files from those of other programs. */
const APPLICATION_ID = 0x4241544e;

const INITIAL = `
  create table workspaces (
    key integer primary key,
    name text not null unique
  ) strict;

  create table agents (
    workspace integer not null,
    id text not null,
    revision integer not null,
    keyed_at integer not null,
    status text not null,
    role text not null,
    aliases text not null,
    public_key text not null,
    profile text not null,
    digest text not null,
    primary key (workspace, id)
  ) strict, without rowid;
  create index agents_role on agents (workspace, role);

  -- Canonical ids and aliases share one namespace: a name belongs to one agent.
  create table agent_names (
    workspace integer not null,
    name text not null,
    agent text not null,
    primary key (workspace, name)
  ) strict, without rowid;

  create table chains (
    key integer primary key,
    workspace integer not null,
    seq integer not null,
    stored_at integer not null,
    link text not null,
    branch text not null,
    unique (workspace, branch)
  ) strict;

  create table memories (
    pos integer primary key,
    workspace integer not null,
    chain integer not null,
    seq integer not null,
    stored_at integer not null,
    id text not null,
    link text not null,
    signature text not null,
    text text not null
  ) strict;
  create unique index memories_id on memories (workspace, id);
  create unique index memories_seq on memories (chain, seq);

  -- Edges between positions, from relations and references. Derived from the texts of the records
  -- (edges.ts), and checked by verify.
  create table relations (
    source integer not null,
    n integer not null,
    target integer not null,
    valid_from integer not null,
    valid_until integer not null,
    kind text not null,
    primary key (source, n)
  ) strict, without rowid;
  create index relations_target on relations (target);

  -- An envelope has the position of the handoff record that contains its digest.
  create table envelopes (
    pos integer primary key,
    workspace integer not null,
    id text not null,
    task text not null,
    sender text not null,
    text text not null
  ) strict;
  create unique index envelopes_id on envelopes (workspace, id);

  -- state is the index in DELIVERY_STATES (rows.ts); the numbers below refer to that list. The first
  -- open delivery of each receiver and task has turn 1, the others 0.
  create table deliveries (
    pos integer primary key,
    workspace integer not null,
    state integer not null,
    turn integer not null,
    place integer not null,
    attempt integer not null,
    max_attempts integer not null,
    fence integer not null,
    lease_until integer not null,
    ready_at integer not null,
    sent_at integer not null,
    seen_at integer not null,
    accepted_at integer not null,
    settled_at integer not null,
    id text not null,
    envelope text not null,
    parent text not null,
    task text not null,
    sender text not null,
    receiver text not null,
    holder text not null,
    instance text not null,
    process text not null,
    accepted_by text not null,
    settled_by text not null,
    hold_until integer not null default 0,
    deadline integer not null default 0,
    lapse_at integer not null default 0,
    followers text not null default ''
  ) strict;
  create unique index deliveries_id on deliveries (workspace, id);
  create index deliveries_envelope on deliveries (workspace, envelope);
  create index deliveries_scheduled on deliveries (workspace, ready_at) where state = 0;
  -- Two deliveries can share a place, because an urgent one moves ahead. Then the id decides.
  create index deliveries_ready on deliveries (workspace, receiver, place, id)
    where state = 1 and turn = 1;
  create index deliveries_held on deliveries (workspace, lease_until, place)
    where state in (2, 3);
  -- A delivery is open until it is settled. The condition is not state < 5, because SQLite would
  -- rewrite the index entry on every change of the state: one log page each time.
  create index deliveries_open on deliveries (workspace, receiver, task, place)
    where settled_at = 0;
  create index deliveries_inbox on deliveries (workspace, receiver, place, id)
    where settled_at = 0;
  -- Contains only deliveries that wait behind an earlier one; most never do.
  create index deliveries_queued on deliveries (workspace, receiver, task, sender, parent)
    where settled_at = 0 and turn = 0;
  -- Contains only open deliveries whose policy sets a time; settled ones have none.
  create index deliveries_lapses on deliveries (workspace, lapse_at, place) where lapse_at > 0;
  -- Dead letters and open questions.
  create index deliveries_parked on deliveries (workspace, state, place, id)
    where state in (4, 7);

  create table attempts (
    key integer primary key,
    workspace integer not null,
    attempt integer not null,
    ended_at integer not null,
    delivery text not null,
    outcome text not null,
    holder text not null,
    instance text not null,
    reason text not null
  ) strict;
  create index attempts_delivery on attempts (workspace, delivery);

  create table events (
    number integer primary key,
    workspace integer not null,
    at integer not null,
    attempt integer not null,
    kind text not null,
    agent text not null,
    task text not null,
    delivery text not null,
    envelope text not null
  ) strict;
  -- Every index ends with the row's number. Measured: a primary key (workspace, number) writes as many
  -- log pages and takes 5 % more CPU time, because its pages are less full.
  create index events_workspace on events (workspace);

  create table entries (
    workspace integer not null,
    kind text not null,
    name text not null,
    revision integer not null,
    at integer not null,
    value text not null,
    digest text not null,
    primary key (workspace, kind, name)
  ) strict, without rowid;

  -- Progress of each model: the position up to which the records of a workspace are embedded.
  create table models (
    key integer primary key autoincrement,
    workspace integer not null,
    dimensions integer not null,
    pos integer not null,
    name text not null,
    unique (workspace, name)
  ) strict;

  -- Derived data, but kept when the index is deleted: some models cost money or hours.
  create table vectors (
    model integer not null,
    pos integer not null,
    vector blob not null,
    primary key (model, pos)
  ) strict, without rowid;

  -- In a separate table, because a search reads all signatures and should not read past vectors.
  create table signatures (
    model integer not null,
    pos integer not null,
    bits blob not null,
    primary key (model, pos)
  ) strict, without rowid;
`;

/** Adds the row sums (row-sums.ts) and computes those of existing rows. */
const ROW_SUMS = `
  alter table deliveries add column sum integer not null default 0;
  update deliveries set sum = row_sum(place, max_attempts, hold_until, ready_at, seen_at, settled_at,
    iif(settled_at = 0, 0, turn), holder, instance, process, followers);
  alter table attempts add column sum integer not null default 0;
  update attempts set sum = row_sum(workspace, delivery, attempt, holder, instance, ended_at, outcome, reason);
  alter table events add column sum integer not null default 0;
  update events set sum = row_sum(workspace, at, kind, agent, task, delivery, envelope, attempt);
  alter table entries add column sum integer not null default 0;
  update entries set sum = row_sum(workspace, kind, name, at);
  alter table models add column sum integer not null default 0;
  update models set sum = row_sum(workspace, name, dimensions, pos);
  alter table vectors add column sum integer not null default 0;
  update vectors set sum = row_sum(model, pos, vector);
  alter table signatures add column sum integer not null default 0;
  update signatures set sum = row_sum(model, pos, bits);
`;

/**
 * Stores entries in the order in which they are written, with an index over their names. Each handoff writes an
 * entry with a name that is a digest: in a table ordered by name, every one of them fills a page elsewhere and
 * writes that page with its long values to the log; in the index, many more names share a page.
 */
const ENTRY_ROWS = `
  alter table entries rename to entries_by_name;
  create table entries (
    workspace integer not null,
    kind text not null,
    name text not null,
    revision integer not null,
    at integer not null,
    value text not null,
    digest text not null,
    sum integer not null default 0
  ) strict;
  insert into entries (workspace, kind, name, revision, at, value, digest, sum)
    select workspace, kind, name, revision, at, value, digest, sum from entries_by_name;
  drop table entries_by_name;
  create unique index entries_name on entries (workspace, kind, name);
`;

/** Stores the events of a transaction in one row (event-groups.ts); existing events keep a row each. */
const EVENT_GROUPS = `
  create table event_groups (
    last integer primary key,
    workspace integer not null,
    at integer not null,
    count integer not null,
    text text not null,
    sum integer not null
  ) strict;
  insert into event_groups (last, workspace, at, count, text, sum)
    select number, workspace, at, 1, events, row_sum(workspace, number, at, 1, events) from (
      select number, workspace, at, json_array(json_array(
        attempt, kind, agent, task, delivery, envelope)) as events from events order by number);
  drop table events;
  -- Ends with the number of the last event, as every index ends with the row's number. Measured: a primary
  -- key (workspace, last) writes as many log pages, because its pages are less full.
  create index event_groups_workspace on event_groups (workspace);
`;

/** The schema steps of this version. */
export const SQLITE_STEPS: readonly SchemaStep[] = [
  { version: 1, name: "initial schema", sql: INITIAL },
  { version: 2, name: "row sums", sql: ROW_SUMS },
  { version: 3, name: "entries as rows", sql: ENTRY_ROWS },
  { version: 4, name: "events by transaction", sql: EVENT_GROUPS },
];

/** Applies the missing steps, inside the caller's write transaction. */
export function migrate(
  db: DatabaseSync,
  file: string,
  {
    now,
    steps = SQLITE_STEPS,
  }: { readonly now: number; readonly steps?: readonly SchemaStep[] | undefined },
): void {
  const version = versionOf(db, file, steps);
  if (version === 0) {
    db.exec(`pragma application_id = ${APPLICATION_ID}`);
    db.exec("create table migrations (version integer primary key, name text, at integer) strict");
  }
  db.function("row_sum", { deterministic: true, varargs: true }, (...values) =>
    rowSum(values as ColumnValue[]),
  );
  const record = db.prepare("insert into migrations (version, name, at) values (?, ?, ?)");
  for (const step of steps.slice(version)) {
    db.exec(step.sql);
    record.run(step.version, step.name, now);
  }
}

/**
 * Returns true if no step is missing, so that an ordinary open needs no write lock. Reads one snapshot:
 * between two reads another process may have created the tables, and the new Baton file would be taken for
 * another program's.
 */
export function isCurrent(
  db: DatabaseSync,
  file: string,
  steps: readonly SchemaStep[] = SQLITE_STEPS,
): boolean {
  db.exec("begin");
  try {
    return versionOf(db, file, steps) === steps.length;
  } finally {
    if (db.isTransaction) db.exec("rollback");
  }
}

/** Returns 0 for an empty file. Throws for another program's file and for an unknown version. */
function versionOf(db: DatabaseSync, file: string, steps: readonly SchemaStep[]): number {
  const { application_id: application } = db.prepare("pragma application_id").get() as {
    application_id: number;
  };
  if (application !== APPLICATION_ID) {
    const { tables } = db.prepare("select count(*) as tables from sqlite_schema").get() as {
      tables: number;
    };
    if (application === 0 && tables === 0) return 0;
    throw new BatonError("store_foreign", {
      message: `${file} is an SQLite database of another program.`,
      path: file,
      hint: "Choose another file, for example sqlite:.baton/hub.db.",
    });
  }
  const recorded = db.prepare("select version, name from migrations order by version").all();
  return schemaVersion(recorded as unknown as SchemaStep[], { steps, store: file });
}
