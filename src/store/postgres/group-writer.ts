/**
 * A pen: one connection that writes groups of operations, one after the other. A group is one call
 * of one function, so that nothing waits for the network while the workspace is locked; only a group
 * that claims and accepts looks first for what it could take, outside the lock.
 *
 * The group commits, which frees the lock for others, and is acknowledged when it is on the disk as
 * well.
 *
 * Operations that are refused are answered, the others of their group go again without them. When
 * the connection breaks before the answer came, the database is asked whether the group was kept:
 * each pen leaves the number of its last group in the group's own transaction.
 */
import { randomUUID } from "node:crypto";
import pg from "pg";
import { BatonError, isBatonError } from "../../base/errors.ts";
import { deliveryOf, envelopeOf } from "../codecs.ts";
import type { ClaimDeliveries, DeliveryWithEnvelopeRow } from "../store.ts";
import type { PostgresAddress } from "./address.ts";
import {
  clientConfig,
  keepProcessAlive,
  retryWhileUnavailable,
  runStatement,
  type Statement,
  sendInOnePacket,
} from "./connection.ts";
import { isDisconnected, isDuplicate, isStatementError } from "./failures.ts";
import { claimOutcome, Group, type GroupResponse } from "./group.ts";
import type { Operation, Outcome, Write } from "./operations.ts";
import { encodeParts } from "./parts.ts";
import type { Statements } from "./statements.ts";

/** An operation, the reason it was refused for, and what that is about (functions/refuse.ts). */
export type OperationRefusal = readonly [operation: number, why: string, what: string];

export interface GroupWriterOptions {
  readonly address: PostgresAddress;
  readonly sql: Statements;
  /** How long a group is tried for while the server is away. */
  readonly forMs: number;
  /** The time to write, or null for the database's own. */
  now(): number | null;
  /** What a refusal means for the caller: reads again what is there now. */
  explain(operation: Operation, refusal: OperationRefusal): Promise<Outcome>;
  /** The answer to a group that was kept although its answer was lost. */
  recover(workspace: string, group: Group, claimed: unknown): Promise<GroupResponse>;
  /** After each commit, before it is acknowledged. */
  committed(workspace: string, woken: readonly string[], records: number): void;
}

/** A row of functions/claim.ts, pick. */
type PickRow = [
  ...[bucket: number, fault: string | null, due: number | null, late: boolean],
  delivery: unknown,
  ...envelope: unknown[],
];

/** Operations that look for the same, and what was found for them. */
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
  /** Retries have come due that nobody has let become ready. */
  readonly late: boolean;
}

/** A group whose answer was lost, or who knows whether it reached the disk. */
interface UncertainGroup {
  readonly token: number;
  readonly group: Group;
  readonly writes: readonly Write[];
  readonly answer?: GroupResponse;
}

/** What is sent, and how. */
interface Call {
  readonly workspace: string;
  readonly group: Group;
  readonly token: number;
  /** Looks up whether ids are taken, after one was. */
  readonly careful: boolean;
  /** Ends the transaction in which things were reserved. */
  readonly commit: boolean;
}

interface CallResult {
  readonly answer: GroupResponse | { readonly refused: readonly OperationRefusal[] };
  /** Resolves when it is on the disk. */
  readonly synced: Promise<unknown>;
}

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
   * Together; when that cannot be done, each alone, so that no one suffers for its neighbour. Never
   * rejects: each write is told what became of it.
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
      if (group.length > 1 && isStatementError((error as Error).cause)) {
        for (const write of left) await this.write([write]);
      } else {
        for (const write of left) write.reject(error);
      }
    }
  }

  async close(): Promise<void> {
    const connection = this.#connection;
    if (connection === undefined) return;
    this.#connection = undefined;
    try {
      const client = await connection.ready;
      keepProcessAlive(client, true);
      await this.#run(client, this.#options.sql.forgetWriter, [this.#id]);
      await client.end();
    } catch {
      // The server is away: it has nothing of ours left to close.
    }
  }

  /** One transaction: settles those that were written and those that were refused. */
  async #attempt(group: readonly Write[]): Promise<void> {
    const client = await this.#connected();
    keepProcessAlive(client, true); // An idle hub does not keep the process; one that writes does.
    try {
      if (this.#doubt !== undefined) await this.#clearDoubt(client, this.#doubt);
      const left = group.filter((write) => !write.settled);
      const picked = await this.#pick(client, left);
      // What others of the group are about is taken in the next one: checks see the state before.
      const touched = new Set(left.flatMap((write) => write.touches));
      const ready = left.filter(({ settled, takes }) => {
        return !settled && !takes.some(({ candidate }) => touched.has(candidate.delivery.id));
      });
      if (ready.length > 0) await this.#write(client, ready, { picked, careful: false });
      else if (picked) await client.query("commit");
    } catch (error) {
      this.#discard(client);
      throw error;
    } finally {
      keepProcessAlive(client, false);
    }
  }

  /** A connection that failed may be in any state, also inside a transaction: the next is a new one. */
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
    for (const [i, write] of writes.entries()) group.add(i, write.operation, write.takes);
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
      this.#doubt = { token, group, writes, answer }; // Committed, whatever the reason.
      throw error;
    }
    this.#acknowledge(writes, group, answer);
  }

  /** A pooler may give each statement another session: there the write itself waits for the disk. */
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
    synced.catch(() => {}); // Whoever waits for it is told.
    const [rows] = await Promise.all([writing, committing]);
    return { answer: rows[0]?.[0] as GroupResponse, synced };
  }

  #acknowledge(writes: readonly Write[], group: Group, answer: GroupResponse): void {
    for (const [i, write] of writes.entries()) {
      write.resolve(group.outcome(i, write.operation, answer, write.takes));
    }
  }

  async #refuse(writes: readonly Write[], refusals: readonly OperationRefusal[]): Promise<void> {
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
    // Nothing is changed for those who are refused.
    if (picked.late && picked.buckets.some((bucket) => bucket.fault === null)) {
      await client.query("commit");
      await this.#mature(client, taking[0]?.workspace ?? "");
      picked = await this.#look(client, taking);
    }
    for (const bucket of picked.buckets) await this.#deal(bucket, picked.due);
    return true;
  }

  /** Those of one receiver that take whatever comes look together, and share what is found. */
  async #look(client: pg.Client, taking: readonly Write[]): Promise<PickResult> {
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
      const bucket = looks[i] as Bucket;
      due = next ?? due;
      late = isLate;
      bucket.fault = fault;
      if (delivery !== null) {
        bucket.found.push({ delivery: deliveryOf(delivery), envelope: envelopeOf(envelope) });
      }
    }
    return { buckets: looks, due, late };
  }

  /** Deals out what was found, and writes the records that accept it. */
  async #deal({ writes, found, fault }: Bucket, due: number | null): Promise<void> {
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

  /** Lets retries whose time has come become ready, before looking for them. */
  async #mature(client: pg.Client, workspace: string): Promise<void> {
    const group = new Group();
    group.mature();
    const token = ++this.#token;
    await this.#call(client, { workspace, group, token, careful: false, commit: false });
  }

  /** Was it kept? If so its answer is read from what it left; if not it goes again. */
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

  /** One connection at a time; when it breaks, the next attempt makes a new one. */
  #connected(): Promise<pg.Client> {
    if (this.#connection !== undefined) return this.#connection.ready;
    const { address, forMs } = this.#options;
    const client = new pg.Client({
      ...clientConfig(address),
      pipeline: true,
      // Others may hold the workspace for as long as a write waits; a pooler takes no settings.
      ...(address.pgbouncer ? {} : { lock_timeout: forMs }),
      // Whoever has not answered by then is not there any more, whatever the network says.
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

/** Given up before the server could be asked what became of it. */
function uncertainError(failure: unknown): unknown {
  if (!isBatonError(failure)) return failure;
  const { code, message, path, details } = failure;
  return new BatonError(code, {
    message: `${message} It may have been kept or not.`,
    path,
    hint: "Check that the server runs and can be reached, then look whether it is there.",
    details: { ...details, uncertain: true },
    cause: failure.cause,
  });
}
