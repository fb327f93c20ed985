/**
 * Stores vectors by model, finds records that have none yet, and searches by meaning. Every vector is
 * stored as bytes with its signature (search/embedding/). If the server has pgvector, an index finds the
 * nearest (hnsw-table.ts), otherwise a scan of the signatures does (signature-cache.ts). The similarity of
 * what was found is computed from the bytes.
 */
import { strict as assert } from "node:assert";
import { cosine, type QuantisedVector, quantise } from "../../../search/embedding/quantise.ts";
import type { SimilarRecord } from "../../../search/ranking-sources.ts";
import { memoryOf } from "../../codecs.ts";
import {
  embeddableRecordOf,
  type FindUnembedded,
  type ModelState,
  type PutVectors,
  type QueryVector,
  type SearchResult,
  type UnembeddedSlice,
  unembeddedRecordOf,
} from "../../search.ts";
import { withEnvelopeTexts } from "../envelope-texts.ts";
import type { StatementRunner } from "../lines.ts";
import {
  extensionSchema,
  HnswTable,
  type IndexKind,
  indexKindFor,
  MAX_DIMENSIONS,
} from "./hnsw-table.ts";
import type { SignatureCache } from "./signature-cache.ts";

/** Up to this number, all vectors are compared exactly. */
const EXACT_CANDIDATES = 1_000;

interface Model {
  readonly key: number;
  readonly dimensions: number;
  /** Position up to which records have vectors. */
  readonly done: number;
  readonly revision: number;
  readonly kind: IndexKind;
}

async function modelOf(
  { sql, read }: StatementRunner,
  workspace: string,
  name: string,
): Promise<Model | undefined> {
  const [row] = await read(sql.model, [workspace, name]);
  if (row === undefined) return undefined;
  const [key, dimensions, done, revision, kind] = row as [
    ...[key: number, dimensions: number, done: number, revision: number],
    kind: IndexKind,
  ];
  return { key, dimensions, done, revision, kind };
}

/** Returns the model's index, if both the extension and the table exist. */
async function tableOf(
  { sql, read }: StatementRunner,
  { key, kind }: Model,
): Promise<{ table: HnswTable; home: string } | undefined> {
  if (kind === "signatures") return undefined;
  const [row] = await read(sql.schemaOfVectors, [key]);
  const [schema, isThere] = row as [string, boolean];
  const home = isThere ? await extensionSchema(read) : undefined;
  return home === undefined
    ? undefined
    : { table: new HnswTable(read, { schema, key, kind }), home };
}

// Writing

/** Returns the next records that a model has not embedded yet. */
export async function findUnembedded(
  reader: StatementRunner,
  { workspace, model, limit }: FindUnembedded,
): Promise<UnembeddedSlice> {
  const { sql, read } = reader;
  const { done } = (await modelOf(reader, workspace, model)) ?? { done: 0 };
  const rows = (await read(sql.memoriesAfter, [workspace, done, limit])).map(memoryOf);
  const sealed = await withEnvelopeTexts(rows, (ids) => read(sql.envelopeTexts, [workspace, ids]));
  const [state] = await read(sql.searchState, [workspace, 0]);
  return {
    records: sealed.flatMap((row) => unembeddedRecordOf(row) ?? []),
    upTo: rows.at(-1)?.pos ?? done,
    more: rows.length === limit,
    done,
    total: (state?.[1] as number | undefined) ?? 0,
  };
}

/** Writes vectors. Runs in the caller's transaction, one at a time per workspace. */
export async function putVectors(reader: StatementRunner, operation: PutVectors): Promise<void> {
  const { sql, read } = reader;
  const { workspace, model: name, dimensions, upTo } = operation;
  await read(sql.vectorsLock, [workspace]);
  if ((await read(sql.workspaceKey, [workspace])).length === 0) return;
  const model = (await modelOf(reader, workspace, name)) ?? (await makeModel(reader, operation));
  assert.equal(dimensions, model.dimensions, `the number of dimensions of ${name} has changed`);
  const vectors = await keepEmbeddable(reader, operation);
  const positions = vectors.map(({ pos }) => pos);
  const [last] = (await read(sql.lastVector, [workspace, name]))[0] as [number];
  const replaced = positions.some((pos) => pos <= last) ? 1 : 0;
  await read(sql.addVectors, [
    ...[workspace, name, positions],
    vectors.map(({ signature }) => bytesOf(signature)),
    vectors.map(({ vector }) => Buffer.from(quantise(vector))),
  ]);
  const index = await tableOf(reader, model);
  await index?.table.put(vectors, index.home);
  await read(sql.moveModel, [workspace, name, upTo, replaced]);
}

/** Drops the vectors of records that were pruned or redacted in the meantime. */
async function keepEmbeddable(
  { sql, read }: StatementRunner,
  { workspace, vectors }: PutVectors,
): Promise<PutVectors["vectors"]> {
  const rows = await read(sql.memoriesAt, [workspace, vectors.map(({ pos }) => pos)]);
  const sealed = await withEnvelopeTexts(rows.map(memoryOf), (ids) =>
    read(sql.envelopeTexts, [workspace, ids]),
  );
  const there = new Set(sealed.flatMap((row) => (embeddableRecordOf(row) ? row.pos : [])));
  return vectors.filter(({ pos }) => there.has(pos));
}

function bytesOf({ buffer, byteOffset, byteLength }: Uint32Array): Buffer {
  return Buffer.from(buffer as ArrayBuffer, byteOffset, byteLength);
}

async function makeModel(
  reader: StatementRunner,
  { workspace, model: name, dimensions }: PutVectors,
): Promise<Model> {
  const { sql, read } = reader;
  const home = await extensionSchema(read);
  const kind = indexKindFor(dimensions, home !== undefined);
  await read(sql.addModel, [workspace, name, dimensions, kind]);
  const model = await modelOf(reader, workspace, name);
  assert(model !== undefined);
  if (kind !== "signatures" && home !== undefined) {
    const [row] = await read(sql.schemaOfVectors, [model.key]);
    const schema = row?.[0] as string;
    await new HnswTable(read, { schema, key: model.key, kind }).make(dimensions, home);
  }
  return model;
}

/** Returns the models of a workspace with their progress and how their vectors are compared. */
export async function listModels(
  { sql, read }: StatementRunner,
  workspace: string,
): Promise<ModelState[]> {
  const hasExtension = (await extensionSchema(read)) !== undefined;
  return (await read(sql.models, [workspace])).map((row) => {
    const [model, dimensions, done, kind, vectors, total] = row as [
      ...[model: string, dimensions: number, done: number, kind: IndexKind],
      ...[vectors: number, total: number],
    ];
    const compared = describeComparison(kind, dimensions, hasExtension);
    return { model, dimensions, vectors, done, total, compared };
  });
}

/** Describes how vectors are compared, and why. */
function describeComparison(kind: IndexKind, dimensions: number, hasExtension: boolean): string {
  const { vector, halfvec } = MAX_DIMENSIONS;
  switch (kind) {
    case "vector":
      return "with a pgvector HNSW index";
    case "halfvec":
      return `with a pgvector HNSW index in half precision: ${dimensions} dimensions exceed the ${vector} of full precision`;
    case "signatures":
      if (!hasExtension) return "by signatures, then exactly: this server does not have pgvector";
      return dimensions > halfvec
        ? `by signatures, then exactly: a pgvector index supports at most ${halfvec} dimensions, and this model has ${dimensions}`
        : "by signatures, then exactly: pgvector was not installed when the model was added; drop the model and embed again to use it";
  }
}

/** Deletes a model with its vectors. Runs in the caller's transaction. */
export async function dropModel(
  reader: StatementRunner,
  workspace: string,
  name: string,
): Promise<void> {
  const { sql, read } = reader;
  await read(sql.vectorsLock, [workspace]);
  const model = await modelOf(reader, workspace, name);
  if (model === undefined) return;
  await (await tableOf(reader, model))?.table.drop();
  await read(sql.dropVectors, [workspace, name]);
  await read(sql.dropModel, [workspace, name]);
}

// Searching

/** Vector search of one query. */
export class VectorSearch {
  readonly #reader: StatementRunner;
  readonly #cache: SignatureCache;
  readonly #workspace: string;
  readonly #meant: QueryVector | undefined;
  readonly #model: Model | undefined;
  readonly #asked: QuantisedVector;
  /** How the nearest vectors were found. */
  compared: SearchResult["vectors"] = "none";

  private constructor(of: VectorSearchOptions, model: Model | undefined) {
    this.#reader = of.reader;
    this.#cache = of.cache;
    this.#workspace = of.workspace;
    this.#meant = of.meant;
    this.#model = model;
    this.#asked = quantise(of.meant?.vector ?? new Float32Array());
  }

  /** Reads the query's model. Without a query vector or model, nothing is found. */
  static async of(options: VectorSearchOptions): Promise<VectorSearch> {
    const { reader, workspace, meant } = options;
    const model = meant && (await modelOf(reader, workspace, meant.model));
    return new VectorSearch(options, model);
  }

  /** Returns the most similar records, best first. */
  async nearest(limit: number): Promise<SimilarRecord[]> {
    if (this.#model === undefined || this.#meant === undefined) return [];
    const near = await this.#near(this.#model, this.#meant, limit);
    const similar = await this.similarities(near);
    return similar.sort((a, b) => b.similarity - a.similarity || b.pos - a.pos).slice(0, limit);
  }

  async #near(model: Model, { vector, signature }: QueryVector, limit: number): Promise<number[]> {
    const index = await tableOf(this.#reader, model);
    if (index !== undefined) {
      this.compared = "hnsw";
      return index.table.nearest(vector, limit, index.home);
    }
    const of = { workspace: this.#workspace, key: model.key, revision: model.revision };
    const signatures = await this.#cache.of(this.#reader, of);
    this.compared = signatures.size <= EXACT_CANDIDATES ? "exact" : "quantised";
    return signatures.nearest(signature, Math.max(EXACT_CANDIDATES, limit));
  }

  /** Returns the similarities of given records; those without a vector are omitted. */
  async similarities(positions: readonly number[]): Promise<SimilarRecord[]> {
    if (this.#model === undefined || positions.length === 0) return [];
    const { sql, read } = this.#reader;
    const rows = await read(sql.vectorsAt, [this.#workspace, this.#model.key, positions]);
    return rows.flatMap((row) => {
      const [pos, vector] = row as [number, QuantisedVector];
      // Another length: the vector comes from another model of the same name.
      if (vector.length !== this.#asked.length) return [];
      return [{ pos, similarity: cosine(this.#asked, vector) }];
    });
  }
}

/** What a vector search needs. */
export interface VectorSearchOptions {
  readonly reader: StatementRunner;
  readonly cache: SignatureCache;
  readonly workspace: string;
  readonly meant: QueryVector | undefined;
}
