/**
 * Keeps decisions in order: what falls due together is decided about concurrently, and some decisions read more
 * than others before they write. Their first writes begin in the order of the due times nevertheless.
 */

/** The place of one decision in the order. */
export interface DecisionTurn {
  /**
   * Calls a function that writes once every earlier decision has begun to write or has ended. Later writes of
   * the same decision begin at once.
   */
  begin<T>(write: () => Promise<T>): Promise<T>;
  /** Lets the next decision write: this one waits for more than reads before it writes. */
  yield(): void;
}

/** Decides about all items concurrently, with writes in their order. Returns the results. */
export function decideInOrder<Item, Result>(
  items: readonly Item[],
  decide: (item: Item, turn: DecisionTurn) => Promise<Result>,
): Promise<Result[]> {
  let earlier: Promise<void> = Promise.resolve();
  return Promise.all(
    items.map((item) => {
      const before = earlier;
      const { promise, resolve: pass } = Promise.withResolvers<void>();
      earlier = before.then(() => promise);
      return decide(item, turnAfter(before, pass)).finally(pass);
    }),
  );
}

function turnAfter(before: Promise<void>, pass: () => void): DecisionTurn {
  let isOver = false;
  const end = (): void => {
    isOver = true;
    pass();
  };
  return {
    async begin(write) {
      if (!isOver) await before;
      const writing = write();
      end();
      return writing;
    },
    yield: end,
  };
}
