/**
 * The tables of a PostgreSQL store. The workspace leads every key and index, so that a database can be
 * partitioned by workspace, and no two workspaces ever write to the same page.
 *
 * `pos` and `number` are counted per workspace, without gaps, under the workspace's lock. Tables with rows
 * that change leave free space on their pages (fillfactor). Texts stay in their row, uncompressed, up to 8
 * KB: compressing or moving them costs more than it saves at the size of a handoff.
 *
 * `state` is the index in DELIVERY_STATES (rows.ts); the numbers below refer to that list.
 */
const TABLES = `
  create table workspaces (
    key bigint generated always as identity primary key,
    name text collate "C" not null unique,
    position bigint not null default 0,
    event bigint not null default 0
  ) with (fillfactor = 50);

  create table agents (
    workspace bigint not null,
    id text collate "C" not null,
    revision int not null,
    keyed_at bigint not null,
    status text not null,
    role text not null,
    aliases text not null,
    public_key text not null,
    profile text not null,
    digest text not null,
    primary key (workspace, id)
  );
  create index agents_role on agents (workspace, role);

  -- Canonical ids and aliases share one namespace: a name belongs to one agent.
  create table agent_names (
    workspace bigint not null,
    name text collate "C" not null,
    agent text collate "C" not null,
    primary key (workspace, name)
  );

  create table chains (
    workspace bigint not null,
    key int not null,
    seq bigint not null,
    stored_at bigint not null,
    link text not null,
    branch text collate "C" not null,
    primary key (workspace, key),
    unique (workspace, branch)
  ) with (fillfactor = 50);

  create table memories (
    workspace bigint not null,
    pos bigint not null,
    chain int not null,
    seq bigint not null,
    stored_at bigint not null,
    id text collate "C" not null,
    link text not null,
    signature text not null,
    text text not null,
    primary key (workspace, pos)
  ) with (toast_tuple_target = 8160);
  alter table memories alter column text set storage external;
  create unique index memories_id on memories (workspace, id);
  create unique index memories_seq on memories (workspace, chain, seq);

  -- Edges between positions, from relations and references. Derived from the texts of the records
  -- (edges.ts), and checked by verify.
  create table relations (
    workspace bigint not null,
    source bigint not null,
    n int not null,
    target bigint not null,
    valid_from bigint not null,
    valid_until bigint not null,
    kind text not null,
    primary key (workspace, source, n)
  );
  create index relations_target on relations (workspace, target, source, n);

  -- An envelope has the position of the handoff record that contains its digest.
  create table envelopes (
    workspace bigint not null,
    pos bigint not null,
    id text collate "C" not null,
    task text collate "C" not null,
    sender text collate "C" not null,
    text text not null,
    primary key (workspace, id)
  ) with (toast_tuple_target = 8160);
  alter table envelopes alter column text set storage external;
  create index envelopes_task on envelopes (workspace, task, pos);

  create table deliveries (
    workspace bigint not null,
    place bigint not null,
    lease_until bigint not null,
    ready_at bigint not null,
    sent_at bigint not null,
    seen_at bigint not null,
    accepted_at bigint not null,
    settled_at bigint not null,
    attempt int not null,
    max_attempts int not null,
    fence int not null,
    state smallint not null,
    turn smallint not null,
    id text collate "C" not null,
    envelope text collate "C" not null,
    parent text collate "C" not null,
    task text collate "C" not null,
    sender text collate "C" not null,
    receiver text collate "C" not null,
    holder text collate "C" not null,
    instance text collate "C" not null,
    process text collate "C" not null,
    accepted_by text collate "C" not null,
    settled_by text collate "C" not null,
    hold_until bigint not null default 0,
    deadline bigint not null default 0,
    lapse_at bigint not null default 0,
    followers text collate "C" not null default '',
    primary key (workspace, id)
  ) with (fillfactor = 70);
  create index deliveries_scheduled on deliveries (workspace, ready_at) where state = 0;
  -- An inbox is ordered by place, then id: deliveries of one publication share a place.
  create index deliveries_ready on deliveries (workspace, receiver, place, id)
    where state = 1 and turn = 1;
  create index deliveries_held on deliveries (workspace, lease_until) where state in (2, 3);
  -- No condition of these indexes implies another: each query can use only the index made for it.
  create index deliveries_open on deliveries (workspace, receiver, task, place)
    where settled_at = 0;
  create index deliveries_inbox on deliveries (workspace, receiver, place)
    where settled_at = 0 and state < 5;
  -- Contains only open deliveries whose policy sets a time; settled ones have none.
  create index deliveries_lapsing on deliveries (workspace, lapse_at) where lapse_at > 0;
  create index deliveries_parked on deliveries (workspace, state, place) where state in (4, 7);

  create table attempts (
    workspace bigint not null,
    delivery text collate "C" not null,
    attempt int not null,
    ended_at bigint not null,
    outcome text not null,
    holder text not null,
    instance text not null,
    reason text not null,
    primary key (workspace, delivery, attempt)
  );

  create table events (
    workspace bigint not null,
    number bigint not null,
    at bigint not null,
    attempt int not null,
    kind text not null,
    agent text not null,
    task text not null,
    delivery text not null,
    envelope text not null,
    primary key (workspace, number)
  );

  create table entries (
    workspace bigint not null,
    kind text collate "C" not null,
    name text collate "C" not null,
    revision int not null,
    at bigint not null,
    value text not null,
    digest text not null,
    primary key (workspace, kind, name)
  );

  -- The last write of each hub: after a lost connection, the hub finds out whether its write was committed.
  -- A write that was not committed when the hub asked (fenced) is rejected from then on, however late it
  -- arrives.
  create table writers (
    id uuid primary key,
    written bigint not null,
    fenced bigint not null default 0,
    at timestamptz not null,
    claimed json
  ) with (fillfactor = 50);
`;

/**
 * The tables of the search index, and vectors by model. The index is derived: it is filled after writes are
 * acknowledged, up to a watermark, and rebuilt if it is missing or has another version.
 *
 * Lists of positions are packed: five bytes each, in blocks of several hundred, the last of which grows with
 * every slice. Measured with 200,000 records of 27 terms (embedded server, two busy cores) and a query of six
 * words in 36 lists:
 *
 *                                   records/s   bytes/record   newest 1,000   newest 8,000 of each
 *   a row per term and record         2,100        3,150           6.5 ms        34 ms
 *   GIN over an array of terms        4,100          460           458 ms       509 ms
 *   packed blocks                     1,600          270           2.4 ms        10 ms
 *   (in slices of 1,000 records: 2,800 records/s packed, 7,100 GIN; splitting the texts alone: 7,000)
 *
 * GIN is unordered: to find the newest few records of a frequent word, all of them are fetched and sorted.
 */
const SEARCH_TABLES = `
  create table indexed (
    workspace bigint primary key,
    version int not null,
    pos bigint not null,
    -- Identifies one build of the index, which is rebuilt after a redaction.
    made bigint not null default (extract(epoch from clock_timestamp()) * 1000000)::bigint
  );

  -- Task, agent, session, type and tags of each record, hashed; read backwards for the newest first.
  create table facets (
    workspace bigint not null,
    facet bigint not null,
    pos bigint not null,
    primary key (workspace, facet, pos)
  );

  -- The fillfactor leaves free space on the page for the last block, which grows.
  create table postings (
    workspace bigint not null,
    token bigint not null,
    block bigint not null,
    positions bytea not null,
    primary key (workspace, token, block)
  ) with (fillfactor = 80, toast_tuple_target = 8160);
  alter table postings alter column positions set storage external;

  -- What ranking needs to know about each record; -1 means not specified.
  create table found (
    workspace bigint not null,
    pos bigint not null,
    session bigint not null,
    time bigint not null,
    stored_at bigint not null,
    valid_until bigint not null,
    seq bigint not null,
    importance double precision not null,
    confidence double precision not null,
    traits smallint not null,
    id text collate "C" not null,
    branch text collate "C" not null,
    reach text not null,
    agent text not null,
    packed bytea not null,
    primary key (workspace, pos)
  ) with (toast_tuple_target = 8160);
  alter table found alter column packed set storage external;
  create index found_session on found (workspace, session, pos);

  -- Totals of each space (search.ts): which terms are frequent in it, and which are rare.
  create table census (
    workspace bigint not null,
    space smallint not null,
    records bigint not null,
    passages bigint not null,
    terms bigint not null,
    first bigint not null,
    last bigint not null,
    primary key (workspace, space)
  );

  -- Progress of each model; kind determines how its vectors are compared (vector-search.ts).
  create table models (
    key bigint generated always as identity primary key,
    workspace bigint not null,
    dimensions int not null,
    done bigint not null default 0,
    revision bigint not null default 0,
    kind text not null,
    name text collate "C" not null,
    unique (workspace, name)
  );

  create table vectors (
    workspace bigint not null,
    model bigint not null,
    pos bigint not null,
    signature bytea not null,
    vector bytea not null,
    primary key (workspace, model, pos)
  ) with (toast_tuple_target = 8160);
  alter table vectors alter column vector set storage external;
`;

/**
 * Placeholder rows of a workspace that does not exist, so that tables are never empty. Plans are made once
 * and kept. If a plan is made on an empty table, an index that merely begins with the workspace seems as
 * good as the right one, and stays in use while the table grows. With these rows, and with n_distinct
 * stating that the workspace alone is not selective, the planner sees the difference from the start.
 */
const BALLAST = `
  insert into memories select 0, n, 0, n, 0, 'ballast-' || n, '', '', ''
    from generate_series(1, 400) as n;
  insert into relations select 0, n, 0, n, 0, 0, '' from generate_series(1, 400) as n;
  insert into envelopes select 0, n, 'ballast-' || n, 'ballast-' || n, '', ''
    from generate_series(1, 400) as n;
  insert into deliveries select 0, n, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5, 0, 'ballast-' || n,
    'ballast-' || n, '', 'ballast-' || n, '', 'ballast-' || n, '', '', '', '', ''
    from generate_series(1, 400) as n;
  insert into postings select 0, n, 0, '' from generate_series(1, 400) as n;
  insert into found select 0, n, n, 0, 0, 0, 0, 0, 0, 0, '', '', '', '', ''
    from generate_series(1, 400) as n;
  insert into vectors select 0, 0, n, '', '' from generate_series(1, 400) as n;
  alter table memories alter column workspace set (n_distinct = 1);
  alter table relations alter column workspace set (n_distinct = 1);
  alter table envelopes alter column workspace set (n_distinct = 1);
  alter table deliveries alter column workspace set (n_distinct = 1);
  alter table postings alter column workspace set (n_distinct = 1);
  alter table found alter column workspace set (n_distinct = 1);
  alter table vectors alter column workspace set (n_distinct = 1);
  analyze memories, relations, envelopes, deliveries, postings, found, vectors;
`;

/** The whole schema, without functions and their types. */
export const INITIAL = [TABLES, SEARCH_TABLES, BALLAST].join("\n");
