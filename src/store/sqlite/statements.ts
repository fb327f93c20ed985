/**
 * Every SQL statement of the store, prepared once per connection: preparing per call costs two to three times
 * the statement itself. Grouped by table; the files in operations/ show when each is used.
 *
 * `limit (? + 0)`, never `limit ?`: SQLite plans with the value of a bare limit and so prepares the statement
 * again on every binding (measured: 21 µs instead of 4 µs).
 */
import type { DatabaseSync, StatementSync } from "node:sqlite";
import {
  AGENT_COLUMNS,
  ATTEMPT_COLUMNS,
  DELIVERY_COLUMNS,
  EDGE_COLUMNS,
  ENTRY_COLUMNS,
  ENVELOPE_COLUMNS,
  MEMORY_COLUMNS,
} from "../codecs.ts";
import { EVENT_GROUP_COLUMNS } from "./event-groups.ts";

const EDGES = `relations r join memories s on s.pos = r.source join memories t on t.pos = r.target`;
const MEMORIES = "memories m join chains c on c.key = m.chain";
const ENVELOPES = "envelopes e join memories m on m.pos = e.pos";

const SQL = {
  // Workspaces and chains
  addWorkspace: "insert into workspaces (name) values (?) on conflict do nothing",
  workspaceKey: "select key from workspaces where name = ?",
  addChain: `insert into chains (workspace, seq, stored_at, branch, link) values (?, 0, 0, ?, ?)
    on conflict do nothing`,
  chain: "select key, seq, stored_at, link from chains where workspace = ? and branch = ?",
  moveChain: "update chains set seq = ?, stored_at = ?, link = ? where key = ?",
  newestTime: "select max(stored_at) from chains where workspace = ?",
  chains: "select key, branch, seq, stored_at, link from chains where workspace = ? order by key",

  // Agents
  agentStatus: "select status, public_key, role from agents where workspace = ? and id = ?",
  // No row if the role has no agents; otherwise whether one of them is not disabled. The index is forced: in
  // a file that was never analyzed, the planner considers the primary key just as good.
  roleStatus: `select max(status <> 'disabled') from agents indexed by agents_role
    where workspace = ? and role = ? group by role`,
  agentByName: `select ${AGENT_COLUMNS} from agent_names n
    join agents a on a.workspace = n.workspace and a.id = n.agent
    where n.workspace = ? and n.name = ?`,
  agents: `select ${AGENT_COLUMNS} from agents a where a.workspace = ? order by a.id`,
  agentNames: "select name, agent from agent_names where workspace = ? order by name",
  nameOwner: "select agent from agent_names where workspace = ? and name = ?",
  putAgent: `insert into agents (workspace, id, revision, keyed_at, status, role, aliases,
      public_key, profile, digest) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    on conflict do update set revision = excluded.revision, keyed_at = excluded.keyed_at,
      status = excluded.status, role = excluded.role, aliases = excluded.aliases,
      public_key = excluded.public_key, profile = excluded.profile, digest = excluded.digest`,
  dropNames: "delete from agent_names where workspace = ? and agent = ?",
  addName: "insert into agent_names (workspace, name, agent) values (?, ?, ?)",

  // Memories and relations
  addMemory: `insert into memories (workspace, chain, seq, stored_at, id, link, signature, text)
    values (?, ?, ?, ?, ?, ?, ?, ?) on conflict (workspace, id) do nothing`,
  memoryPosition: "select pos from memories where workspace = ? and id = ?",
  memory: `select ${MEMORY_COLUMNS} from ${MEMORIES} where m.workspace = ? and m.id = ?`,
  // In the order of the ids: the outer table of a cross join is read first to last. One statement for 200 ids
  // takes a quarter of the time of 200 statements, each of which locks the file.
  memoriesById: `select ${MEMORY_COLUMNS} from json_each(?2) cross join ${MEMORIES}
    where m.workspace = ?1 and m.id = json_each.value`,
  memoryAt: `select ${MEMORY_COLUMNS} from ${MEMORIES} where m.pos = ?`,
  memoriesOfChain: `select ${MEMORY_COLUMNS} from ${MEMORIES} where m.chain = ? order by m.seq`,
  memoriesBackward: `select ${MEMORY_COLUMNS} from ${MEMORIES}
    where m.chain = ? and m.seq < ? order by m.seq desc`,
  memoriesPage: `select ${MEMORY_COLUMNS} from ${MEMORIES}
    where m.chain = ? and m.seq < ? order by m.seq desc limit (? + 0)`,
  memoriesBefore: `select ${MEMORY_COLUMNS} from ${MEMORIES}
    where +m.workspace = ? and m.pos < ? order by m.pos desc`,
  chainLength: "select seq from chains where key = ?",
  markFrom: `select pos, seq, stored_at from memories where chain = ? and seq >= ? and seq <= ?
    order by seq limit 1`,
  /** Each with the envelope it vouches for, because that text is searched like the record's. */
  memoriesAfter: `select ${MEMORY_COLUMNS}, e.text, m.workspace
    from ${MEMORIES} left join envelopes e on e.pos = m.pos
    where m.pos > ? order by m.pos limit (? + 0)`,
  lastPosition: "select coalesce(max(pos), 0) from memories",
  linkAt: "select link from memories where pos = ?",
  countMemories: "select count(*) from memories where workspace = ?",
  addRelation: `insert into relations (source, n, target, valid_from, valid_until, kind)
    values (?, ?, ?, ?, ?, ?)`,
  edgesOut: `select ${EDGE_COLUMNS}, r.target from ${EDGES} where r.source = ? order by r.n`,
  edgesIn: `select ${EDGE_COLUMNS}, r.source from ${EDGES} where r.target = ? order by r.source, r.n`,
  // Uses the index of targets: there are few kinds, and no index covers them.
  edgesInto: `select ${EDGE_COLUMNS} from ${EDGES}
    where r.target in (select pos from memories
        where workspace = ?1 and id in (select value from json_each(?2)))
      and r.kind in (select value from json_each(?3))
    order by r.source, r.n limit (?4 + 0)`,
  countRelations: `select count(*) from relations r join memories m on m.pos = r.source
    where m.workspace = ?`,

  // Envelopes
  addEnvelope: `insert into envelopes (pos, workspace, id, task, sender, text)
    values (?, ?, ?, ?, ?, ?) on conflict (workspace, id) do nothing`,
  envelope: `select ${ENVELOPE_COLUMNS}, e.pos from ${ENVELOPES}
    where e.workspace = ? and e.id = ?`,
  envelopeAt: `select ${ENVELOPE_COLUMNS} from ${ENVELOPES} where e.pos = ?`,
  isEnvelope: "select 1 from envelopes where pos = ?",
  envelopeTextAt: "select text from envelopes where pos = ?",
  envelopeExists: "select 1 from envelopes where workspace = ? and id = ?",
  envelopes: `select ${ENVELOPE_COLUMNS} from ${ENVELOPES} where e.workspace = ? order by e.pos`,
  countEnvelopes: "select count(*) from envelopes where workspace = ?",

  // Deliveries
  addDelivery: `insert into deliveries (workspace, state, turn, place, attempt, max_attempts, fence,
      lease_until, hold_until, ready_at, deadline, lapse_at, sent_at, seen_at, accepted_at,
      settled_at, id, envelope, parent, task, sender, receiver, holder, instance, process,
      accepted_by, settled_by, followers, sum)
    values (?, ?, ?, ?, ?, ?, ?, 0, 0, ?, ?, ?, ?, 0, 0, ?, ?, ?, ?, ?, ?, ?, '', '', '', '', '', '', ?)
    on conflict (workspace, id) do nothing`,
  delivery: `select ${DELIVERY_COLUMNS} from deliveries d where d.workspace = ? and d.id = ?`,
  deliveriesOf: `select ${DELIVERY_COLUMNS} from deliveries d
    where d.workspace = ? and d.envelope = ? order by d.pos`,
  deliveries: `select ${DELIVERY_COLUMNS} from deliveries d where d.workspace = ? order by d.pos`,
  // The wanted states are bits: 1 << state.
  openDeliveries: `select ${DELIVERY_COLUMNS} from deliveries d
    where d.workspace = ? and d.receiver = ? and d.settled_at = 0 and (d.place, d.id) > (?, ?)
      and ? >> d.state & 1 order by d.place, d.id limit (? + 0)`,
  // `+` makes SQLite sort only within one place, instead of reading the whole inbox in order.
  openOfTask: `select ${DELIVERY_COLUMNS} from deliveries d
    where d.workspace = ? and d.receiver = ? and d.task = ? and d.settled_at = 0
      and (d.place, +d.id) > (?, ?) and ? >> d.state & 1 order by d.place, +d.id limit (? + 0)`,
  countOpen: `select count(*) from (select 1 from deliveries
    where workspace = ? and receiver = ? and settled_at = 0 limit (? + 0))`,
  parkedDeliveries: `select ${DELIVERY_COLUMNS} from deliveries d
    where d.workspace = ? and d.state = ? and d.state in (4, 7) and (d.place, d.id) > (?, ?)
      and d.sender = coalesce(?, d.sender) and d.receiver = coalesce(?, d.receiver)
      and d.task = coalesce(?, d.task) order by d.place, d.id limit (? + 0)`,
  browseDeliveries: `select ${DELIVERY_COLUMNS} from deliveries d
    where d.workspace = ? and d.id < ? and d.id >= ? and ? >> d.state & 1
      and d.sender = coalesce(?, d.sender) and d.receiver = coalesce(?, d.receiver)
      and d.task = coalesce(?, d.task) and d.sent_at >= ? and d.sent_at < ?
    order by d.id desc limit (? + 0)`,
  nthBelow: `select id from deliveries where workspace = ? and id < ?
    order by id desc limit 1 offset (? - 1)`,
  queue: `select ${DELIVERY_COLUMNS}, d.pos from deliveries d
    where d.workspace = ? and d.receiver = ? and d.task = ? and d.settled_at = 0
    order by d.place limit (? + 0)`,
  firstInQueue: `select place from deliveries
    where workspace = ? and receiver = ? and task = ? and settled_at = 0 order by place limit 1`,
  lastInQueue: `select place from deliveries
    where workspace = ? and receiver = ? and task = ? and settled_at = 0
    order by place desc limit 1`,
  queuedWork: `select ${DELIVERY_COLUMNS}, d.pos from deliveries d
    where d.workspace = ? and d.receiver = ? and d.task = ? and d.sender = ? and d.parent = ?
      and d.settled_at = 0 and d.turn = 0 order by d.pos`,
  readyDeliveries: `select ${DELIVERY_COLUMNS} from deliveries d
    where d.workspace = ? and d.receiver = ? and d.state = 1 and d.turn = 1
      and (d.deadline = 0 or d.deadline > ?)
    order by d.place, d.id limit (? + 0)`,
  readyOfTask: `select ${DELIVERY_COLUMNS} from deliveries d
    where d.workspace = ?1 and d.receiver = ?2 and d.task = ?3 and d.settled_at = 0
      and d.place = (select place from deliveries
        where workspace = ?1 and receiver = ?2 and task = ?3 and settled_at = 0
        order by place limit 1)
      and d.state = 1 and d.turn = 1 and (d.deadline = 0 or d.deadline > ?5)
    order by +d.id limit (?4 + 0)`,
  lapsed: `select ${DELIVERY_COLUMNS} from deliveries d
    where d.workspace = ? and d.lapse_at > 0 and d.lapse_at <= ?
    order by d.lapse_at, d.place limit (? + 0)`,
  expiredLeases: `select ${DELIVERY_COLUMNS} from deliveries d
    where d.workspace = ? and d.state in (2, 3) and d.lease_until <= ?
    order by d.lease_until, d.place limit (? + 0)`,
  heldByProcess: `select ${DELIVERY_COLUMNS}, d.pos from deliveries d
    where d.workspace = ? and d.state in (2, 3) and d.process = ? and d.process <> ''
    order by d.place, d.pos limit (? + 0)`,
  processes: `select distinct process from deliveries
    where workspace = ? and state in (2, 3) and process <> ''`,
  heldBySession: `select 1 from deliveries
    where workspace = ? and state in (2, 3) and holder = ? and instance = ? and process = ''
    limit 1`,
  makeDue: `update deliveries set state = 1 where workspace = ? and state = 0 and ready_at <= ?`,
  dueRetries: `select count(*) from (select 1 from deliveries
    where workspace = ? and state = 0 and ready_at <= ? limit (? + 0))`,
  nextRetry: `select min(ready_at) from deliveries where workspace = ? and state = 0`,
  nextExpiry: `select min(lease_until) from deliveries where workspace = ? and state in (2, 3)`,
  nextLapse: "select min(lapse_at) from deliveries where workspace = ? and lapse_at > 0",
  workspaceNames: "select name from workspaces order by name",
  passTurn: `update deliveries set turn = 1 where turn = 0 and pos = (
    select pos from deliveries where workspace = ? and receiver = ? and task = ? and settled_at = 0
    order by place limit 1)`,
  renewSession: `update deliveries set lease_until = min(?, hold_until)
    where workspace = ? and state in (2, 3) and lease_until > ? and holder = ? and instance = ?
      and process = ''`,
  // Guarded: each states the state and fence it starts from, and reports whether it applied.
  claim: `update deliveries set state = 2, attempt = attempt + 1, fence = fence + 1,
      lease_until = ?, hold_until = ?, seen_at = ?, holder = ?, instance = ?, process = ?, sum = ?
    where workspace = ? and id = ? and state = 1 and turn = 1 and fence = ?`,
  takeAtOnce: `update deliveries set state = 3, attempt = attempt + 1, fence = fence + 1,
      lease_until = ?, hold_until = ?, lapse_at = deadline, seen_at = ?, accepted_at = ?,
      holder = ?, instance = ?, process = ?, accepted_by = ?, sum = ?
    where workspace = ? and id = ? and state = 1 and turn = 1 and fence = ?`,
  accept: `update deliveries set state = 3, lease_until = ?, lapse_at = deadline, accepted_at = ?,
      accepted_by = ?
    where workspace = ? and id = ? and state = 2 and fence = ?`,
  settle: `update deliveries set state = ?, max_attempts = ?, lease_until = 0, hold_until = 0,
      ready_at = ?, lapse_at = ?, settled_at = ?, settled_by = ?, sum = ?
    where workspace = ? and id = ? and state in (2, 3) and fence = ?`,
  move: `update deliveries set state = ?, turn = ?, place = ?, attempt = ?, max_attempts = ?,
      fence = ?, lease_until = ?, hold_until = ?, ready_at = ?, deadline = ?, lapse_at = ?,
      settled_at = ?, envelope = ?, receiver = ?, settled_by = ?, followers = ?, sum = ?
    where workspace = ? and id = ? and state = ? and fence = ?`,
  renew: `update deliveries set lease_until = ?
    where workspace = ? and id = ? and state in (2, 3) and fence = ?`,
  supersede: `update deliveries set state = 10, lapse_at = 0, settled_at = ?, sum = ?
    where workspace = ? and id = ? and state in (0, 1) and envelope = ?`,
  extendHeld: `update deliveries set envelope = ?, deadline = ?, lapse_at = ?
    where workspace = ? and id = ? and state in (2, 3, 4) and envelope = ?`,
  countStates: "select state, count(*) from deliveries where workspace = ? group by state",
  countDeliveries: "select count(*) from deliveries where workspace = ?",

  // Attempts and events
  addAttempt: `insert into attempts
      (workspace, delivery, attempt, ended_at, outcome, holder, instance, reason, sum)
    values (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  attempts: `select ${ATTEMPT_COLUMNS} from attempts where workspace = ? and delivery = ?
    order by key`,
  addEventGroup: `insert into event_groups (last, workspace, at, count, text, sum)
    values (?, ?, ?, ?, ?, ?)`,
  lastEvent: "select coalesce(max(last), 0) from event_groups",
  eventGroups: `select ${EVENT_GROUP_COLUMNS} from event_groups where workspace = ? and last > ?
    order by last`,

  // Redaction
  redactions: "pragma user_version",
  dropMeaning: `delete from vectors where pos = ?1
    and model in (select key from models where workspace = ?2)`,
  dropSignature: `delete from signatures where pos = ?1
    and model in (select key from models where workspace = ?2)`,
  memoryText: "select text from memories where workspace = ? and id = ?",
  envelopeText: "select text from envelopes where workspace = ? and id = ?",
  attempt: `select ${ATTEMPT_COLUMNS} from attempts
    where workspace = ? and delivery = ? and attempt = ? order by key limit 1`,
  eraseMemory: "update memories set text = ? where workspace = ? and id = ?",
  eraseEnvelope: "update envelopes set text = ? where workspace = ? and id = ? returning pos",
  eraseAttempt: `update attempts set reason = ?, sum = ?
    where workspace = ? and delivery = ? and attempt = ?`,
  eraseProfile: `update agents set profile = ?, revision = ?, digest = ?
    where workspace = ? and id = ?`,

  // Entries
  entry: `select ${ENTRY_COLUMNS} from entries where workspace = ? and kind = ? and name = ?`,
  // Starts at the first name that can have the prefix; `+` keeps the cursor from being used as the start.
  entriesFrom: `select ${ENTRY_COLUMNS} from entries
    where workspace = ?1 and kind = ?2 and name >= max(?3, ?4) and +name > ?4
    order by name limit (?5 + 0)`,
  entries: `select ${ENTRY_COLUMNS} from entries where workspace = ? order by kind, name`,
  putEntry: `insert into entries (workspace, kind, name, revision, at, value, digest, sum)
      values (?, ?, ?, ?, ?, ?, ?, ?)
    on conflict do update set revision = excluded.revision, at = excluded.at,
      value = excluded.value, digest = excluded.digest, sum = excluded.sum`,
  anyEntry: "select 1 from entries where workspace = ? and kind = ? limit 1",
  dropEntry: "delete from entries where workspace = ? and kind = ? and name = ?",

  // Search. Only edges that are valid at the time count.
  knownRecords: `select coalesce(sum(seq), 0) from chains
    where workspace = ? and not (branch > 'trace/' and branch < 'trace0')`,
  edgesFrom: `select kind, source, target from relations where source = ?1 and valid_from <= ?2
    and (valid_until = 0 or ?2 < valid_until) limit 32`,
  edgesTo: `select kind, source, target from relations where target = ?1 and valid_from <= ?2
    and (valid_until = 0 or ?2 < valid_until) order by source desc limit 32`,
  // Uses the index of targets, record by record; a record has few replacements, and all of them are read.
  replacing: `select r.target, r.source from relations r
    where r.target in (select value from json_each(?1)) and r.kind in ('supersedes', 'corrects')
      and r.valid_from <= ?2 and (r.valid_until = 0 or ?2 < r.valid_until)
    order by r.source desc`,
  positionAt: `select pos from memories where chain = ? and seq <= ? order by seq desc limit 1`,
  timeFrom: "select pos, stored_at from memories where pos >= ? order by pos limit 1",

  // Vectors
  model: "select key, pos from models where workspace = ? and name = ?",
  models: `select name, dimensions, pos, (select count(*) from vectors v where v.model = m.key)
    from models m where workspace = ? order by name`,
  putModel: `insert into models (workspace, name, dimensions, pos, sum) values (?, ?, ?, ?, ?)
    on conflict do update set dimensions = excluded.dimensions, pos = excluded.pos,
      sum = excluded.sum
    returning key`,
  putVector: `insert into vectors (model, pos, vector, sum) values (?, ?, ?, ?)
    on conflict do update set vector = excluded.vector, sum = excluded.sum`,
  putSignature: `insert into signatures (model, pos, bits, sum) values (?, ?, ?, ?)
    on conflict do update set bits = excluded.bits, sum = excluded.sum`,
  dropVectors: "delete from vectors where model = ?",
  dropSignatures: "delete from signatures where model = ?",
  dropModel: "delete from models where key = ?",
  signaturesAfter: "select pos, bits from signatures where model = ? and pos > ? order by pos",
  vectors:
    "select pos, vector from vectors where model = ? and pos in (select value from json_each(?))",

  // Retention. All names that start with trace/ are between "trace/" and "trace0".
  traces: `select c.branch, c.seq, c.stored_at, c.link,
      (select min(m.seq) from memories m where m.chain = c.key),
      (select m.stored_at from memories m where m.chain = c.key order by m.seq limit 1)
    from chains c where c.workspace = ? and c.branch > max('trace/', ?) and c.branch < 'trace0'
    order by c.branch limit (? + 0)`,
  stepHeld: `select t.seq from memories t where t.chain = ?1 and t.seq <= ?2 and exists (
      select 1 from relations r join memories s on s.pos = r.source
      where r.target = t.pos and (s.chain <> ?1 or s.seq > ?3))
    order by t.seq limit 1`,
  stepsFrom: `select max(seq), max(pos) from (
      select seq, pos from memories where chain = ? and seq <= ? order by seq limit (? + 0))`,
  sizeOfSteps: `select count(*), coalesce(sum(octet_length(text)), 0) from memories
    where chain = ? and seq <= ?`,
  dropEdgesOfSteps: `delete from relations where source in (
    select pos from memories where chain = ? and seq <= ?)`,
  dropSteps: "delete from memories where chain = ? and seq <= ?",
  newestEvent: "select max(last) from event_groups where workspace = ?",
  firstEventSince: `select last - count + 1 from event_groups where workspace = ? and at >= ?
    order by last limit 1`,
  eventGroupSizes: "select last, count from event_groups where workspace = ? order by last desc",
  // Up to a number that can be within a row: whole rows, and the part of the next one.
  countEvents: `select coalesce(sum(events), 0) from (
    select sum(count) as events from event_groups where workspace = ?1 and last <= ?2
    union all select * from (select max(0, ?2 - last + count) from event_groups
      where workspace = ?1 and last > ?2 order by last limit 1))`,
  oldestEventGroups: `select last, count from event_groups
    where workspace = ?1 and last <= coalesce((select last from event_groups
      where workspace = ?1 and last > ?2 order by last limit 1), ?2)
    order by last limit (?3 + 0)`,
  dropEventGroups: "delete from event_groups where workspace = ? and last <= ?",
  eventGroup: `select ${EVENT_GROUP_COLUMNS} from event_groups where last = ?`,
  shortenEventGroup: "update event_groups set count = ?, text = ?, sum = ? where last = ?",
} as const;

/** The prepared statements by name. */
export type Statements = Readonly<Record<keyof typeof SQL, StatementSync>>;

/** Prepares every statement; rows are returned as arrays. */
export function prepareStatements(db: DatabaseSync): Statements {
  const prepared = Object.entries(SQL).map(([name, sql]) => {
    const statement = db.prepare(sql);
    statement.setReturnArrays(true);
    return [name, statement] as const;
  });
  return Object.fromEntries(prepared) as Statements;
}

/** The text of each statement, for tests that check the query plan. */
export const STATEMENT_TEXTS: Readonly<Record<keyof typeof SQL, string>> = SQL;
