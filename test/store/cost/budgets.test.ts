/**
 * Holds what each operation costs to its budget (budgets.ts), exactly: a change of a
 * cost has to change the table, where a reviewer sees it.
 *
 * To regenerate the table: BATON_UPDATE_BUDGETS=1 npm test -- store/cost, then npm run fix.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { EMBEDDED_STORES } from "../../support/hub/support.ts";
import { BUDGETS } from "./budgets.ts";
import { type Cost, differencesOf, sumOf } from "./cost.ts";
import { costOfKinds, FEATURES, kindsOf } from "./features.ts";
import { type MeasuredStore, measure } from "./measure.ts";
import { writeBudgets } from "./write-budgets.ts";

const STORES = (["sqlite", "postgres"] as const).filter((name) => EMBEDDED_STORES.includes(name));
const isUpdate = process.env["BATON_UPDATE_BUDGETS"] === "1";
const measured: { [Name in MeasuredStore]?: Readonly<Record<string, Cost>> } = {};

if (isUpdate) afterAll(() => writeBudgets({ ...BUDGETS, ...measured }));

describe.each(STORES)("costs on %s", (store) => {
  const budgets = BUDGETS[store];
  let costs: Readonly<Record<string, Cost>> = {};

  beforeAll(async () => {
    costs = await measure(store);
    measured[store] = costs;
  });

  const costOf = (operation: string): Cost => {
    const cost = costs[operation];
    if (cost === undefined) throw new Error(`no script counts "${operation}" (operations.ts)`);
    return cost;
  };

  it("has a budget for each operation", () => {
    if (!isUpdate) expect(Object.keys(budgets).sort()).toEqual(Object.keys(costs).sort());
  });

  it.each(Object.entries(budgets))("%s costs its budget", (operation, budget) => {
    if (!isUpdate) expect(differencesOf(operation, costOf(operation), budget)).toEqual([]);
  });

  it("a plain cycle costs as much as its four operations", () => {
    const steps = ["send a handoff", "claim an offer", "accept an offer", "complete"].map(costOf);
    const totalsOf = ({ rows, statements, transactions }: Cost) => [
      sumOf(rows),
      sumOf(statements),
      transactions,
    ];
    const sums = steps.map(totalsOf).reduce((one, other) => one.map((n, i) => n + (other[i] ?? 0)));
    expect(totalsOf(costOf("plain cycle"))).toEqual(sums);
  });

  it.each(Object.entries(FEATURES))(
    "a plain cycle touches no more of %s than its budget",
    (feature, { kinds, inPlainCycle }) => {
      const cost = costOfKinds(costOf("plain cycle"), kinds);
      expect({ [feature]: cost }).toEqual({ [feature]: inPlainCycle?.[store] ?? {} });
    },
  );

  it("each kind of entry belongs to a feature", () => {
    const known = Object.values(FEATURES).flatMap(({ kinds }) => kinds);
    const touched = Object.values(costs).flatMap(kindsOf);
    expect(touched.filter((kind) => !known.includes(kind))).toEqual([]);
  });
});
