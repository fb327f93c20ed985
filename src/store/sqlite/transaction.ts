/**
 * What the writes of one transaction share: its time, the chain heads (read once, written once at
 * the end), the authors (looked up once), and whom to wake after the commit.
 *
 * Nothing here outlives the transaction: another process may have moved the heads in between.
 */
import { genesis } from "../chain.ts";
import type { AgentStatus } from "../rows.ts";
import type { Wake } from "../store.ts";
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
}

export class Transaction {
  readonly now: number;
  readonly sql: Statements;
  readonly #workspaces = new Map<string, number>();
  /** By workspace key, then branch. */
  readonly #heads = new Map<number, Map<string, Head>>();
  /** By workspace key, then agent. */
  readonly #agents = new Map<number, Map<string, KnownAgent | undefined>>();
  readonly #wakes = new Map<string, Set<string>>();
  readonly #swept = new Set<number>();
  appended = 0;

  constructor(sql: Statements, now: number) {
    this.sql = sql;
    this.now = now;
  }

  /** The integer that stands for a workspace; made on first use. */
  workspace(name: string): number {
    let key = this.#workspaces.get(name);
    if (key === undefined) {
      this.sql.addWorkspace.run(name);
      key = (this.sql.workspaceKey.get(name) as { key: number }).key;
      this.#workspaces.set(name, key);
    }
    return key;
  }

  head(workspace: number, name: { workspace: string; branch: string }): Head {
    const heads = within(this.#heads, workspace);
    let head = heads.get(name.branch);
    if (head === undefined) {
      this.sql.addChain.run(workspace, name.branch, genesis(name.workspace, name.branch));
      const row = this.sql.chain.get(workspace, name.branch) as unknown as Omit<Head, "changed">;
      head = { ...row, changed: false };
      heads.set(name.branch, head);
    }
    return head;
  }

  agent(workspace: number, id: string): KnownAgent | undefined {
    const agents = within(this.#agents, workspace);
    if (!agents.has(id)) {
      agents.set(id, this.sql.agentStatus.get(workspace, id) as unknown as KnownAgent | undefined);
    }
    return agents.get(id);
  }

  /** True the first time in this transaction: expired leases are swept once for all claims. */
  sweepOnce(workspace: number): boolean {
    if (this.#swept.has(workspace)) return false;
    this.#swept.add(workspace);
    return true;
  }

  wake(workspace: string, agent: string): void {
    const agents = this.#wakes.get(workspace);
    if (agents === undefined) this.#wakes.set(workspace, new Set([agent]));
    else agents.add(agent);
  }

  *wakes(): Iterable<Wake> {
    for (const [workspace, agents] of this.#wakes) {
      for (const agent of agents) yield { workspace, agent };
    }
  }

  /** Writes the heads: once per transaction, however many records it appended. */
  flush(): void {
    for (const heads of this.#heads.values()) {
      for (const head of heads.values()) {
        if (!head.changed) continue;
        this.sql.moveChain.run(head.seq, head.storedAt, head.link, head.key);
        head.changed = false;
      }
    }
  }

  /** After a savepoint was rolled back: what was read since may not be so any more. */
  forget(): void {
    this.#workspaces.clear();
    this.#heads.clear();
    this.#agents.clear();
    this.#swept.clear();
  }
}

function within<Key, Inner, Value>(
  outer: Map<Key, Map<Inner, Value>>,
  key: Key,
): Map<Inner, Value> {
  let inner = outer.get(key);
  if (inner === undefined) {
    inner = new Map();
    outer.set(key, inner);
  }
  return inner;
}
