/**
 * What the writes of one transaction share: its time, the chain heads (read once, written once at
 * the end), the authors and positions (looked up once), and whom to wake after the commit.
 *
 * Nothing here outlives the transaction, because another process may have moved the heads in
 * between; only the workspaces' keys do, which never change once they are committed.
 */
import { genesis } from "../chain.ts";
import type { AgentStatus } from "../rows.ts";
import type { ChainPosition, WakeTarget } from "../store.ts";
import { scalarOf } from "./scalar.ts";
import type { Statements } from "./statements.ts";

export interface Head {
  readonly key: number;
  seq: number;
  storedAt: number;
  link: string;
  changed: boolean;
}

export interface KnownAgent {
  readonly status: AgentStatus;
  readonly publicKey: string;
  readonly role: string;
}

/** What was read of one workspace in this transaction. */
interface WorkspaceCache {
  readonly heads: Map<string, Head>;
  readonly agents: Map<string, KnownAgent | undefined>;
  readonly positions: Map<string, number>;
  matured: boolean;
}

export class Transaction {
  readonly now: number;
  readonly sql: Statements;
  /** Workspaces committed before this transaction; shared with the store. */
  readonly #workspaces: Map<string, number>;
  readonly #seen = new Map<number, WorkspaceCache>();
  readonly #wakes = new Map<string, Set<string>>();
  #appended = 0;
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

  /** The integer that stands for a workspace; made on first use. */
  workspace(name: string): number {
    const known = this.#workspaces.get(name);
    if (known !== undefined) return known;
    const stored = scalarOf<number>(this.sql.workspaceKey.get(name));
    if (stored === undefined) {
      this.#newWorkspace = true;
      return Number(this.sql.addWorkspace.run(name).lastInsertRowid);
    }
    // One that this very transaction made could still be rolled back.
    if (!this.#newWorkspace) this.#workspaces.set(name, stored);
    return stored;
  }

  head(workspace: number, name: { workspace: string; branch: string }): Head {
    const { heads } = this.#of(workspace);
    const known = heads.get(name.branch);
    if (known !== undefined) return known;
    this.sql.addChain.run(workspace, name.branch, genesis(name.workspace, name.branch));
    const row = this.sql.chain.get(workspace, name.branch) as unknown;
    const [key, seq, storedAt, link] = row as [number, number, number, string];
    const head = { key, seq, storedAt, link, changed: false };
    heads.set(name.branch, head);
    return head;
  }

  /** Moves a head on. Written to the file by `flush`. */
  appended(head: Head, to: Omit<ChainPosition, "id">): void {
    head.seq = to.seq;
    head.storedAt = to.storedAt;
    head.link = to.link;
    head.changed = true;
    this.#appended++;
  }

  agent(workspace: number, id: string): KnownAgent | undefined {
    const { agents } = this.#of(workspace);
    if (agents.has(id)) return agents.get(id);
    const row = this.sql.agentStatus.get(workspace, id) as unknown;
    const found = row as readonly [AgentStatus, string, string] | undefined;
    const agent = found && { status: found[0], publicKey: found[1], role: found[2] };
    agents.set(id, agent);
    return agent;
  }

  /** The next look-up must see what was just written. */
  forgetAgent(workspace: number, id: string): void {
    this.#of(workspace).agents.delete(id);
  }

  /** Where a record of this workspace is; undefined when there is none with that id. */
  position(workspace: number, id: string): number | undefined {
    const { positions } = this.#of(workspace);
    const known = positions.get(id);
    if (known !== undefined) return known;
    const found = scalarOf<number>(this.sql.memoryPosition.get(workspace, id));
    if (found !== undefined) positions.set(id, found);
    return found;
  }

  /** True the first time in this transaction: what has fallen due is looked for once for all claims. */
  matureOnce(workspace: number): boolean {
    const seen = this.#of(workspace);
    if (seen.matured) return false;
    seen.matured = true;
    return true;
  }

  /** Something was scheduled just now: it may be due at once, so the next claim looks again. */
  scheduled(workspace: number): void {
    this.#of(workspace).matured = false;
  }

  wake(workspace: string, agent: string): void {
    const agents = this.#wakes.get(workspace);
    if (agents === undefined) this.#wakes.set(workspace, new Set([agent]));
    else agents.add(agent);
  }

  *wakes(): Iterable<WakeTarget> {
    for (const [workspace, agents] of this.#wakes) {
      for (const agent of agents) yield { workspace, agent };
    }
  }

  /** Writes the heads: once per transaction, however many records it appended. */
  flush(): void {
    for (const { heads } of this.#seen.values()) {
      for (const head of heads.values()) {
        if (!head.changed) continue;
        this.sql.moveChain.run(head.seq, head.storedAt, head.link, head.key);
        head.changed = false;
      }
    }
  }

  /** After a savepoint was rolled back: what was read since may not be so any more. */
  forget(): void {
    this.#seen.clear();
  }

  #of(workspace: number): WorkspaceCache {
    const known = this.#seen.get(workspace);
    if (known !== undefined) return known;
    const seen = { heads: new Map(), agents: new Map(), positions: new Map(), matured: false };
    this.#seen.set(workspace, seen);
    return seen;
  }
}
