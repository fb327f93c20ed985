/**
 * Embedder for servers with the OpenAI embeddings protocol (`POST {base}/embeddings`): Ollama, LM Studio,
 * vLLM, OpenAI. Every response is validated: the number of vectors, their order, their length and every
 * number. A text that is too long is an error; texts are never truncated. Errors that may be temporary (no
 * connection, 408, 425, 429, 5xx) are retried with exponential backoff, then reported as retryable. The API
 * key is sent only in the authorization header.
 */
import { BatonError } from "../../base/errors.ts";
import { modelServerOf } from "../../base/model-server-options.ts";
import { request } from "../../base/model-server-request.ts";
import { type Embedder, toUnit } from "./embedder.ts";
import { EMBEDDING_SERVER, type HttpEmbedderOptions, settingsOf } from "./http-options.ts";
import { parseVectors } from "./http-response.ts";

/**
 * Returns an embedder for a server. Throws immediately for a wrong address, key or model, unless `dimensions`
 * is set; then the first request throws.
 */
export async function httpEmbedder(options: HttpEmbedderOptions): Promise<Embedder> {
  const server = modelServerOf(EMBEDDING_SERVER, options);
  const settings = settingsOf(options);
  const ask = async (texts: readonly string[], signal?: AbortSignal) => {
    const body = { input: texts, encoding_format: "float" };
    return parseVectors(await request(server, { body, policy: settings, signal }), texts.length);
  };
  const dimensions = options.dimensions ?? (await ask(["dimensions"]))[0]?.length ?? 0;
  return {
    model: `http:${options.model}:${dimensions}`,
    dimensions,
    balanced: false,
    isLocal: false,
    longest: settings.textLength,
    embed: async (texts, signal) => {
      checkLengths(texts, settings.textLength);
      const vectors: Float32Array[] = texts.map(() => new Float32Array(dimensions));
      // A blank text has no meaning, and some servers reject it.
      const asked = [...texts.keys()].filter((i) => texts[i]?.trim() !== "");
      for (let i = 0; i < asked.length; i += settings.batch) {
        const part = asked.slice(i, i + settings.batch);
        const answer = await ask(
          part.map((k) => texts[k] as string),
          signal,
        );
        for (const [k, vector] of answer.entries()) {
          checkDimensions(vector.length, dimensions);
          vectors[part[k] as number] = toUnit(vector);
        }
      }
      return vectors;
    },
  };
}

function checkLengths(texts: readonly string[], max: number): void {
  for (const [i, text] of texts.entries()) {
    if (text.length <= max) continue;
    throw new BatonError("limit_exceeded", {
      message: `texts[${i}] has ${text.length} characters; the embedder accepts at most ${max}.`,
      path: `texts[${i}]`,
      hint: "Split the text, or raise the embedder's textLength if the model accepts more.",
      details: { limit: "textLength", max, actual: text.length },
    });
  }
}

function checkDimensions(actual: number, expected: number): void {
  if (actual === expected) return;
  throw new BatonError("embedder_invalid", {
    message: `The embedding server returned a vector with ${actual} dimensions instead of ${expected}.`,
    path: "embedder.dimensions",
    hint: "Check the embedder's model and dimensions.",
    details: { actual, expected },
  });
}
