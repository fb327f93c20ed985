/** Expectations that also narrow the type: one outcome of several, one item of a list. */
import { expect } from "vitest";

/** The outcome a test expects, or a failure that shows the one it got. */
export function expectOutcome<Outcome extends { kind: string }, Kind extends Outcome["kind"]>(
  outcome: Outcome,
  kind: Kind,
): Extract<Outcome, { kind: Kind }> {
  expect(outcome).toMatchObject({ kind });
  return outcome as Extract<Outcome, { kind: Kind }>;
}

/** The first of a list that must have one. */
export function expectSingle<Item>(items: readonly Item[]): Item {
  expect(items).toHaveLength(1);
  return items[0] as Item;
}
