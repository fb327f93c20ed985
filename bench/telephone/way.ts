/** A way of handing off: what the next agent gets as context, and where it can look things up. */
import type { Key, Task } from "./tasks.ts";
import type { Session } from "./work.ts";

/** Token budget of an agent's context, the same for every way except prompt passing. */
export const FRONT_TOKENS = 1_000;

/** Limits per question: number of reads, and tokens in total. */
export const READS = 3;
export const READ_TOKENS = 1_000;

export interface Way {
  readonly name: string;
  begin(task: Task): Promise<Line>;
}

/** The context that an agent starts with. */
export interface Given {
  readonly text: string;
  readonly tokens: number;
}

/** One task that is passed along a line of agents. */
export interface Line extends AsyncDisposable {
  /** Hands off after a session. Returns the context of the next agent. */
  pass(session: Session): Promise<Given>;
  /** Reads what may answer a question of the current agent. Returns the text of each read. */
  look(question: string): Promise<readonly string[]>;
  /** Answers a question by search alone, if the way has one: no lists, no reads by id. */
  search?(question: string): Promise<readonly string[]>;
  /** Returns the hits of one plain recall of the question, without filters or options. */
  recall?(question: string): Promise<readonly string[]>;
  /** Returns why a lookup did not find the answer, if the way can determine it. */
  whyLost?(question: string, key: Key): Promise<string>;
}

/** Base of the ways without a store: nothing to look up, nothing to close. */
export class WithoutStore {
  look(): Promise<readonly string[]> {
    return Promise.resolve([]);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve();
  }
}
