/**
 * The schema, as steps that were shipped. A step is never edited once released; a new one is added.
 *
 * What the columns are for: identity and order live here and are written with the record; whatever
 * only serves finding (words, tags, tasks, authors) lives in the index beside the file and is
 * written after the acknowledgement. An index over task or agent here would touch one leaf page
 * per record, and each touched page is 4 KB of log: measured, it halves the append rate.
 *
 * Columns that change are never-NULL integers in front, so that an update rewrites in place.
 */
import type { DatabaseSync } from "node:sqlite";
import { BatonError } from "../../base/errors.ts";

interface Migration {
  readonly version: number;
  readonly name: string;
  readonly sql: string;
}

/** "BATN": tells our files from those of other programs. */
const APPLICATION_ID = 0x4241544e;

const MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    name: "memories, envelopes, deliveries, events",
    sql: `
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

      -- Canonical ids and aliases share one name space: a name means one agent.
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
      create unique index memories_id on memories (id);
      create unique index memories_seq on memories (chain, seq);

      -- Edges between positions: derived from the records' text, checked by verify.
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

      -- An envelope has the position of the handoff record that vouches for it.
      create table envelopes (
        pos integer primary key,
        workspace integer not null,
        id text not null,
        task text not null,
        sender text not null,
        text text not null
      ) strict;
      create unique index envelopes_id on envelopes (id);

      -- state is the position in DELIVERY_STATES (rows.ts); the numbers below are of that list.
      create table deliveries (
        pos integer primary key,
        workspace integer not null,
        state integer not null,
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
        accepted_by text not null,
        settled_by text not null
      ) strict;
      create unique index deliveries_id on deliveries (id);
      create index deliveries_envelope on deliveries (envelope);
      create index deliveries_scheduled on deliveries (workspace, ready_at) where state = 0;
      create index deliveries_ready on deliveries (workspace, receiver, place) where state = 1;
      create index deliveries_held on deliveries (workspace, lease_until) where state in (2, 3);
      create index deliveries_open on deliveries (workspace, receiver, task, place) where state < 5;

      create table attempts (
        key integer primary key,
        delivery text not null,
        attempt integer not null,
        ended_at integer not null,
        outcome text not null,
        holder text not null,
        instance text not null,
        reason text not null
      ) strict;
      create index attempts_delivery on attempts (delivery);

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
    `,
  },
  {
    version: 2,
    name: "order per task, process leases, ids unique per workspace",
    sql: `
      drop index memories_id;
      create unique index memories_id on memories (workspace, id);
      drop index envelopes_id;
      create unique index envelopes_id on envelopes (workspace, id);

      -- Of the open deliveries of a receiver and task the first has turn 1, the others 0.
      alter table deliveries rename to deliveries_before;
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
        settled_by text not null
      ) strict;
      insert into deliveries
        select pos, workspace, state,
          state >= 5 or not exists (
            select 1 from deliveries_before e where e.workspace = d.workspace
              and e.receiver = d.receiver and e.task = d.task and e.state < 5 and e.place < d.place
          ),
          place, attempt, max_attempts, fence, lease_until, ready_at, sent_at, seen_at,
          accepted_at, settled_at, id, envelope, parent, task, sender, receiver, holder, instance,
          '', accepted_by, settled_by
        from deliveries_before d;

      alter table attempts rename to attempts_before;
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
      insert into attempts
        select a.key, coalesce(d.workspace, 0), a.attempt, a.ended_at, a.delivery, a.outcome,
          a.holder, a.instance, a.reason
        from attempts_before a left join deliveries_before d on d.id = a.delivery;
      drop table attempts_before;
      create index attempts_delivery on attempts (workspace, delivery);

      drop table deliveries_before;
      create unique index deliveries_id on deliveries (workspace, id);
      create index deliveries_envelope on deliveries (workspace, envelope);
      create index deliveries_scheduled on deliveries (workspace, ready_at) where state = 0;
      create index deliveries_ready on deliveries (workspace, receiver, place)
        where state = 1 and turn = 1;
      create index deliveries_held on deliveries (workspace, lease_until, place)
        where state in (2, 3);
      -- Open is what has not been settled. Not state < 5: SQLite would write these entries anew with
      -- every change of the state, a page of the log for each.
      create index deliveries_open on deliveries (workspace, receiver, task, place)
        where settled_at = 0;
      create index deliveries_inbox on deliveries (workspace, receiver, place)
        where settled_at = 0;
      -- Only what waits behind an earlier delivery is in here: most work never is.
      create index deliveries_queued on deliveries (workspace, receiver, task, sender, parent)
        where settled_at = 0 and turn = 0;

      -- Ends with the row's number, as every index does. A primary key (workspace, number) was measured
      -- to take as many pages of the log and 5 % more of the processor: such a tree fills less well.
      create index events_workspace on events (workspace);
    `,
  },
  {
    version: 3,
    name: "deadlines, longest holds, entries, inboxes of roles",
    sql: `
      -- At the end of the row, where a column can be added without writing every row anew: a row
      -- never reaches beyond its page, so an update costs the same wherever in it the column is.
      alter table deliveries add column hold_until integer not null default 0;
      alter table deliveries add column deadline integer not null default 0;
      alter table deliveries add column lapse_at integer not null default 0;
      alter table deliveries add column followers text not null default '';
      -- Whoever holds something now was promised no end: renewing goes on.
      update deliveries set hold_until = 9007199254740991 where state in (2, 3);

      -- Two can have one place: what is urgent goes ahead to where another is. Then the id decides.
      drop index deliveries_ready;
      create index deliveries_ready on deliveries (workspace, receiver, place, id)
        where state = 1 and turn = 1;
      drop index deliveries_inbox;
      create index deliveries_inbox on deliveries (workspace, receiver, place, id)
        where settled_at = 0;
      -- Empty where nobody sets times: what has ended has none.
      create index deliveries_lapses on deliveries (workspace, lapse_at, place) where lapse_at > 0;
      -- Dead letters and open questions.
      create index deliveries_parked on deliveries (workspace, state, place, id)
        where state in (4, 7);

      create index agents_role on agents (workspace, role);

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
    `,
  },
  {
    version: 4,
    name: "references are edges too",
    sql: `
      -- After the relations of the record, each once, unless a relation says the same (edges.ts). A
      -- text that is damaged names nothing: verify tells of it.
      insert into relations (source, n, target, valid_from, valid_until, kind)
        select x.source, x.said + row_number() over (partition by x.source order by x.first) - 1,
          x.target, 0, 0, 'references'
        from (
          select m.pos as source, t.pos as target, min(j.key) as first,
            (select count(*) from relations r where r.source = m.pos) as said
          from memories m
            join json_each(iif(json_valid(m.text), m.text, '{}'), '$.refs') j
            join memories t on t.workspace = m.workspace and t.id = j.value
          where m.text like '%"refs":[%'
            and not exists (select 1 from relations r where r.source = m.pos and r.target = t.pos
              and r.kind = 'references' and r.valid_from = 0 and r.valid_until = 0)
          group by m.pos, t.pos
        ) x;
    `,
  },
  {
    version: 5,
    name: "vectors",
    sql: `
      -- How far each model has come with the records of a workspace.
      create table models (
        key integer primary key autoincrement,
        workspace integer not null,
        dimensions integer not null,
        pos integer not null,
        name text not null,
        unique (workspace, name)
      ) strict;

      -- Derived, but not thrown away with the index: some models take money or hours.
      create table vectors (
        model integer not null,
        pos integer not null,
        vector blob not null,
        primary key (model, pos)
      ) strict, without rowid;

      -- Read as a whole by whoever searches: apart, so that it need not pass over the vectors.
      create table signatures (
        model integer not null,
        pos integer not null,
        bits blob not null,
        primary key (model, pos)
      ) strict, without rowid;
    `,
  },
  {
    version: 6,
    name: "vectors of handoffs and results",
    sql: `
      -- Up to here vectors are made of all that records say. From here to pos they are made of their
      -- contents: those of handoffs and results are made again.
      alter table models add column renewed integer not null default 0;
    `,
  },
];

const NEWEST = MIGRATIONS.length;

/** Brings the file to a version (the newest), inside the caller's write transaction. */
export function migrate(
  db: DatabaseSync,
  file: string,
  { now, to = NEWEST }: { readonly now: number; readonly to?: number },
): void {
  const version = schemaVersion(db, file);
  if (version === 0) {
    db.exec(`pragma application_id = ${APPLICATION_ID}`);
    db.exec("create table migrations (version integer primary key, name text, at integer) strict");
  }
  const record = db.prepare("insert into migrations (version, name, at) values (?, ?, ?)");
  for (const step of MIGRATIONS.slice(version, to)) {
    db.exec(step.sql);
    record.run(step.version, step.name, now);
  }
}

/**
 * True when nothing has to be done: lets an ordinary open do without a write lock. Looks at one
 * snapshot: between two looks another process may have made the tables, and our own new file would
 * pass for another program's.
 */
export function isCurrent(db: DatabaseSync, file: string): boolean {
  db.exec("begin");
  try {
    return schemaVersion(db, file) === NEWEST;
  } finally {
    if (db.isTransaction) db.exec("rollback");
  }
}

/** 0 for an empty file. Refuses other programs' files and newer versions. */
function schemaVersion(db: DatabaseSync, file: string): number {
  const { application_id: application } = db.prepare("pragma application_id").get() as {
    application_id: number;
  };
  if (application !== APPLICATION_ID) {
    const { tables } = db.prepare("select count(*) as tables from sqlite_schema").get() as {
      tables: number;
    };
    if (application === 0 && tables === 0) return 0;
    throw new BatonError("store_foreign", {
      message: `${file} is a SQLite database of another program.`,
      path: file,
      hint: "Name another file, for instance sqlite:.baton/hub.db.",
    });
  }
  const { version } = db.prepare("select max(version) as version from migrations").get() as {
    version: number;
  };
  if (version > NEWEST) {
    throw new BatonError("store_too_new", {
      message: `${file} has schema version ${version}; this Baton knows versions up to ${NEWEST}.`,
      path: file,
      hint: "Upgrade batonpass: npm install batonpass@latest. Nothing was changed.",
      details: { found: version, known: NEWEST },
    });
  }
  return version;
}
