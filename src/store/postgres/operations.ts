/**
 * The write operations of the PostgreSQL store: their types, the keys each one changes (operations on the same
 * key are never in one group), and `Write`, an operation in the queue that waits for its outcome. The SQL is
 * in functions/.
 */
import type { DeliveryRow, EventKind, NewMemory } from "../rows.ts";
import type {
  AcceptDelivery,
  AcceptOutcome,
  AppendMemories,
  AppendOutcome,
  ClaimDeliveries,
  ClaimOutcome,
  DeliveryWithEnvelopeRow,
  Lease,
  MoveDeliveries,
  MoveOutcome,
  PutEntry,
  PutOutcome,
  RenewOutcome,
  SendHandoff,
  SendManyOutcome,
  SendOutcome,
  Session,
  SettleDelivery,
  SettleOutcome,
} from "../store.ts";

/** An operation as the store's methods submit it. */
export type Operation =
  | { readonly kind: "append"; readonly of: AppendMemories }
  | { readonly kind: "send"; readonly of: SendHandoff }
  | { readonly kind: "send-many"; readonly of: SendManyOperation }
  | { readonly kind: "settle"; readonly of: SettleDelivery }
  | { readonly kind: "accept"; readonly of: AcceptDelivery }
  | { readonly kind: "claim"; readonly of: ClaimDeliveries }
  | { readonly kind: "move"; readonly of: MoveDeliveries }
  | { readonly kind: "put"; readonly of: PutOperation }
  | { readonly kind: "renew"; readonly of: { readonly workspace: string; readonly lease: Lease } }
  | { readonly kind: "session"; readonly of: Session & { readonly leaseMs: number } }
  /** Makes due retries ready. */
  | { readonly kind: "mature"; readonly of: { readonly workspace: string } };

/** Sends several handoffs, or none. */
export interface SendManyOperation {
  readonly workspace: string;
  readonly handoffs: readonly SendHandoff[];
}

/** Writes an entry, with an optional event. */
export interface PutOperation {
  readonly workspace: string;
  readonly entry: PutEntry;
  readonly event: { readonly kind: EventKind; readonly agent: string } | undefined;
}

/** The outcome of any operation; undefined for renewing a session and for making retries ready. */
export type Outcome =
  | AppendOutcome
  | SendManyOutcome
  | SendOutcome
  | SettleOutcome
  | AcceptOutcome
  | ClaimOutcome
  | MoveOutcome
  | PutOutcome
  | RenewOutcome
  | undefined;

/** A delivery reserved for an operation that claims and accepts, with the record that accepts it. */
export interface ClaimAcceptance {
  readonly candidate: DeliveryWithEnvelopeRow;
  readonly memory: NewMemory;
}

/**
 * Returns the keys of what an operation touches. Two operations that touch the same go into different groups,
 * because the checks of a group see the state before all of it.
 */
function touches(operation: Operation): string[] {
  switch (operation.kind) {
    case "append": {
      const { memories, lease, entries = [] } = operation.of;
      return [
        ...memories.map((memory) => memory.id),
        ...(lease ? [lease.delivery] : []),
        ...entries.map(({ kind, name }) => `${kind} ${name}`),
      ];
    }
    case "send":
      return touchedBySend(operation.of);
    case "send-many":
      return operation.of.handoffs.flatMap(touchedBySend);
    case "move": {
      const { memory, envelope, moves, entries = [] } = operation.of;
      const made = [memory?.id, envelope?.id].filter((id) => id !== undefined);
      const put = entries.map(({ kind, name }) => `${kind} ${name}`);
      return [...made, ...put, ...moves.map((move) => move.delivery)];
    }
    case "put":
      return [`${operation.of.entry.kind} ${operation.of.entry.name}`];
    case "settle":
    case "accept":
    case "renew":
      return [operation.of.lease.delivery];
    case "claim":
    case "session":
    case "mature":
      return [];
  }
}

function touchedBySend(handoff: SendHandoff): string[] {
  const { memory, envelope, deliveries, extend, settles, entries = [] } = handoff;
  return [
    ...[memory.id, envelope.id],
    ...deliveries.flatMap(({ id, receiver }) => [id, `${receiver} ${envelope.task}`]),
    ...(extend ? [extend.delivery] : []),
    ...(settles ? [settles.delivery] : []),
    ...entries.map(({ kind, name }) => `${kind} ${name}`),
  ];
}

/** A submitted operation; resolved or rejected once. */
export class Write {
  readonly operation: Operation;
  readonly touches: readonly string[];
  readonly #resolve: (outcome: Outcome) => void;
  readonly #reject: (error: unknown) => void;
  /** The deliveries it is about to take, if it claims and accepts. */
  takes: readonly ClaimAcceptance[] = [];
  #isWithoutNext = false;
  settled = false;
  /** What the caller's function threw; the write is rejected once its reservations have ended. */
  failure: { readonly error: unknown } | undefined;

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

  /** Number of rows it writes, for the limit on the size of a group. */
  get weight(): number {
    const { kind, of } = this.operation;
    if (kind === "append") return of.memories.length;
    if (kind === "send-many")
      return of.handoffs.reduce((sum, { deliveries }) => sum + deliveries.length, 0);
    return kind === "send" ? of.deliveries.length : 1;
  }

  /** How many numbers of its group it has: each handoff of several has its own. */
  get width(): number {
    return this.operation.kind === "send-many" ? this.operation.of.handoffs.length : 1;
  }

  /**
   * Whether it needs a separate group: it changes what other operations of a group depend on (a line, a
   * breaker, a branch), and is too rare for a combined group to be worth the effort. Moves that write nothing
   * else share groups of their own: thousands of them may fall due in the same second.
   */
  get groupKind(): "alone" | "moves" | undefined {
    const { kind, of } = this.operation;
    if (kind === "move") return of.memory === undefined && !of.entries?.length ? "moves" : "alone";
    return kind === "put" || (kind === "append" && of.entries !== undefined) ? "alone" : undefined;
  }

  /** The claim, if the operation claims and accepts in one step: an ordinary claim, or that of a settlement. */
  get taking(): ClaimDeliveries | undefined {
    const { kind, of } = this.operation;
    if (kind === "settle") return this.#isWithoutNext ? undefined : claimOfNext(of);
    return kind === "claim" && of.accept !== undefined ? of : undefined;
  }

  /**
   * Leaves out what a settlement would claim, because that was refused or would delay it. Returns false if it
   * is not a settlement that claims.
   */
  dropNext(): boolean {
    if (this.operation.kind !== "settle" || this.takes.length === 0) return false;
    this.takes = [];
    this.#isWithoutNext = true;
    return true;
  }

  /**
   * Creates the records that accept what it is about to take. An error of the caller's function becomes
   * its `failure`; a settlement then claims nothing.
   */
  prepare(claim: ClaimDeliveries, candidates: readonly DeliveryWithEnvelopeRow[]): void {
    this.failure = undefined;
    try {
      this.takes = candidates.map((candidate) => ({
        candidate,
        memory: claim.accept?.({
          delivery: acceptedRow(candidate.delivery, claim),
          envelope: candidate.envelope,
        }) as ClaimAcceptance["memory"],
      }));
    } catch (error) {
      this.takes = [];
      if (this.operation.kind === "settle") this.#isWithoutNext = true;
      else this.failure = { error };
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

/** Returns what a settlement claims besides, as an ordinary claim; undefined if it claims nothing. */
export function claimOfNext({ workspace, next }: SettleDelivery): ClaimDeliveries | undefined {
  return next && { ...next, workspace, limit: 1 };
}

/** Returns the delivery as its new holder will have it, for the record that accepts it. */
function acceptedRow(
  candidate: DeliveryRow,
  { receiver, instance, process }: ClaimDeliveries,
): DeliveryRow {
  return {
    ...candidate,
    state: "accepted",
    attempt: candidate.attempt + 1,
    fence: candidate.fence + 1,
    holder: receiver,
    instance,
    process,
  };
}
