/** A way of handing on: what stands in front of the next agent, and where it can look things up. */
import type { Key, Task } from "./tasks.ts";
import type { Session } from "./work.ts";

/** What everything but a whole prompt may put in front of an agent, in tokens: the same for all. */
export const FRONT_TOKENS = 1_000;

/** What a question may look up: so often, and so much in all. */
export const READS = 3;
export const READ_TOKENS = 1_000;

export interface Way {
  readonly name: string;
  begin(task: Task): Promise<Line>;
}

/** What stands in front of an agent when it starts. */
export interface Given {
  readonly text: string;
  readonly tokens: number;
}

/** One task on its way. */
export interface Line extends AsyncDisposable {
  /** An agent has finished its session and hands on: what the next one is given. */
  pass(session: Session): Promise<Given>;
  /** What the agent at the end finds when it looks for the answer to a question, read by read. */
  look(question: string): Promise<readonly string[]>;
  /** The same by search alone, where there is a search: nothing that is listed or read by id. */
  search?(question: string): Promise<readonly string[]>;
  /** What one plain recall of the question shows, hit by hit: no filter, no option. */
  recall?(question: string): Promise<readonly string[]>;
  /** Why a look did not find what it was for, as far as the way can tell. */
  whyLost?(question: string, key: Key): Promise<string>;
}

/** Of ways that have nothing to look things up in, and nothing to close. */
export class WithoutStore {
  look(): Promise<readonly string[]> {
    return Promise.resolve([]);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve();
  }
}
