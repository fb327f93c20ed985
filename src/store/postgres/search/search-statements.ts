/** The statements of the index, of ranked search and of vectors; part of those in statements.ts. */
import { MEMORY_COLUMNS } from "../../codecs.ts";

const WORKSPACE_KEY = "(select key from $schema.workspaces where name = $1)";
const MEMORIES = `$schema.memories m
  join $schema.chains c on c.workspace = m.workspace and c.key = m.chain`;
const MODEL = `(select key from $schema.models where workspace = ${WORKSPACE_KEY} and name = $2)`;
const VALID = "r.valid_from <= $3 and (r.valid_until = 0 or $3 < r.valid_until)";
const FOUND_COLUMNS = `f.pos, f.session, f.time, f.stored_at, f.valid_until, f.seq, f.importance,
  f.confidence, f.traits, f.id, f.branch, f.reach, f.agent, f.packed`;

/** Block number of the block that is written to; full blocks have their first position as number. */
export const OPEN_BLOCK = "9007199254740992";

/** Texts of the statements, by name. */
export const SEARCH_SQL = {
  // Filling the index
  clearPostings: `delete from $schema.postings where workspace = ${WORKSPACE_KEY}`,
  clearFound: `delete from $schema.found where workspace = ${WORKSPACE_KEY}`,
  clearCensus: `delete from $schema.census where workspace = ${WORKSPACE_KEY}`,
  /** Returns the blocks that are full now, and their first positions. */
  addPostings: `with put as (
      insert into $schema.postings as p (workspace, token, block, positions)
        select ${WORKSPACE_KEY}, u.token, ${OPEN_BLOCK}, u.positions
        from unnest($2::bigint[], $3::bytea[]) as u(token, positions)
      on conflict (workspace, token, block)
        do update set positions = p.positions || excluded.positions
      returning p.token, p.positions)
    select token::text, substring(positions from 1 for 5) from put
    where octet_length(positions) >= $4`,
  closePostings: `update $schema.postings p set block = u.first
    from unnest($2::bigint[], $3::bigint[]) as u(token, first)
    where p.workspace = ${WORKSPACE_KEY} and p.token = u.token and p.block = ${OPEN_BLOCK}`,
  addFound: `insert into $schema.found (workspace, pos, session, time, stored_at, valid_until, seq,
      importance, confidence, traits, id, branch, reach, agent, packed)
    select ${WORKSPACE_KEY}, u.* from unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[],
      $6::bigint[], $7::bigint[], $8::float8[], $9::float8[], $10::smallint[], $11::text[],
      $12::text[], $13::text[], $14::text[], $15::bytea[]) as u
    on conflict do nothing`,
  addCensus: `insert into $schema.census as c (workspace, space, records, passages, terms, first, last)
    values (${WORKSPACE_KEY}, $2, $3, $4, $5, $6, $7) on conflict (workspace, space) do update set
      records = c.records + excluded.records, passages = c.passages + excluded.passages,
      terms = c.terms + excluded.terms, last = excluded.last`,

  // Searching
  /** The workspace's key and newest position, the index's watermark, and which build of the index it is. */
  searchState: `select w.key, w.position, coalesce(i.pos, 0), coalesce(i.made, 0)
    from $schema.workspaces w
    left join $schema.indexed i on i.workspace = w.key and i.version = $2
    where w.name = $1`,
  censusOf: `select space, records, passages, terms, first, last from $schema.census
    where workspace = ${WORKSPACE_KEY}`,
  memoriesBeyond: `select ${MEMORY_COLUMNS} from ${MEMORIES}
    where m.workspace = ${WORKSPACE_KEY} and m.pos > $2 and m.pos <= $3 order by m.pos limit $4`,
  /** Blocks of each list, newest first, up to the number needed. */
  postings: `select r.n, p.positions
    from unnest($2::bigint[], $3::bigint[], $4::bigint[]) with ordinality as r(token, below, most, n)
    cross join lateral (select x.block, x.positions from $schema.postings x
      where x.workspace = ${WORKSPACE_KEY} and x.token = r.token
        and (x.block < r.below or x.block = ${OPEN_BLOCK})
      order by x.block desc limit r.most) p
    order by r.n, p.block desc`,
  found: `select ${FOUND_COLUMNS} from unnest($2::bigint[]) as u(pos)
    cross join lateral (select x.* from $schema.found x
      where x.workspace = ${WORKSPACE_KEY} and x.pos = u.pos limit 1) f`,
  /** The same, with the record. */
  foundWithText: `select ${FOUND_COLUMNS}, ${MEMORY_COLUMNS} from unnest($2::bigint[]) as u(pos)
    cross join lateral (select x.* from $schema.found x
      where x.workspace = ${WORKSPACE_KEY} and x.pos = u.pos limit 1) f
    join ${MEMORIES} on m.workspace = f.workspace and m.pos = f.pos`,
  /** Neighbours in the session, nearest first. */
  beside: `select array(select x.pos from $schema.found x
        where x.workspace = ${WORKSPACE_KEY} and x.session = r.session and x.pos < r.pos and x.pos <= $4
        order by x.pos desc limit $5),
      array(select x.pos from $schema.found x
        where x.workspace = ${WORKSPACE_KEY} and x.session = r.session and x.pos > r.pos and x.pos <= $4
        order by x.pos limit $5)
    from unnest($2::bigint[], $3::bigint[]) with ordinality as r(session, pos, n) order by r.n`,
  /** Records that supersede or correct each record, newest first. */
  replacing: `select t.pos, ${MEMORY_COLUMNS} from unnest($2::bigint[]) as t(pos)
    cross join lateral (select r.source from $schema.relations r
      where r.workspace = ${WORKSPACE_KEY} and r.target = t.pos and ${VALID}
        and r.kind in ('supersedes', 'corrects') order by r.source desc limit 64) x
    join ${MEMORIES} on m.workspace = ${WORKSPACE_KEY} and m.pos = x.source order by m.pos desc`,
  edgesAround: `select x.kind, x.source, x.target from (
      select r.kind, r.source, r.target, r.n from $schema.relations r
        where r.workspace = ${WORKSPACE_KEY} and r.source = any ($2::bigint[]) and ${VALID}
      union
      select r.kind, r.source, r.target, r.n from $schema.relations r
        where r.workspace = ${WORKSPACE_KEY} and r.target = any ($2::bigint[]) and ${VALID}) x
    order by x.source, x.n limit $4`,
  envelopeTexts: `select e.id, e.text from $schema.envelopes e
    where e.workspace = ${WORKSPACE_KEY} and e.id = any ($2::text[])`,
  memoriesAt: `select ${MEMORY_COLUMNS} from unnest($2::bigint[]) as u(pos)
    join ${MEMORIES} on m.workspace = ${WORKSPACE_KEY} and m.pos = u.pos`,
  lengthsOf: `select c.branch, c.seq from $schema.chains c
    where c.workspace = ${WORKSPACE_KEY} and c.branch = any ($2::text[])`,
  tracedRecords: `select coalesce(sum(c.seq), 0)::bigint from $schema.chains c
    where c.workspace = ${WORKSPACE_KEY} and c.branch >= 'trace/' and c.branch < 'trace0'`,

  // Vectors
  vectorsLock: `select pg_advisory_xact_lock(hashtextextended('baton vectors $schema ' || $1, 0))`,
  /** The schema of the tables that pgvector indexes, and whether the table of a model exists. */
  schemaOfVectors: `select '$schema', to_regclass('$schema.vectors_' || $1::bigint) is not null`,
  /** A model; `revision` counts how often vectors were replaced or deleted. */
  model: `select key, dimensions, done, revision, kind from $schema.models
    where workspace = ${WORKSPACE_KEY} and name = $2`,
  models: `select m.name, m.dimensions, m.done, m.kind, (select count(*) from $schema.vectors v
      where v.workspace = m.workspace and v.model = m.key),
      (select position from $schema.workspaces where key = m.workspace)
    from $schema.models m where m.workspace = ${WORKSPACE_KEY} order by m.name collate "C"`,
  addModel: `insert into $schema.models (workspace, name, dimensions, kind)
    values (${WORKSPACE_KEY}, $2, $3, $4) on conflict do nothing`,
  moveModel: `update $schema.models set done = greatest(done, $3), revision = revision + $4
    where workspace = ${WORKSPACE_KEY} and name = $2`,
  lastVector: `select coalesce(max(pos), 0) from $schema.vectors
    where workspace = ${WORKSPACE_KEY} and model = ${MODEL}`,
  addVectors: `insert into $schema.vectors (workspace, model, pos, signature, vector)
    select ${WORKSPACE_KEY}, ${MODEL}, u.pos, u.signature, u.vector
    from unnest($3::bigint[], $4::bytea[], $5::bytea[]) as u(pos, signature, vector)
    on conflict (workspace, model, pos)
      do update set signature = excluded.signature, vector = excluded.vector`,
  dropVectors: `delete from $schema.vectors where workspace = ${WORKSPACE_KEY} and model = ${MODEL}`,
  dropModel: `delete from $schema.models where workspace = ${WORKSPACE_KEY} and name = $2`,
  signaturesAfter: `select v.pos, v.signature from $schema.vectors v
    where v.workspace = ${WORKSPACE_KEY} and v.model = $2 and v.pos > $3 order by v.pos limit $4`,
  vectorsAt: `select v.pos, v.vector from unnest($3::bigint[]) as u(pos)
    cross join lateral (select x.pos, x.vector from $schema.vectors x
      where x.workspace = ${WORKSPACE_KEY} and x.model = $2 and x.pos = u.pos limit 1) v`,
} as const;
