/** Counts what a store does, until it is disposed; one implementation for each engine. */
import type { Store } from "../../../src/store/store.ts";
import type { Cost } from "./cost.ts";

export interface Counter extends AsyncDisposable {
  /**
   * Opens a new store, or new workspaces of the same one. `hasTimers`: the store gets no clock, as
   * in a hub that carries out what is due.
   */
  open(hasTimers: boolean): Promise<Store>;
  /** Whether something that was started has not ended yet. */
  isBusy(): boolean;
  /** Returns what was counted since the last call. */
  take(): Promise<Cost>;
}

/** Adds to a number in a map. */
export function add(counts: Map<string, number>, name: string, count = 1): void {
  if (count !== 0) counts.set(name, (counts.get(name) ?? 0) + count);
}

/** Returns the numbers in the order of their names. */
export const sorted = (counts: ReadonlyMap<string, number>): Record<string, number> =>
  Object.fromEntries([...counts].sort(([a], [b]) => (a < b ? -1 : 1)));
