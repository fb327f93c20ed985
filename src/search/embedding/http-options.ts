/** What an HTTP embedder is told, beyond what every server is; all checked. */
import { FORMAT_LIMITS } from "../../base/limits.ts";
import {
  checkCount,
  DEFAULT_REQUEST_POLICY,
  type ModelServerKind,
  type ModelServerOptions,
  resolveCounts,
} from "../../base/model-server-options.ts";

export interface HttpEmbedderOptions extends ModelServerOptions {
  /**
   * What the model's vectors have. When it is not said the server is asked at once, so it has to
   * be there when the embedder is made.
   */
  readonly dimensions?: number;
  /** Texts in one request. */
  readonly batch?: number;
  /** Characters of one text. */
  readonly textLength?: number;
}

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

export type HttpEmbedderSettings = { readonly [Name in keyof typeof DEFAULTS]: number };

export function settingsOf(options: HttpEmbedderOptions): HttpEmbedderSettings {
  const settings = resolveCounts(EMBEDDING_SERVER, DEFAULTS, options);
  if (options.dimensions !== undefined) {
    checkCount(
      EMBEDDING_SERVER,
      "dimensions",
      options.dimensions,
      "It is a property of the model, for instance 768.",
    );
  }
  return settings;
}
