/** The steps that the write operations of the reference store are composed of. */
import { nextLink } from "../../src/store/chain.ts";
import {
  type AgentRow,
  type AttemptRow,
  BREAKER,
  type DeliveryRow,
  type EntryRow,
  type EnvelopeRow,
  type EventKind,
  entryDigest,
  isHeld,
  isOpen,
  type MemoryRow,
  type NewDelivery,
  type NewEnvelope,
  type NewMemory,
  roleInbox,
  soonest,
} from "../../src/store/rows.ts";
import {
  delayAfter,
  isUncountedAttempt,
  lapseAfter,
  stateAfter,
} from "../../src/store/settlement.ts";
import type {
  ChainPosition,
  ClaimDeliveries,
  Lease,
  LeaseLost,
  LeaseRefusal,
  Move,
  MoveDeliveries,
  PruneTrace,
  PruneTraceResult,
  PutEntry,
  ReceiverRefusal,
  RecordRefusal,
  SendHandoff,
  Session,
  Settlement,
} from "../../src/store/store.ts";
import { CLOSED_BRANCH } from "../../src/store/store.ts";
import { MAIN_BRANCH } from "../../src/store/visibility.ts";
import { dueAt } from "../../src/store/wake/due-announcer.ts";
import { nextSteps } from "./prune.ts";
import {
  bytesOf,
  compareByPlace,
  copy,
  headOf,
  headsOf,
  type InWorkspace,
  type Tables,
} from "./rows.ts";

/** One write operation on its own copy of the rows. */
export class Write {
  readonly workspace: string;
  readonly now: number;
  readonly shelf: Tables;
  readonly woken = new Set<string>();
  takenBack = false;

  constructor(workspace: string, now: number, shelf: Tables) {
    this.workspace = workspace;
    this.now = now;
    this.shelf = shelf;
  }

  /** Discards the writes of an operation that is refused, and returns its outcome. */
  takeBack<Outcome>(outcome: Outcome): Outcome {
    this.takenBack = true;
    return outcome;
  }

  /** Runs a step of an operation. If it throws or returns undefined, only its own changes are discarded. */
  optional<Result>(step: () => Result | undefined): Result | undefined {
    const before = copy(this.shelf);
    const result = resultOrNothing(step);
    if (result !== undefined) return result;
    Object.assign(this.shelf, before);
    this.takenBack = false;
    return undefined;
  }

  wake(agent: string): void {
    this.woken.add(agent);
  }

  #own<Row extends { workspace: string }>(rows: readonly Row[]): Row[] {
    return rows.filter((row) => row.workspace === this.workspace);
  }

  #chains(): Pick<Tables, "memories" | "heads"> {
    const { memories, heads } = this.shelf;
    return { memories: this.#own(memories), heads: this.#own(heads) };
  }

  prune(operation: PruneTrace): PruneTraceResult {
    const { workspace, shelf } = this;
    const own = { memories: this.#own(shelf.memories), relations: this.#own(shelf.relations) };
    const newest = shelf.memories.at(-1);
    const kept = newest?.workspace === workspace ? newest.id : undefined;
    const { rows, heldBy } = nextSteps(own, operation, kept);
    if (rows.length > 0) this.#drop(operation.branch, rows);
    return { records: rows.length, bytes: bytesOf(rows), heldBy };
  }

  #drop(branch: string, rows: readonly MemoryRow[]): void {
    const { workspace, shelf } = this;
    const head = headOf(this.#chains(), { workspace, branch });
    const ids = new Set(rows.map((row) => row.id));
    const isOwn = (row: { workspace: string }) => row.workspace === workspace;
    shelf.memories = shelf.memories.filter((row) => !isOwn(row) || !ids.has(row.id));
    shelf.relations = shelf.relations.filter((edge) => !isOwn(edge) || !ids.has(edge.source));
    shelf.heads = shelf.heads.filter((row) => !isOwn(row) || row.branch !== branch);
    shelf.heads.push({ ...head, workspace });
    shelf.gone = { ...shelf.gone, memories: shelf.gone.memories + rows.length };
  }

  pruneEvents(upTo: number, limit: number): number {
    const own = this.#own(this.shelf.events).slice(0, -1);
    const going = new Set(own.filter((event) => event.number <= upTo).slice(0, limit));
    this.shelf.events = this.shelf.events.filter((event) => !going.has(event));
    this.shelf.gone = { ...this.shelf.gone, events: this.shelf.gone.events + going.size };
    return going.size;
  }

  agent(id: string): AgentRow | undefined {
    return this.#own(this.shelf.agents).find((agent) => agent.id === id);
  }

  agentNamed(name: string): AgentRow | undefined {
    return this.#own(this.shelf.agents).find(
      (agent) => agent.id === name || agent.aliases.includes(name),
    );
  }

  putAgent(agent: AgentRow): void {
    const { workspace } = this;
    this.shelf.agents = this.shelf.agents.filter(
      (row) => row.workspace !== workspace || row.id !== agent.id,
    );
    this.shelf.agents.push({ ...agent, workspace });
  }

  /**
   * Returns the time from which a key counts: not before any stored record, even if the clock went
   * back, because those records were written without the key.
   */
  keyTime(): number {
    const stored = headsOf(this.#chains(), this.workspace).map((head) => head.storedAt);
    return stored.reduce((newest, at) => Math.max(newest, at), this.now);
  }

  refuseAuthor(author: { agent: string; publicKey: string }): RecordRefusal | undefined {
    const known = this.agent(author.agent);
    if (known === undefined) return { kind: "unknown_agent", agent: author.agent };
    if (known.status === "disabled") return { kind: "agent_disabled", agent: author.agent };
    if (known.publicKey !== author.publicKey) return { kind: "key_changed", agent: author.agent };
    return undefined;
  }

  refuseRecord(branch: string, memory: NewMemory): RecordRefusal | undefined {
    const refused = this.refuseAuthor(memory);
    if (refused !== undefined) return refused;
    for (const reference of memory.mentions) {
      if (!this.#own(this.shelf.memories).some((row) => row.id === reference)) {
        return { kind: "missing_reference", memory: memory.id, reference };
      }
    }
    const taken = this.#own(this.shelf.memories).some((row) => row.id === memory.id);
    if (taken) return { kind: "id_taken", id: memory.id };
    const closed = branch !== MAIN_BRANCH && this.entry(CLOSED_BRANCH, branch) !== undefined;
    return closed ? { kind: "branch_closed", branch } : undefined;
  }

  tip(branch: string): number {
    const { workspace } = this;
    return headOf(this.#chains(), { workspace, branch }).seq;
  }

  append(branch: string, memory: NewMemory, now: number = this.now): ChainPosition {
    const { workspace } = this;
    const head = headOf(this.#chains(), { workspace, branch });
    const seq = head.seq + 1;
    const storedAt = Math.max(now, head.storedAt);
    const link = nextLink(head.link, { seq, storedAt, digest: memory.digest });
    const { id, text, signature } = memory;
    this.shelf.memories.push({ id, branch, seq, storedAt, text, signature, link, workspace });
    for (const edge of memory.relations) {
      this.shelf.relations.push({ ...edge, source: id, workspace });
    }
    return { id, seq, storedAt, link };
  }

  envelope(id: string): EnvelopeRow | undefined {
    return this.#own(this.shelf.envelopes).find((row) => row.id === id);
  }

  envelopeOf(delivery: DeliveryRow): EnvelopeRow {
    const { workspace: _, ...row } = this.envelope(delivery.envelope) as InWorkspace<EnvelopeRow>;
    return row;
  }

  addEnvelope(envelope: NewEnvelope, place: ChainPosition): void {
    const { parents: _, ...row } = envelope;
    const { workspace } = this;
    this.shelf.envelopes.push({ ...row, memory: place.id, storedAt: place.storedAt, workspace });
  }

  takenId({ envelope, deliveries }: SendHandoff): string | undefined {
    const taken = deliveries.find(({ id }) => this.delivery(id) !== undefined);
    return this.envelope(envelope.id)?.id ?? taken?.id;
  }

  /** Refuses a receiver that is neither an enabled agent nor the role of one. */
  refuseReceiver(receiver: string): ReceiverRefusal | undefined {
    const able = this.#own(this.shelf.agents).filter(
      (agent) => agent.id === receiver || (agent.role !== "" && roleInbox(agent.role) === receiver),
    );
    if (able.length === 0) return { kind: "unknown_receiver", receiver };
    if (able.every((agent) => agent.status === "disabled")) {
      return { kind: "receiver_disabled", receiver };
    }
    return undefined;
  }

  entry(kind: string, name: string): EntryRow | undefined {
    const found = this.#own(this.shelf.entries).find(
      (entry) => entry.kind === kind && entry.name === name,
    );
    if (found === undefined) return undefined;
    const { workspace: _, ...row } = found;
    return row;
  }

  putEntry({ kind, name, value, basedOn }: PutEntry): EntryRow | undefined {
    const { workspace } = this;
    this.shelf.entries = this.shelf.entries.filter(
      (row) => row.workspace !== workspace || row.kind !== kind || row.name !== name,
    );
    if (value === undefined) return undefined;
    const entry = { kind, name, value, revision: basedOn + 1 };
    const stored = { ...entry, at: this.now, digest: entryDigest(entry) };
    this.shelf.entries.push({ ...stored, workspace });
    return stored;
  }

  delivery(id: string): DeliveryRow | undefined {
    const found = this.#own(this.shelf.deliveries).find((row) => row.id === id);
    if (found === undefined) return undefined;
    const { workspace: _, ...row } = found;
    return row;
  }

  #change(delivery: DeliveryRow, change: Partial<DeliveryRow>): DeliveryRow {
    const { workspace } = this;
    const changed = { ...delivery, ...change };
    this.shelf.deliveries = this.shelf.deliveries.map((row) =>
      row.workspace === workspace && row.id === delivery.id ? { ...changed, workspace } : row,
    );
    return changed;
  }

  /** Returns the open deliveries of a receiver and task, in the order they can be claimed. */
  #queue({ receiver, task }: Pick<DeliveryRow, "receiver" | "task">): DeliveryRow[] {
    return this.#own(this.shelf.deliveries)
      .filter((row) => isOpen(row.state) && row.receiver === receiver && row.task === task)
      .sort((a, b) => a.place - b.place)
      .map((row) => this.delivery(row.id) as DeliveryRow);
  }

  /** Puts the next delivery of the same receiver and task in turn after one has ended. */
  #passTurn(ended: DeliveryRow): void {
    const [next] = this.#queue(ended);
    if (next === undefined || next.inTurn) return;
    this.#change(next, { inTurn: true });
    this.wake(next.receiver);
  }

  record(kind: EventKind, agent: string, delivery: DeliveryRow): void {
    const { task, id, envelope, attempt } = delivery;
    this.recordOf(kind, agent, { task, delivery: id, envelope, attempt });
  }

  recordOf(
    kind: EventKind,
    agent: string,
    of = { task: "", delivery: "", envelope: "", attempt: 0 },
  ): void {
    const number = this.shelf.events.length + this.shelf.gone.events + 1;
    const { now: at, workspace } = this;
    this.shelf.events.push({
      number,
      at,
      kind,
      agent,
      ...of,
      workspace,
    });
  }

  sameWork(
    { envelope, parent, settles }: SendHandoff,
    delivery: NewDelivery,
  ): DeliveryRow | undefined {
    const found = this.#own(this.shelf.deliveries)
      .filter((row) => row.id !== settles?.delivery) // The delivery that this settles has ended.
      .filter((row) => isOpen(row.state) && row.task === envelope.task)
      .filter((row) => row.receiver === delivery.receiver && row.sender === envelope.sender)
      .sort(compareByPlace) // Two are possible after one was rerouted here.
      .find((row) => row.parent === parent);
    return found && this.delivery(found.id);
  }

  deliver(
    operation: SendHandoff,
    { open, at }: { open: DeliveryRow | undefined; at: number },
  ): { deliveries: DeliveryRow[]; superseded: string } {
    const { agent } = operation.memory;
    if (open !== undefined && operation.extend?.held) {
      const held = this.delivery(open.id) as DeliveryRow;
      const { deadline = 0, lapseMs = 0 } = operation.deliveries[0] ?? {};
      // The newest envelope counts; accepted work has only a deadline.
      const soon = held.state === "claimed" && lapseMs > 0 ? this.now + lapseMs : 0;
      const delivery = this.#change(held, {
        envelope: operation.envelope.id,
        deadline,
        lapseAt: soonest(deadline, soon),
      });
      this.record("extended", agent, delivery);
      this.wake(delivery.holder);
      return { deliveries: [delivery], superseded: "" };
    }
    if (open !== undefined) {
      const replaced = this.delivery(open.id) as DeliveryRow;
      this.#change(replaced, { state: "superseded", settledAt: at, lapseAt: 0 });
      this.record("superseded", agent, replaced);
    }
    const deliveries = operation.deliveries.map((delivery) => {
      const added = this.#addDelivery(operation, delivery, { place: open?.place, at });
      const dead = added.state === "dead";
      if (dead) this.#endAttempt(added, { outcome: "stopped", reason: delivery.reason }, at);
      this.record(dead ? "dead" : "sent", agent, added);
      this.wake(added.receiver);
      return added;
    });
    // A delivery that was dead-lettered at once does not take the turn.
    if (open !== undefined) this.#passTurn(open);
    return { deliveries, superseded: open?.id ?? "" };
  }

  #addDelivery(
    { envelope, parent }: SendHandoff,
    delivery: NewDelivery,
    { place, at }: { place: number | undefined; at: number },
  ): DeliveryRow {
    const { receiver, state, delayMs, lapseMs, deadline } = delivery;
    const dead = state === "dead";
    const queue = this.#queue({ receiver, task: envelope.task });
    const chosen = place ?? this.#placeBehind(queue, delivery.ahead);
    const row: DeliveryRow = {
      id: delivery.id,
      envelope: envelope.id,
      task: envelope.task,
      sender: envelope.sender,
      receiver,
      parent,
      state,
      place: chosen,
      inTurn: dead || queue.every((row) => row.place > chosen),
      attempt: dead ? 1 : 0,
      maxAttempts: delivery.maxAttempts,
      fence: dead ? 1 : 0,
      leaseUntil: 0,
      holdUntil: 0,
      readyAt: state === "scheduled" ? this.now + delayMs : 0,
      deadline,
      lapseAt: dead ? 0 : soonest(deadline, lapseMs === 0 ? 0 : this.now + lapseMs),
      sentAt: at,
      seenAt: 0,
      acceptedAt: 0,
      settledAt: dead ? at : 0,
      holder: "",
      instance: "",
      process: "",
      acceptedBy: "",
      settledBy: "",
      followers: "",
    };
    this.shelf.deliveries.push({ ...row, workspace: this.workspace });
    return row;
  }

  /** Returns the last place, or one ahead of it, but always behind open work of the same task. */
  #placeBehind(queue: readonly DeliveryRow[], ahead: number): number {
    const newest = this.shelf.memories.length + this.shelf.gone.memories;
    const last = queue.at(-1);
    return last === undefined ? newest - ahead : Math.max(newest, last.place + 1);
  }

  leaseLost(lease: Lease): LeaseLost | undefined {
    const delivery = this.delivery(lease.delivery);
    const good =
      delivery !== undefined &&
      isHeld(delivery.state) &&
      delivery.fence === lease.fence &&
      delivery.leaseUntil > this.now;
    return good ? undefined : { kind: "lease_lost", delivery };
  }

  /** Also refuses a holder that does not know the newest envelope. */
  refuseLease(lease: Lease): LeaseRefusal | undefined {
    const lost = this.leaseLost(lease);
    if (lost !== undefined) return lost;
    const held = this.held(lease);
    if (held.envelope === lease.envelope) return undefined;
    return { kind: "extended", envelope: this.envelopeOf(held) };
  }

  held(lease: Lease): DeliveryRow {
    return this.delivery(lease.delivery) as DeliveryRow;
  }

  renew(lease: Lease): DeliveryRow {
    const held = this.held(lease);
    return this.#change(held, { leaseUntil: Math.min(this.now + lease.leaseMs, held.holdUntil) });
  }

  renewSession({ agent, instance }: Session, leaseMs: number): void {
    const own = this.#own(this.shelf.deliveries)
      .filter((row) => isHeld(row.state) && row.leaseUntil > this.now)
      .filter((row) => row.holder === agent && row.instance === instance && row.process === "");
    for (const { id } of own) {
      const held = this.delivery(id) as DeliveryRow;
      this.#change(held, { leaseUntil: Math.min(this.now + leaseMs, held.holdUntil) });
    }
  }

  claimable({ receiver, delivery, task, limit }: ClaimDeliveries): DeliveryRow[] {
    const agent = this.agent(receiver) as AgentRow;
    if (agent.status === "paused") return [];
    const inboxes = [receiver, ...(agent.role === "" ? [] : [roleInbox(agent.role)])];
    return this.#own(this.shelf.deliveries)
      .filter((row) => inboxes.includes(row.receiver) && row.state === "ready" && row.inTurn)
      .filter((row) => row.deadline === 0 || row.deadline > this.now)
      .filter((row) => delivery === undefined || row.id === delivery)
      .filter((row) => task === undefined || row.task === task)
      .sort(compareByPlace)
      .slice(0, delivery === undefined ? limit : 1)
      .map((row) => this.delivery(row.id) as DeliveryRow);
  }

  claim(delivery: DeliveryRow, operation: ClaimDeliveries): DeliveryRow {
    const { receiver, instance, process, leaseMs, holdMs } = operation;
    return this.#change(delivery, {
      state: "claimed",
      attempt: delivery.attempt + 1,
      fence: delivery.fence + 1,
      leaseUntil: this.now + Math.min(leaseMs, holdMs),
      holdUntil: this.now + holdMs,
      seenAt: delivery.seenAt || this.now,
      holder: receiver,
      instance,
      process,
    });
  }

  accept(lease: Lease, place: ChainPosition): DeliveryRow {
    const held = this.held(lease);
    const delivery = this.#change(held, {
      state: "accepted",
      leaseUntil: Math.min(this.now + lease.leaseMs, held.holdUntil),
      lapseAt: held.deadline,
      acceptedAt: place.storedAt,
      acceptedBy: place.id,
    });
    this.record("accepted", delivery.holder, delivery);
    this.wake(delivery.sender);
    return delivery;
  }

  finish(
    held: DeliveryRow,
    settlement: Settlement,
    end: { place: ChainPosition | undefined; reason: string },
  ): DeliveryRow {
    const state = stateAfter(settlement);
    const open = isOpen(state);
    const lapseMs = lapseAfter(settlement);
    const delayMs = delayAfter(settlement);
    const delivery = this.#change(held, {
      state,
      leaseUntil: 0,
      holdUntil: 0,
      maxAttempts: held.maxAttempts + (isUncountedAttempt(settlement) ? 1 : 0),
      readyAt: delayMs === undefined ? 0 : this.now + delayMs,
      lapseAt: open ? soonest(held.deadline, lapseMs === 0 ? 0 : this.now + lapseMs) : 0,
      settledAt: open ? 0 : (end.place?.storedAt ?? this.now),
      settledBy: end.place?.id ?? "",
    });
    if (settlement.kind === "completed") this.#closeBreaker(held.receiver);
    else this.#endAttempt(held, { ...end, outcome: settlement.kind }, end.place?.storedAt);
    this.record(state === "dead" ? "dead" : settlement.kind, held.holder, delivery);
    if (!open) this.#passTurn(delivery);
    return delivery;
  }

  #closeBreaker(receiver: string): void {
    const entry = this.entry(BREAKER, receiver);
    if (entry) this.putEntry({ ...entry, value: undefined, basedOn: entry.revision });
  }

  #endAttempt(
    tried: DeliveryRow,
    end: { outcome: AttemptRow["outcome"]; reason: string },
    at = this.now,
  ): void {
    const { id: delivery, attempt } = tried;
    const held = isHeld(tried.state);
    this.shelf.attempts.push({
      delivery,
      attempt,
      holder: held ? tried.holder : "",
      instance: held ? tried.instance : "",
      endedAt: at,
      outcome: end.outcome,
      reason: end.reason,
      workspace: this.workspace,
    });
  }

  move(
    { agent, envelope }: MoveDeliveries,
    move: Move,
    place: ChainPosition | undefined,
  ): DeliveryRow {
    const before = this.delivery(move.delivery) as DeliveryRow;
    const { to, ends } = move;
    const named = {
      maxAttempts: move.maxAttempts ?? before.maxAttempts,
      deadline: move.deadline ?? before.deadline,
      followers: move.followers ?? before.followers,
      envelope: envelope?.id ?? before.envelope,
    };
    const open = isOpen(to);
    const lapseAt = soonest(named.deadline, move.lapseMs ? this.now + move.lapseMs : 0);
    const stays = to === before.state && move.receiver === undefined;
    const readyAt = to === "scheduled" ? this.now + (move.delayMs ?? 0) : 0;
    // An attempt without a claim counts as well.
    const unclaimed = ends !== undefined && !isHeld(before.state) ? 1 : 0;
    const tried = {
      ...before,
      attempt: before.attempt + unclaimed,
      fence: before.fence + unclaimed,
    };
    if (ends !== undefined) this.#endAttempt(tried, ends, place?.storedAt);
    const moved = this.#change(tried, {
      ...named,
      ...(move.lapseMs === undefined && stays ? {} : { lapseAt: open ? lapseAt : 0 }),
      ...(stays
        ? move.delayMs !== undefined && { readyAt }
        : {
            state: to,
            receiver: move.receiver ?? before.receiver,
            leaseUntil: 0,
            holdUntil: 0,
            readyAt,
            settledAt: open ? 0 : (place?.storedAt ?? this.now),
            settledBy: place?.id ?? "",
          }),
    });
    this.record(move.event, agent, moved);
    for (const concerned of [moved.sender, moved.receiver]) this.wake(concerned);
    if (isHeld(before.state)) this.wake(before.holder);
    return stays ? moved : this.#line(before, moved);
  }

  /**
   * Updates the queues after a move: a delivery that joins one goes last, and the next delivery of
   * the queue it left is in turn.
   */
  #line(before: DeliveryRow, moved: DeliveryRow): DeliveryRow {
    const joins = moved.receiver !== before.receiver || !isOpen(before.state);
    let row = moved;
    if (isOpen(moved.state) && joins) {
      const queue = this.#queue(moved).filter((each) => each.id !== moved.id);
      const place = this.#placeBehind(queue, 0);
      row = this.#change(moved, { place, inTurn: queue.length === 0 });
    }
    const left = isOpen(before.state) && (joins || !isOpen(moved.state));
    if (left) this.#passTurn(before);
    return row;
  }

  /** Makes scheduled deliveries ready whose time has come. */
  mature(): void {
    for (const row of this.#own(this.shelf.deliveries)) {
      if (row.state !== "scheduled" || row.readyAt > this.now) continue;
      this.#change(this.delivery(row.id) as DeliveryRow, { state: "ready" });
    }
  }

  /** Returns the milliseconds until something falls due: 0 if overdue, Infinity if nothing will. */
  nextDue(): number {
    return Math.max(0, Math.min(...this.#own(this.shelf.deliveries).map(dueAt)) - this.now);
  }
}

function resultOrNothing<Result>(step: () => Result | undefined): Result | undefined {
  try {
    return step();
  } catch {
    return undefined;
  }
}
