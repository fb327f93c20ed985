/** Expectations that also narrow the type: one kind of outcome, the only item of a list. */
import { expect } from "vitest";

/** Expects this kind of outcome and returns it. */
export function expectOutcome<Outcome extends { kind: string }, Kind extends Outcome["kind"]>(
  outcome: Outcome,
  kind: Kind,
): Extract<Outcome, { kind: Kind }> {
  expect(outcome).toMatchObject({ kind });
  return outcome as Extract<Outcome, { kind: Kind }>;
}

/** Expects exactly one item and returns it. */
export function expectSingle<Item>(items: readonly Item[]): Item {
  expect(items).toHaveLength(1);
  return items[0] as Item;
}
