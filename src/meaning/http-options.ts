/** What an HTTP embedder is told: where the server is, and how patient to be with it; all checked. */
import { BatonError } from "../errors.ts";
import { FORMAT_LIMITS } from "../limits.ts";

export interface HttpEmbedderOptions {
  /** Where the server is, up to the version: `http://localhost:11434/v1`. */
  readonly url: string;
  /** The model's name, as the server knows it. */
  readonly model: string;
  readonly apiKey?: string;
  /**
   * What the model's vectors have. When it is not said the server is asked at once, so it has to
   * be there when the embedder is made.
   */
  readonly dimensions?: number;
  /** Texts in one request. */
  readonly batch?: number;
  /** Characters of one text. */
  readonly textLength?: number;
  /** Milliseconds until a request counts as lost. */
  readonly timeoutMs?: number;
  /** How often a request is repeated when it may succeed later. */
  readonly retries?: number;
  /** The first pause between two tries, in milliseconds; each further one is twice as long. */
  readonly backoffMs?: number;
}

const DEFAULTS = {
  batch: 64,
  textLength: FORMAT_LIMITS.contentLength as number,
  timeoutMs: 30_000,
  retries: 3,
  backoffMs: 250,
};

export type Settings = typeof DEFAULTS;

/** What a timer can wait for; a longer one would go off at once. */
const LARGEST = 2 ** 31 - 1;

export function settingsOf(options: HttpEmbedderOptions): Settings {
  const settings = { ...DEFAULTS };
  for (const name of Object.keys(DEFAULTS) as (keyof Settings)[]) {
    const value = options[name];
    if (value === undefined) continue;
    checkCount(name, value, `The default is ${DEFAULTS[name]}.`);
    settings[name] = value;
  }
  if (options.dimensions !== undefined) {
    checkCount(
      "dimensions",
      options.dimensions,
      "It is a property of the model, for instance 768.",
    );
  }
  return settings;
}

function checkCount(name: string, value: number, hint: string): void {
  const least = name === "retries" ? 0 : 1;
  if (Number.isSafeInteger(value) && value >= least && value <= LARGEST) return;
  throw wrong(name, `must be a whole number from ${least} to ${LARGEST}`, hint);
}

export interface Address {
  readonly url: URL;
  readonly model: string;
  readonly apiKey: string | undefined;
}

export function addressOf({ url, model, apiKey }: HttpEmbedderOptions): Address {
  const at = typeof url === "string" && URL.canParse(url) ? new URL(url) : undefined;
  if (at === undefined || !/^https?:$/.test(at.protocol)) {
    throw wrong(
      "url",
      "must be an http or https address",
      "For instance http://localhost:11434/v1.",
    );
  }
  if (at.username !== "" || at.password !== "") {
    throw wrong("url", "must not contain a name or password", "Give the key as apiKey.");
  }
  if (typeof model !== "string" || model.trim() === "") {
    throw wrong("model", "must be named", "For instance nomic-embed-text.");
  }
  if (apiKey !== undefined && !/^[\x21-\x7e]+$/.test(apiKey)) {
    throw wrong("apiKey", "must be printable ASCII without spaces", "Look for a line end in it.");
  }
  at.pathname = `${at.pathname.replace(/\/+$/, "").replace(/\/embeddings$/, "")}/embeddings`;
  return { url: at, model, apiKey };
}

function wrong(name: string, rule: string, hint: string): BatonError {
  return new BatonError("invalid_input", {
    message: `The embedder's ${name} ${rule}.`,
    path: `embedder.${name}`,
    hint,
  });
}
