/** Every prepared statement of the store, by name. The workspace is always the first parameter. */
import {
  AGENT_COLUMNS,
  ATTEMPT_COLUMNS,
  DELIVERY_COLUMNS,
  EDGE_COLUMNS,
  ENTRY_COLUMNS,
  ENVELOPE_COLUMNS,
  EVENT_COLUMNS,
  MEMORY_COLUMNS,
} from "../codecs.ts";
import type { Statement } from "./connection.ts";
import { PART_NAMES } from "./parts.ts";
import { SEARCH_SQL } from "./search/search-statements.ts";

/** Key of the workspace; null if nothing has been written to it yet, which matches no row. */
const WORKSPACE_KEY = "(select key from $schema.workspaces where name = $1)";
const MEMORIES = `$schema.memories m
  join $schema.chains c on c.workspace = m.workspace and c.key = m.chain`;
const CHAIN = `(select key from $schema.chains where workspace = ${WORKSPACE_KEY} and branch = $2)`;
const EDGES = `$schema.relations r
  join $schema.memories s on s.workspace = r.workspace and s.pos = r.source
  join $schema.memories t on t.workspace = r.workspace and t.pos = r.target`;
/** Edges with the record at the other end as m, and its chain as c. */
const EDGES_IN = `${EDGES} join ${MEMORIES} on m.workspace = r.workspace and m.pos = r.source`;
const EDGES_OUT = `${EDGES} join ${MEMORIES} on m.workspace = r.workspace and m.pos = r.target`;
const ENVELOPES = `$schema.envelopes e
  join $schema.memories m on m.workspace = e.workspace and m.pos = e.pos`;
const WITH_ENVELOPE = `join $schema.envelopes e on e.workspace = d.workspace and e.id = d.envelope
  join $schema.memories m on m.workspace = e.workspace and m.pos = e.pos`;
/** Reads envelope and record by key for each row, even if the planner expects most of the table. */
const EACH_WITH_ENVELOPE = `cross join lateral (select x.* from $schema.envelopes x
    where x.workspace = d.workspace and x.id = d.envelope limit 1) e
  cross join lateral (select x.* from $schema.memories x
    where x.workspace = e.workspace and x.pos = e.pos limit 1) m`;
const DELIVERIES = `$schema.deliveries d ${WITH_ENVELOPE}`;
/** Selects deliveries that are due, with their order in the result (rank, at), to be merged. */
const due = (rank: number, at: string, which: string): string =>
  `(select x.id, ${rank} as rank, ${at} as at, x.place from $schema.deliveries x
      where x.workspace = ${WORKSPACE_KEY} and ${which} order by ${at}, x.place, x.id limit $4)`;
/** Oldest deliveries of several inboxes: each is read by index, up to the limit. */
const inboxes = (one: string): string => `select ${DELIVERY_COLUMNS}, ${ENVELOPE_COLUMNS} from (
      select f.* from (select distinct unnest($2::text[]) as receiver) r
      cross join lateral (select x.* from $schema.deliveries x
        where x.workspace = ${WORKSPACE_KEY} and x.receiver = r.receiver and x.settled_at = 0 and ${one}
          and x.state = any ($3::int[]) and (x.place, x.id) > ($4, $5)
        order by x.place, x.id limit $6) f
      order by f.place, f.id limit $6) d
    ${WITH_ENVELOPE} order by d.place, d.id`;
const POSITION = `(select pos from $schema.memories where workspace = ${WORKSPACE_KEY} and id = $2)`;
const VALID = `($3::text[] is null or r.kind = any ($3))
  and ($4::bigint is null or (r.valid_from <= $4 and (r.valid_until = 0 or $4 < r.valid_until)))`;

/** Lines from two lists ($2 branches, $3 last positions), each with its chain if it exists. */
const EACH_LINE = `(select u.n, u.upto, c.key as chain, c.seq as length
    from unnest($2::text[], $3::bigint[]) with ordinality as u(branch, upto, n)
    left join lateral (select y.key, y.seq from $schema.chains y
      where y.workspace = ${WORKSPACE_KEY} and y.branch = u.branch limit 1) c on true) l`;

const SQL = {
  // Writing
  write: `select $schema.write(${Array.from({ length: 9 + PART_NAMES.length }, (_, n) => `$${n + 1}`)})`,
  sync: "select $schema.sync()",
  pick: "select * from $schema.pick($1, $2, $3)",
  register: "select $schema.register($1, $2, $3, $4, $5)",
  doubt: "select written, claimed from $schema.doubt($1, $2)",
  forgetWriter: "delete from $schema.writers where id = $1 or at < now() - interval '7 days'",
  notify: "select pg_notify($1, $2)",

  // Agents
  agentByName: `select ${AGENT_COLUMNS} from $schema.agent_names n
    join $schema.agents a on a.workspace = n.workspace and a.id = n.agent
    where n.workspace = ${WORKSPACE_KEY} and n.name = $2`,
  agents: `select ${AGENT_COLUMNS} from $schema.agents a where a.workspace = ${WORKSPACE_KEY} order by a.id`,
  agentNames: `select name, agent from $schema.agent_names where workspace = ${WORKSPACE_KEY} order by name`,

  // Memories and relations
  memories: `select ${MEMORY_COLUMNS} from unnest($2::text[]) with ordinality as u(id, n)
    join ${MEMORIES} on m.workspace = ${WORKSPACE_KEY} and m.id = u.id order by u.n`,
  places: `select m.id, m.seq, m.stored_at, m.link from unnest($2::text[]) as u(id)
    join $schema.memories m on m.workspace = ${WORKSPACE_KEY} and m.id = u.id`,
  /** Reads up to the limit from each line, then returns the newest of them. */
  memoriesBackward: `select ${MEMORY_COLUMNS} from ${EACH_LINE}
    cross join lateral (select x.* from $schema.memories x
      where x.workspace = ${WORKSPACE_KEY} and x.chain = l.chain and x.seq <= l.upto
      order by x.seq desc limit $4) m
    join $schema.chains c on c.workspace = m.workspace and c.key = m.chain
    order by m.pos desc limit $4`,
  /** For so many lines that most records are on one of them: the caller checks which. */
  memoriesBefore: `select ${MEMORY_COLUMNS} from ${MEMORIES}
    where m.workspace = ${WORKSPACE_KEY} and m.pos < $2 order by m.pos desc limit $3`,
  /** The last record of each line before a position ($4), or at a time ($5), by binary search. */
  lastOf: `select coalesce((
      with recursive half(least, most) as (
        select 0::bigint, least(l.upto, l.length)
        union all
        select case when x.seq is null then h.least else x.seq end,
          case when x.seq is null then (h.least + h.most + 1) / 2 - 1 else h.most end
        from half h
        left join lateral (select n.seq from (select y.* from $schema.memories y
            where y.workspace = ${WORKSPACE_KEY} and y.chain = l.chain
              and y.seq >= (h.least + h.most + 1) / 2 and y.seq <= h.most
            order by y.seq limit 1) n
          where ($4::bigint is null or n.pos < $4) and ($5::bigint is null or n.stored_at <= $5)
          ) x on true
        where h.least < h.most)
      select h.least from half h where h.least >= h.most limit 1), 0)
    from ${EACH_LINE} order by l.n`,
  position: `select ${POSITION}`,
  traceBranches: `select branch from $schema.chains
    where workspace = ${WORKSPACE_KEY} and branch >= 'trace/' and branch < 'trace0'`,
  tips: `select coalesce(m.seq, 0), coalesce(m.id, '') from ${EACH_LINE}
    left join lateral (select x.seq, x.id from $schema.memories x
      where x.workspace = ${WORKSPACE_KEY} and x.chain = l.chain and x.seq <= l.upto
      order by x.seq desc limit 1) m on true order by l.n`,
  /** Records beyond the index, to be scanned. */
  memoriesTail: `select ${MEMORY_COLUMNS} from ${MEMORIES}
    where m.workspace = ${WORKSPACE_KEY} and m.pos > $2 and m.pos < $3
    order by m.pos desc`,
  /** Finds by one facet of each line and checks the others ($6 per line); newest first. */
  memoriesByFacet: `select ${MEMORY_COLUMNS} from (
      select f.pos from unnest($2::bigint[]) with ordinality as l(facet, n)
      cross join lateral (select f.pos from $schema.facets f
        where f.workspace = ${WORKSPACE_KEY} and f.facet = l.facet and f.pos < $3
          and (select count(*) from $schema.facets g where g.workspace = f.workspace
            and g.facet = any (($4::bigint[])[(l.n - 1) * $6 + 1 : l.n * $6])
            and g.pos = f.pos) = $6
        order by f.pos desc limit $5) f
      order by f.pos desc limit $5) f
    join ${MEMORIES} on m.workspace = ${WORKSPACE_KEY} and m.pos = f.pos
    order by f.pos desc`,
  edgesOut: `select ${EDGE_COLUMNS} from ${EDGES}
    where r.workspace = ${WORKSPACE_KEY} and r.source = ${POSITION} and ${VALID} order by r.n limit $5`,
  /** Edges after a given one, with the record at the other end: the caller checks whether it is visible. */
  beyondOut: `select ${EDGE_COLUMNS}, r.source, r.n, ${MEMORY_COLUMNS} from ${EDGES_OUT}
    where r.workspace = ${WORKSPACE_KEY} and r.source = ${POSITION} and ${VALID}
      and (r.source, r.n) > ($6, $7) order by r.source, r.n limit $5`,
  beyondIn: `select ${EDGE_COLUMNS}, r.source, r.n, ${MEMORY_COLUMNS} from ${EDGES_IN}
    where r.workspace = ${WORKSPACE_KEY} and r.target = ${POSITION} and ${VALID}
      and (r.source, r.n) > ($6, $7) order by r.source, r.n limit $5`,
  edgesInto: `select ${EDGE_COLUMNS} from ${EDGES}
    where r.workspace = ${WORKSPACE_KEY} and r.target in (select x.pos from $schema.memories x
        where x.workspace = ${WORKSPACE_KEY} and x.id = any ($2::text[])) and r.kind = any ($3::text[])
    order by r.source, r.n limit $4`,

  // The index
  workspaceKey: "select key from $schema.workspaces where name = $1",
  indexState: `select coalesce((select position from $schema.workspaces where name = $1), 0),
    coalesce((select pos from $schema.indexed where workspace = ${WORKSPACE_KEY} and version = $2), 0)`,
  indexTotals: `select coalesce(sum(w.position), 0)::bigint, coalesce(sum(i.pos), 0)::bigint
    from $schema.workspaces w left join $schema.indexed i on i.workspace = w.key`,
  memoriesAfter: `select ${MEMORY_COLUMNS} from ${MEMORIES}
    where m.workspace = ${WORKSPACE_KEY} and m.pos > $2 order by m.pos limit $3`,
  indexLock: `select pg_try_advisory_xact_lock(hashtextextended('baton index $schema ' || $1, 0))`,
  /** Waits for the hub that is filling the index. */
  awaitIndex: `select pg_advisory_xact_lock(hashtextextended('baton index $schema ' || $1, 0))`,
  clearFacets: `delete from $schema.facets where workspace = ${WORKSPACE_KEY}`,
  addFacets: `insert into $schema.facets (workspace, facet, pos)
    select ${WORKSPACE_KEY}, f, p from unnest($2::bigint[], $3::bigint[]) as u(f, p) on conflict do nothing`,
  moveIndex: `insert into $schema.indexed (workspace, version, pos) values (${WORKSPACE_KEY}, $2, $3)
    on conflict (workspace) do update set version = excluded.version, pos = excluded.pos`,

  // Handoffs
  delivery: `select ${DELIVERY_COLUMNS}, ${ENVELOPE_COLUMNS} from ${DELIVERIES}
    where d.workspace = ${WORKSPACE_KEY} and d.id = any ($2::text[])`,
  openWork: `select ${DELIVERY_COLUMNS}, ${ENVELOPE_COLUMNS} from ${DELIVERIES}
    where d.workspace = ${WORKSPACE_KEY} and d.receiver = $2 and d.task = $3 and d.settled_at = 0
      and d.sender = $4 and d.parent = $5 and d.id <> $6 order by d.place limit 1`,
  openDeliveries: inboxes("x.state < 5"),
  openOfTask: inboxes("x.task = $7"),
  countOpen: `select count(*) from (select from $schema.deliveries
    where workspace = ${WORKSPACE_KEY} and receiver = $2 and settled_at = 0 and state < 5 limit $3) x`,
  parked: `select ${DELIVERY_COLUMNS}, ${ENVELOPE_COLUMNS} from (
      select x.* from $schema.deliveries x
      where x.workspace = ${WORKSPACE_KEY} and x.state in (4, 7) and x.state = $2
        and (x.place, x.id) > ($3, $4) and ($6::text is null or x.sender = $6)
        and ($7::text is null or x.receiver = $7) and ($8::text is null or x.task = $8)
      order by x.place, x.id limit $5) d
    ${WITH_ENVELOPE} order by d.place, d.id`,
  /**
   * Always returns a row, for the cursor of the next page: the last row of a full page, else the last row
   * that was read.
   */
  browse: `with page as materialized (
      select x.* from (select y.* from $schema.deliveries y
        where y.workspace = ${WORKSPACE_KEY} and y.id < $2 order by y.id desc limit $3) x
      where ($5::int[] is null or x.state = any ($5)) and ($6::text is null or x.sender = $6)
        and ($7::text is null or x.receiver = $7) and ($8::text is null or x.task = $8)
        and ($9::bigint is null or x.sent_at >= $9) and ($10::bigint is null or x.sent_at < $10)
      order by x.id desc limit $4),
    last as materialized (
      select case when (select count(*) from page) = $4 then (select min(id) from page)
        else (select y.id from $schema.deliveries y where y.workspace = ${WORKSPACE_KEY} and y.id < $2
          order by y.id desc limit 1 offset $3 - 1) end as id)
    select (select last.id from last where exists (select from $schema.deliveries y
        where y.workspace = ${WORKSPACE_KEY} and y.id < last.id)), ${DELIVERY_COLUMNS}, ${ENVELOPE_COLUMNS}
    from (select) one left join (page d ${EACH_WITH_ENVELOPE}) on true order by d.id desc`,
  /** Always returns a row, for the time; each delivery once, at its first rank. */
  due: `with clock as materialized (
      select coalesce($2::bigint, (extract(epoch from clock_timestamp()) * 1000)::bigint) as now),
    found as materialized (
      ${due(0, "x.lapse_at", "x.lapse_at > 0 and x.lapse_at <= (select now from clock)")}
      union all
      ${due(1, "x.lease_until", "x.state in (2, 3) and x.lease_until <= (select now from clock)")}
      union all
      ${due(2, "0::bigint", "x.state in (2, 3) and x.process <> '' and x.process = any ($3::text[])")}),
    each as materialized (
      select * from (select distinct on (id) * from found order by id, rank) f
      order by rank, at, place, id limit $4)
    select clock.now, (select count(*) from (select from $schema.deliveries x
        where x.workspace = ${WORKSPACE_KEY} and x.state = 0 and x.ready_at <= clock.now limit $4) r),
      ${DELIVERY_COLUMNS}, ${ENVELOPE_COLUMNS} from clock
    left join (each f
      cross join lateral (select x.* from $schema.deliveries x
        where x.workspace = ${WORKSPACE_KEY} and x.id = f.id limit 1) d ${WITH_ENVELOPE}) on true
    order by f.rank, f.at, f.place, f.id`,
  nextDue: `select w.name, greatest(0, due.at
        - coalesce($2::bigint, (extract(epoch from clock_timestamp()) * 1000)::bigint))
    from $schema.workspaces w
    cross join lateral (select least(
      (select min(x.ready_at) from $schema.deliveries x where x.workspace = w.key and x.state = 0),
      (select min(x.lease_until) from $schema.deliveries x
        where x.workspace = w.key and x.state in (2, 3)),
      (select min(x.lapse_at) from $schema.deliveries x
        where x.workspace = w.key and x.lapse_at > 0)) as at) due
    where ($1::text[] is null or w.name = any ($1)) and due.at is not null order by w.name`,
  /** Newest first, so that a limit keeps the newest. */
  line: `select ${ENVELOPE_COLUMNS} from ${ENVELOPES}
    where e.workspace = ${WORKSPACE_KEY} and e.task = $2 order by e.pos desc limit $3`,
  /** The trail of each record that vouches for an envelope contains the deliveries it is about. */
  deliveriesOf: `with told as materialized (
      select distinct coalesce(p.pair ->> 0, s.step ->> 'delivery') as id
      from unnest($2::text[]) as u(id)
      cross join lateral (select x.text from $schema.memories x
        where x.workspace = ${WORKSPACE_KEY} and x.id = u.id limit 1) m
      cross join lateral json_array_elements(m.text::json -> 'trail') as s(step)
      left join lateral json_array_elements(s.step -> 'deliveries') as p(pair) on true)
    select ${DELIVERY_COLUMNS} from told
    cross join lateral (select x.* from $schema.deliveries x
      where x.workspace = ${WORKSPACE_KEY} and x.id = told.id limit 1) d
    order by d.sent_at, d.id`,
  attempts: `select ${ATTEMPT_COLUMNS} from $schema.attempts
    where workspace = ${WORKSPACE_KEY} and delivery = $2 order by attempt`,
  /** A cursor never goes back, so only events are returned that a crash cannot undo. */
  events: `select ${EVENT_COLUMNS}, (select $schema.flushed()) from $schema.events
    where workspace = ${WORKSPACE_KEY} and number > $2 order by number limit $3`,
  processes: `select distinct process from $schema.deliveries
    where workspace = ${WORKSPACE_KEY} and state in (2, 3) and process <> ''`,

  // Entries
  entry: `select ${ENTRY_COLUMNS} from $schema.entries
    where workspace = ${WORKSPACE_KEY} and kind = $2 and name = $3`,
  /** Names with a prefix are between the prefix itself and the greatest possible name with it. */
  entries: `select ${ENTRY_COLUMNS} from $schema.entries
    where workspace = ${WORKSPACE_KEY} and kind = $2 and name > $4 and name >= $3
      and name <= $3 || chr(1114111) and starts_with(name, $3) order by name limit $5`,

  // Retention. All names that begin with trace/ are between trace/ and trace0.
  /** Takes the lock of every write (functions/write.ts). */
  lockWorkspace: "select pg_advisory_xact_lock(hashtextextended('$schema ' || $1, 0))",
  traces: `select c.branch, c.seq, c.stored_at, c.link, f.seq, f.stored_at from $schema.chains c
    left join lateral (select m.seq, m.stored_at from $schema.memories m
      where m.workspace = c.workspace and m.chain = c.key order by m.seq limit 1) f on true
    where c.workspace = ${WORKSPACE_KEY} and c.branch collate "C" > greatest('trace/', $2::text collate "C")
      and c.branch collate "C" < 'trace0' order by c.branch collate "C" limit $3`,
  stepHeld: `select t.seq from $schema.memories t
    where t.workspace = ${WORKSPACE_KEY} and t.chain = ${CHAIN} and t.seq <= $3 and exists (
      select from $schema.relations r
      join $schema.memories s on s.workspace = r.workspace and s.pos = r.source
      where r.workspace = t.workspace and r.target = t.pos and (s.chain <> t.chain or s.seq > $4))
    order by t.seq limit 1`,
  stepsFrom: `select max(x.seq), max(x.pos),
      (select position from $schema.workspaces where name = $1)
    from (select m.seq, m.pos from $schema.memories m where m.workspace = ${WORKSPACE_KEY}
      and m.chain = ${CHAIN} and m.seq <= $3 order by m.seq limit $4) x`,
  sizeOfSteps: `select count(*), coalesce(sum(octet_length(m.text)), 0)::bigint
    from $schema.memories m
    where m.workspace = ${WORKSPACE_KEY} and m.chain = ${CHAIN} and m.seq <= $3`,
  /** Deletes steps with their edges and search rows. Their positions in index lists then match no row. */
  dropSteps: `with gone as (delete from $schema.memories m
      where m.workspace = ${WORKSPACE_KEY} and m.chain = ${CHAIN} and m.seq <= $3
      returning m.pos, octet_length(m.text) as bytes),
    edges as (delete from $schema.relations r using gone g
      where r.workspace = ${WORKSPACE_KEY} and r.source = g.pos),
    said as (delete from $schema.found x using gone g
      where x.workspace = ${WORKSPACE_KEY} and x.pos = g.pos)
    select count(*), coalesce(sum(bytes), 0)::bigint from gone`,
  /** Events older than a time, or beyond a maximum number; the newest event is kept. */
  surveyEvents: `with newest as (select event as number from $schema.workspaces where name = $1),
    bound as (select least(greatest(
        coalesce((select number from $schema.events where workspace = ${WORKSPACE_KEY} and at >= $2
          order by number limit 1), (select number from newest)) - 1,
        coalesce((select number from $schema.events
          where workspace = ${WORKSPACE_KEY} and $3::bigint is not null
          order by number desc limit 1 offset coalesce($3::bigint, 0)), 0)),
      (select number from newest) - 1) as number)
    select coalesce(b.number, 0), (select count(*) from $schema.events
      where workspace = ${WORKSPACE_KEY} and number <= b.number) from bound b`,
  dropEvents: `with gone as (delete from $schema.events
      where workspace = ${WORKSPACE_KEY} and number in (select number from $schema.events
        where workspace = ${WORKSPACE_KEY} and number <= least($2,
          (select event - 1 from $schema.workspaces where name = $1))
        order by number limit $3) returning number)
    select count(*) from gone`,

  // Everything, for verification and totals
  countStates: `select state, count(*) from $schema.deliveries where workspace = ${WORKSPACE_KEY}
    group by state`,
  countEnvelopes: `select count(*) from $schema.envelopes where workspace = ${WORKSPACE_KEY}`,
  totals: `select (select count(*) from $schema.memories where workspace = ${WORKSPACE_KEY}),
    (select count(*) from $schema.relations where workspace = ${WORKSPACE_KEY}),
    (select count(*) from $schema.envelopes where workspace = ${WORKSPACE_KEY}),
    (select count(*) from $schema.deliveries where workspace = ${WORKSPACE_KEY})`,
  chains: `select branch, seq, stored_at, link from $schema.chains where workspace = ${WORKSPACE_KEY}
    order by key`,
  memoriesOfChain: `select ${MEMORY_COLUMNS} from ${MEMORIES}
    where m.workspace = ${WORKSPACE_KEY} and m.chain = ${CHAIN} and m.seq > $3 order by m.seq limit $4`,
  envelopesAfter: `select ${ENVELOPE_COLUMNS}, e.id from ${ENVELOPES}
    where e.workspace = ${WORKSPACE_KEY} and e.id > $2 order by e.id limit $3`,
  envelope: `select ${ENVELOPE_COLUMNS} from ${ENVELOPES}
    where e.workspace = ${WORKSPACE_KEY} and e.id = $2`,
  deliveriesAfter: `select ${DELIVERY_COLUMNS} from $schema.deliveries d
    where d.workspace = ${WORKSPACE_KEY} and d.id > $2 order by d.id limit $3`,
  entriesAfter: `select ${ENTRY_COLUMNS} from $schema.entries
    where workspace = ${WORKSPACE_KEY} and (kind, name) > ($2, $3) order by kind, name limit $4`,
  deliveryRow: `select ${DELIVERY_COLUMNS} from $schema.deliveries d
    where d.workspace = ${WORKSPACE_KEY} and d.id = $2`,
} as const;

const ALL = { ...SQL, ...SEARCH_SQL } as const;

/** Name of a statement. */
export type StatementName = keyof typeof ALL;
/** All statements of a store. */
export type Statements = Readonly<Record<StatementName, Statement>>;

/** Returns the statements for the store in a schema. */
export function statementsIn(schema: string): Statements {
  const entries = Object.entries(ALL).map(([name, text]) => [
    name,
    { name: `baton_${name}`, text: text.replaceAll("$schema", schema) },
  ]);
  return Object.fromEntries(entries) as Statements;
}
