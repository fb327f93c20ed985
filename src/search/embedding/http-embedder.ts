/**
 * Vectors from a server that speaks the OpenAI embeddings protocol, `POST {base}/embeddings`:
 * Ollama, LM Studio, vLLM, OpenAI. Nothing it answers is believed unchecked: the number of vectors,
 * their order, their length and every number in them; a text that is too long is an error here and
 * never cut. Trouble that may pass (no connection, 408, 425, 429, 5xx) is tried again with growing
 * pauses, then reported as retryable. The key travels in its header and nowhere else.
 */
import { BatonError } from "../../base/errors.ts";
import { modelServerOf } from "../../base/model-server-options.ts";
import { request } from "../../base/model-server-request.ts";
import { type Embedder, toUnit } from "./embedder.ts";
import { EMBEDDING_SERVER, type HttpEmbedderOptions, settingsOf } from "./http-options.ts";
import { parseVectors } from "./http-response.ts";

/** Throws at once for a wrong address, key or model, unless the dimensions are said: then later. */
export async function httpEmbedder(options: HttpEmbedderOptions): Promise<Embedder> {
  const server = modelServerOf(EMBEDDING_SERVER, options);
  const settings = settingsOf(options);
  const ask = async (texts: readonly string[], signal?: AbortSignal) => {
    const body = { input: texts, encoding_format: "float" };
    return parseVectors(await request(server, { body, patience: settings, signal }), texts.length);
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
      // A blank text has no meaning, and some servers refuse it.
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
      message: `texts[${i}] has ${text.length} characters, the embedder takes ${max}.`,
      path: `texts[${i}]`,
      hint: "Split it, or raise the embedder's textLength if the model reads more.",
      details: { limit: "textLength", max, actual: text.length },
    });
  }
}

function checkDimensions(actual: number, expected: number): void {
  if (actual === expected) return;
  throw new BatonError("embedder_invalid", {
    message: `The embedding server sent a vector of ${actual} dimensions instead of ${expected}.`,
    path: "embedder.dimensions",
    hint: "Check that the model is the one the vectors were made with.",
    details: { actual, expected },
  });
}
