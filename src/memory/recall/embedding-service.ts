/**
 * Meaning: which embedder a hub uses, and how records get their vectors. They get them after they were
 * acknowledged, slice by slice, from where the last hub stopped; another model begins from the start.
 * Whatever is wrong with an embedder, everything is still found by its words.
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

/** Records per slice: one write of the store. */
const SLICE = 128;
/** Characters that are embedded before others have their turn: some milliseconds. */
const MAX_BATCH_CHARACTERS = 50_000;
/** So long a question waits for what has no vector yet, and for its own. Words alone are an answer too. */
const CATCH_UP_WAIT_MS = 1_000;
const EMBED_TIMEOUT_MS = 5_000;
/** After an embedder failed it is left alone for a while. */
const FAILURE_COOLDOWN_MS = 30_000;

const sleep = (ms: number): Promise<void> => setTimeout(ms, undefined, { ref: false });

const NOTHING_NEAR = (): readonly SimilarWord[] => [];

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

  /** The question's vector, and the words near to those it uses. Brings records up to date. */
  async ask(workspace: Workspace, question: string, wanted: boolean): Promise<QueryMeaning> {
    const none = (state: string): QueryMeaning => ({ meant: undefined, near: NOTHING_NEAR, state });
    if (!wanted) return none("not asked for");
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
        return { ...none("the question has no word the model knows"), near };
      }
      const signature = this.#sign(embedder)(vector);
      return { meant: { model: embedder.model, vector, signature }, near, state: "" };
    } catch (error) {
      return none(this.#failed(error, workspace.clock.now()));
    }
  }

  /** Of a server that does not answer nobody waits for long. */
  async #vectorOf(embedder: Embedder, question: string): Promise<Float32Array> {
    const impatient = AbortSignal.any([
      this.#closing.signal,
      AbortSignal.timeout(EMBED_TIMEOUT_MS),
    ]);
    const vectors = vectorsOf(embedder, [question], impatient);
    vectors.catch(() => {}); // After the patience has ended nobody hears of it.
    const [vector] = await Promise.race([vectors, rejectOnAbort(impatient)]);
    return vector as Float32Array;
  }

  /** Gives every record its vector. Throws when the embedder does. */
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

  /** What is under way is given up: the next hub goes on from there. */
  async close(): Promise<void> {
    this.#closing.abort(new Error("The hub was closed."));
    await Promise.race([this.#running, sleep(CATCH_UP_WAIT_MS)]);
  }

  #load(): Promise<Embedder | undefined> {
    this.#embedder ??= this.#open().catch((error: unknown) => {
      this.#embedder = undefined; // Whoever asks next tries again.
      throw error;
    });
    return this.#embedder;
  }

  /** Vectors of another length under the same name cannot be compared with any of these. */
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

  /** Goes on behind whoever asks. What the store refuses meanwhile is tried again by the next one. */
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
          // One that says nothing the model knows is near to nothing.
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

/** A text that is longer than the embedder takes is the mean of its parts. */
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

/** So many at once as leave the event loop free. What a server refuses is found one by one. */
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

/** What will be refused however often it is asked. */
const isRefusal = (error: unknown): boolean => isBatonError(error) && !error.retryable;

/** A text that no model takes is found by its words. */
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

/** One for each, of the right length, of numbers: anything else would spoil every comparison. */
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
        ? `The embedder ${embedder.model} gave ${vectors.length} vectors for ${texts.length} texts.`
        : `The embedder ${embedder.model} gave something that is no vector of ${embedder.dimensions} numbers.`,
    hint: "Check the embedder; until then everything is found by its words.",
  });
}

function rejectOnAbort(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}

/** Cut at a space where there is one, and never inside a character. */
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
