/**
 * Group commit. One connection writes for the whole hub: what is submitted while a group is on its
 * way becomes the next one, which leaves when the commit has returned. A group is one call of one
 * function, so that nothing waits for the network while the workspace is locked; only a group that
 * claims and accepts looks first for what it could take, outside the lock.
 *
 * Operations that are refused are answered, the others of their group go again without them. When
 * the connection breaks before the answer came, the database is asked whether the group was kept:
 * each hub leaves the number of its last group in the group's own transaction.
 */
import { randomUUID } from "node:crypto";
import pg from "pg";
import { deliveryOf, envelopeOf } from "../codecs.ts";
import type { ClaimDeliveries, Claimed } from "../store.ts";
import type { PostgresAddress } from "./address.ts";
import { clientConfig, persist, run, type Statement } from "./connection.ts";
import { isDisconnected } from "./failures.ts";
import {
  type Answer,
  asTaken,
  claimOutcome,
  Group,
  type Operation,
  type Outcome,
  type Take,
  touches,
} from "./group.ts";
import { encoded } from "./parts.ts";
import type { Statements } from "./statements.ts";

/** Bounds how long one transaction can get, and so everybody's latency. */
const MOST_OPERATIONS = 256;
const MOST_RECORDS = 2_000;

/** An operation, the reason it was refused for, and what that is about (functions/refuse.ts). */
export type Refusal = readonly [operation: number, why: string, what: string];

export interface WriterOptions {
  readonly address: PostgresAddress;
  readonly sql: Statements;
  /** How long a group is tried for while the server is away. */
  readonly forMs: number;
  /** The time to write, or null for the database's own. */
  now(): number | null;
  /** What a refusal means for the caller: reads again what is there now. */
  explain(operation: Operation, refusal: Refusal): Promise<Outcome>;
  /** The answer to a group that was kept although its answer was lost. */
  recover(workspace: string, group: Group, claimed: unknown): Promise<Answer>;
  /** After each commit that was acknowledged. */
  committed(workspace: string, woken: readonly string[], records: number): void;
}

/** A row of functions/claim.ts, pick. */
type PickRow = [
  ...[bucket: number, fault: string | null, due: number, overdue: boolean],
  ...[delivery: unknown, envelope: unknown],
];

/** Operations that look for the same, and what was found for them. */
interface Bucket {
  readonly receiver: string;
  readonly key: string;
  readonly task: string | null;
  readonly delivery: string | null;
  readonly most: number;
  readonly writes: readonly Write[];
  readonly found: Claimed[];
  fault: string | null;
}

interface Look {
  readonly buckets: readonly Bucket[];
  readonly due: number;
  readonly overdue: boolean;
}

/** A submitted operation; settled once. */
class Write {
  readonly operation: Operation;
  readonly touches: readonly string[];
  readonly #resolve: (outcome: Outcome) => void;
  readonly #reject: (error: unknown) => void;
  /** What it is about to take, when it claims and accepts. */
  takes: readonly Take[] = [];
  settled = false;

  constructor(
    operation: Operation,
    resolve: (outcome: Outcome) => void,
    reject: (error: unknown) => void,
  ) {
    this.operation = operation;
    this.touches = touches(operation);
    this.#resolve = resolve;
    this.#reject = reject;
  }

  get workspace(): string {
    return this.operation.of.workspace;
  }

  get weight(): number {
    return this.operation.kind === "append" ? this.operation.of.memories.length : 1;
  }

  /** Claims and accepts in one operation. */
  get taking(): ClaimDeliveries | undefined {
    const { kind, of } = this.operation;
    return kind === "claim" && of.accept !== undefined ? of : undefined;
  }

  /** Makes the records that accept what it is about to take. */
  prepare(claim: ClaimDeliveries, candidates: readonly Claimed[]): void {
    try {
      this.takes = candidates.map((candidate) => ({
        candidate,
        memory: claim.accept?.({
          delivery: asTaken(candidate.delivery, claim),
          envelope: candidate.envelope,
        }) as Take["memory"],
      }));
    } catch (error) {
      this.reject(error); // The caller's own.
    }
  }

  resolve(outcome: Outcome): void {
    this.settled = true;
    this.#resolve(outcome);
  }

  reject(error: unknown): void {
    this.settled = true;
    this.#reject(error);
  }
}

/** A group whose answer was lost. */
interface Doubt {
  readonly token: number;
  readonly group: Group;
  readonly writes: readonly Write[];
}

export class Writer {
  readonly #options: WriterOptions;
  readonly #id = randomUUID();
  #connection: { readonly client: pg.Client; readonly ready: Promise<pg.Client> } | undefined;
  #queue: Write[] = [];
  #flushing: Promise<void> | undefined;
  #token = 0;
  #doubt: Doubt | undefined;
  /** While a transaction is open on the connection: whatever is sent now would be part of it. */
  #transaction: Promise<void> | undefined;

  constructor(options: WriterOptions) {
    this.#options = options;
  }

  submit(operation: Operation): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      this.#queue.push(new Write(operation, resolve, reject));
      this.#flushing ??= this.#flush();
    });
  }

  /** Runs a statement on the writing connection as a group of its own. */
  alone(statement: Statement, values: readonly unknown[]) {
    return this.#persist(async () => {
      const client = await this.#outsideTransaction(() => this.#connected());
      return this.#run(client, statement, values);
    });
  }

  /** Sent after the last group without waiting for it; nothing depends on the answer. */
  async whisper(statement: Statement, values: readonly unknown[]): Promise<void> {
    const client = await this.#outsideTransaction(async () => this.#connection?.ready);
    if (client !== undefined) await this.#run(client, statement, values);
  }

  async #outsideTransaction<T>(connected: () => Promise<T>): Promise<T> {
    for (;;) {
      const client = await connected();
      if (this.#transaction === undefined) return client;
      await this.#transaction;
    }
  }

  async close(): Promise<void> {
    while (this.#flushing !== undefined) await this.#flushing;
    const connection = this.#connection;
    if (connection === undefined) return;
    this.#connection = undefined;
    try {
      const client = await connection.ready;
      await this.#run(client, this.#options.sql.forgetWriter, [this.#id]);
      await client.end();
    } catch {
      // The server is away: it has nothing of ours left to close.
    }
  }

  /** An immediate callback runs after every caller of this turn has submitted: the group. */
  async #flush(): Promise<void> {
    await new Promise(setImmediate);
    try {
      while (this.#queue.length > 0) {
        await this.#writeGroup(this.#nextGroup());
        if (this.#queue.length === 0) await new Promise(setImmediate);
      }
    } finally {
      this.#flushing = undefined;
    }
  }

  /** Of one workspace, no two about the same thing; what does not fit keeps its place in line. */
  #nextGroup(): Write[] {
    const touched = new Set<string>();
    const group: Write[] = [];
    const rest: Write[] = [];
    let weight = 0;
    for (const write of this.#queue) {
      const fits =
        write.workspace === this.#queue[0]?.workspace &&
        group.length < MOST_OPERATIONS &&
        (group.length === 0 || weight + write.weight <= MOST_RECORDS) &&
        write.touches.every((key) => !touched.has(key));
      (fits ? group : rest).push(write);
      if (fits) weight += write.weight;
      for (const key of write.touches) touched.add(key);
    }
    this.#queue = rest;
    return group;
  }

  /** Together; when that cannot be done, each alone, so that no one suffers for its neighbour. */
  async #writeGroup(group: readonly Write[]): Promise<void> {
    try {
      for (let left = group; left.length > 0; left = left.filter((write) => !write.settled)) {
        await this.#persist(() => this.#attempt(left));
      }
    } catch (error) {
      this.#doubt = undefined;
      const left = group.filter((write) => !write.settled);
      if (group.length > 1 && !isDisconnected((error as Error).cause)) {
        for (const write of left) await this.#writeGroup([write]);
      } else {
        for (const write of left) write.reject(error);
      }
    }
  }

  /** One transaction: settles those that were written and those that were refused. */
  async #attempt(group: readonly Write[]): Promise<void> {
    const client = await this.#connected();
    const transaction = Promise.withResolvers<void>();
    try {
      if (this.#doubt !== undefined) await this.#clearDoubt(client, this.#doubt);
      const left = group.filter((write) => !write.settled);
      if (left.some((write) => write.taking)) this.#transaction = transaction.promise;
      const picked = await this.#pick(client, left);
      const ready = left.filter((write) => !write.settled);
      if (ready.length > 0) await this.#write(client, ready, picked);
      else if (picked) await client.query("commit");
    } catch (error) {
      this.#discard(client);
      throw error;
    } finally {
      this.#transaction = undefined;
      transaction.resolve();
    }
  }

  /** A connection that failed may be in any state, also inside a transaction: the next is a new one. */
  #discard(client: pg.Client): void {
    if (this.#connection?.client === client) this.#connection = undefined;
    client.end().catch(() => {});
  }

  async #write(client: pg.Client, writes: readonly Write[], picked: boolean): Promise<void> {
    const group = new Group();
    for (const [i, write] of writes.entries()) group.add(i, write.operation, write.takes);
    const token = ++this.#token;
    const workspace = writes[0]?.workspace ?? "";
    let answer: Answer | { readonly refused: readonly Refusal[] };
    try {
      answer = await this.#call(client, { workspace, group, token, commit: picked });
    } catch (error) {
      if (isDisconnected(error)) this.#doubt = { token, group, writes };
      throw error;
    }
    if ("refused" in answer) await this.#refuse(writes, answer.refused);
    else this.#acknowledge(writes, group, answer);
  }

  async #call(
    client: pg.Client,
    call: { workspace: string; group: Group; token: number; commit: boolean },
  ): Promise<Answer | { readonly refused: readonly Refusal[] }> {
    const { sql, now } = this.#options;
    const values = [call.workspace, now(), this.#id, call.token, ...call.group.encoded()];
    const writing = this.#run(client, sql.write, values);
    const [rows] = await Promise.all([writing, call.commit ? client.query("commit") : undefined]);
    return rows[0]?.[0] as Answer;
  }

  #acknowledge(writes: readonly Write[], group: Group, answer: Answer): void {
    for (const [i, write] of writes.entries()) {
      write.resolve(group.outcome(i, write.operation, answer, write.takes));
    }
    const workspace = writes[0]?.workspace ?? "";
    this.#options.committed(workspace, answer.wakes ?? [], group.recordIds.length);
  }

  async #refuse(writes: readonly Write[], refusals: readonly Refusal[]): Promise<void> {
    for (const refusal of refusals) {
      const [i, why] = refusal;
      const write = writes[i];
      // What it was about to take has gone to somebody else: it looks for something else.
      if (write === undefined || why === "taken") continue;
      write.resolve(await this.#options.explain(write.operation, refusal));
    }
  }

  /**
   * Opens a transaction and reserves in it what the group wants to claim and accept; true when
   * there was anything to look for.
   */
  async #pick(client: pg.Client, writes: readonly Write[]): Promise<boolean> {
    const taking = writes.filter((write) => write.taking !== undefined);
    if (taking.length === 0) return false;
    let picked = await this.#look(client, taking);
    const able = picked.buckets.filter((bucket) => bucket.fault === null);
    const gone = able.flatMap(({ writes }) => writes.flatMap((write) => write.taking?.gone ?? []));
    // Nothing is changed for those who are refused.
    if (able.length > 0 && (picked.overdue || gone.length > 0)) {
      await client.query("commit");
      await this.#sweep(client, taking, gone);
      picked = await this.#look(client, taking);
    }
    for (const bucket of picked.buckets) await this.#deal(bucket, picked.due);
    return true;
  }

  /** Those of one receiver that take whatever comes look together, and share what is found. */
  async #look(client: pg.Client, taking: readonly Write[]): Promise<Look> {
    const buckets = new Map<string, Bucket>();
    for (const write of taking) {
      const claim = write.taking as ClaimDeliveries;
      const { receiver, publicKey, task = null, delivery = null } = claim;
      const key = JSON.stringify([receiver, publicKey, task, delivery]);
      const { writes = [], most = 0 } = buckets.get(key) ?? {};
      const wanted = { receiver, key: publicKey, task, delivery, most: most + claim.limit };
      buckets.set(key, { ...wanted, writes: [...writes, write], found: [], fault: null });
    }
    const looks = [...buckets.values()];
    const claims = looks.map(({ receiver, key, task, delivery, most }, n) => ({
      ...{ n, receiver, key, task, delivery, most },
      ...{ instance: null, process: null, lease: null },
    }));
    const workspace = taking[0]?.workspace;
    const values = [workspace, this.#options.now(), encoded("claim", claims)];
    const [, rows] = await Promise.all([
      client.query("begin"),
      this.#run(client, this.#options.sql.pick, values),
    ]);
    let due = 0;
    let overdue = false;
    for (const row of rows) {
      const [i, fault, next, late, delivery, envelope] = row as PickRow;
      const bucket = looks[i] as Bucket;
      due = next;
      overdue = late;
      bucket.fault = fault;
      if (delivery !== null) {
        bucket.found.push({ delivery: deliveryOf(delivery), envelope: envelopeOf(envelope) });
      }
    }
    return { buckets: looks, due, overdue };
  }

  /** Deals out what was found, and writes the records that accept it. */
  async #deal({ writes, found, fault }: Bucket, due: number): Promise<void> {
    for (const write of writes) {
      const claim = write.taking as ClaimDeliveries;
      const candidates = found.splice(0, claim.limit);
      if (fault !== null) {
        write.resolve(await this.#options.explain(write.operation, [0, fault, claim.receiver]));
      } else if (candidates.length === 0) {
        write.resolve(claimOutcome(claim, [], due));
      } else {
        write.prepare(claim, candidates);
      }
    }
  }

  /** Lets what is due become ready, before looking for it. */
  async #sweep(client: pg.Client, writes: readonly Write[], gone: readonly string[]) {
    const workspace = writes[0]?.workspace ?? "";
    const group = new Group();
    group.sweep(gone);
    const token = ++this.#token;
    const answer = await this.#call(client, { workspace, group, token, commit: false });
    if (!("refused" in answer)) this.#acknowledge(writes.slice(0, 0), group, answer);
  }

  /** Was it kept? If so its answer is read from what it left; if not it goes again. */
  async #clearDoubt(client: pg.Client, { token, group, writes }: Doubt): Promise<void> {
    const [row] = await this.#run(client, this.#options.sql.doubt, [this.#id, token]);
    const [written, claimed] = (row ?? []) as [number?, unknown?];
    if (written === token) {
      const workspace = writes[0]?.workspace ?? "";
      this.#acknowledge(writes, group, await this.#options.recover(workspace, group, claimed));
    }
    this.#doubt = undefined;
  }

  #run(client: pg.Client, statement: Statement, values: readonly unknown[]) {
    return run(client, statement, values, this.#options.address);
  }

  #persist<T>(attempt: () => Promise<T>): Promise<T> {
    const { forMs, address } = this.#options;
    return persist(attempt, { forMs, store: address.name });
  }

  /** One connection at a time; when it breaks, the next attempt makes a new one. */
  #connected(): Promise<pg.Client> {
    if (this.#connection !== undefined) return this.#connection.ready;
    const client = new pg.Client({ ...clientConfig(this.#options.address), pipeline: true });
    const ready = client.connect().then(() => client);
    const lost = (): void => {
      if (this.#connection?.client === client) this.#connection = undefined;
    };
    client.on("error", lost);
    client.on("end", lost);
    ready.catch(lost);
    this.#connection = { client, ready };
    return ready;
  }
}
