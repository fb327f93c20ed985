/**
 * Every statement of the store, prepared once per connection: preparing per call costs two to
 * three times the statement itself. Grouped by table; the files named after verbs say when each
 * is used.
 */
import type { DatabaseSync, StatementSync } from "node:sqlite";

const MEMORY_COLUMNS = `m.id, c.branch, m.seq, m.stored_at as storedAt, m.agent, m.task, m.session,
  m.type, m.text, m.digest, m.signature, m.link`;

const ENVELOPE_COLUMNS = `e.id, e.task, e.sender, e.text, e.digest, m.id as memory,
  e.stored_at as storedAt`;

const DELIVERY_COLUMNS = `d.id, d.envelope, d.task, d.sender, d.receiver, d.parent, d.state,
  d.place, d.attempt, d.max_attempts as maxAttempts, d.fence, d.lease_until as leaseUntil,
  d.ready_at as readyAt, d.sent_at as sentAt, d.seen_at as seenAt, d.accepted_at as acceptedAt,
  d.settled_at as settledAt, d.holder, d.instance, d.accepted_by as acceptedBy,
  d.settled_by as settledBy`;

const AGENT_COLUMNS = `a.id, a.status, a.role, a.aliases, a.public_key as publicKey,
  a.keyed_at as keyedAt, a.profile, a.digest, a.revision`;

const EDGE_COLUMNS = `r.kind, s.id as source, t.id as target, r.valid_from as validFrom,
  r.valid_until as validUntil`;

const EDGES = `relations r join memories s on s.pos = r.source join memories t on t.pos = r.target`;
const MEMORIES = "memories m join chains c on c.key = m.chain";
const ENVELOPES = "envelopes e join memories m on m.pos = e.pos";

const SQL = {
  // Workspaces and chains
  addWorkspace: "insert into workspaces (name) values (?) on conflict do nothing",
  workspaceKey: "select key from workspaces where name = ?",
  addChain: `insert into chains (workspace, seq, stored_at, branch, link) values (?, 0, 0, ?, ?)
    on conflict do nothing`,
  chain: `select key, seq, stored_at as storedAt, link from chains where workspace = ? and branch = ?`,
  moveChain: "update chains set seq = ?, stored_at = ?, link = ? where key = ?",
  chains: "select key, branch, seq, link from chains where workspace = ? order by key",

  // Agents
  agentStatus: `select status, public_key as publicKey from agents where workspace = ? and id = ?`,
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
  addMemory: `insert into memories (workspace, chain, seq, stored_at, id, agent, task, session, type,
      digest, link, signature, text) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    on conflict (id) do nothing`,
  memoryPosition: "select pos from memories where id = ? and workspace = ?",
  memory: `select ${MEMORY_COLUMNS} from ${MEMORIES} where m.id = ? and m.workspace = ?`,
  memoryAt: `select ${MEMORY_COLUMNS} from ${MEMORIES} where m.pos = ?`,
  memoriesOfChain: `select ${MEMORY_COLUMNS} from ${MEMORIES} where m.chain = ? order by m.seq`,
  memoriesBackward: `select m.pos, ${MEMORY_COLUMNS} from ${MEMORIES}
    where m.chain = ? and m.seq < ? order by m.seq desc`,
  memoriesAfter: `select m.pos, c.workspace, ${MEMORY_COLUMNS} from ${MEMORIES}
    where m.pos > ? order by m.pos limit ?`,
  lastPosition: "select coalesce(max(pos), 0) as pos from memories",
  linkAt: "select link from memories where pos = ?",
  countMemories: "select count(*) as n from memories where workspace = ?",
  addRelation: `insert into relations (source, n, target, valid_from, valid_until, kind)
    values (?, ?, ?, ?, ?, ?)`,
  edgesOut: `select ${EDGE_COLUMNS} from ${EDGES} where r.source = ? order by r.n`,
  edgesIn: `select ${EDGE_COLUMNS} from ${EDGES} where r.target = ? order by r.source, r.n`,
  countRelations: `select count(*) as n from relations r join memories m on m.pos = r.source
    where m.workspace = ?`,

  // Envelopes
  addEnvelope: `insert into envelopes (pos, workspace, stored_at, id, task, sender, digest, text)
    values (?, ?, ?, ?, ?, ?, ?, ?) on conflict (id) do nothing`,
  envelope: `select ${ENVELOPE_COLUMNS} from ${ENVELOPES} where e.id = ? and e.workspace = ?`,
  envelopeAt: `select ${ENVELOPE_COLUMNS} from ${ENVELOPES} where e.pos = ?`,
  envelopeExists: "select 1 from envelopes where id = ? and workspace = ?",
  envelopes: `select ${ENVELOPE_COLUMNS} from ${ENVELOPES} where e.workspace = ? order by e.pos`,
  countEnvelopes: "select count(*) as n from envelopes where workspace = ?",

  // Deliveries
  addDelivery: `insert into deliveries (workspace, state, place, attempt, max_attempts, fence,
      lease_until, ready_at, sent_at, seen_at, accepted_at, settled_at, id, envelope, parent, task,
      sender, receiver, holder, instance, accepted_by, settled_by)
    values (?, ?, ?, 0, ?, 0, 0, 0, ?, 0, 0, 0, ?, ?, ?, ?, ?, ?, '', '', '', '')
    on conflict (id) do nothing`,
  delivery: `select ${DELIVERY_COLUMNS} from deliveries d where d.id = ? and d.workspace = ?`,
  deliveriesOf: `select ${DELIVERY_COLUMNS} from deliveries d where d.envelope = ?
    order by d.pos`,
  deliveries: `select ${DELIVERY_COLUMNS} from deliveries d where d.workspace = ? order by d.pos`,
  openDeliveries: `select ${DELIVERY_COLUMNS} from deliveries d
    where d.workspace = ? and d.receiver = ? and d.state < 5 order by d.place`,
  openOfTask: `select ${DELIVERY_COLUMNS} from deliveries d
    where d.workspace = ? and d.receiver = ? and d.task = ? and d.state < 5 order by d.place`,
  readyDeliveries: `select ${DELIVERY_COLUMNS} from deliveries d
    where d.workspace = ? and d.receiver = ? and d.state = 1 order by d.place limit ?`,
  expiredLeases: `select ${DELIVERY_COLUMNS} from deliveries d
    where d.workspace = ? and d.state in (2, 3) and d.lease_until <= ? order by d.lease_until limit ?`,
  makeDue: `update deliveries set state = 1 where workspace = ? and state = 0 and ready_at <= ?`,
  nextRetry: `select min(ready_at) as at from deliveries where workspace = ? and state = 0`,
  nextExpiry: `select min(lease_until) as at from deliveries where workspace = ? and state in (2, 3)`,
  // Guarded: each names the state and fence it starts from, and reports whether it applied.
  claim: `update deliveries set state = 2, attempt = attempt + 1, fence = fence + 1,
      lease_until = ?, seen_at = ?, holder = ?, instance = ?
    where id = ? and state = 1 and fence = ?`,
  takeAtOnce: `update deliveries set state = 3, attempt = attempt + 1, fence = fence + 1,
      lease_until = ?, seen_at = ?, accepted_at = ?, holder = ?, instance = ?, accepted_by = ?
    where id = ? and state = 1 and fence = ?`,
  accept: `update deliveries set state = 3, lease_until = ?, accepted_at = ?, accepted_by = ?
    where id = ? and state = 2 and fence = ?`,
  settle: `update deliveries set state = ?, lease_until = 0, ready_at = ?, settled_at = ?,
      settled_by = ? where id = ? and state in (2, 3) and fence = ?`,
  renew: `update deliveries set lease_until = ? where id = ? and state in (2, 3) and fence = ?`,
  supersede: `update deliveries set state = 10, settled_at = ? where id = ? and state in (0, 1)
    and envelope = ?`,
  extendHeld: `update deliveries set envelope = ? where id = ? and state in (2, 3, 4)
    and envelope = ?`,
  countStates: "select state, count(*) as n from deliveries where workspace = ? group by state",
  countDeliveries: "select count(*) as n from deliveries where workspace = ?",

  // Attempts and events
  addAttempt: `insert into attempts (delivery, attempt, ended_at, outcome, holder, instance, reason)
    values (?, ?, ?, ?, ?, ?, ?)`,
  attempts: `select delivery, attempt, holder, instance, ended_at as endedAt, outcome, reason
    from attempts where delivery = ? order by key`,
  addEvent: `insert into events (workspace, at, attempt, kind, agent, task, delivery, envelope)
    values (?, ?, ?, ?, ?, ?, ?, ?)`,
  events: `select number, at, kind, agent, task, delivery, envelope, attempt from events
    where number > ? and workspace = ? order by number limit ?`,
} as const;

export type Statements = Readonly<Record<keyof typeof SQL, StatementSync>>;

export function prepareStatements(db: DatabaseSync): Statements {
  const prepared = Object.entries(SQL).map(([name, sql]) => [name, db.prepare(sql)] as const);
  return Object.fromEntries(prepared) as Statements;
}

/** The text of each statement, for tests that ask the planner how it would run. */
export const STATEMENT_TEXTS: Readonly<Record<keyof typeof SQL, string>> = SQL;
