/**
 * The state that the writes of one transaction share: its time, the chain heads (read once, written once at
 * the end), its events (written at the end), agents and positions (read once), and the agents to wake after the
 * commit.
 *
 * Nothing here outlives the transaction, because another process may have moved the heads in between. Only
 * the keys of workspaces do: they never change once committed.
 */
import { genesis } from "../chain.ts";
import { type AgentStatus, BREAKER } from "../rows.ts";
import type { ChainPosition, WakeTarget } from "../store.ts";
import { eventGroup, type NewEvent } from "./event-groups.ts";
import type { KnownHead } from "./known-head.ts";
import { eventGroupSum } from "./row-sums.ts";
import { numberOf, scalarOf } from "./scalar.ts";
import type { Statements } from "./statements.ts";

/** The last record of a chain. */
export interface Head {
  /** Key of the chain in the `chains` table. */
  readonly key: number;
  seq: number;
  storedAt: number;
  link: string;
  /** Whether `flush` has to write it. */
  changed: boolean;
}

/** What the checks of a write need of an agent. */
export interface KnownAgent {
  readonly status: AgentStatus;
  readonly publicKey: string;
  readonly role: string;
}

/** What this transaction has read from one workspace. */
interface WorkspaceCache {
  readonly heads: Map<string, Head>;
  readonly agents: Map<string, KnownAgent | undefined>;
  readonly positions: Map<string, number>;
  /** Recorded events that `flush` has to write. */
  events: NewEvent[];
  /** Inboxes in which nothing is ready to claim. */
  readonly emptyInboxes: Set<string>;
  /** Whether the workspace has circuit breakers; undefined until it is needed. */
  hasBreakers: boolean | undefined;
  /** Whether due retries were made ready. */
  matured: boolean;
}

/** A reader parses a whole row, also for a few of its events. */
const EVENTS_PER_ROW = 1_000;

/** One write transaction. */
export class Transaction {
  /** Store time of the transaction. */
  readonly now: number;
  readonly sql: Statements;
  /** Workspaces committed before this transaction; shared with the store. */
  readonly #workspaces: Map<string, number>;
  readonly #seen = new Map<number, WorkspaceCache>();
  readonly #wakes = new Map<string, Set<string>>();
  #appended = 0;
  #newest: Head | undefined;
  #event = 0;
  #newWorkspace = false;

  constructor(sql: Statements, now: number, workspaces: Map<string, number>) {
    this.sql = sql;
    this.now = now;
    this.#workspaces = workspaces;
  }

  /** How many records this transaction has appended. */
  get records(): number {
    return this.#appended;
  }

  /** Returns the key of a workspace; creates it on first use. */
  workspace(name: string): number {
    const known = this.#workspaces.get(name);
    if (known !== undefined) return known;
    const stored = scalarOf<number>(this.sql.workspaceKey.get(name));
    if (stored === undefined) {
      this.#newWorkspace = true;
      return Number(this.sql.addWorkspace.run(name).lastInsertRowid);
    }
    // A key created in this transaction could still be rolled back.
    if (!this.#newWorkspace) this.#workspaces.set(name, stored);
    return stored;
  }

  /** Returns the head of a chain; creates the chain on first use. */
  head(workspace: number, name: { workspace: string; branch: string }): Head {
    const { heads } = this.#of(workspace);
    const known = heads.get(name.branch);
    if (known !== undefined) return known;
    const read = (): unknown => this.sql.chain.get(workspace, name.branch);
    let row = read();
    if (row === undefined) {
      this.sql.addChain.run(workspace, name.branch, genesis(name.workspace, name.branch));
      row = read();
    }
    const [key, seq, storedAt, link] = row as [number, number, number, string];
    const head = { key, seq, storedAt, link, changed: false };
    heads.set(name.branch, head);
    return head;
  }

  /** Advances a head; `flush` writes it to the file. */
  appended(head: Head, to: Omit<ChainPosition, "id">): void {
    head.seq = to.seq;
    head.storedAt = to.storedAt;
    head.link = to.link;
    head.changed = true;
    this.#newest = head;
    this.#appended++;
  }

  /** Records an event; `flush` numbers it and writes it. */
  record(workspace: number, event: NewEvent): void {
    this.#of(workspace).events.push(event);
  }

  /** Returns the newest record and the newest event of this transaction, as far as it has written them. */
  newest(): Partial<KnownHead> {
    const { key: chain, seq, link } = this.#newest ?? {};
    return {
      ...(chain !== undefined && { chain, seq, link }),
      ...(this.#event > 0 && { event: this.#event }),
    } as Partial<KnownHead>;
  }

  /** Returns an agent by id; undefined if it is not registered. */
  agent(workspace: number, id: string): KnownAgent | undefined {
    const { agents } = this.#of(workspace);
    if (agents.has(id)) return agents.get(id);
    const row = this.sql.agentStatus.get(workspace, id) as unknown;
    const found = row as readonly [AgentStatus, string, string] | undefined;
    const agent = found && { status: found[0], publicKey: found[1], role: found[2] };
    agents.set(id, agent);
    return agent;
  }

  /** Forgets a cached agent, so that the next read sees what was just written. */
  forgetAgent(workspace: number, id: string): void {
    this.#of(workspace).agents.delete(id);
  }

  /** Returns the position of a record in this workspace; undefined if the id does not exist. */
  position(workspace: number, id: string): number | undefined {
    const { positions } = this.#of(workspace);
    const known = positions.get(id);
    if (known !== undefined) return known;
    const found = scalarOf<number>(this.sql.memoryPosition.get(workspace, id));
    if (found !== undefined) positions.set(id, found);
    return found;
  }

  /** Caches the position of a record that was read together with something else. */
  cachePosition(workspace: number, id: string, position: number): void {
    this.#of(workspace).positions.set(id, position);
  }

  /** Whether the workspace has circuit breakers; most never do, and then none has to be looked up. */
  hasBreakers(workspace: number): boolean {
    const seen = this.#of(workspace);
    seen.hasBreakers ??= this.sql.anyEntry.get(workspace, BREAKER) !== undefined;
    return seen.hasBreakers;
  }

  /** Called after a circuit breaker was written. */
  addedBreaker(workspace: number): void {
    this.#of(workspace).hasBreakers = true;
  }

  /** Whether a claim of this transaction found nothing ready in an inbox, and nothing was added since. */
  isKnownEmpty(workspace: number, inbox: string): boolean {
    return this.#of(workspace).emptyInboxes.has(inbox);
  }

  /** Called when nothing in an inbox was ready. */
  markEmpty(workspace: number, inbox: string): void {
    this.#of(workspace).emptyInboxes.add(inbox);
  }

  /** Called after a write that may have made a delivery of the inbox ready. */
  markMaybeReady(workspace: number, inbox: string): void {
    this.#of(workspace).emptyInboxes.delete(inbox);
  }

  /**
   * Returns true the first time in this transaction, so that due retries are made ready once for all claims.
   */
  matureOnce(workspace: number): boolean {
    const seen = this.#of(workspace);
    if (seen.matured) return false;
    seen.matured = true;
    return true;
  }

  /** Called after something was scheduled: it may be due at once, so the next claim has to check again. */
  scheduled(workspace: number): void {
    this.#of(workspace).matured = false;
  }

  /** Wakes the listeners of an agent after the commit. */
  wake(workspace: string, agent: string): void {
    const agents = this.#wakes.get(workspace);
    if (agents === undefined) this.#wakes.set(workspace, new Set([agent]));
    else agents.add(agent);
  }

  /** Yields the agents to wake. */
  *wakes(): Iterable<WakeTarget> {
    for (const [workspace, agents] of this.#wakes) {
      for (const agent of agents) yield { workspace, agent };
    }
  }

  /** Writes the heads and the events, once per transaction however many records and events it added. */
  flush(): void {
    for (const [workspace, seen] of this.#seen) {
      for (const head of seen.heads.values()) {
        if (!head.changed) continue;
        this.sql.moveChain.run(head.seq, head.storedAt, head.link, head.key);
        head.changed = false;
      }
      for (let i = 0; i < seen.events.length; i += EVENTS_PER_ROW) {
        this.#addEvents(workspace, seen.events.slice(i, i + EVENTS_PER_ROW));
      }
      seen.events = [];
    }
  }

  #addEvents(workspace: number, events: readonly NewEvent[]): void {
    const before = this.#event || numberOf(this.sql.lastEvent.get());
    const group = eventGroup(events, { last: before + events.length, at: this.now });
    const { last, at, count, text } = group;
    this.sql.addEventGroup.run(last, workspace, at, count, text, eventGroupSum(workspace, group));
    this.#event = last;
  }

  /** Drops what is cached after a savepoint was rolled back, because it may be outdated. */
  forget(): void {
    this.#seen.clear();
    this.#newest = undefined;
    this.#event = 0;
  }

  #of(workspace: number): WorkspaceCache {
    const known = this.#seen.get(workspace);
    if (known !== undefined) return known;
    const seen: WorkspaceCache = {
      heads: new Map(),
      agents: new Map(),
      positions: new Map(),
      events: [],
      emptyInboxes: new Set(),
      hasBreakers: undefined,
      matured: false,
    };
    this.#seen.set(workspace, seen);
    return seen;
  }
}
