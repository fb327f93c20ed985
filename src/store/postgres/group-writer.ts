/**
 * Writes groups of operations over one connection, one after the other. A group is one call of one
 * function, so that nothing waits for the network while the workspace is locked. Only a group that claims
 * and accepts (a claim, or a settlement with `next`) first picks what it could take, outside the lock.
 *
 * The group commits, which releases the lock, and is acknowledged once it is on disk.
 *
 * Refused operations get their outcome, and the others of the group are sent again without them. If the
 * connection breaks before the response arrives, the writer asks the database whether the group was
 * committed: each writer stores the number of its last group in the group's own transaction.
 */
import { randomUUID } from "node:crypto";
import pg from "pg";
import { BatonError, isBatonError } from "../../base/errors.ts";
import { deliveryOf, envelopeOf } from "../codecs.ts";
import type {
  ClaimDeliveries,
  DeliveryWithEnvelopeRow,
  RefusedHandoff,
  SendHandoff,
  SendRefusal,
} from "../store.ts";
import type { PostgresAddress } from "./address.ts";
import {
  clientConfig,
  keepProcessAlive,
  retryWhileUnavailable,
  runStatement,
  type Statement,
  sendInOnePacket,
  untilClosed,
} from "./connection.ts";
import { isDisconnected, isDuplicate, isStatementError } from "./failures.ts";
import { claimOutcome, Group, type GroupResponse } from "./group.ts";
import type { Operation, Outcome, Write } from "./operations.ts";
import { encodeParts } from "./parts.ts";
import type { Statements } from "./statements.ts";

/** A refused operation, the reason, and what the reason refers to (functions/refuse.ts). */
export type OperationRefusal = readonly [operation: number, why: string, what: string];

/** Refusals of the lease: they come before all others of an operation. */
const LEASE_REFUSALS: readonly string[] = ["lease_lost", "extended"];

/** What a writer needs from the store. */
export interface GroupWriterOptions {
  readonly address: PostgresAddress;
  readonly sql: Statements;
  /** How long a group is retried while the server is unavailable, in milliseconds. */
  readonly forMs: number;
  /** Returns the time to write, or null for the database's time. */
  now(): number | null;
  /** Returns the outcome of a refused operation; reads the current state for it. */
  explain(operation: Operation, refusal: OperationRefusal): Promise<Outcome>;
  /** Returns the response to a group that was committed although its response was lost. */
  recover(workspace: string, group: Group, claimed: unknown): Promise<GroupResponse>;
  /** Called after each commit, before it is acknowledged. */
  committed(workspace: string, woken: readonly string[], records: number): void;
}

/** A row of pick (functions/claim.ts). */
type PickRow = [
  ...[bucket: number, fault: string | null, due: number | null, late: boolean],
  delivery: unknown,
  ...envelope: unknown[],
];

/** Operations that look for the same deliveries, and what was found for them. */
interface Bucket {
  readonly receiver: string;
  readonly key: string;
  readonly task: string | null;
  readonly delivery: string | null;
  readonly most: number;
  readonly writes: readonly Write[];
  readonly found: DeliveryWithEnvelopeRow[];
  fault: string | null;
}

interface PickResult {
  readonly buckets: readonly Bucket[];
  readonly due: number | null;
  /** Whether retries are due that have not been made ready yet. */
  readonly late: boolean;
}

/** A group of which the response was lost, or of which it is unknown whether it reached the disk. */
interface UncertainGroup {
  readonly token: number;
  readonly group: Group;
  readonly writes: readonly Write[];
  /** Present if the group is known to be committed. */
  readonly answer?: GroupResponse;
}

/** A function call and how to send it. */
interface Call {
  readonly workspace: string;
  readonly group: Group;
  readonly token: number;
  /** Whether to check for taken ids, after a group failed because of one. */
  readonly careful: boolean;
  /** Ends the transaction in which deliveries were reserved. */
  readonly commit: boolean;
}

interface CallResult {
  readonly answer: GroupResponse | { readonly refused: readonly OperationRefusal[] };
  /** Resolves when the write is on disk. */
  readonly synced: Promise<unknown>;
}

/** One writing connection of a hub. */
export class GroupWriter {
  readonly #options: GroupWriterOptions;
  readonly #id = randomUUID();
  #connection: { readonly client: pg.Client; readonly ready: Promise<pg.Client> } | undefined;
  #token = 0;
  #doubt: UncertainGroup | undefined;

  constructor(options: GroupWriterOptions) {
    this.#options = options;
  }

  /**
   * Writes operations together; if the statement fails, each one alone, so that none fails because of
   * another. Never rejects: each write is resolved or rejected instead.
   */
  async write(group: readonly Write[]): Promise<void> {
    try {
      for (let left = group; left.length > 0; left = left.filter((write) => !write.settled)) {
        await this.#persist(() => this.#attempt(left));
      }
    } catch (failure) {
      const error = this.#doubt === undefined ? failure : uncertainError(failure);
      this.#doubt = undefined;
      const left = group.filter((write) => !write.settled);
      const isOfStatement = isStatementError((error as Error).cause);
      if (group.length > 1 && isOfStatement) {
        for (const write of left) await this.write([write]);
      } else if (isOfStatement && left[0]?.dropNext()) {
        await this.write(left); // The settlement alone: what it claims must not fail it.
      } else {
        for (const write of left) write.reject(error);
      }
    }
  }

  /** Closes the connection and deletes the writer's row. */
  async close(): Promise<void> {
    const connection = this.#connection;
    if (connection === undefined) return;
    this.#connection = undefined;
    try {
      const client = await connection.ready;
      keepProcessAlive(client, true);
      await this.#run(client, this.#options.sql.forgetWriter, [this.#id]);
      await untilClosed(client.end());
    } catch {
      // The server is unavailable: there is nothing left to close.
    }
  }

  /** Runs one transaction: settles the writes that were written and those that were refused. */
  async #attempt(group: readonly Write[]): Promise<void> {
    const client = await this.#connected();
    keepProcessAlive(client, true); // An idle hub does not keep the process alive; a writing one does.
    try {
      if (this.#doubt !== undefined) await this.#clearDoubt(client, this.#doubt);
      const left = group.filter((write) => !write.settled);
      const picked = await this.#pick(client, left);
      // Deliveries that others of the group touch are taken in the next group: checks see the earlier state.
      const touched = new Set(left.flatMap((write) => write.touches));
      const ready = left.filter((write) => {
        if (write.settled || write.failure !== undefined) return false;
        const collides = write.takes.some(({ candidate }) => touched.has(candidate.delivery.id));
        return !collides || write.dropNext(); // A settlement is not postponed.
      });
      if (ready.length > 0) await this.#write(client, ready, { picked, careful: false });
      else if (picked) await client.query("commit");
      // Only now: until the transaction ended, other hubs would not find what it had reserved.
      for (const write of left) if (write.failure !== undefined) write.reject(write.failure.error);
    } catch (error) {
      this.#discard(client);
      throw error;
    } finally {
      keepProcessAlive(client, false);
    }
  }

  /** Discards a failed connection: it may be in any state, even inside a transaction. */
  #discard(client: pg.Client): void {
    if (this.#connection?.client === client) this.#connection = undefined;
    client.end().catch(() => {});
  }

  async #write(
    client: pg.Client,
    writes: readonly Write[],
    how: { picked: boolean; careful: boolean },
  ): Promise<void> {
    const group = new Group();
    for (const [i, write] of numbered(writes)) group.add(i, write.operation, write.takes);
    const token = ++this.#token;
    const workspace = writes[0]?.workspace ?? "";
    const { picked: commit, careful } = how;
    let called: CallResult;
    try {
      called = await this.#call(client, { workspace, group, token, careful, commit });
    } catch (error) {
      if (isDuplicate(error) && !careful) {
        return this.#write(client, writes, { ...how, picked: false, careful: true });
      }
      if (isDisconnected(error)) this.#doubt = { token, group, writes };
      throw error;
    }
    const { answer, synced } = called;
    if ("refused" in answer) return this.#refuse(writes, answer.refused);
    this.#options.committed(workspace, answer.wakes ?? [], group.recordIds.length);
    try {
      await synced;
    } catch (error) {
      this.#doubt = { token, group, writes, answer }; // It is committed, whatever the error.
      throw error;
    }
    this.#acknowledge(writes, group, answer);
  }

  /** Calls the function. A pooler may use a session per statement: there the write itself syncs to disk. */
  async #call(client: pg.Client, call: Call): Promise<CallResult> {
    const { sql, now, address } = this.#options;
    const { workspace, group, token } = call;
    const careful = call.careful || group.careful;
    const later = !address.pgbouncer;
    const values = [workspace, now(), this.#id, token, careful, later, ...group.encoded()];
    const [writing, committing, synced] = sendInOnePacket(client, () => [
      this.#run(client, sql.write, values),
      call.commit ? client.query("commit") : undefined,
      later ? this.#run(client, sql.sync, []) : Promise.resolve(),
    ]);
    synced.catch(() => {}); // Reported where it is awaited.
    const [rows] = await Promise.all([writing, committing]);
    return { answer: rows[0]?.[0] as GroupResponse, synced };
  }

  #acknowledge(writes: readonly Write[], group: Group, answer: GroupResponse): void {
    for (const [i, write] of numbered(writes)) {
      write.resolve(group.outcome(i, write.operation, answer, write.takes));
    }
  }

  async #refuse(writes: readonly Write[], refusals: readonly OperationRefusal[]): Promise<void> {
    const owners = numbered(writes);
    const ofSeveral = new Map<Write, RefusedHandoff[]>();
    for (const refusal of refusals) {
      const [i, why] = refusal;
      const [first, write] = owners.findLast(([number]) => number <= i) ?? [];
      // A settlement is written without what it would claim, unless its own lease was refused.
      if (first === undefined || write === undefined) continue;
      if (!LEASE_REFUSALS.includes(why) && write.dropNext()) continue;
      // The delivery it was about to take was taken by another holder: it picks again.
      if (why === "taken") continue;
      const { explain } = this.#options;
      if (write.operation.kind === "send-many") {
        const index = i - first;
        const of = write.operation.of.handoffs[index] as SendHandoff;
        const reason = (await explain({ kind: "send", of }, refusal)) as SendRefusal;
        ofSeveral.set(write, [...(ofSeveral.get(write) ?? []), { index, refusal: reason }]);
      } else write.resolve(await explain(write.operation, refusal));
    }
    for (const [write, refused] of ofSeveral) write.resolve({ kind: "refused", refused });
  }

  /**
   * Opens a transaction and reserves what the group wants to claim and accept. Returns false if no operation
   * does, and no transaction was opened.
   */
  async #pick(client: pg.Client, writes: readonly Write[]): Promise<boolean> {
    const taking = writes.filter((write) => write.taking !== undefined);
    if (taking.length === 0) return false;
    let picked = await this.#pickFrom(client, taking);
    // For refused operations nothing is changed.
    if (picked.late && picked.buckets.some((bucket) => bucket.fault === null)) {
      await client.query("commit");
      await this.#mature(client, taking[0]?.workspace ?? "");
      picked = await this.#pickFrom(client, taking);
    }
    for (const bucket of picked.buckets) await this.#deal(bucket, picked.due);
    return true;
  }

  /** Picks for all operations. Those with the same receiver, task and delivery share what is found. */
  async #pickFrom(client: pg.Client, taking: readonly Write[]): Promise<PickResult> {
    const buckets = new Map<string, Bucket>();
    for (const write of taking) {
      const claim = write.taking as ClaimDeliveries;
      const { receiver, publicKey, task = null, delivery = null } = claim;
      const key = JSON.stringify([receiver, publicKey, task, delivery]);
      const { writes = [], most = 0 } = buckets.get(key) ?? {};
      const wanted = { receiver, key: publicKey, task, delivery, most: most + claim.limit };
      buckets.set(key, { ...wanted, writes: [...writes, write], found: [], fault: null });
    }
    const queries = [...buckets.values()];
    const claims = queries.map(({ receiver, key, task, delivery, most }, n) => ({
      ...{ n, receiver, key, task, delivery, most },
      ...{ instance: null, process: null, lease: null, hold: null },
    }));
    const workspace = taking[0]?.workspace;
    const values = [workspace, this.#options.now(), encodeParts("claim", claims)];
    const [, rows] = await sendInOnePacket(client, () =>
      Promise.all([client.query("begin"), this.#run(client, this.#options.sql.pick, values)]),
    );
    let due: number | null = null;
    let late = false;
    for (const row of rows) {
      const [i, fault, next, isLate, delivery, ...envelope] = row as PickRow;
      const bucket = queries[i] as Bucket;
      due = next ?? due;
      late = isLate;
      bucket.fault = fault;
      if (delivery !== null) {
        bucket.found.push({ delivery: deliveryOf(delivery), envelope: envelopeOf(envelope) });
      }
    }
    return { buckets: queries, due, late };
  }

  /** Distributes what was found, and creates the records that accept it. */
  async #deal({ writes, found, fault }: Bucket, due: number | null): Promise<void> {
    for (const write of writes) {
      const claim = write.taking as ClaimDeliveries;
      const candidates = found.splice(0, claim.limit);
      if (write.operation.kind === "settle") {
        write.prepare(claim, candidates); // None: it is settled and claims nothing.
      } else if (fault !== null) {
        write.resolve(await this.#options.explain(write.operation, [0, fault, claim.receiver]));
      } else if (candidates.length === 0) {
        write.resolve(claimOutcome(claim, [], due));
      } else {
        write.prepare(claim, candidates);
      }
    }
  }

  /** Makes due retries ready, before picking again. */
  async #mature(client: pg.Client, workspace: string): Promise<void> {
    const group = new Group();
    group.mature();
    const token = ++this.#token;
    await this.#call(client, { workspace, group, token, careful: false, commit: false });
  }

  /** Checks whether a group was committed. If so, reads its response from its rows; if not, it is resent. */
  async #clearDoubt(
    client: pg.Client,
    { token, group, writes, answer }: UncertainGroup,
  ): Promise<void> {
    const { sql, recover } = this.#options;
    const [row] = await this.#run(client, sql.doubt, [this.#id, token]);
    const [written, claimed] = (row ?? []) as [number?, unknown?];
    if (written === token) {
      const workspace = writes[0]?.workspace ?? "";
      const recovered = answer ?? (await recover(workspace, group, claimed));
      if (answer === undefined) {
        this.#options.committed(workspace, recovered.wakes ?? [], group.recordIds.length);
      }
      this.#acknowledge(writes, group, recovered);
    }
    this.#doubt = undefined;
  }

  #run(client: pg.Client, statement: Statement, values: readonly unknown[]) {
    return runStatement(client, statement, values, this.#options.address);
  }

  #persist<T>(attempt: () => Promise<T>): Promise<T> {
    const { forMs, address } = this.#options;
    return retryWhileUnavailable(attempt, { forMs, store: address.name });
  }

  /** Returns the connection; opens a new one if the last one broke. */
  #connected(): Promise<pg.Client> {
    if (this.#connection !== undefined) return this.#connection.ready;
    const { address, forMs } = this.#options;
    const client = new pg.Client({
      ...clientConfig(address),
      pipeline: true,
      // Other hubs may hold the workspace as long as a write waits; a pooler does not accept settings.
      ...(address.pgbouncer ? {} : { lock_timeout: forMs }),
      // A server that has not answered by then is considered lost, whatever the network reports.
      query_timeout: 2 * forMs,
    });
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

/** Returns each write with its number in the group. */
function numbered(writes: readonly Write[]): readonly (readonly [number: number, write: Write])[] {
  let next = 0;
  return writes.map((write) => {
    const number = next;
    next += write.width;
    return [number, write];
  });
}

/** Adds to an error that it is unknown whether the write was committed. */
function uncertainError(failure: unknown): unknown {
  if (!isBatonError(failure)) return failure;
  const { code, message, path, details } = failure;
  return new BatonError(code, {
    message: `${message} The write may or may not have been committed.`,
    path,
    hint: "Check that the server is running and reachable, then check whether the write exists.",
    details: { ...details, uncertain: true },
    cause: failure.cause,
  });
}
