/**
 * Meaning: which embedder a hub uses, and how records get their vectors. They get them after they were
 * acknowledged, slice by slice, from where the last hub stopped; another model begins from the start.
 * Whatever is wrong with an embedder, everything is still found by its words.
 */
import { isBatonError } from "../errors.ts";
import { type Embedder, toUnit } from "../meaning/embedder.ts";
import { type Signer, signerFor } from "../meaning/signature.ts";
import type { Near } from "../recall/query.ts";
import type { EmbedProgress, Understanding, Understood, Workspace } from "../store/workspace.ts";

/** Records per slice: a few milliseconds for the bundled embedder, one call of a server. */
const SLICE = 128;
/** So many are embedded while a question waits, when that needs nobody else; more go on behind it. */
const WHILE_WAITING = 1_024;
/** After an embedder failed it is left alone for a while. */
const PAUSE_MS = 30_000;

const NOTHING_NEAR = (): readonly Near[] => [];

export class Meaning implements Understanding {
  readonly #open: () => Promise<Embedder | undefined>;
  #embedder: Promise<Embedder | undefined> | undefined;
  #signer: Signer | undefined;
  #running: Promise<void> | undefined;
  #closed = false;
  #failure: { readonly at: number; readonly message: string } | undefined;

  constructor(open: () => Promise<Embedder | undefined>) {
    this.#open = open;
  }

  /** The question's vector, and the words near to those it uses. Brings records up to date. */
  async ask(workspace: Workspace, question: string, wanted: boolean): Promise<Understood> {
    const none = (state: string): Understood => ({ meant: undefined, near: NOTHING_NEAR, state });
    if (!wanted) return none("not asked for");
    const now = workspace.clock.now();
    if (this.#failure !== undefined && now - this.#failure.at < PAUSE_MS) {
      return none(this.#failure.message);
    }
    try {
      const embedder = await this.#load();
      if (embedder === undefined) return none("no embedder");
      const near = (word: string) => embedder.neighboursOf?.(word) ?? [];
      await this.#bringUp(workspace, embedder);
      const [vector] = await embedder.embed([question]);
      if (vector === undefined || vector.every((value) => value === 0)) {
        return { ...none("the question has no word the model knows"), near };
      }
      const signature = this.#sign(embedder)(vector);
      return { meant: { model: embedder.model, vector, signature }, near, state: "" };
    } catch (error) {
      return none(this.#failed(error, now));
    }
  }

  /** Gives every record its vector. Throws when the embedder does. */
  async embedAll(
    workspace: Workspace,
    onProgress: (progress: EmbedProgress) => void = () => {},
  ): Promise<EmbedProgress | undefined> {
    const embedder = await this.#load();
    if (embedder === undefined) return undefined;
    for (;;) {
      const progress = await this.#slice(workspace, embedder);
      onProgress(progress);
      if (!progress.more || this.#closed) return progress;
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#running;
  }

  #load(): Promise<Embedder | undefined> {
    this.#embedder ??= this.#open().catch((error: unknown) => {
      this.#embedder = undefined; // Whoever asks next tries again.
      throw error;
    });
    return this.#embedder;
  }

  #sign(embedder: Embedder): Signer {
    this.#signer ??= signerFor(embedder);
    return this.#signer;
  }

  async #bringUp(workspace: Workspace, embedder: Embedder): Promise<void> {
    if (embedder.isLocal) {
      for (let done = 0; done < WHILE_WAITING && !this.#closed; done += SLICE) {
        if (!(await this.#slice(workspace, embedder)).more) return;
      }
    }
    this.#running ??= this.embedAll(workspace)
      .then(() => {})
      .catch((error: unknown) => {
        this.#failed(error, workspace.clock.now());
      })
      .finally(() => {
        this.#running = undefined;
      });
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
): Promise<readonly Float32Array[]> {
  const parts = texts.map((text) => partsOf(text, embedder.longest));
  const all = parts.flat();
  const vectors = all.length === 0 ? [] : await embedder.embed(all);
  let at = 0;
  return parts.map(({ length }) => {
    const own = vectors.slice(at, at + length);
    at += length;
    return own.length === 1 ? (own[0] as Float32Array) : meanOf(own, embedder.dimensions);
  });
}

/** Cut at a space where there is one. */
function partsOf(text: string, longest: number): string[] {
  const parts: string[] = [];
  for (let rest = text; rest !== ""; ) {
    const space = rest.length <= longest ? rest.length : rest.lastIndexOf(" ", longest);
    const end = space > longest / 2 ? space : Math.min(longest, rest.length);
    parts.push(rest.slice(0, end));
    rest = rest.slice(end);
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
