/** `hub.index`: the search index and the vectors of embedding models. */

import * as z from "zod";
import { parseOrThrow } from "../../envelope/violations.ts";
import type { IndexState, ModelState } from "../../store/search.ts";
import type { EmbedProgress, Workspace } from "../../workspace/workspace.ts";

/** `hub.index`: the state of the search index and of the vectors. */
export interface SearchIndex {
  /** Returns how far the index has progressed. Records beyond it are scanned, so searches always see them. */
  state(): Promise<IndexState>;
  /** Computes missing vectors, continuing where it stopped. Returns undefined if the hub has no embedder. */
  embed(onProgress?: (progress: EmbedProgress) => void): Promise<EmbedProgress | undefined>;
  /** Returns the models that have stored vectors, and how far each has progressed. */
  models(): Promise<readonly ModelState[]>;
  /** Deletes the vectors of a model. */
  deleteModel(model: string): Promise<void>;
}

/** Returns `hub.index` for a workspace. */
export const searchIndex = (workspace: Workspace): SearchIndex => ({
  state: () => workspace.store.indexState(),
  embed: (onProgress) => workspace.meaning.embedAll(workspace, onProgress),
  models: () => workspace.store.listModels(workspace.name),
  async deleteModel(model) {
    const how = { code: "invalid_input", what: "The model", prefix: "model" } as const;
    await workspace.store.dropModel(workspace.name, parseOrThrow(z.string().min(1), model, how));
  },
});
