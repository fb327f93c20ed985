/** Searching for secrets takes time in proportion to the input, whatever the input is made of. */
import { describe, expect, it } from "vitest";
import { maskSecrets } from "../../src/envelope/mask-secrets.ts";
import { findSecrets } from "../../src/envelope/secrets.ts";
import { chosenSeed } from "../support/random.ts";
import { costOf, exponentOf } from "./scan-cost/cost.ts";
import { hostileParts, repeated } from "./scan-cost/inputs.ts";

const SEED = chosenSeed();
const [SMALL, LARGE] = [32 * 1024, 256 * 1024];
/** Between linear (1) and quadratic (2). */
const MAX_EXPONENT = 1.6;
/** Ten times what the costliest input takes. */
const MAX_MS = 250;
/** Cheaper inputs cannot block anything, and their time is mostly noise. */
const MIN_MS = 15;

/** Returns what is wrong with the cost of an input, if it is so three times in a row. */
function excessOf(run: (size: number) => () => unknown): string | undefined {
  const [small, large] = [run(SMALL), run(LARGE)];
  let excess: string | undefined;
  for (let round = 0; round < 3; round++) {
    const start = performance.now();
    large();
    if (performance.now() - start < MIN_MS) return undefined;
    const cost = costOf(large);
    const exponent = exponentOf([SMALL, costOf(small)], [LARGE, cost]);
    if (cost < MIN_MS || (exponent <= MAX_EXPONENT && cost <= MAX_MS)) return undefined;
    excess = `${cost.toFixed(0)} ms, exponent ${exponent.toFixed(2)}`;
  }
  return excess;
}

describe("the search for secrets", () => {
  it("costs in proportion to the size of a hostile text [OPS-6]", () => {
    const bad = hostileParts(SEED, 40).flatMap((part) => {
      const excess = excessOf((size) => {
        const text = repeated(part, size);
        return () => findSecrets(text);
      });
      return excess === undefined ? [] : [`${JSON.stringify(part)}: ${excess}`];
    });
    expect(bad, `seed ${SEED}`).toEqual([]);
  });

  it("numbers thousands of keys that are equal once they are masked in one pass [OPS-6]", () => {
    const key = (i: number): string =>
      `gh${"p_"}${String(i).padStart(8, "Zq7mX2vK")}9rT4wB6nL1cD8hF3jS5gP0yAeR3k`;
    const excess = excessOf((size) => {
      const entries = Array.from({ length: size / 32 }, (_, i) => [key(i), i] as const);
      const value = Object.fromEntries(entries);
      return () => maskSecrets(value);
    });
    expect(excess).toBeUndefined();
    const { value } = maskSecrets(
      Object.fromEntries([
        [key(1), 1],
        ["[redacted: GitHub token] 2", 2],
        [key(3), 3],
        [key(4), 4],
      ]),
    );
    expect(value).toEqual({
      "[redacted: GitHub token]": 1,
      "[redacted: GitHub token] 2": 2,
      "[redacted: GitHub token] 3": 3,
      "[redacted: GitHub token] 4": 4,
    });
  });
});
