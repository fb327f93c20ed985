/**
 * `npm run test:cost -- [--seed n] [--mixtures n] [--largest bytes]`: searches hostile inputs of growing size for
 * secrets and reports how the cost grows. Fails if an input grows faster than linear, or costs more per
 * kilobyte than any input should.
 */
import { parseArgs } from "node:util";
import { maskSecrets } from "../../../src/envelope/mask-secrets.ts";
import { findSecrets } from "../../../src/envelope/secrets.ts";
import { chosenSeed } from "../../support/random.ts";
import { costOf, exponentOf } from "./cost.ts";
import { hostileParts, repeated } from "./inputs.ts";

const { values } = parseArgs({
  options: {
    seed: { type: "string" },
    mixtures: { type: "string", default: "500" },
    largest: { type: "string", default: String(4 * 1024 * 1024) },
  },
});
const seed = chosenSeed(values.seed);
const largest = Number(values.largest);
const sizes = [largest / 64, largest / 16, largest / 4, largest];

/** Growth above linear; it is measured twice to rule out chance. */
const MAX_EXPONENT = 1.5;
const MAX_US_PER_KB = 1_000;

interface Growth {
  readonly part: string;
  readonly costs: readonly number[];
  readonly exponent: number;
}

const growthOf = (part: string, run: (size: number) => () => unknown): Growth => {
  const costs = sizes.map((size) => costOf(run(size)));
  const [small = 0, large = 0] = costs.slice(-2);
  return { part, costs, exponent: exponentOf([1, small], [4, large]) };
};

/** Searches a text. */
const inText = (part: string): Growth =>
  growthOf(part, (size) => {
    const text = repeated(part, size);
    return () => findSecrets(text);
  });

/** Masks an object whose keys are all secrets, and equal once they are masked. */
const inKeys = growthOf("keys that are secrets", (size) => {
  const key = (i: number): string =>
    `gh${"p_"}${String(i).padStart(8, "Zq7mX2vK")}9rT4wB6nL1cD8hF3jS5gP0yAeR3k`;
  const value = Object.fromEntries(Array.from({ length: size / 64 }, (_, i) => [key(i), i]));
  return () => maskSecrets(value);
});

const isBad = ({ costs, exponent }: Growth): boolean => {
  const perKb = ((costs.at(-1) ?? 0) * 1_000) / (largest / 1024);
  return (exponent > MAX_EXPONENT && (costs.at(-1) ?? 0) > 50) || perKb > MAX_US_PER_KB;
};

const all = [inKeys, ...hostileParts(seed, Number(values.mixtures)).map(inText)];
// A bad result is measured again: a busy machine can disturb one measurement.
const bad = all.filter(isBad).filter(({ part }) => part === inKeys.part || isBad(inText(part)));
const costliest = all
  .toSorted((a, b) => (b.costs.at(-1) ?? 0) - (a.costs.at(-1) ?? 0))
  .slice(0, 10);

console.log(
  `Seed ${seed}: ${all.length} inputs of ${sizes.map((size) => `${size / 1024} KB`).join(", ")}.`,
);
console.log("The costliest (ms per size, exponent of the growth):");
for (const { part, costs, exponent } of costliest) {
  const shown = costs.map((cost) => cost.toFixed(1).padStart(8)).join("");
  console.log(`${shown}  ${exponent.toFixed(2)}  ${JSON.stringify(part)}`);
}
for (const { part } of bad) console.log(`Not linear, or too slow: ${JSON.stringify(part)}`);
process.exitCode = bad.length === 0 ? 0 : 1;
