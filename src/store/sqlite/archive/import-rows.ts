/**
 * Inserts archived rows into their tables unchanged. Only numbers that the file assigns differ: positions
 * (other workspaces use them already), and event numbers if other workspaces use the same.
 */
import type { DatabaseSync, StatementSync } from "node:sqlite";
import {
  type ArchivedRow,
  type ArchivedRows,
  type ArchiveSummary,
  edgesIn,
  firstPosition,
  UnsoundRowError,
} from "../../archive.ts";
import { stateNumber } from "../../codecs.ts";
import { eventGroup } from "../event-groups.ts";
import { storeEntry } from "../operations/entries.ts";
import { addAttempt } from "../operations/lease.ts";
import { deliverySum, eventGroupSum } from "../row-sums.ts";
import { numberOf, scalarOf } from "../scalar.ts";
import type { Statements } from "../statements.ts";

const ADD_MEMORY = `insert into memories
  (pos, workspace, chain, seq, stored_at, id, link, signature, text)
  values (?, ?, ?, ?, ?, ?, ?, ?, ?)`;
const ADD_DELIVERY = `insert into deliveries (workspace, state, turn, place, attempt, max_attempts,
    fence, lease_until, hold_until, ready_at, deadline, lapse_at, sent_at, seen_at, accepted_at,
    settled_at, id, envelope, parent, task, sender, receiver, holder, instance, process,
    accepted_by, settled_by, followers, sum)
  values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

/** Writes the rows of one archive into an empty workspace. */
export class RowWriter {
  readonly #sql: Statements;
  readonly #key: number;
  readonly #chains = new Map<string, number>();
  readonly #addMemory: StatementSync;
  readonly #addDelivery: StatementSync;
  /** The highest event number in the file before the import. */
  readonly #lastEvent: number;
  #position: number;
  #eventsMovedBy: number | undefined;
  #last = "";

  constructor(
    db: DatabaseSync,
    sql: Statements,
    { key, summary }: { readonly key: number; readonly summary: ArchiveSummary },
  ) {
    this.#sql = sql;
    this.#key = key;
    this.#addMemory = db.prepare(ADD_MEMORY);
    this.#addDelivery = db.prepare(ADD_DELIVERY);
    this.#lastEvent = numberOf(sql.lastEvent.get());
    this.#position = firstPosition(numberOf(sql.lastPosition.get()), summary);
    for (const { branch, seq, storedAt, link } of summary.heads) {
      sql.addChain.run(key, branch, link);
      const chain = numberOf(sql.chain.get(key, branch));
      sql.moveChain.run(seq, storedAt, link, chain);
      this.#chains.set(branch, chain);
    }
  }

  /** The row written last, to report where an import failed. */
  get last(): string {
    return this.#last;
  }

  /** By how much event numbers were raised. */
  get eventsMovedBy(): number {
    return this.#eventsMovedBy ?? 0;
  }

  /** Inserts one row. Throws `UnsoundRowError` if it refers to a row that does not exist. */
  write({ kind, row }: ArchivedRow): void {
    switch (kind) {
      case "agent":
        this.#agent(row);
        break;
      case "memory":
        this.#memory(row);
        break;
      case "envelope":
        this.#envelope(row);
        break;
      case "delivery":
        this.#delivery(row);
        break;
      case "attempt":
        this.#attempt(row);
        break;
      case "entry":
        this.#entry(row);
        break;
      case "event":
        this.#event(row);
        break;
    }
  }

  #agent(row: ArchivedRows["agent"]): void {
    const { id, revision, keyedAt, status, role, aliases, publicKey, profile, digest } = row;
    const names = JSON.stringify(aliases);
    this.#last = `agent ${id}`;
    const said = [status, role, names, publicKey, profile, digest];
    this.#sql.putAgent.run(this.#key, id, revision, keyedAt, ...said);
    for (const name of new Set([id, ...aliases])) this.#sql.addName.run(this.#key, name, id);
  }

  #memory({ id, branch, seq, storedAt, link, signature, text }: ArchivedRows["memory"]): void {
    this.#last = id;
    const position = this.#position++;
    const chain = this.#chains.get(branch);
    if (chain === undefined) throw unsound(id, "branch", `branch ${branch} is not in the summary`);
    const placed = [position, this.#key, chain, seq, storedAt];
    this.#addMemory.run(...placed, id, link, signature, text);
    for (const [n, { kind, target, validFrom, validUntil }] of edgesIn(text).entries()) {
      const to = scalarOf<number>(this.#sql.memoryPosition.get(this.#key, target));
      if (to === undefined) throw unsound(id, "relations", `memory ${target} does not exist`);
      this.#sql.addRelation.run(position, n, to, validFrom, validUntil, kind);
    }
  }

  #envelope({ id, task, sender, memory, text }: ArchivedRows["envelope"]): void {
    this.#last = id;
    const position = scalarOf<number>(this.#sql.memoryPosition.get(this.#key, memory));
    if (position === undefined) throw unsound(id, "memory", `memory ${memory} does not exist`);
    this.#sql.addEnvelope.run(position, this.#key, id, task, sender, text);
  }

  #delivery(row: ArchivedRows["delivery"]): void {
    this.#last = row.id;
    const counted = [row.attempt, row.maxAttempts, row.fence, row.leaseUntil, row.holdUntil];
    const timed = [row.readyAt, row.deadline, row.lapseAt, row.sentAt, row.seenAt];
    const ended = [row.acceptedAt, row.settledAt];
    const about = [row.id, row.envelope, row.parent, row.task, row.sender, row.receiver];
    const held = [row.holder, row.instance, row.process];
    const left = [row.acceptedBy, row.settledBy, row.followers];
    this.#addDelivery.run(
      ...[this.#key, stateNumber(row.state), Number(row.inTurn), row.place],
      ...counted,
      ...timed,
      ...ended,
      ...about,
      ...held,
      ...left,
      deliverySum(row),
    );
  }

  #attempt(row: ArchivedRows["attempt"]): void {
    this.#last = row.delivery;
    addAttempt(this.#sql, this.#key, row);
  }

  #entry(row: ArchivedRows["entry"]): void {
    this.#last = `${row.kind} ${row.name}`;
    storeEntry(this.#sql, this.#key, row);
  }

  /** Event numbers increase through the whole file: if other workspaces use them, all are raised. */
  #event(row: ArchivedRows["event"]): void {
    const { number } = row;
    this.#last = `event ${number}`;
    this.#eventsMovedBy ??= Math.max(0, this.#lastEvent + 1 - number);
    const group = eventGroup([row], { last: number + this.#eventsMovedBy, at: row.at });
    const { last, at, count, text } = group;
    this.#sql.addEventGroup.run(last, this.#key, at, count, text, eventGroupSum(this.#key, group));
  }
}

const unsound = (record: string, field: string, message: string): UnsoundRowError =>
  new UnsoundRowError({ record, field, message });
