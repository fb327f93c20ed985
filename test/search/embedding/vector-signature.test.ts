/** Tests the 128-bit signatures of vectors, and the scan that finds the nearest ones. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { toUnit } from "../../../src/search/embedding/embedder.ts";
import {
  gaussian,
  hamming,
  nearestSignatures,
  signatureFunctionFor,
} from "../../../src/search/embedding/vector-signature.ts";
import { chosenSeed } from "../../support/random.ts";
import { runs } from "../../support/runs.ts";

const word = fc.nat(2 ** 32 - 1);
const signature = fc.tuple(word, word, word, word).map((words) => Uint32Array.from(words));

/** Counts the differing bits one by one, as a reference. */
function slowDistance(a: Uint32Array, b: Uint32Array): number {
  let distance = 0;
  for (let bit = 0; bit < 128; bit++) {
    const at = (words: Uint32Array) => ((words[bit >> 5] ?? 0) >>> (bit & 31)) & 1;
    if (at(a) !== at(b)) distance++;
  }
  return distance;
}

const block = (signatures: readonly Uint32Array[]): Uint32Array =>
  Uint32Array.from(signatures.flatMap((words) => [...words]));

describe("signatures", () => {
  it("differ by the number of bits that hamming() counts [MEM-8]", () => {
    fc.assert(
      fc.property(signature, signature, (a, b) => {
        expect(hamming(a, b)).toBe(slowDistance(a, b));
      }),
      { seed: chosenSeed(), numRuns: runs(100) },
    );
    const [none, all] = [new Uint32Array(4), new Uint32Array(4).fill(2 ** 32 - 1)];
    expect(hamming(none, all)).toBe(128);
  });

  it("are found nearest first, ties in order, as if sorted [MEM-8]", () => {
    const few = fc.array(signature, { maxLength: 60 });
    fc.assert(
      fc.property(few, signature, fc.integer({ min: 0, max: 70 }), (signatures, query, k) => {
        const sorted = signatures
          .map((words, position) => ({ position, distance: slowDistance(words, query) }))
          .sort((a, b) => a.distance - b.distance || a.position - b.position)
          .map(({ position }) => position);
        expect([...nearestSignatures(block(signatures), query, k)]).toEqual(sorted.slice(0, k));
      }),
      { seed: chosenSeed(), numRuns: runs(100) },
    );
  });

  it("are found up to the limit when all have the same distance [MEM-8]", () => {
    const same = block(Array.from({ length: 10 }, () => Uint32Array.of(1, 2, 3, 4)));
    expect([...nearestSignatures(same, new Uint32Array(4), 3)]).toEqual([0, 1, 2]);
  });
});

describe.each([
  { dimensions: 64, balanced: false },
  { dimensions: 128, balanced: false },
  { dimensions: 768, balanced: false },
  { dimensions: 192, balanced: true },
])("signatures of vectors with $dimensions dimensions", (of) => {
  const random = gaussian(3);
  const sign = signatureFunctionFor(of);
  const make = (): Float32Array => toUnit(Float32Array.from({ length: of.dimensions }, random));
  /** Returns a vector at about the given cosine to another. */
  const beside = (vector: Float32Array, cosine: number): Float32Array => {
    const other = make();
    const across = Math.sqrt(1 - cosine ** 2);
    return toUnit(vector.map((value, d) => cosine * value + across * (other[d] ?? 0)));
  };

  it("distinguish near vectors from far ones [MEM-8]", () => {
    const distances = (cosine: number): number => {
      let sum = 0;
      for (let i = 0; i < 50; i++) {
        const vector = make();
        sum += hamming(sign(vector), sign(beside(vector, cosine)));
      }
      return sum / 50;
    };
    // For random directions, the share of differing bits is the angle divided by 180°.
    for (const cosine of [0.95, 0.7, 0]) {
      expect(distances(cosine)).toBeGreaterThan((Math.acos(cosine) / Math.PI) * 128 - 6);
      expect(distances(cosine)).toBeLessThan((Math.acos(cosine) / Math.PI) * 128 + 6);
    }
  });

  it("are deterministic, and complementary for the negated vector [MEM-8]", () => {
    const vector = make();
    expect(signatureFunctionFor(of)(vector)).toEqual(sign(vector));
    expect(hamming(sign(vector), sign(vector.map((value) => -value)))).toBe(128);
  });
});

it("the signature of a fixed vector does not change between versions [MEM-8]", () => {
  const random = gaussian(11);
  const vector = toUnit(Float32Array.from({ length: 256 }, random));
  const hex = [...signatureFunctionFor({ dimensions: 256, balanced: false })(vector)]
    .map((words) => words.toString(16).padStart(8, "0"))
    .join(" ");
  expect(hex).toMatchInlineSnapshot(`"01eb6030 0e713aa2 6fc25b64 fff3f0ad"`);
});
