/** Options of an HTTP embedder, in addition to those of every model server; all of them are validated. */
import { FORMAT_LIMITS } from "../../base/limits.ts";
import {
  checkCount,
  DEFAULT_REQUEST_POLICY,
  type ModelServerKind,
  type ModelServerOptions,
  resolveCounts,
} from "../../base/model-server-options.ts";

/** How to reach an embedding server, and how to use it. */
export interface HttpEmbedderOptions extends ModelServerOptions {
  /**
   * Number of dimensions of the model's vectors. If absent, the server is asked when the embedder is created,
   * so it must be running then.
   */
  readonly dimensions?: number;
  /** Texts per request. Default: 64. */
  readonly batch?: number;
  /** Maximum characters of one text. Default: 64 000. */
  readonly textLength?: number;
}

/** The words and error codes of errors about embedding servers. */
export const EMBEDDING_SERVER: ModelServerKind = {
  name: "embedding server",
  option: "embedder",
  endpoint: "embeddings",
  model: "nomic-embed-text",
  unavailable: "embedder_unavailable",
  invalid: "embedder_invalid",
  lower: "batch or textLength",
};

const DEFAULTS = { ...DEFAULT_REQUEST_POLICY, batch: 64, textLength: FORMAT_LIMITS.contentLength };

/** Options with defaults applied. */
export type HttpEmbedderSettings = { readonly [Name in keyof typeof DEFAULTS]: number };

/** Validates the options and applies the defaults. Throws `invalid_input`. */
export function settingsOf(options: HttpEmbedderOptions): HttpEmbedderSettings {
  const settings = resolveCounts(EMBEDDING_SERVER, DEFAULTS, options);
  if (options.dimensions !== undefined) {
    checkCount(
      EMBEDDING_SERVER,
      "dimensions",
      options.dimensions,
      "Pass the number of dimensions of the model, such as 768.",
    );
  }
  return settings;
}
