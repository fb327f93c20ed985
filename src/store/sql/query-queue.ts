/**
 * Decides whose SQL query runs next, for the processes or connections of one store. A workspace never has all
 * of them, so that its slow queries do not delay those of another; workspaces take turns, and so do the agents
 * of a workspace. The queue of each agent and workspace is bounded: more queries fail at once.
 */
import { BatonError } from "../../base/errors.ts";
import type { RunQuery } from "../sql-query.ts";
import { storeClosed } from "../store-closed.ts";

/** Queries of a store that run at a time, … */
export const MAX_RUNNING = 3;
/** … and those of one workspace. */
const MAX_PER_WORKSPACE = 2;
/** Queries that wait, of one agent (or of all callers without one) and of one workspace. */
const MAX_WAITING_PER_AGENT = 16;
const MAX_WAITING_PER_WORKSPACE = 64;

type Asker = Pick<RunQuery, "workspace"> & {
  readonly sight: { readonly reader: { readonly agent: string } };
};

/** Starts a waiting query, or fails it. */
type Start = (error?: Error) => void;

/** The queries of a workspace. */
interface Line {
  running: number;
  /** Waiting queries by agent, the agent that has waited longest for a turn first. */
  readonly waiting: Map<string, Start[]>;
}

const waitingIn = ({ waiting }: Line): number =>
  [...waiting.values()].reduce((sum, { length }) => sum + length, 0);

/** Runs queries, as many at a time as there are processes or connections. */
export class QueryQueue {
  readonly #store: string;
  /** By workspace, the one that has waited longest for a turn first. */
  readonly #lines = new Map<string, Line>();
  #running = 0;
  #closed = false;

  constructor(store: string) {
    this.#store = store;
  }

  /** Runs a query in its turn. Throws `rate_limited` if too many wait, `store_closed` after `close()`. */
  async run<T>(asker: Asker, act: () => Promise<T>): Promise<T> {
    if (this.#closed) throw storeClosed();
    const { workspace } = asker;
    const line = this.#lines.get(workspace) ?? { running: 0, waiting: new Map() };
    this.#lines.set(workspace, line);
    await this.#turn(line, asker);
    try {
      return await act();
    } finally {
      this.#running -= 1;
      line.running -= 1;
      if (line.running === 0 && line.waiting.size === 0) this.#lines.delete(workspace);
      this.#next();
    }
  }

  /** Rejects the waiting queries. */
  close(): void {
    this.#closed = true;
    for (const { waiting } of this.#lines.values()) {
      for (const start of [...waiting.values()].flat()) start(storeClosed());
      waiting.clear();
    }
  }

  #turn(line: Line, { workspace, sight }: Asker): Promise<void> {
    const { agent } = sight.reader;
    this.#refuseTooMany(line, { workspace, agent });
    return new Promise((resolve, reject) => {
      const start: Start = (error) => (error === undefined ? resolve() : reject(error));
      line.waiting.set(agent, [...(line.waiting.get(agent) ?? []), start]);
      this.#next();
    });
  }

  #refuseTooMany(line: Line, { workspace, agent }: { workspace: string; agent: string }): void {
    const all = waitingIn(line);
    const own = line.waiting.get(agent)?.length ?? 0;
    const isOwn = own >= MAX_WAITING_PER_AGENT;
    if (!isOwn && all < MAX_WAITING_PER_WORKSPACE) return;
    const who = agent === "" ? "callers without an agent" : `agent "${agent}"`;
    throw new BatonError("rate_limited", {
      message: `${isOwn ? own : all} SQL queries of ${isOwn ? who : `workspace "${workspace}"`} are waiting already.`,
      path: this.#store,
      hint: "Wait for the results of earlier queries, then retry.",
      details: { waiting: isOwn ? own : all },
    });
  }

  /** Starts the next query of the workspace that has the fewest running and had its last turn earliest. */
  #next(): void {
    if (this.#running >= MAX_RUNNING) return;
    const [turn] = [...this.#lines]
      .filter(([, { waiting, running }]) => waiting.size > 0 && running < MAX_PER_WORKSPACE)
      .toSorted(([, a], [, b]) => a.running - b.running);
    if (turn === undefined) return;
    const [workspace, line] = turn;
    const [[agent, [start, ...rest]]] = [...line.waiting] as [[string, [Start, ...Start[]]]];
    line.waiting.delete(agent);
    if (rest.length > 0) line.waiting.set(agent, rest); // Behind the others.
    this.#lines.delete(workspace);
    this.#lines.set(workspace, line);
    this.#running += 1;
    line.running += 1;
    start();
  }
}
