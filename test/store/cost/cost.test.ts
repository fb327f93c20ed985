/** The report of a cost that is not its budget. */
import { describe, expect, it } from "vitest";
import { type Cost, differencesOf } from "./cost.ts";

const BUDGET: Cost = {
  rows: { deliveries: 1, event_groups: 1 },
  statements: { accept: 1, addEventGroup: 1, chain: 1 },
  transactions: 1,
  logFrames: 9,
};

describe("differences between a cost and its budget", () => {
  it("are none if all numbers are equal", () => {
    const inAnotherOrder = { ...BUDGET, rows: { event_groups: 1, deliveries: 1 } };
    expect(differencesOf("accept", inAnotherOrder, BUDGET)).toEqual([]);
  });

  it("name each measure, with the tables and statements that changed", () => {
    const cost: Cost = {
      rows: { deliveries: 2, event_groups: 1 },
      statements: { accept: 1, addEventGroup: 1, renew: 1 },
      transactions: 1,
      logFrames: 10,
    };
    expect(differencesOf("accept", cost, BUDGET)).toEqual([
      "accept: 3 row writes, budget 2: deliveries +1",
      "accept: 3 statements, budget 3: renew +1, chain -1",
      "accept: 10 log frames, budget 9",
    ]);
  });
});
