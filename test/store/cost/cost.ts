/** What an operation costs in a store, and how two costs differ. */

/** Numbers by name, in any order. */
export type Counts = Readonly<Record<string, number>>;

/** What one operation costs, including the follow-up work that it starts. */
export interface Cost {
  /** Rows that were inserted, updated or deleted, by table; entries by kind. */
  readonly rows: Counts;
  /** Statements that were executed, by name; those about entries by kind. */
  readonly statements: Counts;
  /** Committed transactions. On PostgreSQL a statement outside of one is a transaction too. */
  readonly transactions: number;
  /** SQLite: rows that statements returned. */
  readonly rowsReturned?: number;
  /** SQLite: pages that were appended to the log. */
  readonly logFrames?: number;
  /** PostgreSQL: how often a connection waited for the server. */
  readonly roundTrips?: number;
}

const MAPS = { rows: "row writes", statements: "statements" } as const;
const NUMBERS = {
  transactions: "transactions",
  rowsReturned: "returned rows",
  logFrames: "log frames",
  roundTrips: "round trips",
} as const;

export const sumOf = (counts: Counts): number =>
  Object.values(counts).reduce((sum, count) => sum + count, 0);

/** Returns a line for each measure in which a cost is not its budget. */
export function differencesOf(operation: string, cost: Cost, budget: Cost): string[] {
  const maps = Object.entries(MAPS).flatMap(([key, noun]) =>
    mapDifference(noun, cost[key as keyof typeof MAPS], budget[key as keyof typeof MAPS]),
  );
  const numbers = Object.entries(NUMBERS).flatMap(([key, noun]) =>
    numberDifference(noun, cost[key as keyof typeof NUMBERS], budget[key as keyof typeof NUMBERS]),
  );
  return [...maps, ...numbers].map((difference) => `${operation}: ${difference}`);
}

function mapDifference(noun: string, cost: Counts, budget: Counts): string[] {
  const changes = [...new Set([...Object.keys(cost), ...Object.keys(budget)])].flatMap((name) => {
    const change = (cost[name] ?? 0) - (budget[name] ?? 0);
    return change === 0 ? [] : [`${name} ${change > 0 ? "+" : ""}${change}`];
  });
  if (changes.length === 0) return [];
  return [`${sumOf(cost)} ${noun}, budget ${sumOf(budget)}: ${changes.join(", ")}`];
}

const numberDifference = (noun: string, cost = 0, budget = 0): string[] =>
  cost === budget ? [] : [`${cost} ${noun}, budget ${budget}`];
