/**
 * A test fixture: a fresh store with a virtual clock and seeded ids, and short helpers for memories
 * and handoffs as Baton writes them, for leases and for expected outcomes. When a scene ends,
 * everything in it must still verify.
 */
import { expect, it } from "vitest";
import type { Clock } from "../../src/base/clock.ts";
import type { IdGenerator } from "../../src/base/ids.ts";
import type { Signer } from "../../src/base/signing-keys.ts";
import { type Envelope, receiverOf } from "../../src/envelope/schema.ts";
import {
  type Author,
  type HubFields,
  type MemoryInput,
  writeRecord,
} from "../../src/memory/record.ts";
import {
  type AgentRow,
  BREAKER,
  type DeliveryRow,
  type DeliveryState,
  type DeliveryStep,
  type EntryRow,
  HELD_STATES,
  isHeld,
  isTaken,
  type NewDelivery,
  type NewEnvelope,
  type NewMemory,
  publicationMark,
  type TrailStep,
} from "../../src/store/rows.ts";
import {
  type AppendMemories,
  type ChainPosition,
  CLOSED_BRANCH,
  type ClaimDeliveries,
  type ClaimOutcome,
  type DeliveryWithEnvelopeRow,
  type DueDeliveries,
  type Lease,
  type ListDue,
  type Move,
  type MoveDeliveries,
  type MoveOutcome,
  type RegisterAgent,
  type SendHandoff,
  type SendOutcome,
  type SettleDelivery,
  type Settlement,
  type SettleOutcome,
  type Store,
} from "../../src/store/store.ts";
import { KEYS_BRANCH } from "../../src/store/verify/key-history.ts";
import { publicVisibility, type Reader } from "../../src/store/visibility.ts";
import { seededIds } from "../../src/testing/seeded-ids.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import { expectOutcome, expectSingle } from "./expectations.ts";
import {
  type BranchLocation,
  DEFAULT_LOCATION,
  type EnvelopeInput,
  type HandoffInput,
  HOLD_MS,
  LEASE_MS,
  LIMITS,
  newDelivery,
  SETTLEMENT_VERBS,
  type SealedEnvelope,
  sealEnvelope,
  trailOf,
} from "./handoff-input.ts";
import { authorOf, verifyByReading } from "./verify-by-reading.ts";

/** A store under test. */
export interface OpenedStore {
  readonly store: Store;
  /** Reopens the closed store with all its data. Omit it if the store keeps nothing. */
  reopen?(): Promise<Store>;
  /** Called last, after the store was closed: deletes files, drops databases. */
  dispose?(): Promise<void>;
}

export type OpenStore = (options: { readonly clock: Clock }) => Promise<OpenedStore>;

type PublishResult = Extract<SendOutcome, { kind: "sent" }>;

/** A sent handoff with its only delivery. */
type SendResult = PublishResult & { readonly delivery: DeliveryRow };

type MoveResult = Extract<MoveOutcome, { kind: "moved" }>;

type ClaimResult = Extract<ClaimOutcome, { kind: "claimed" }>;

type SettleResult = Extract<SettleOutcome, { kind: "settled" }>;

/** Returns `it` with a scene for each test. After the test, everything it stored must verify. */
export function sceneTest(open: OpenStore) {
  // biome-ignore lint/correctness/noEmptyPattern: Vitest parses the pattern to find used fixtures.
  return it.extend("scene", async ({}, { onCleanup }) => {
    const scene = await Scene.open(open);
    onCleanup(() => scene.end());
    return scene;
  });
}

export type SceneTest = ReturnType<typeof sceneTest>;

export class Scene {
  readonly clock: VirtualClock;
  readonly ids: IdGenerator;
  readonly #opened: OpenedStore;
  readonly #workspaces = new Set([DEFAULT_LOCATION.workspace]);
  readonly #branches = new Set([DEFAULT_LOCATION.branch]);
  readonly #kinds = new Set([BREAKER, CLOSED_BRANCH, "branch", "key"]);
  readonly #readers = new Map<string, Reader>();
  #store: Store;
  #closed = false;

  private constructor(opened: OpenedStore, clock: VirtualClock) {
    this.#opened = opened;
    this.#store = opened.store;
    this.clock = clock;
    this.ids = seededIds(1, clock);
  }

  /** Opens a scene with the agents that every test has: ada sends, ben and cyd receive. */
  static async open(open: OpenStore): Promise<Scene> {
    const clock = new VirtualClock();
    const scene = new Scene(await open({ clock }), clock);
    for (const id of ["ada", "ben", "cyd"]) await scene.register(id);
    return scene;
  }

  get store(): Store {
    return this.#store;
  }

  get workspace(): string {
    return DEFAULT_LOCATION.workspace;
  }

  get branch(): string {
    return DEFAULT_LOCATION.branch;
  }

  get now(): number {
    return this.clock.now();
  }

  /**
   * Closes the store and reopens it as another process would. Does nothing if the store keeps no
   * data.
   */
  async reopen(): Promise<void> {
    if (this.#opened.reopen === undefined) return;
    await this.#store.close();
    this.#store = await this.#opened.reopen();
  }

  /** Closes the store for good, for tests of a closed store. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#store.close();
  }

  async end(): Promise<void> {
    try {
      if (!this.#closed) await this.#verifyAll();
    } finally {
      await this.#store.close();
      await this.#opened.dispose?.();
    }
  }

  async #verifyAll(): Promise<void> {
    for (const workspace of this.#workspaces) {
      const problems = await verifyByReading(this.#store, workspace, {
        branches: this.#branches,
        kinds: this.#kinds,
        readers: [...this.#readers.values()],
      });
      expect(problems, `what the test left in "${workspace}"`).toEqual([]);
    }
  }

  // Agents

  registration(id: string, change: Partial<RegisterAgent["agent"]> = {}): RegisterAgent["agent"] {
    return {
      id,
      status: "active",
      role: "",
      aliases: [],
      publicKey: "",
      profile: "{}",
      ...change,
    };
  }

  /** Registers or changes an agent. */
  async register(
    id: string,
    change: Partial<RegisterAgent["agent"]> = {},
    workspace: string = DEFAULT_LOCATION.workspace,
  ): Promise<AgentRow> {
    this.#workspaces.add(workspace);
    const current = await this.#store.findAgent(workspace, id);
    const { revision = 0, keyedAt: _keyedAt, digest: _digest, ...known } = current ?? {};
    const agent = { ...this.registration(id), ...known, ...change };
    const record = this.#keyRecord(agent.publicKey, current ?? { id, publicKey: "" });
    const outcome = await this.#store.registerAgent({
      workspace,
      agent,
      basedOn: revision,
      ...(record && { records: [{ branch: KEYS_BRANCH, memory: record }] }),
    });
    return expectOutcome(outcome, "registered").agent;
  }

  /** Includes a branch in the final check of what the test has stored; returns its name. */
  useBranch(branch: string): string {
    this.#branches.add(branch);
    return branch;
  }

  /** Returns the record of a changed key; undefined if it is the same. */
  #keyRecord(
    publicKey: string,
    { id: agent, publicKey: previous }: Pick<AgentRow, "id" | "publicKey">,
  ): NewMemory | undefined {
    if (publicKey === previous) return undefined;
    this.#branches.add(KEYS_BRANCH);
    const data =
      previous === ""
        ? { action: "set", agent, publicKey }
        : { action: "rotated", agent, previous, publicKey };
    const author = { agent, instance: `${agent}-1` };
    return this.#write(author, { type: "key", content: "A changed key.", data });
  }

  // Memories

  /** Returns a memory that is ready to be stored. */
  record(author: string, input: MemoryInput | string = "a fact", signer?: Signer): NewMemory {
    const { workspace, branch } = DEFAULT_LOCATION;
    const witness = () => ({ branch, workspace });
    const signs = signer && { signer: { ...signer, witness } };
    return this.#write({ agent: author, instance: `${author}-1`, owner: "olga", ...signs }, input);
  }

  #write(author: Author, input: MemoryInput | string, hallmark: HubFields = {}): NewMemory {
    const described = typeof input === "string" ? { content: input } : input;
    const context = {
      ids: this.ids,
      now: this.now,
      limits: LIMITS,
      branch: DEFAULT_LOCATION.branch,
      hallmark,
    };
    const { record } = writeRecord(author, described, context);
    const reader = authorOf(record);
    if (described.scope !== undefined) this.#readers.set(JSON.stringify(reader), reader);
    return record;
  }

  append(
    memories: NewMemory | readonly NewMemory[],
    where: Partial<BranchLocation> &
      Pick<Partial<AppendMemories>, "entries" | "lease" | "tip"> = {},
  ) {
    const list = Array.isArray(memories) ? memories : [memories as NewMemory];
    this.#branches.add(where.branch ?? DEFAULT_LOCATION.branch);
    return this.#store.appendMemories({ ...DEFAULT_LOCATION, ...where, memories: list });
  }

  /** Appends memories and expects success. */
  async remember(
    memories: readonly NewMemory[],
    where: Partial<BranchLocation> = {},
  ): Promise<ChainPosition[]> {
    return [...expectOutcome(await this.append(memories, where), "appended").places];
  }

  /** Returns every public memory of a branch, newest first. */
  everything(where: Partial<BranchLocation> = {}) {
    const { workspace, branch } = { ...DEFAULT_LOCATION, ...where };
    const sight = publicVisibility(branch);
    return this.#store.recentMemories({ workspace, sight, filter: {}, limit: 1_000_000 });
  }

  // Handoffs

  /** Returns a handoff that is ready to be sent. */
  handoff(handover: HandoffInput = {}): SendHandoff {
    const { from = "ada", to = "ben", task = "task", settles, extend } = handover;
    const where = { ...DEFAULT_LOCATION, ...handover.where };
    const origins = handover.parents ?? (settles ? [settles.envelope.id] : []);
    const parents = [...new Set([...(extend ? [extend.envelope] : []), ...origins])];
    const address = receiverOf(to) ?? { kind: "agent" as const, agent: to };
    const sealed = this.#seal({ ...handover, from, task, to: address, parents, where });
    const id = this.ids.mint("delivery");
    return {
      ...where,
      memory: this.#handoffRecord(sealed, handover, trailOf(id, extend, settles)),
      envelope: sealed.envelope,
      deliveries: [newDelivery(to, handover, id)],
      parent: origins[0] ?? "",
      breaker: handover.breaker ?? 0,
      ...(extend && { extend }),
      ...(handover.entries && { entries: handover.entries }),
      ...(settles && { settles: this.lease(settles) }),
    };
  }

  /** Returns a handoff to several receivers. Each can come with changes to its delivery. */
  publication(
    receivers: readonly (string | readonly [string, Partial<NewDelivery>])[],
    handover: Omit<HandoffInput, "to" | "extend" | "parents"> = {},
  ): SendHandoff {
    const { from = "ada", task = "task", settles } = handover;
    const where = { ...DEFAULT_LOCATION, ...handover.where };
    const to = { kind: "channel" as const, channel: "news" };
    const parents = settles ? [settles.envelope.id] : [];
    const sealed = this.#seal({ ...handover, from, task, to, parents, where });
    const deliveries = receivers.map((each) => {
      const [receiver, change] = typeof each === "string" ? [each, {}] : each;
      const id = this.ids.mint("delivery");
      return { ...newDelivery(receiver, handover, id), ...change };
    });
    const published: TrailStep = {
      deliveries: deliveries.map(({ id, receiver }) => [id, receiver] as const),
      verb: "publish",
    };
    const ends = settles ? trailOf("", undefined, settles).slice(1) : [];
    return {
      ...where,
      memory: this.#handoffRecord(sealed, handover, [published, ...ends]),
      envelope: sealed.envelope,
      deliveries,
      parent: publicationMark(sealed.envelope.id),
      breaker: handover.breaker ?? 0,
      ...(handover.entries && { entries: handover.entries }),
      ...(settles && { settles: this.lease(settles) }),
    };
  }

  #seal(about: EnvelopeInput): SealedEnvelope {
    this.#branches.add(about.where.branch);
    return sealEnvelope(about, { id: this.ids.mint("envelope"), now: this.now });
  }

  #handoffRecord(sealed: SealedEnvelope, handover: HandoffInput, trail: TrailStep[]): NewMemory {
    const { sender: agent, task } = sealed.envelope;
    const relations = (handover.refs ?? []).map((to) => ({ kind: "summarizes" as const, to }));
    const scope = handover.scope && { scope: handover.scope };
    return this.#write(
      { agent, instance: `${agent}-1` },
      { type: "handoff", task, content: `${agent} hands over`, relations, ...scope },
      { envelope: sealed.hallmark, trail },
    );
  }

  /** Sends a handoff and expects success. */
  async send(handover: HandoffInput = {}): Promise<SendResult> {
    const sent = expectOutcome(await this.#store.sendHandoff(this.handoff(handover)), "sent");
    return { ...sent, delivery: expectSingle(sent.deliveries) };
  }

  /** Sends a handoff to several receivers and expects success. */
  async publish(...about: Parameters<Scene["publication"]>): Promise<PublishResult> {
    return expectOutcome(await this.#store.sendHandoff(this.publication(...about)), "sent");
  }

  /** Returns the `extend` field of a handoff that extends this delivery. */
  extending({ delivery }: Pick<SendResult, "delivery">): NonNullable<SendHandoff["extend"]> {
    return {
      delivery: delivery.id,
      envelope: delivery.envelope,
      held: isTaken(delivery.state),
    };
  }

  claimOf(receiver: string, change: Partial<ClaimDeliveries> = {}): ClaimDeliveries {
    const instance = `${receiver}-1`;
    const as = { receiver, instance, publicKey: "", process: "" };
    return { ...DEFAULT_LOCATION, ...as, limit: 1, leaseMs: LEASE_MS, holdMs: HOLD_MS, ...change };
  }

  /** Claims deliveries and expects success; the result can be empty. */
  async claim(receiver: string, change: Partial<ClaimDeliveries> = {}): Promise<ClaimResult> {
    const outcome = await this.#store.claimDeliveries(this.claimOf(receiver, change));
    return expectOutcome(outcome, "claimed");
  }

  /** Claims exactly one delivery. */
  async claimOne(
    receiver: string,
    change: Partial<ClaimDeliveries> = {},
  ): Promise<DeliveryWithEnvelopeRow> {
    return expectSingle((await this.claim(receiver, change)).claimed);
  }

  /** Returns the receiver's first memory, which continues from the handoff. */
  continuing({ delivery, envelope }: DeliveryWithEnvelopeRow): NewMemory {
    const { holder: agent, instance } = delivery;
    return this.#write(
      { agent, instance },
      {
        type: "checkpoint",
        task: envelope.task,
        content: `${agent} begins`,
        relations: [{ kind: "continues-from", to: envelope.memory }],
      },
      { trail: [{ attempt: delivery.attempt, delivery: delivery.id, verb: "accept" }] },
    );
  }

  /** Claims and accepts exactly one delivery in one operation. */
  acceptOne(
    receiver: string,
    change: Partial<ClaimDeliveries> = {},
  ): Promise<DeliveryWithEnvelopeRow> {
    return this.claimOne(receiver, { accept: (claimed) => this.continuing(claimed), ...change });
  }

  /** Claims and accepts the next delivery, if one is ready. */
  async acceptOneOrNone(receiver: string): Promise<DeliveryWithEnvelopeRow | undefined> {
    const accept = (claimed: DeliveryWithEnvelopeRow) => this.continuing(claimed);
    return (await this.claim(receiver, { accept })).claimed[0];
  }

  /** Sends a handoff and accepts it. */
  async underWay(handover: HandoffInput = {}): Promise<DeliveryWithEnvelopeRow> {
    const { delivery } = await this.send(handover);
    return this.acceptOne(delivery.receiver, { delivery: delivery.id });
  }

  lease({ delivery, envelope }: DeliveryWithEnvelopeRow, change: Partial<Lease> = {}): Lease {
    const { id, fence } = delivery;
    return { delivery: id, fence, envelope: envelope.id, leaseMs: LEASE_MS, ...change };
  }

  settlement(
    held: DeliveryWithEnvelopeRow,
    settlement: Settlement,
    change: Partial<SettleDelivery> = {},
  ): SettleDelivery {
    const operation = {
      ...DEFAULT_LOCATION,
      lease: this.lease(held),
      from: HELD_STATES,
      settlement,
    };
    if (settlement.kind === "released") return { ...operation, reason: "", ...change };
    const verb = SETTLEMENT_VERBS[settlement.kind];
    const { holder: agent, instance, id: delivery, attempt } = held.delivery;
    const reason = change.reason ?? (verb === "complete" ? "" : "{}");
    const memory = this.#write(
      { agent, instance },
      { content: settlement.kind, task: "task", ...(reason && { data: JSON.parse(reason) }) },
      { trail: [{ attempt, delivery, verb }] },
    );
    return { ...operation, memory, ...change, reason };
  }

  /** Settles work and expects success. */
  async settle(
    held: DeliveryWithEnvelopeRow,
    settlement: Settlement,
    reason?: string,
  ): Promise<SettleResult> {
    const operation = this.settlement(held, settlement, reason === undefined ? {} : { reason });
    return expectOutcome(await this.#store.settleDelivery(operation), "settled");
  }

  // Moves

  /** Lists the due deliveries as a hub would. */
  due(change: Partial<ListDue> = {}): Promise<DueDeliveries> {
    return this.#store.listDue({
      workspace: DEFAULT_LOCATION.workspace,
      gone: [],
      limit: 1_000,
      ...change,
    });
  }

  /** Returns a move of one delivery, guarded by its state as given here. */
  moveOf(delivery: DeliveryRow, change: Omit<Move, "delivery" | "seen"> & Partial<Move>): Move {
    const { id, state, fence, envelope } = delivery;
    return { delivery: id, seen: { state, fence, envelope }, ...change };
  }

  moving(moves: readonly Move[], change: Partial<MoveDeliveries> = {}): MoveDeliveries {
    return { ...DEFAULT_LOCATION, agent: "ada", moves, ...change };
  }

  /** Moves deliveries and expects success. */
  async move(moves: readonly Move[], change: Partial<MoveDeliveries> = {}): Promise<MoveResult> {
    const outcome = await this.#store.moveDeliveries(this.moving(moves, change));
    return expectOutcome(outcome, "moved");
  }

  /** Returns the memory of a decision about deliveries; `to` is their new receiver. */
  decision(
    verb: DeliveryStep["verb"],
    deliveries: readonly DeliveryRow[],
    change: { readonly by?: string; readonly to?: string } = {},
  ): NewMemory {
    const { by = "ada", to } = change;
    return this.#decide(verb, by, {
      task: deliveries[0]?.task,
      trail: this.#steps(verb, deliveries, to),
    });
  }

  #steps(verb: DeliveryStep["verb"], deliveries: readonly DeliveryRow[], to?: string): TrailStep[] {
    return deliveries.map(({ id: delivery, attempt }) => ({
      attempt,
      delivery,
      ...(to === undefined ? {} : { to }),
      verb,
    }));
  }

  /** Returns a new envelope for a delivery, and the memory that vouches for it. */
  rewriting(
    verb: DeliveryStep["verb"],
    delivery: DeliveryRow,
    change: { readonly by?: string; readonly to?: string; readonly parents?: string[] } = {},
  ): { readonly memory: NewMemory; readonly envelope: NewEnvelope } {
    const { by = "ada", to } = change;
    const { sender: from, receiver, task, deadline } = delivery;
    const parents = change.parents ?? [delivery.envelope];
    const sealed = this.#seal({
      ...{ from, task, parents, deadline, where: DEFAULT_LOCATION },
      to: receiverOf(to ?? receiver) as Envelope["to"],
    });
    const trail = this.#steps(verb, [delivery], to);
    const memory = this.#decide(verb, by, { task, envelope: sealed.hallmark, trail });
    return { memory, envelope: sealed.envelope };
  }

  #decide(
    content: string,
    agent: string,
    { task, ...hallmark }: HubFields & { readonly task: string | undefined },
  ): NewMemory {
    const about = { type: "decision", content, ...(task === undefined ? {} : { task }) };
    return this.#write({ agent, instance: `${agent}-1` }, about, hallmark);
  }

  /**
   * Moves every held delivery that is due, as a hub would: to another attempt, or to the dead
   * letters after the last one.
   */
  async takeBack(change: Partial<ListDue> & { readonly reason?: string } = {}): Promise<void> {
    const { reason = "", ...which } = change;
    const { workspace } = { ...DEFAULT_LOCATION, ...which };
    const { due } = await this.due(which);
    for (const { delivery } of due.filter((each) => isHeld(each.delivery.state))) {
      const dead = delivery.attempt >= delivery.maxAttempts;
      const move = this.moveOf(delivery, {
        to: dead ? "dead" : "ready",
        event: dead ? "dead" : "expired",
        ends: { outcome: "expired", reason },
      });
      await this.move([move], { workspace, agent: delivery.holder });
    }
  }

  // Entries

  /** Puts an entry at its current revision and expects success. */
  async put(kind: string, name: string, value: string | undefined): Promise<EntryRow | undefined> {
    const { workspace } = DEFAULT_LOCATION;
    const basedOn = (await this.#store.findEntry(workspace, kind, name))?.revision ?? 0;
    const outcome = await this.#store.putEntry(workspace, { kind, name, value, basedOn });
    if (value !== undefined) this.#kinds.add(kind);
    return expectOutcome(outcome, "put").entry;
  }

  // Reads

  /** Returns the current row of a delivery. */
  async deliveryNow(
    id: string,
    workspace: string = DEFAULT_LOCATION.workspace,
  ): Promise<DeliveryRow> {
    const found = await this.#store.findDelivery(workspace, id);
    expect(found).toBeDefined();
    return (found as DeliveryWithEnvelopeRow).delivery;
  }

  /** Returns the kinds of all events, in order. */
  async history(workspace: string = DEFAULT_LOCATION.workspace): Promise<string[]> {
    const events = await this.#store.readEvents(workspace, 0, 1_000_000);
    return events.map((event) => event.kind);
  }

  /** Returns the number of deliveries in each state that has any. */
  async totals(
    workspace: string = DEFAULT_LOCATION.workspace,
  ): Promise<Partial<Record<DeliveryState, number>>> {
    const { byState } = await this.#store.countDeliveries(workspace);
    return Object.fromEntries(Object.entries(byState).filter(([, count]) => count > 0));
  }

  /** Returns a snapshot of the workspace, to compare before and after. */
  async picture(workspace: string = DEFAULT_LOCATION.workspace) {
    const events = await this.#store.readEvents(workspace, 0, 1_000_000);
    const deliveries = new Set(events.map((event) => event.delivery).filter(Boolean));
    const entries = [...this.#kinds].map((kind) =>
      this.#store.listEntries({ workspace, kind, limit: 1_000_000 }),
    );
    return {
      entries: await Promise.all(entries),
      agents: await this.#store.listAgents(workspace),
      memories: await this.everything({ workspace }),
      events,
      deliveries: await Promise.all(
        [...deliveries].map(async (id) => ({
          ...(await this.#store.findDelivery(workspace, id)),
          attempts: await this.#store.readAttempts(workspace, id),
        })),
      ),
    };
  }

  /**
   * Runs an operation that is refused, and expects that it changed nothing. Returns the outcome.
   */
  async unchanged<Outcome>(run: () => Promise<Outcome>): Promise<Outcome> {
    const before = await this.picture();
    const outcome = await run();
    expect(await this.picture()).toEqual(before);
    return outcome;
  }
}
