/** Tests the bundled word vectors: the integrity of the file, text vectors and neighbours. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { Worker } from "node:worker_threads";
import { describe, expect, it } from "vitest";
import { isBatonError } from "../../../src/base/errors.ts";
import { digestedPart, readWordFile } from "../../../src/search/embedding/word-file.ts";
import {
  bundledWordVectors,
  neighboursOf,
  WordVectors,
} from "../../../src/search/embedding/word-vectors.ts";

const file = new URL("../../../src/search/embedding/words.bin", import.meta.url);
const words = bundledWordVectors();

function likeness(a: string, b: string): number {
  const [x, y] = [words.vectorOf(a), words.vectorOf(b)];
  return x.reduce((sum, value, d) => sum + value * (y[d] ?? 0), 0);
}

describe("the word vector file", () => {
  const bytes = readFileSync(file);

  it("matches its recorded checksum and is at most 15 MB [MEM-8]", () => {
    const [recorded] = readFileSync(new URL("words.bin.sha256", file), "utf8").split(" ");
    expect(createHash("sha256").update(bytes).digest("hex")).toBe(recorded);
    expect(bytes.length).toBeLessThanOrEqual(15_000_000);
  });

  it("derives the model name from its content [MEM-8]", () => {
    const digest = createHash("sha256").update(digestedPart(bytes)).digest("hex");
    expect(words.model).toBe(`words-1-${digest.slice(0, 8)}`);
  });

  it("finds every word it contains, and no others [MEM-8]", () => {
    const { starts, text, words: count } = readWordFile(words.data);
    const all = Buffer.from(text).toString("ascii");
    let found = 0;
    for (let i = 0; i < count; i++) {
      const word = all.slice(starts[i], starts[i + 1]);
      if (words.has(word)) found++;
      expect(words.has(`${word}qx`)).toBe(false);
    }
    expect(found).toBe(count);
    expect(count).toBe(60_000);
  });

  it("is refused with a hint when it is damaged [MEM-8]", () => {
    const whole = Uint8Array.from(bytes);
    const otherKind = Uint8Array.from(bytes);
    otherKind[0] = 0;
    for (const damaged of [new Uint8Array(), whole.slice(0, 40), whole.slice(0, -4), otherKind]) {
      let thrown: unknown;
      try {
        new WordVectors(damaged.buffer);
      } catch (error) {
        thrown = error;
      }
      expect(isBatonError(thrown) && thrown.code).toBe("embedder_invalid");
      expect(isBatonError(thrown) && thrown.hint).toContain("Reinstall");
    }
  });

  it("is read once, and can be shared with a worker thread [MEM-8]", async () => {
    expect(bundledWordVectors()).toBe(words);
    expect(words.data).toBeInstanceOf(SharedArrayBuffer);
    const code = `
      const { parentPort, workerData } = require("node:worker_threads");
      import(workerData.module).then(({ WordVectors }) => {
        const words = new WordVectors(workerData.data);
        parentPort.postMessage([words.model, words.vectorOf("a rainy day")]);
      });`;
    const module = new URL("../../../src/search/embedding/word-vectors.ts", import.meta.url).href;
    const worker = new Worker(code, { eval: true, workerData: { module, data: words.data } });
    const [model, vector] = await new Promise<[string, Float32Array]>((resolve, reject) => {
      worker.once("message", resolve);
      worker.once("error", reject);
    });
    await worker.terminate();
    expect(model).toBe(words.model);
    expect(vector).toEqual(words.vectorOf("a rainy day"));
  });
});

describe("the vector of a text", () => {
  it("has length 1 and is deterministic [MEM-8]", async () => {
    const texts = ["We moved the cache to Redis.", "Anna adopted two cats", "fix"];
    const vectors = await words.embed(texts);
    for (const [i, vector] of vectors.entries()) {
      expect(vector).toHaveLength(words.dimensions);
      expect(Math.hypot(...vector)).toBeCloseTo(1, 5);
      expect(words.vectorOf(texts[i] ?? "")).toEqual(vector);
    }
  });

  it.each(["", "  ", "4711", "日本語のテキスト", "xqzzyv", "— … !", "\u0000"])(
    "is zero for %j, which contains no known word [MEM-8]",
    (text) => {
      expect(words.vectorOf(text).every((value) => value === 0)).toBe(true);
    },
  );

  const same: readonly (readonly [string, string])[] = [
    ["validateToken", "validate token"],
    ["JWT_SECRET", "jwt secret"],
    ["HTTPServer", "http server"],
    ["parseJSONBody", "parse json body"],
    ["src/auth/login-page.tsx", "src auth login page tsx"],
    ["retry2Times", "retry times"],
    ["Café", "cafe"],
    ["DATABASE", "database"],
    ["Anna’s naïve idea", "anna s naive idea"],
  ];
  it.each(same)("is the same for %j and %j: identifiers are split [MEM-8]", (written, plain) => {
    expect(words.vectorOf(written)).toEqual(words.vectorOf(plain));
    expect(words.vectorOf(plain).some((value) => value !== 0)).toBe(true);
  });

  const triples: readonly (readonly [string, string, string])[] = [
    ["the user cannot log in", "authentication fails for some accounts", "the garden needs water"],
    ["Which pets does Anna have?", "She adopted two cats and a puppy.", "He repaired the roof."],
    ["where does he work", "his new job at the office", "the cake tasted sweet"],
    ["we store sessions in redis", "the cache holds the login state", "the train leaves at noon"],
    ["deploy to kubernetes failed", "the container release had an error", "a song by the choir"],
    ["money for the trip", "the travel budget", "the compiler warning"],
    ["refactor the parser", "rewrite the syntax analysis code", "buy flowers for mother"],
    ["she was ill last week", "the doctor said she had a fever", "the stadium was full"],
    ["jwt expired", "the authentication token is no longer valid", "the river was frozen"],
    ["rollback the migration", "undo the database schema change", "play the violin"],
    ["her favourite food", "she loves to eat pasta", "the engine is loud"],
    ["flaky test in CI", "the build sometimes fails for no reason", "a painting of a lake"],
  ];
  it.each(triples)("places %j nearer to %j than to %j [MEM-8]", (text, near, far) => {
    expect(likeness(text, near)).toBeGreaterThan(likeness(text, far) + 0.1);
  });

  it("hardly depends on stop words [MEM-8]", () => {
    expect(likeness("the deployment of the service", "deployment service")).toBeGreaterThan(0.95);
  });
});

describe("the neighbours of a word", () => {
  it("are similar in meaning, nearest first, without forms of the word [MEM-8]", () => {
    const near = neighboursOf("pets");
    const found = near.map(({ word }) => word);
    expect(found).toEqual(expect.arrayContaining(["cats", "dogs"]));
    expect(found).not.toContain("pet");
    const similarities = near.map(({ similarity }) => similarity);
    expect(similarities).toEqual([...similarities].sort((a, b) => b - a));
    expect(Math.min(...similarities)).toBeGreaterThan(0.39);
    expect(Math.max(...similarities)).toBeLessThan(1);
  });

  it("have the similarity of their vectors [MEM-8]", () => {
    for (const { word, similarity } of neighboursOf("doctor")) {
      expect(Math.abs(likeness("doctor", word) - similarity)).toBeLessThan(0.02);
    }
  });

  it("are empty for an unknown word or a stop word [MEM-8]", () => {
    for (const word of ["xqzzyv", "", "the", "two words"]) expect(neighboursOf(word)).toEqual([]);
  });

  it("do not depend on capitalization [MEM-8]", () => {
    expect(neighboursOf("Doctor")).toEqual(neighboursOf("doctor"));
    expect(neighboursOf("doctor")).not.toEqual([]);
  });
});
