/**
 * A store for a process that can die: at once, or right after one of its next operations, whose
 * result it then never gets. Other processes on the same store are not affected.
 */
import { BatonError, type Store } from "../../src/index.ts";

export interface MortalStore {
  readonly store: Store;
  readonly isDead: boolean;
  /** Dies after this many more operations; 0: at once. */
  dieIn(operations: number): void;
}

export function mortalStore(lasting: Store): MortalStore {
  const { name: called } = lasting;
  let behind: Store | undefined = lasting;
  let left = Number.POSITIVE_INFINITY;
  const die = (): void => {
    behind = undefined; // Timers of a dead process must not keep the store in memory.
  };
  const call = async (name: keyof Store, given: unknown[]): Promise<unknown> => {
    if (behind === undefined) throw died();
    const operation = behind[name] as (...args: unknown[]) => Promise<unknown>;
    left--;
    const answer = operation.apply(behind, given);
    if (left <= 0) die();
    const answered = await answer;
    if (behind === undefined) throw died(); // It was stored; the result is lost.
    return answered;
  };
  const store = new Proxy({} as Store, {
    get(_, name: keyof Store) {
      switch (name) {
        case "name":
          return called;
        case "close":
          return async () => die();
        case "onWake":
          return (...given: Parameters<Store["onWake"]>) => behind?.onWake(...given) ?? (() => {});
        default:
          return (...given: unknown[]) => call(name, given);
      }
    },
  });
  return {
    store,
    get isDead() {
      return behind === undefined;
    },
    dieIn(operations) {
      left = operations;
      if (operations <= 0) die();
    },
  };
}

const died = (): BatonError =>
  new BatonError("store_closed", { message: "Its process died.", hint: "Begin another." });
