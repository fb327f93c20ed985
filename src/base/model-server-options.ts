/**
 * Options of an HTTP model server (embedder or summarizer): address, model, timeout and retries. All of them
 * are validated before the first request.
 */

import { BatonError, type ErrorCode } from "./errors.ts";
import { trimEndOf } from "./trim-end.ts";

/** How to reach a model server. */
export interface ModelServerOptions {
  /** Base address of the server, up to the version: `http://localhost:11434/v1`. */
  readonly url: string;
  /** Name of the model on the server. */
  readonly model: string;
  /** Sent as a bearer token; absent if the server needs none. */
  readonly apiKey?: string;
  /** Timeout of one request in milliseconds. Default: 30 000. */
  readonly timeoutMs?: number;
  /** Number of retries after an error that may be temporary. Default: 3. */
  readonly retries?: number;
  /** Pause before the first retry in milliseconds; doubles with each further one. Default: 250. */
  readonly backoffMs?: number;
}

/** Timeout and retries of a request, if the options do not set them. */
export const DEFAULT_REQUEST_POLICY = { timeoutMs: 30_000, retries: 3, backoffMs: 250 };
export type RequestPolicy = typeof DEFAULT_REQUEST_POLICY;

/** The kind of a model server: the words and error codes that its errors use. */
export interface ModelServerKind {
  /** Name in error messages: "embedding server". */
  readonly name: string;
  /** Option of the hub that configures it: "embedder". */
  readonly option: string;
  /** Last path segment of the endpoint: "embeddings". */
  readonly endpoint: string;
  /** An example model for hints. */
  readonly model: string;
  /** Error code for a server that cannot be reached or returns a temporary error. */
  readonly unavailable: ErrorCode;
  /** Error code for a server that rejects the request or returns an invalid response. */
  readonly invalid: ErrorCode;
  /** The option to lower if a request is too large for the server. */
  readonly lower: string;
}

/** A model server with validated options. */
export interface ModelServer {
  readonly kind: ModelServerKind;
  /** The full address of the endpoint. */
  readonly url: URL;
  readonly model: string;
  readonly apiKey: string | undefined;
}

/**
 * Validates the address, model and key of a server, and completes the address with the endpoint. Throws
 * `invalid_input`.
 */
export function modelServerOf(
  kind: ModelServerKind,
  { url, model, apiKey }: ModelServerOptions,
): ModelServer {
  const at = typeof url === "string" && URL.canParse(url) ? new URL(url) : undefined;
  const wrong = (name: string, rule: string, hint: string) => invalidOption(kind, name, rule, hint);
  if (at === undefined || !/^https?:$/.test(at.protocol)) {
    throw wrong(
      "url",
      "must be an http or https address",
      "Use an address such as http://localhost:11434/v1.",
    );
  }
  if (at.username !== "" || at.password !== "") {
    throw wrong("url", "must not contain a name or password", "Pass the key as apiKey.");
  }
  if (typeof model !== "string" || model.trim() === "") {
    throw wrong("model", "must be a model name", `Use a name such as ${kind.model}.`);
  }
  if (apiKey !== undefined && !/^[\x21-\x7e]+$/.test(apiKey)) {
    throw wrong(
      "apiKey",
      "must be printable ASCII without spaces",
      "Remove spaces and line breaks from the key.",
    );
  }
  const base = trimEndOf(at.pathname, "/");
  const end = `/${kind.endpoint}`;
  at.pathname = base.endsWith(end) ? base : base + end;
  return { kind, url: at, model, apiKey };
}

/** The longest delay of a timer; a longer one would fire immediately. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/**
 * Returns the defaults, overridden by the options. Throws `invalid_input` for an option that is not a whole
 * number in range.
 */
export function resolveCounts<const Defaults extends Readonly<Record<string, number>>>(
  kind: ModelServerKind,
  defaults: Defaults,
  options: { readonly [Name in keyof Defaults]?: number | undefined },
): { readonly [Name in keyof Defaults]: number } {
  const counts: Record<string, number> = { ...defaults };
  for (const name of Object.keys(defaults)) {
    const value = options[name];
    if (value === undefined) continue;
    checkCount(
      kind,
      name,
      value,
      `Pass a valid number, or omit the option (default: ${defaults[name]}).`,
    );
    counts[name] = value;
  }
  return counts as { readonly [Name in keyof Defaults]: number };
}

/** Throws `invalid_input` if an option is not a whole number from 1 (retries: 0) to 2^31 - 1. */
export function checkCount(kind: ModelServerKind, name: string, value: number, hint: string): void {
  const least = name === "retries" ? 0 : 1;
  if (Number.isSafeInteger(value) && value >= least && value <= MAX_TIMER_MS) return;
  throw invalidOption(kind, name, `must be a whole number from ${least} to ${MAX_TIMER_MS}`, hint);
}

function invalidOption(
  { option }: ModelServerKind,
  name: string,
  rule: string,
  hint: string,
): BatonError {
  return new BatonError("invalid_input", {
    message: `The ${option}'s ${name} ${rule}.`,
    path: `${option}.${name}`,
    hint,
  });
}
