/**
 * Writes archived rows into their tables unchanged, several hundred of a kind per statement. Positions are
 * assigned again, beyond the last place in any inbox, so that everything sent later comes after it. Events
 * keep their numbers.
 */
import {
  type ArchivedRow,
  type ArchivedRows,
  type ArchiveSummary,
  edgesIn,
  firstPosition,
  type RowKind,
  UnsoundRowError,
} from "../../archive.ts";
import { stateNumber } from "../../codecs.ts";
import type { ExecuteSql } from "./export.ts";

const BATCH = 500;
/** Maximum size of the texts in one statement. */
const BATCH_BYTES = 8 * 1024 * 1024;

const DELIVERY = `place bigint, lease_until bigint, ready_at bigint, sent_at bigint, seen_at bigint,
  accepted_at bigint, settled_at bigint, attempt int, max_attempts int, fence int, state smallint,
  turn smallint, id text, envelope text, parent text, task text, sender text, receiver text,
  holder text, instance text, process text, accepted_by text, settled_by text, hold_until bigint,
  deadline bigint, lapse_at bigint, followers text`;

/** Column declarations by table; the names are used to insert and select. */
const COLUMNS = {
  agents: `id text, revision int, keyed_at bigint, status text, role text, aliases text,
    public_key text, profile text, digest text`,
  agent_names: "name text, agent text",
  memories: `pos bigint, chain int, seq bigint, stored_at bigint, id text, link text,
    signature text, text text`,
  deliveries: DELIVERY,
  attempts: `delivery text, attempt int, ended_at bigint, outcome text, holder text, instance text,
    reason text`,
  entries: "kind text, name text, revision int, at bigint, value text, digest text",
  events: `number bigint, at bigint, attempt int, kind text, agent text, task text, delivery text,
    envelope text`,
} as const;

/** Collects rows and writes them in batches. */
export class RowWriter {
  readonly #ask: ExecuteSql;
  readonly #key: number;
  readonly #summary: ArchiveSummary;
  readonly #chains = new Map<string, number>();
  #position: number;
  #lastEvent = 0;
  #batch: ArchivedRow[] = [];
  #bytes = 0;
  #done = 0;

  constructor(ask: ExecuteSql, given: { readonly key: number; readonly summary: ArchiveSummary }) {
    this.#ask = ask;
    this.#key = given.key;
    this.#summary = given.summary;
    this.#position = firstPosition(0, given.summary);
  }

  /** Kind of the rows that are being written. */
  get kind(): RowKind {
    return this.#batch[0]?.kind ?? "event";
  }

  /** Writes the chain heads. */
  async begin(): Promise<void> {
    for (const [i, { branch, seq, storedAt, link }] of this.#summary.heads.entries()) {
      await this.#ask(
        `insert into $schema.chains (workspace, key, seq, stored_at, link, branch)
          values ($1, $2, $3, $4, $5, $6)
          on conflict (workspace, branch) do update set seq = excluded.seq,
            stored_at = excluded.stored_at, link = excluded.link`,
        [this.#key, i + 1, seq, storedAt, link, branch],
      );
      this.#chains.set(branch, i + 1);
    }
  }

  /** Adds a row. Returns the number of rows written so far, if this wrote any. */
  async add(row: ArchivedRow): Promise<number | undefined> {
    const full = this.#batch.length >= BATCH || this.#bytes >= BATCH_BYTES;
    const next = this.#batch.length > 0 && this.#batch[0]?.kind !== row.kind;
    const written = full || next ? await this.#flush() : undefined;
    this.#batch.push(row);
    if (row.kind === "memory" || row.kind === "envelope") this.#bytes += row.row.text.length;
    return written;
  }

  /** Writes the remaining rows and the counters that new rows continue from. */
  async end(): Promise<void> {
    await this.#flush();
    await this.#ask("update $schema.workspaces set position = $2, event = $3 where key = $1", [
      this.#key,
      this.#position - 1,
      this.#lastEvent,
    ]);
  }

  async #flush(): Promise<number> {
    const batch = this.#batch;
    const rows = <Kind extends RowKind>(_: Kind): ArchivedRows[Kind][] =>
      batch.map(({ row }) => row as ArchivedRows[Kind]);
    switch (batch[0]?.kind) {
      case undefined:
        break;
      case "agent":
        await this.#agents(rows("agent"));
        break;
      case "memory":
        await this.#memories(rows("memory"));
        break;
      case "envelope":
        await this.#envelopes(rows("envelope"));
        break;
      case "delivery":
        await this.#insert("deliveries", rows("delivery").map(deliveryColumns));
        break;
      case "attempt":
        await this.#insert("attempts", rows("attempt").map(attemptColumns));
        break;
      case "entry":
        await this.#insert("entries", rows("entry"));
        break;
      case "event":
        await this.#insert("events", rows("event"));
        this.#lastEvent = rows("event").at(-1)?.number ?? 0;
        break;
    }
    this.#done += batch.length;
    this.#batch = [];
    this.#bytes = 0;
    return this.#done;
  }

  async #insert(table: keyof typeof COLUMNS, rows: readonly object[]): Promise<void> {
    const declared = COLUMNS[table];
    const names = declared.split(",").map((column) => column.trim().split(" ")[0]);
    await this.#ask(
      `insert into $schema.${table} (workspace, ${names.join(", ")})
        select $1, ${names.map((name) => `x.${name}`).join(", ")}
        from json_to_recordset($2::json) as x(${declared})`,
      [this.#key, JSON.stringify(rows)],
    );
  }

  async #agents(agents: readonly ArchivedRows["agent"][]): Promise<void> {
    await this.#insert(
      "agents",
      agents.map(({ keyedAt, publicKey, aliases, ...row }) => ({
        ...row,
        keyed_at: keyedAt,
        public_key: publicKey,
        aliases: JSON.stringify(aliases),
      })),
    );
    const names = agents.flatMap(({ id, aliases }) =>
      [...new Set([id, ...aliases])].map((name) => ({ name, agent: id })),
    );
    await this.#insert("agent_names", names);
  }

  async #memories(memories: readonly ArchivedRows["memory"][]): Promise<void> {
    const placed = memories.map(({ branch, storedAt, ...row }) => {
      const chain = this.#chains.get(branch);
      if (chain === undefined) throw unsound(row.id, "branch", `${branch} has no chain head`);
      return { ...row, chain, stored_at: storedAt, pos: this.#position++ };
    });
    await this.#insert("memories", placed);
    const edges = placed.flatMap(({ id, pos, text }) =>
      edgesIn(text).map((edge, n) => ({ ...edge, id, source: pos, n })),
    );
    const missing = await this.#ask(
      `with edge as (select x.* from json_to_recordset($2::json) as x(source bigint, n int, id text,
          kind text, target text, "validFrom" bigint, "validUntil" bigint)),
        placed as (insert into $schema.relations
            (workspace, source, n, target, valid_from, valid_until, kind)
          select $1, e.source, e.n, m.pos, e."validFrom", e."validUntil", e.kind
          from edge e join $schema.memories m on m.workspace = $1 and m.id = e.target)
      select e.id, e.target from edge e where not exists (select from $schema.memories m
        where m.workspace = $1 and m.id = e.target) limit 1`,
      [this.#key, JSON.stringify(edges)],
    );
    const [lost] = missing as [string, string][];
    if (lost !== undefined) throw unsound(lost[0], "relations", `${lost[1]} does not exist`);
  }

  async #envelopes(envelopes: readonly ArchivedRows["envelope"][]): Promise<void> {
    const kept = await this.#ask(
      `insert into $schema.envelopes (workspace, pos, id, task, sender, text)
        select $1, m.pos, x.id, x.task, x.sender, x.text
        from json_to_recordset($2::json) as x(id text, task text, sender text, memory text, text text)
        join $schema.memories m on m.workspace = $1 and m.id = x.memory returning id`,
      [this.#key, JSON.stringify(envelopes)],
    );
    const ids = new Set(kept.map(([id]) => id));
    const lost = envelopes.find(({ id }) => !ids.has(id));
    if (lost !== undefined) throw unsound(lost.id, "memory", `${lost.memory} does not exist`);
  }
}

const unsound = (record: string, field: string, message: string): UnsoundRowError =>
  new UnsoundRowError({ record, field, message });

function deliveryColumns(row: ArchivedRows["delivery"]): object {
  return {
    ...row,
    state: stateNumber(row.state),
    turn: row.inTurn ? 1 : 0,
    lease_until: row.leaseUntil,
    hold_until: row.holdUntil,
    ready_at: row.readyAt,
    sent_at: row.sentAt,
    seen_at: row.seenAt,
    accepted_at: row.acceptedAt,
    settled_at: row.settledAt,
    max_attempts: row.maxAttempts,
    lapse_at: row.lapseAt,
    accepted_by: row.acceptedBy,
    settled_by: row.settledBy,
  };
}

function attemptColumns({ endedAt, ...row }: ArchivedRows["attempt"]): object {
  return { ...row, ended_at: endedAt };
}
