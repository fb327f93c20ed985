/** How many secrets are found, and how many harmless texts are redacted, on labelled texts. */
import { describe, expect, it } from "vitest";
import { findSecrets } from "../../src/envelope/secrets.ts";
import { chosenSeed } from "../support/random.ts";
import { runs } from "../support/runs.ts";
import { corpus, type Half, type Mistakes, measure } from "./secret-corpus/corpus.ts";

const SEED = chosenSeed();
const ROUNDS = runs(5);

/** The mistakes of several rounds, each with other random characters. */
function mistakesIn(half: Half): Mistakes {
  const rounds = Array.from({ length: ROUNDS }, (_, i) =>
    measure(corpus(half, SEED + i), findSecrets),
  );
  const sum = (count: (one: Mistakes) => number): number =>
    rounds.reduce((total, one) => total + count(one), 0);
  return {
    secrets: sum(({ secrets }) => secrets),
    missed: rounds.flatMap(({ missed }) => missed),
    harmless: sum(({ harmless }) => harmless),
    redacted: rounds.flatMap(({ redacted }) => redacted),
  };
}

describe("a labelled text", () => {
  it("is one of at least 200 with secrets and 200 without", () => {
    const both = [...corpus("tuned", SEED), ...corpus("held-out", SEED)];
    expect(both.filter(({ secret }) => secret !== undefined).length).toBeGreaterThanOrEqual(200);
    expect(both.filter(({ secret }) => secret === undefined).length).toBeGreaterThanOrEqual(200);
  });

  it.each<Half>(["tuned", "held-out"])(
    "with a secret is found in 95 %, without one redacted in 2 % at most: %s half [OPS-6]",
    (half) => {
      const { secrets, missed, harmless, redacted } = mistakesIn(half);
      const lines = (texts: typeof missed): string =>
        [...new Set(texts.map(({ line }) => line))].join("\n");
      const found = (1 - missed.length / secrets) * 100;
      const wrong = (redacted.length / harmless) * 100;
      console.log(
        `${half}: ${found.toFixed(1)} % of ${secrets / ROUNDS} secrets found, ${wrong.toFixed(1)} % of ${harmless / ROUNDS} harmless texts redacted (seed ${SEED}, ${ROUNDS} rounds)`,
      );
      expect(found, lines(missed)).toBeGreaterThanOrEqual(95);
      expect(wrong, lines(redacted)).toBeLessThanOrEqual(2);
    },
  );
});
