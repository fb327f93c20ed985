/**
 * The tables. Workspace leads every key and index, so that a database can be divided by it, and no
 * two workspaces ever share a page they both write.
 *
 * `pos` and `number` count per workspace, without gaps, under the workspace's lock. Rows that
 * change leave room on their page (fillfactor). Texts stay in their row, as they are, up to 8 KB:
 * compressing or moving them costs more than it saves at the size of a handoff.
 *
 * state is the position in DELIVERY_STATES (rows.ts); the numbers below are of that list.
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

  -- Canonical ids and aliases share one name space: a name means one agent.
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

  -- Edges between positions, from relations and references: derived from the records' text (edges.ts),
  -- checked by verify.
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
  -- The order of an inbox is place, then id: what was published to many has one place.
  create index deliveries_ready on deliveries (workspace, receiver, place, id)
    where state = 1 and turn = 1;
  create index deliveries_held on deliveries (workspace, lease_until) where state in (2, 3);
  -- No two of the conditions imply one another: each query can use the index made for it alone.
  create index deliveries_open on deliveries (workspace, receiver, task, place)
    where settled_at = 0;
  create index deliveries_inbox on deliveries (workspace, receiver, place)
    where settled_at = 0 and state < 5;
  -- What has ended has no time to decide.
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

  -- What each hub wrote last: after a lost connection it can tell whether its write was kept. What
  -- it has asked about and was not told of (fenced) is not kept any more, however late it arrives.
  create table writers (
    id uuid primary key,
    written bigint not null,
    fenced bigint not null default 0,
    at timestamptz not null,
    claimed json
  ) with (fillfactor = 50);
`;

/**
 * What search reads: derived, filled after the acknowledgement up to a watermark, and rebuilt when it is
 * missing or of another version; and vectors by model.
 *
 * Lists of positions are packed: five bytes each, in blocks of some hundred, the last of which grows
 * with every slice. Tried with 200,000 records of 27 terms (embedded server, two busy cores), a
 * question of six words in 36 lists:
 *
 *                                   records/s   bytes/record   newest 1,000   newest 8,000 of each
 *   a row per term and record         2,100        3,150           6.5 ms        34 ms
 *   GIN over an array of terms        4,100          460           458 ms       509 ms
 *   packed blocks                     1,600          270           2.4 ms        10 ms
 *   (in slices of 1,000 records: 2,800 records/s packed, 7,100 GIN; taking texts apart alone: 7,000)
 *
 * GIN has no order: all of a frequent word's records are fetched and sorted for the newest few.
 */
const SEARCH_TABLES = `
  create table indexed (
    workspace bigint primary key,
    version int not null,
    pos bigint not null,
    -- Tells one filling of the index from the next: after a redaction it starts again.
    made bigint not null default (extract(epoch from clock_timestamp()) * 1000000)::bigint
  );

  -- Task, agent, session, type and tags of each record, hashed; newest first is a walk backwards.
  create table facets (
    workspace bigint not null,
    facet bigint not null,
    pos bigint not null,
    primary key (workspace, facet, pos)
  );

  -- Room on the page for the block that grows.
  create table postings (
    workspace bigint not null,
    token bigint not null,
    block bigint not null,
    positions bytea not null,
    primary key (workspace, token, block)
  ) with (fillfactor = 80, toast_tuple_target = 8160);
  alter table postings alter column positions set storage external;

  -- What ranking wants to know of a record. -1 where nothing was said.
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

  -- What there is of each space (search.ts): what is usual in it, and so what is rare.
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

  -- How far each model has come; kind says how its vectors are compared (vectors.ts).
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
 * Ballast: rows of a workspace that does not exist, so that the tables are never empty. Plans are
 * made once and kept; made on an empty table, an index that merely begins with the workspace looks
 * as good as the one that has the row, and stays in use while the table grows. With these rows, and
 * told that a workspace alone selects nothing, the planner sees the difference from the first day.
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
