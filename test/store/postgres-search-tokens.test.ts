/** Lists of positions as the search index on PostgreSQL stores them. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { packPositions, unpackInto } from "../../src/store/postgres/search/search-tokens.ts";
import { chosenSeed } from "../support/random.ts";
import { runs } from "../support/runs.ts";

const LAST = 2 ** 40 - 1;

it("returns packed positions newest first, below a bound and up to a limit [MEM-8]", () => {
  const positions = fc
    .uniqueArray(fc.integer({ min: 1, max: LAST }), { maxLength: 300 })
    .map((list) => list.sort((a, b) => a - b));
  fc.assert(
    fc.property(positions, fc.nat(400), fc.integer({ min: 1, max: LAST }), (list, most, bound) => {
      const before = list[bound % (list.length + 1)] ?? bound;
      const found: number[] = [];
      unpackInto(found, packPositions(list), { before, most });
      expect(found).toEqual(
        list
          .filter((pos) => pos < before)
          .reverse()
          .slice(0, most),
      );
    }),
    { seed: chosenSeed(), numRuns: runs(100) },
  );
});
