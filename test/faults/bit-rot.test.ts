/** Bit rot in its short form; `npm run bitrot` is the long one. */
import { describe, expect, it } from "vitest";
import { chosenSeed } from "../support/random.ts";
import { runs } from "../support/runs.ts";
import { bitRotRun } from "./bit-rot-run.ts";

const seed = chosenSeed();

describe(`verify after a flipped bit in a live page (BATON_SEED=${seed})`, () => {
  it("reports every flip that changes what is stored or what an index finds [MEM-1]", async () => {
    const { changed, missed } = await bitRotRun({ flips: runs(40), seed });
    expect(missed).toEqual([]);
    expect(changed).toBeGreaterThan(0);
  });
});
