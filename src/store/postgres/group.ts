/**
 * Encodes a group of operations as one function call, and decodes the response into an outcome per operation.
 * The rows of all operations are grouped by their composite type (parts.ts); the texts of the records are
 * sent as one block of bytes.
 */
import { genesis } from "../chain.ts";
import { deliveryOf, envelopeOf, stateNumber } from "../codecs.ts";
import {
  type DeliveryRow,
  type DeliveryState,
  type EntryRow,
  entryDigest,
  HELD_STATES,
  type NewDelivery,
  type NewEnvelope,
  type NewMemory,
} from "../rows.ts";
import { delayAfter, isUncountedAttempt, lapseAfter, stateAfter } from "../settlement.ts";
import type {
  AcceptDelivery,
  AppendMemories,
  ChainPosition,
  ClaimDeliveries,
  ClaimOutcome,
  DeliveryWithEnvelopeRow,
  Lease,
  Move,
  MoveDeliveries,
  PutEntry,
  SendHandoff,
  SendOutcome,
  SettleDelivery,
  Settlement,
} from "../store.ts";
import {
  type ClaimAcceptance,
  claimOfNext,
  type Operation,
  type Outcome,
  type PutOperation,
} from "./operations.ts";
import { encodeParts, PART_NAMES, type Part, type PartName } from "./parts.ts";

/** The response of the database (functions/write.ts). */
export interface GroupResponse {
  /** Time of the write. */
  readonly at: number;
  readonly places: readonly (readonly [number, number, string])[] | null;
  readonly settled: Readonly<Record<number, unknown>> | null;
  /** By operation, in the order of the group. */
  readonly sent: readonly (readonly [number, unknown])[] | null;
  /** By delivery id; `taken` as well. */
  readonly accepted: Readonly<Record<string, unknown>> | null;
  readonly taken: Readonly<Record<string, unknown>> | null;
  readonly renewed: Readonly<Record<number, unknown>> | null;
  readonly moved: readonly unknown[] | null;
  readonly claimed: readonly (readonly [number, unknown, unknown])[] | null;
  /** Milliseconds until something becomes due; null if nothing will. */
  readonly due: number | null;
  /** Agents to wake up. */
  readonly wakes: readonly string[] | null;
}

/** Encodes states as bits. */
const bits = (states: readonly DeliveryState[]): number =>
  states.reduce((sum, state) => sum | (1 << stateNumber(state)), 0);
const HELD = bits(HELD_STATES);

type SentOutcome = Extract<SendOutcome, { kind: "sent" }>;

type Parts = { [Name in PartName]?: Part<Name>[] };

/**
 * A group of operations on one workspace. Operations are identified by their number in the group; several
 * handoffs that are sent together have one each.
 */
export class Group {
  readonly #parts: Parts = {};
  readonly #texts: Buffer[] = [];
  readonly #geneses = new Map<string, string>();
  /** Operations with equal claims claim together; the result is distributed in their order. */
  readonly #claims = new Map<string, { readonly n: number; most: number }>();
  readonly #claimOf = new Map<number, number>();
  readonly #ids = new Set<string>();
  /** Claimed deliveries that are not distributed yet. */
  #unclaimed: Map<number, (readonly [number, unknown, unknown])[]> | undefined;
  /** The deliveries of each handoff. */
  #sent: Map<number, (readonly [number, unknown])[]> | undefined;
  #matures = false;
  /** Whether an operation needs the next due time. */
  #due = false;
  #bytes = 0;
  #records = 0;
  /** Number of the first record of each operation. */
  readonly #recordOf = new Map<number, number>();
  /** Whether to look up which ids are taken. */
  careful = false;
  /** Ids of all records, in order. */
  readonly recordIds: string[] = [];
  /** The delivery each operation is about, by operation; the deliveries it takes, by delivery id. */
  readonly deliveries = new Map<number | string, string>();
  /** The deliveries of each handoff. */
  readonly posts: (readonly [operation: number, delivery: string])[] = [];
  /** The moved deliveries. */
  readonly moves: string[] = [];
  /** Number of the first move of each operation. */
  readonly #moveOf = new Map<number, number>();

  /** Adds an operation. `takes` are the deliveries it takes, if it claims and accepts, also by settling. */
  add(i: number, operation: Operation, takes: readonly ClaimAcceptance[] = []): void {
    switch (operation.kind) {
      case "append":
        this.#append(i, operation.of);
        break;
      case "send":
        this.#send(i, operation.of);
        break;
      case "send-many":
        for (const [n, handoff] of operation.of.handoffs.entries()) this.#send(i + n, handoff);
        break;
      case "settle":
        this.#settle(i, operation.of, takes);
        break;
      case "accept":
        this.#accept(i, operation.of);
        break;
      case "claim":
        if (operation.of.accept === undefined) this.#claim(i, operation.of);
        else this.#take(i, operation.of, takes);
        break;
      case "move":
        this.#moveAll(i, operation.of);
        break;
      case "put":
        this.#put(i, operation.of.entry, operation.of.event);
        break;
      case "renew":
        this.#hold(i, operation.of.lease, { newest: false });
        this.#renew(i, operation.of.lease);
        break;
      case "session": {
        const { agent, instance, leaseMs } = operation.of;
        this.#part("session", { agent, instance, lease: leaseMs });
        break;
      }
      case "mature":
        this.mature();
        break;
    }
  }

  /** Makes due retries ready before anything else. */
  mature(): void {
    this.#matures = true;
  }

  /** Returns the arguments of the function call. */
  encoded(): readonly unknown[] {
    const texts = Buffer.concat(this.#texts, this.#bytes);
    const parts = PART_NAMES.map((name) => encodeParts(name, this.#parts[name]));
    return [this.#matures, this.#due, texts, ...parts];
  }

  #part<Name extends PartName>(name: Name, entry: Part<Name>): void {
    const list = (this.#parts[name] ?? []) as Part<Name>[];
    list.push(entry);
    this.#parts[name] = list as Parts[Name];
  }

  #text(text: string): { at: number; bytes: number } {
    const bytes = Buffer.from(text);
    const at = this.#bytes + 1;
    this.#texts.push(bytes);
    this.#bytes += bytes.length;
    return { at, bytes: bytes.length };
  }

  #hold(
    i: number,
    { delivery, fence, envelope }: Lease,
    { newest, states = HELD }: { newest: boolean; states?: number },
  ): void {
    this.deliveries.set(i, delivery);
    this.#part("hold", { i, delivery, fence, envelope, newest, states });
  }

  #renew(i: number, { delivery, fence, leaseMs }: Lease): void {
    this.#part("renew", { i, delivery, fence, lease: leaseMs });
  }

  #record(i: number, where: { workspace: string; branch: string }, memory: NewMemory): number {
    const ord = ++this.#records;
    if (!this.#recordOf.has(i)) this.#recordOf.set(i, ord);
    this.recordIds.push(memory.id);
    const { branch } = where;
    const { id, agent, publicKey: key, digest, signature } = memory;
    const twice = this.#ids.has(id);
    this.#ids.add(id);
    this.#part("record", {
      ...{ i, ord, branch, genesis: this.#genesis(where), id, twice },
      ...{ agent, key, digest, signature },
      ...this.#text(memory.text),
    });
    for (const mention of memory.mentions) {
      this.#part("mention", { i, ord, record: id, id: mention });
    }
    for (const [n, edge] of memory.relations.entries()) {
      const { kind, target, validFrom, validUntil } = edge;
      this.#part("relation", {
        ...{ ord, n, kind, target },
        ...{ valid_from: validFrom, valid_until: validUntil },
      });
    }
    return ord;
  }

  /** Returns the genesis link of a branch; hashed once for all its records. */
  #genesis({ workspace, branch }: { workspace: string; branch: string }): string {
    const known = this.#geneses.get(branch) ?? genesis(workspace, branch);
    this.#geneses.set(branch, known);
    return known;
  }

  #append(i: number, operation: AppendMemories): void {
    const { lease, memories, entries = [], tip } = operation;
    if (lease !== undefined) {
      this.#hold(i, lease, { newest: false });
      this.#renew(i, lease);
    }
    for (const memory of memories) this.#record(i, operation, memory);
    for (const entry of entries) this.#put(i, entry);
    if (tip !== undefined) this.#part("tip", { i, ...tip });
  }

  #send(i: number, operation: SendHandoff): void {
    const { envelope, deliveries, settles, entries = [] } = operation;
    const ord = this.#record(i, operation, operation.memory);
    if (settles !== undefined) {
      this.#hold(i, settles, { newest: true, states: bits(["accepted"]) });
      const { id: record } = operation.memory;
      const settlement = { kind: "completed" } as const;
      this.#end(i, settles, { ord, record, settlement, reason: "", handed: true });
    }
    this.#envelope(i, ord, envelope);
    for (const entry of entries) this.#put(i, entry);
    for (const [n, delivery] of deliveries.entries()) {
      this.#post({ i, n, ord }, operation, delivery);
    }
  }

  #envelope(i: number, ord: number, { id, task, sender, text, parents }: NewEnvelope): void {
    for (const [n, parent] of parents.entries()) this.#part("parent", { i, n, envelope: parent });
    this.#part("envelope", { i, ord, id, task, sender, ...this.#text(text) });
  }

  #post(
    where: { readonly i: number; readonly n: number; readonly ord: number },
    operation: SendHandoff,
    delivery: NewDelivery,
  ): void {
    const { envelope, parent, settles, breaker, memory, extend } = operation;
    const single = operation.deliveries.length === 1;
    const { id, receiver, maxAttempts, ahead, state, delayMs, deadline, lapseMs } = delivery;
    this.posts.push([where.i, extend?.held ? extend.delivery : id]);
    // A held delivery stays, so no new row would run into a unique index if the id is taken.
    if (extend?.held) this.careful = true;
    this.#part("post", {
      ...where,
      ...{ author: memory.agent, delivery: id, envelope: envelope.id, task: envelope.task },
      ...{ sender: envelope.sender, receiver, parent, attempts: maxAttempts, ahead, deadline },
      ...{ state: stateNumber(state), delay: delayMs, lapse: lapseMs, reason: delivery.reason },
      ...{ single, breaker, settles: settles?.delivery ?? null },
      extend: extend?.delivery ?? null,
      extended: extend?.envelope ?? null,
      held: extend?.held ?? null,
    });
  }

  #put(i: number, entry: PutEntry, event?: PutOperation["event"]): void {
    const { kind, name, value, basedOn } = entry;
    this.#part("put", {
      ...{ i, kind, name, value: value ?? null, based_on: basedOn },
      digest: value === undefined ? null : entryDigest({ ...entry, value, revision: basedOn + 1 }),
      ...{ event: event?.kind ?? null, agent: event?.agent ?? null },
    });
  }

  #moveAll(i: number, operation: MoveDeliveries): void {
    const { memory, envelope, moves, entries = [] } = operation;
    const ord = memory && this.#record(i, operation, memory);
    if (envelope !== undefined && ord !== undefined) this.#envelope(i, ord, envelope);
    for (const entry of entries) this.#put(i, entry);
    this.#moveOf.set(i, this.moves.length);
    for (const [n, move] of moves.entries())
      this.#move({ i, n, ord: ord ?? null }, operation, move);
  }

  #move(
    where: { readonly i: number; readonly n: number; readonly ord: number | null },
    { memory, envelope, agent }: MoveDeliveries,
    move: Move,
  ): void {
    const { delivery, seen, event, ends } = move;
    this.moves.push(delivery);
    this.#part("move", {
      ...where,
      ...{ record: memory?.id ?? null, agent, event, delivery },
      ...{ was: stateNumber(seen.state), fence: seen.fence, envelope: seen.envelope },
      ...{ lease: seen.leaseUntil ?? null, lapsed: seen.lapseAt ?? null },
      ...{ followed: seen.followers ?? null, state: stateNumber(move.to) },
      ...{ receiver: move.receiver ?? null, delay: move.delayMs ?? null },
      ...{ lapse: move.lapseMs ?? null, attempts: move.maxAttempts ?? null },
      ...{ deadline: move.deadline ?? null, followers: move.followers ?? null },
      ...{ goes_on: envelope?.id ?? null },
      ...{ outcome: ends?.outcome ?? null, reason: ends?.reason ?? null },
    });
  }

  #settle(i: number, operation: SettleDelivery, takes: readonly ClaimAcceptance[]): void {
    const { lease, memory, settlement, reason } = operation;
    this.#hold(i, lease, { newest: true, states: bits(operation.from) });
    const ord = memory && this.#record(i, operation, memory);
    this.#end(i, lease, { ord, record: memory?.id, settlement, reason, handed: false });
    const next = claimOfNext(operation);
    if (next !== undefined && takes.length > 0) this.#take(i, next, takes);
  }

  #end(
    i: number,
    { delivery, fence }: Lease,
    end: {
      ord: number | undefined;
      record: string | undefined;
      settlement: Settlement;
      reason: string;
      handed: boolean;
    },
  ): void {
    const { settlement, reason, handed, ord = null, record = null } = end;
    this.#part("settle", {
      ...{ i, ord, record, delivery, fence, reason, handed, outcome: settlement.kind },
      state: stateNumber(stateAfter(settlement)),
      free: isUncountedAttempt(settlement),
      delay: delayAfter(settlement) ?? null,
      lapse: lapseAfter(settlement),
      n: this.#parts.settle?.length ?? 0,
    });
  }

  #accept(i: number, operation: AcceptDelivery): void {
    const { lease, memory } = operation;
    this.#hold(i, lease, { newest: true, states: bits(["claimed"]) });
    const ord = this.#record(i, operation, memory);
    const { delivery, fence, leaseMs } = lease;
    this.#part("accept", { i, ord, record: memory.id, delivery, fence, lease: leaseMs });
  }

  #claim(i: number, operation: ClaimDeliveries): void {
    const { receiver, publicKey: key, instance, process, limit } = operation;
    const { task = null, delivery = null, leaseMs: lease, holdMs: hold } = operation;
    this.mature();
    this.#due = true;
    this.#part("author", { i, agent: receiver, key });
    const wanted = { receiver, key, instance, process, lease, hold, task, delivery };
    const alike = JSON.stringify(wanted);
    const known = this.#claims.get(alike);
    if (known !== undefined) {
      known.most += limit;
      this.#claimOf.set(i, known.n);
      return;
    }
    const claim = { n: this.#claims.size, most: limit, ...wanted };
    this.#claims.set(alike, claim);
    this.#claimOf.set(i, claim.n);
    this.#part("claim", claim);
  }

  #take(i: number, operation: ClaimDeliveries, takes: readonly ClaimAcceptance[]): void {
    const { receiver, instance, process, leaseMs: lease, holdMs: hold, limit } = operation;
    if (takes.length < limit) this.#due = true;
    for (const { candidate, memory } of takes) {
      const ord = this.#record(i, operation, memory);
      const { id: delivery, fence, envelope } = candidate.delivery;
      this.deliveries.set(delivery, delivery);
      this.#part("take", {
        ...{ i, ord, record: memory.id, delivery, fence, envelope },
        ...{ receiver, instance, process, lease, hold },
      });
    }
  }

  /** Returns an operation's share of what was claimed for all equal claims. */
  #dealt(i: number, { limit }: ClaimDeliveries, answer: GroupResponse): DeliveryWithEnvelopeRow[] {
    const n = this.#claimOf.get(i) ?? 0;
    this.#unclaimed ??= Map.groupBy(answer.claimed ?? [], ([claim]) => claim);
    const share = this.#unclaimed.get(n)?.splice(0, limit) ?? [];
    return share.map(([, delivery, envelope]) => ({
      delivery: deliveryOf(delivery),
      envelope: envelopeOf(envelope),
    }));
  }

  /** Returns the chain positions of an operation's records. */
  #places(i: number, ids: readonly string[], { places }: GroupResponse): ChainPosition[] {
    const first = (this.#recordOf.get(i) ?? 1) - 1;
    return ids.map((id, n) => {
      const [seq, storedAt, link] = places?.[first + n] ?? throwMissingPlace();
      return { id, seq, storedAt, link };
    });
  }

  /** Returns the deliveries that an operation moved. */
  #moved(i: number, { moves }: MoveDeliveries, { moved }: GroupResponse): DeliveryRow[] {
    const first = this.#moveOf.get(i) ?? 0;
    return (moved ?? []).slice(first, first + moves.length).map(deliveryOf);
  }

  #sentOutcome(i: number, { memory, extend }: SendHandoff, answer: GroupResponse): SentOutcome {
    const [place = throwMissingPlace()] = this.#places(i, [memory.id], answer);
    const superseded = extend?.held === false ? extend.delivery : "";
    this.#sent ??= Map.groupBy(answer.sent ?? [], ([of]) => of);
    const deliveries = (this.#sent.get(i) ?? []).map(([, row]) => deliveryOf(row));
    return { kind: "sent", place, deliveries, superseded };
  }

  /** Returns the outcome of an operation after its group was written. */
  outcome(
    i: number,
    operation: Operation,
    answer: GroupResponse,
    takes: readonly ClaimAcceptance[],
  ): Outcome {
    switch (operation.kind) {
      case "append": {
        const ids = operation.of.memories.map((memory) => memory.id);
        const places = this.#places(i, ids, answer);
        const leased = operation.of.lease && deliveryOf(answer.renewed?.[i]);
        return { kind: "appended", places, envelope: leased?.envelope ?? "" };
      }
      case "send":
        return this.#sentOutcome(i, operation.of, answer);
      case "send-many": {
        const { handoffs } = operation.of;
        const sent = handoffs.map((handoff, n) => this.#sentOutcome(i + n, handoff, answer));
        return { kind: "sent", sent };
      }
      case "settle": {
        const [next] = acceptedClaims(takes, answer);
        const delivery = deliveryOf(answer.settled?.[i]);
        return { kind: "settled", delivery, ...(next && { next }) };
      }
      case "accept": {
        const { lease, memory } = operation.of;
        const [place = throwMissingPlace()] = this.#places(i, [memory.id], answer);
        const delivery = deliveryOf(answer.accepted?.[lease.delivery]);
        if (!stillHeld(delivery, lease.fence)) return { kind: "lease_lost", delivery };
        return { kind: "accepted", place, delivery };
      }
      case "renew": {
        const delivery = deliveryOf(answer.renewed?.[i]);
        const held = stillHeld(delivery, operation.of.lease.fence);
        return { kind: held ? "renewed" : "lease_lost", delivery };
      }
      case "session":
      case "mature":
        return undefined;
      case "move":
        return { kind: "moved", deliveries: this.#moved(i, operation.of, answer) };
      case "put":
        return { kind: "put", entry: putEntryRow(operation.of.entry, answer) };
      case "claim":
        return operation.of.accept === undefined
          ? claimOutcome(operation.of, this.#dealt(i, operation.of, answer), answer.due)
          : claimOutcome(operation.of, acceptedClaims(takes, answer), answer.due);
    }
  }
}

/** Returns the outcome of a claim; the next due time is only relevant if it got less than it wanted. */
export function claimOutcome(
  { limit }: ClaimDeliveries,
  claimed: readonly DeliveryWithEnvelopeRow[],
  due: number | null,
): ClaimOutcome {
  const known = claimed.length < limit ? due : null;
  return { kind: "claimed", claimed, nextDueMs: known ?? Number.POSITIVE_INFINITY };
}

function putEntryRow(
  { kind, name, value, basedOn }: PutEntry,
  { at }: GroupResponse,
): EntryRow | undefined {
  if (value === undefined) return undefined;
  const entry = { kind, name, value, revision: basedOn + 1 };
  return { ...entry, at, digest: entryDigest(entry) };
}

function acceptedClaims(
  takes: readonly ClaimAcceptance[],
  { taken }: GroupResponse,
): DeliveryWithEnvelopeRow[] {
  return takes.flatMap(({ candidate }) => {
    const delivery = deliveryOf(taken?.[candidate.delivery.id]);
    const held = stillHeld(delivery, candidate.delivery.fence + 1);
    return held ? { delivery, envelope: candidate.envelope } : [];
  });
}

/**
 * Returns whether a lease that was granted is still current. A lost response is read when the server is back:
 * by then the lease may have expired, and another agent may hold the delivery.
 */
export function stillHeld({ fence, state }: DeliveryRow, given: number): boolean {
  return fence === given && HELD_STATES.some((held) => held === state);
}

function throwMissingPlace(): never {
  throw new Error("the database's response lacks the position of a record");
}
