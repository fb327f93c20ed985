/** Converts a workspace's rows to the tables behind the SQL views; queries run on this copy. */
import { quantise } from "../../src/search/embedding/quantise.ts";
import { stateNumber } from "../../src/store/codecs.ts";
import type {
  AgentRow,
  AttemptRow,
  DeliveryRow,
  EnvelopeRow,
  EventRow,
  MemoryRow,
  RelationEdge,
} from "../../src/store/rows.ts";
import type { Table } from "../../src/store/sql/protocol.ts";
import type { SqlValue } from "../../src/store/sql-query.ts";

interface Rows {
  readonly agents: readonly AgentRow[];
  readonly memories: readonly MemoryRow[];
  readonly relations: readonly RelationEdge[];
  readonly envelopes: readonly EnvelopeRow[];
  readonly deliveries: readonly DeliveryRow[];
  readonly attempts: readonly AttemptRow[];
  readonly events: readonly EventRow[];
}

/** The key of the only workspace in the tables. */
const WORKSPACE = 1;

interface StoredModel {
  readonly name: string;
  readonly vectors: ReadonlyMap<string, Float32Array>;
}

export function tablesOf(rows: Rows, model: StoredModel | undefined): readonly Table[] {
  const positions = new Map(rows.memories.map(({ id }, pos) => [id, pos]));
  const at = (id: string): number => positions.get(id) ?? -1;
  const branches = [...new Set(rows.memories.map(({ branch }) => branch))];
  return [
    table("models", model === undefined ? [] : [model], { key: () => 1, name: ({ name }) => name }),
    table("vectors", [...(model?.vectors ?? [])], {
      model: () => 1,
      pos: ([id]) => at(id),
      vector: ([, vector]) => quantise(vector),
    }),
    table("chains", branches, {
      key: (branch) => branches.indexOf(branch),
      branch: (branch) => branch,
    }),
    table("memories", rows.memories, {
      pos: (row) => at(row.id),
      chain: (row) => branches.indexOf(row.branch),
      seq: (row) => row.seq,
      stored_at: (row) => row.storedAt,
      id: (row) => row.id,
      link: (row) => row.link,
      signature: (row) => row.signature,
      text: (row) => row.text,
    }),
    table("relations", rows.relations, {
      source: (row) => at(row.source),
      target: (row) => at(row.target),
      valid_from: (row) => row.validFrom,
      valid_until: (row) => row.validUntil,
      kind: (row) => row.kind,
    }),
    table("envelopes", rows.envelopes, {
      pos: (row) => at(row.memory),
      id: (row) => row.id,
      task: (row) => row.task,
      sender: (row) => row.sender,
      text: (row) => row.text,
    }),
    table("deliveries", rows.deliveries, DELIVERY),
    table("attempts", rows.attempts, {
      delivery: (row) => row.delivery,
      attempt: (row) => row.attempt,
      ended_at: (row) => row.endedAt,
      outcome: (row) => row.outcome,
      holder: (row) => row.holder,
      instance: (row) => row.instance,
      reason: (row) => row.reason,
    }),
    table("agents", rows.agents, {
      id: (row) => row.id,
      status: (row) => row.status,
      role: (row) => row.role,
      aliases: (row) => JSON.stringify(row.aliases),
      public_key: (row) => row.publicKey,
      profile: (row) => row.profile,
    }),
    table("events", rows.events, {
      number: (row) => row.number,
      at: (row) => row.at,
      attempt: (row) => row.attempt,
      kind: (row) => row.kind,
      agent: (row) => row.agent,
      task: (row) => row.task,
      delivery: (row) => row.delivery,
      envelope: (row) => row.envelope,
    }),
  ];
}

const DELIVERY: Columns<DeliveryRow> = {
  state: (row) => stateNumber(row.state),
  turn: (row) => row.inTurn,
  place: (row) => row.place,
  attempt: (row) => row.attempt,
  max_attempts: (row) => row.maxAttempts,
  lease_until: (row) => row.leaseUntil,
  ready_at: (row) => row.readyAt,
  deadline: (row) => row.deadline,
  sent_at: (row) => row.sentAt,
  seen_at: (row) => row.seenAt,
  accepted_at: (row) => row.acceptedAt,
  settled_at: (row) => row.settledAt,
  id: (row) => row.id,
  envelope: (row) => row.envelope,
  task: (row) => row.task,
  sender: (row) => row.sender,
  receiver: (row) => row.receiver,
  holder: (row) => row.holder,
  instance: (row) => row.instance,
  accepted_by: (row) => row.acceptedBy,
  settled_by: (row) => row.settledBy,
};

type Columns<Row> = Readonly<Record<string, (row: Row) => SqlValue>>;

function table<Row>(name: string, rows: readonly Row[], columns: Columns<Row>): Table {
  const values = Object.values(columns);
  return {
    name,
    columns: ["workspace", ...Object.keys(columns)],
    rows: rows.map((row) => [WORKSPACE, ...values.map((value) => value(row))]),
  };
}
