/**
 * The features that keep their data in entries, with the kinds of their entries, and what each
 * costs a plain cycle, in which only the ledger and the detection of repeats do something. All
 * others must cost nothing, or what is stated here. Lint and metrics keep nothing per handoff: the
 * rules of lint are one entry that a hub reads once a second, metrics are numbers in memory.
 */
import type { Cost, Counts } from "./cost.ts";
import type { MeasuredStore } from "./measure.ts";

export interface Feature {
  readonly kinds: readonly string[];
  /** Statements and row writes in a plain cycle, by name. Default: none. */
  readonly inPlainCycle?: Readonly<Record<MeasuredStore, Counts>>;
}

export const FEATURES: Readonly<Record<string, Feature>> = {
  ledger: {
    kinds: ["ledger"],
    inPlainCycle: {
      sqlite: { "entry ledger": 2, "putEntry ledger": 1, "rows of ledger": 1 },
      postgres: { "entry ledger": 1, "rows of ledger": 1 },
    },
  },
  "repeat detection": {
    kinds: ["work"],
    inPlainCycle: {
      sqlite: { "entry work": 1, "putEntry work": 1, "rows of work": 1 },
      postgres: { "rows of work": 1 },
    },
  },
  breakers: {
    kinds: ["breaker"],
    inPlainCycle: { sqlite: { "anyEntry breaker": 2 }, postgres: {} },
  },
  "idempotency keys": { kinds: ["key"] },
  routes: { kinds: ["route"] },
  channels: { kinds: ["channel", "subscription"] },
  lint: { kinds: ["lint"] },
  "payload types": { kinds: ["payload-schema"] },
  settings: { kinds: ["setting"] },
  "failure coordination": {
    kinds: ["coordinator", "failure", "failure-rule", "decision"],
  },
  "task queue": { kinds: ["task", "subtask", "dependent", "task-order"] },
  reservations: { kinds: ["reservation"] },
  "shared context": {
    kinds: [
      ...["context", "context-retired", "context-change", "context-version"],
      "context-adopted",
    ],
  },
  quarantine: { kinds: ["quarantine"] },
  branches: { kinds: ["branch", "closed"] },
  "role profiles": { kinds: ["profile"] },
  effects: { kinds: ["once"] },
  retention: { kinds: ["retention"] },
  tokens: { kinds: ["token"] },
  "strict writers": { kinds: ["strict"] },
  "due turns": { kinds: ["due-turn"] },
};

/** What an operation does with entries of one kind. */
interface EntryCost {
  readonly kind: string;
  readonly name: string;
  readonly count: number;
}

/** The names of statements about entries, and of their rows, end with the kind. */
const STATEMENT = /^(?:anyEntry|entry|entries|entriesFrom|putEntry|dropEntry) (?<kind>[\w-]+)/;
const ROWS = /^entries (?<kind>[\w-]+)/;

function entryCosts({ rows, statements }: Cost): EntryCost[] {
  const executed = Object.entries(statements).flatMap(([name, count]) => {
    const kind = STATEMENT.exec(name)?.groups?.["kind"];
    return kind === undefined ? [] : [{ kind, name, count }];
  });
  const written = Object.entries(rows).flatMap(([table, count]) => {
    const kind = ROWS.exec(table)?.groups?.["kind"];
    return kind === undefined ? [] : [{ kind, name: `rows of ${kind}`, count }];
  });
  return [...executed, ...written];
}

/** Returns the kinds of entries that an operation reads or writes. */
export const kindsOf = (cost: Cost): string[] => entryCosts(cost).map(({ kind }) => kind);

/** Returns what an operation costs in statements and rows about these kinds of entries. */
export const costOfKinds = (cost: Cost, kinds: readonly string[]): Counts =>
  Object.fromEntries(
    entryCosts(cost).flatMap(({ kind, name, count }) =>
      kinds.includes(kind) ? [[name, count] as const] : [],
    ),
  );
