/**
 * A store as one process sees it that can die: at once, or right after one of its next operations, whose
 * answer it then never gets. Everybody else on the same store goes on.
 */
import { BatonError, type Store } from "../../src/index.ts";

export interface MortalStore {
  readonly store: Store;
  readonly isDead: boolean;
  /** Dies after so many more operations; 0: now. */
  dieIn(operations: number): void;
}

export function mortalStore(lasting: Store): MortalStore {
  const { name: called } = lasting;
  let behind: Store | undefined = lasting;
  let left = Number.POSITIVE_INFINITY;
  const die = (): void => {
    behind = undefined; // Timers of the dead keep nothing else alive.
  };
  const call = async (name: keyof Store, given: unknown[]): Promise<unknown> => {
    if (behind === undefined) throw died();
    const operation = behind[name] as (...args: unknown[]) => Promise<unknown>;
    left--;
    const answer = operation.apply(behind, given);
    if (left <= 0) die();
    const answered = await answer;
    if (behind === undefined) throw died(); // What it did is stored, and it never hears of that.
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
