/** Tests the quantization of vectors to bytes, and its precision. */
import { describe, expect, it } from "vitest";
import { toUnit } from "../../../src/search/embedding/embedder.ts";
import { cosine, dequantise, quantise } from "../../../src/search/embedding/quantise.ts";
import { gaussian } from "../../../src/search/embedding/vector-signature.ts";

const random = gaussian(7);
const randomVector = (dimensions: number): Float32Array =>
  toUnit(Float32Array.from({ length: dimensions }, random));
const exact = (a: Float32Array, b: Float32Array): number =>
  a.reduce((sum, value, d) => sum + value * (b[d] ?? 0), 0);

describe("a vector stored as bytes", () => {
  it("takes one byte per dimension and four for its scale [MEM-8]", () => {
    expect(quantise(randomVector(192))).toHaveLength(196);
  });

  it("keeps its cosine with other vectors within 0.02 [MEM-8]", () => {
    for (let i = 0; i < 200; i++) {
      const [a, b] = [randomVector(192), randomVector(192)];
      expect(Math.abs(cosine(quantise(a), quantise(b)) - exact(a, b))).toBeLessThan(0.02);
    }
  });

  it("has cosine 1 with itself and -1 with its negation [MEM-8]", () => {
    const a = randomVector(64);
    expect(cosine(quantise(a), quantise(a))).toBeCloseTo(1, 6);
    expect(cosine(quantise(a), quantise(a.map((value) => -value)))).toBeCloseTo(-1, 6);
  });

  it("does not depend on the length of the vector [MEM-8]", () => {
    const a = randomVector(64);
    expect(quantise(a.map((value) => value * 1_000))).toEqual(quantise(a));
  });

  it("is restored almost exactly, with length 1 [MEM-8]", () => {
    const a = randomVector(192);
    const back = dequantise(quantise(a));
    expect(exact(back, back)).toBeCloseTo(1, 5);
    expect(exact(a, back)).toBeGreaterThan(0.999);
  });

  it("has cosine 0 with another vector when it is zero [MEM-8]", () => {
    const zero = quantise(new Float32Array(64));
    expect(cosine(zero, quantise(randomVector(64)))).toBe(0);
    expect([...dequantise(zero)].every((value) => value === 0)).toBe(true);
  });

  it("can be read at an unaligned offset of a larger buffer [MEM-8]", () => {
    const [a, b] = [quantise(randomVector(64)), quantise(randomVector(64))];
    const larger = new Uint8Array(a.length + 3);
    larger.set(a, 3);
    expect(cosine(larger.subarray(3), b)).toBe(cosine(a, b));
    expect(dequantise(larger.subarray(3))).toEqual(dequantise(a));
  });

  it("refuses other dimensions, and values that are not finite [MEM-8]", () => {
    expect(() => cosine(quantise(randomVector(64)), quantise(randomVector(65)))).toThrow();
    expect(() => quantise(Float32Array.of(1, Number.NaN))).toThrow("finite");
    expect(() => quantise(Float32Array.of(1, Number.POSITIVE_INFINITY))).toThrow("finite");
  });
});
