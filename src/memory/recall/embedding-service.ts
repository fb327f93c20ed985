/**
 * Manages the embedder of a hub and computes vectors for records. Vectors are computed after records are
 * acknowledged, slice by slice, continuing where the last hub stopped; a new model starts from the beginning.
 * If the embedder fails, recall still works by words.
 */
import { setImmediate as immediate, setTimeout } from "node:timers/promises";
import { BatonError, isBatonError } from "../../base/errors.ts";
import { type Embedder, toUnit } from "../../search/embedding/embedder.ts";
import {
  type SignatureFunction,
  signatureFunctionFor,
} from "../../search/embedding/vector-signature.ts";
import type { SimilarWord } from "../../search/query.ts";
import type {
  EmbeddingService,
  EmbedProgress,
  QueryMeaning,
  Workspace,
} from "../../workspace/workspace.ts";

/** Records per slice; their vectors are stored in one write. */
const SLICE = 128;
/** Characters embedded before the event loop is yielded, which takes some milliseconds. */
const MAX_BATCH_CHARACTERS = 50_000;
/** How long a question waits for records without a vector, and for its own vector; then only words count. */
const CATCH_UP_WAIT_MS = 1_000;
const EMBED_TIMEOUT_MS = 5_000;
/** How long an embedder is not used after it failed. */
const FAILURE_COOLDOWN_MS = 30_000;

const sleep = (ms: number): Promise<void> => setTimeout(ms, undefined, { ref: false });

const NOTHING_NEAR = (): readonly SimilarWord[] => [];

/** The embedding service of an open hub; opens the embedder on first use. */
export class WorkspaceEmbeddings implements EmbeddingService {
  readonly #open: () => Promise<Embedder | undefined>;
  #embedder: Promise<Embedder | undefined> | undefined;
  #signer: SignatureFunction | undefined;
  readonly #checked = new Set<string>();
  #running: Promise<void> | undefined;
  readonly #closing = new AbortController();
  #failure: { readonly at: number; readonly message: string } | undefined;

  constructor(open: () => Promise<Embedder | undefined>) {
    this.#open = open;
  }

  /** Returns the vector of a question and words similar to its words. Starts embedding missing records. */
  async ask(workspace: Workspace, question: string, wanted: boolean): Promise<QueryMeaning> {
    const none = (state: string): QueryMeaning => ({ meant: undefined, near: NOTHING_NEAR, state });
    if (!wanted) return none("not requested");
    const sinceFailure = workspace.clock.now() - (this.#failure?.at ?? 0);
    if (this.#failure !== undefined && sinceFailure >= 0 && sinceFailure < FAILURE_COOLDOWN_MS) {
      return none(this.#failure.message);
    }
    try {
      const embedder = await this.#load();
      if (embedder === undefined) return none("no embedder");
      const near = (word: string) => embedder.neighboursOf?.(word) ?? [];
      const caughtUp = this.#catchUp(workspace);
      if (embedder.isLocal) await Promise.race([caughtUp, sleep(CATCH_UP_WAIT_MS)]);
      const vector = await this.#vectorOf(embedder, question);
      if (vector.every((value) => value === 0)) {
        return { ...none("the model knows no word of the question"), near };
      }
      const signature = this.#sign(embedder)(vector);
      return { meant: { model: embedder.model, vector, signature }, near, state: "" };
    } catch (error) {
      return none(this.#failed(error, workspace.clock.now()));
    }
  }

  /** Embeds a question; times out slow embedding servers. */
  async #vectorOf(embedder: Embedder, question: string): Promise<Float32Array> {
    const impatient = AbortSignal.any([
      this.#closing.signal,
      AbortSignal.timeout(EMBED_TIMEOUT_MS),
    ]);
    const vectors = vectorsOf(embedder, [question], impatient);
    vectors.catch(() => {}); // After the timeout this error has no receiver.
    const [vector] = await Promise.race([vectors, rejectOnAbort(impatient)]);
    return vector as Float32Array;
  }

  /** Embeds all records without a vector. Throws if the embedder fails; undefined without an embedder. */
  async embedAll(
    workspace: Workspace,
    onProgress: (progress: EmbedProgress) => void = () => {},
  ): Promise<EmbedProgress | undefined> {
    const embedder = await this.#load();
    if (embedder === undefined) return undefined;
    await this.#dropOther(workspace, embedder);
    for (;;) {
      const { more, ...progress } = await this.#slice(workspace, embedder);
      onProgress(progress);
      if (!more || this.#closing.signal.aborted) return progress;
    }
  }

  /** Aborts running work; the next hub continues it. */
  async close(): Promise<void> {
    this.#closing.abort(new Error("The hub was closed."));
    await Promise.race([this.#running, sleep(CATCH_UP_WAIT_MS)]);
  }

  #load(): Promise<Embedder | undefined> {
    this.#embedder ??= this.#open().catch((error: unknown) => {
      this.#embedder = undefined; // The next call retries.
      throw error;
    });
    return this.#embedder;
  }

  /** Deletes stored vectors of another length under the same model name, which cannot be compared. */
  async #dropOther({ store, name }: Workspace, { model, dimensions }: Embedder): Promise<void> {
    if (this.#checked.has(name)) return;
    const known = (await store.listModels(name)).find((each) => each.model === model);
    if (known !== undefined && known.dimensions !== dimensions) await store.dropModel(name, model);
    this.#checked.add(name);
  }

  #sign(embedder: Embedder): SignatureFunction {
    this.#signer ??= signatureFunctionFor(embedder);
    return this.#signer;
  }

  /** Embeds missing records in the background. Store errors are ignored; the next question retries. */
  #catchUp(workspace: Workspace): Promise<void> {
    this.#running ??= this.embedAll(workspace)
      .then(() => {})
      .catch((error: unknown) => {
        const isStores = isBatonError(error) && error.code.startsWith("store_");
        if (!isStores) this.#failed(error, workspace.clock.now());
      })
      .finally(() => {
        this.#running = undefined;
      });
    return this.#running;
  }

  async #slice(
    workspace: Workspace,
    embedder: Embedder,
  ): Promise<EmbedProgress & { readonly more: boolean }> {
    const { store, name } = workspace;
    const { model, dimensions } = embedder;
    const slice = await store.findUnembedded({ workspace: name, model, limit: SLICE });
    if (slice.upTo > slice.done) {
      const vectors = await vectorsOf(
        embedder,
        slice.records.map((record) => record.text),
        this.#closing.signal,
      );
      const sign = this.#sign(embedder);
      await store.putVectors({
        workspace: name,
        model,
        dimensions,
        upTo: slice.upTo,
        vectors: slice.records.flatMap(({ pos }, n) => {
          const vector = vectors[n];
          // A vector of zeros (no word the model knows) is similar to nothing and is not stored.
          if (vector === undefined || vector.every((value) => value === 0)) return [];
          return [{ pos, vector, signature: sign(vector) }];
        }),
      });
    }
    return { model, done: slice.upTo, total: slice.total, more: slice.more };
  }

  #failed(error: unknown, at: number): string {
    const message = isBatonError(error) ? error.message : String(error);
    this.#failure = { at, message };
    return message;
  }
}

/** Embeds texts; the vector of a text longer than the embedder's limit is the mean of its parts. */
async function vectorsOf(
  embedder: Embedder,
  texts: readonly string[],
  signal: AbortSignal,
): Promise<readonly Float32Array[]> {
  const parts = texts.map((text) => partsOf(text, embedder.longest));
  const vectors = await embedInBatches(embedder, parts.flat(), signal);
  let at = 0;
  return parts.map(({ length }) => {
    const own = vectors.slice(at, at + length);
    at += length;
    return own.length === 1 ? (own[0] as Float32Array) : meanOf(own, embedder.dimensions);
  });
}

/** Embeds in batches that keep the event loop free; the texts of a refused batch are embedded one by one. */
async function embedInBatches(
  embedder: Embedder,
  texts: readonly string[],
  signal: AbortSignal,
): Promise<readonly Float32Array[]> {
  const vectors: Float32Array[] = [];
  for (const batch of batchesOf(texts)) {
    signal.throwIfAborted();
    try {
      vectors.push(...(await embedChecked(embedder, batch, signal)));
    } catch (error) {
      if (batch.length === 1 || !isRefusal(error)) throw error;
      for (const text of batch) vectors.push(await oneOrNothing(embedder, text, signal));
    }
    await immediate();
  }
  return vectors;
}

function batchesOf(texts: readonly string[]): string[][] {
  const batches: string[][] = [];
  let size = MAX_BATCH_CHARACTERS;
  for (const text of texts) {
    if (size + text.length > MAX_BATCH_CHARACTERS) {
      batches.push([]);
      size = 0;
    }
    size += text.length;
    batches.at(-1)?.push(text);
  }
  return batches;
}

/** Whether an error is permanent, so that a retry does not help. */
const isRefusal = (error: unknown): boolean => isBatonError(error) && !error.retryable;

/** Embeds one text; returns zeros if the embedder refuses it, so that it is found by words only. */
async function oneOrNothing(
  embedder: Embedder,
  text: string,
  signal: AbortSignal,
): Promise<Float32Array> {
  try {
    const [vector] = await embedChecked(embedder, [text], signal);
    return vector as Float32Array;
  } catch (error) {
    if (!isRefusal(error)) throw error;
    return new Float32Array(embedder.dimensions);
  }
}

/** Embeds and validates: one vector per text, of the right length, all finite; others break comparisons. */
async function embedChecked(
  embedder: Embedder,
  texts: readonly string[],
  signal: AbortSignal,
): Promise<readonly Float32Array[]> {
  const vectors = await embedder.embed(texts, signal);
  const wrong = vectors.find(
    (vector) => vector.length !== embedder.dimensions || !vector.every(Number.isFinite),
  );
  if (vectors.length === texts.length && wrong === undefined) return vectors;
  throw new BatonError("embedder_unavailable", {
    message:
      wrong === undefined
        ? `The embedder ${embedder.model} returned ${vectors.length} vectors for ${texts.length} texts.`
        : `The embedder ${embedder.model} returned an invalid vector; expected ${embedder.dimensions} finite numbers.`,
    hint: "Check the embedder; until then recall uses words only.",
  });
}

function rejectOnAbort(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}

/** Splits a text at spaces where possible, and never inside a surrogate pair. */
function partsOf(text: string, longest: number): string[] {
  const parts: string[] = [];
  for (let rest = text; rest !== ""; ) {
    const space = rest.length <= longest ? rest.length : rest.lastIndexOf(" ", longest);
    const end = space > longest / 2 ? space : Math.min(longest, rest.length);
    const isInside = /[\ud800-\udbff]/.test(rest[end - 1] ?? "") && end > 1;
    parts.push(rest.slice(0, isInside ? end - 1 : end));
    rest = rest.slice(isInside ? end - 1 : end);
  }
  return parts;
}

function meanOf(vectors: readonly Float32Array[], dimensions: number): Float32Array {
  const sum = new Float32Array(dimensions);
  for (const vector of vectors) {
    for (let d = 0; d < dimensions; d++) sum[d] = (sum[d] as number) + (vector[d] as number);
  }
  return toUnit(sum);
}
