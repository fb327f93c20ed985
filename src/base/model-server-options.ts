/** A model's server: where it is, and how patient to be with it; all checked before it is asked. */
import { BatonError, type ErrorCode } from "./errors.ts";

export interface ModelServerOptions {
  /** Where the server is, up to the version: `http://localhost:11434/v1`. */
  readonly url: string;
  /** The model's name, as the server knows it. */
  readonly model: string;
  readonly apiKey?: string;
  /** Milliseconds until a request counts as lost. */
  readonly timeoutMs?: number;
  /** How often a request is repeated when it may succeed later. */
  readonly retries?: number;
  /** The first pause between two tries, in milliseconds; each further one is twice as long. */
  readonly backoffMs?: number;
}

export const DEFAULT_REQUEST_POLICY = { timeoutMs: 30_000, retries: 3, backoffMs: 250 };
export type RequestPolicy = typeof DEFAULT_REQUEST_POLICY;

/** What kind of server it is: how errors call it, and which codes they have. */
export interface ModelServerKind {
  /** "embedding server" */
  readonly name: string;
  /** The option of the hub: "embedder". */
  readonly option: string;
  /** After the base address: "embeddings". */
  readonly endpoint: string;
  /** A model that such servers have, for hints. */
  readonly model: string;
  readonly unavailable: ErrorCode;
  readonly invalid: ErrorCode;
  /** What to lower when a question is too large for it. */
  readonly lower: string;
}

export interface ModelServer {
  readonly kind: ModelServerKind;
  readonly url: URL;
  readonly model: string;
  readonly apiKey: string | undefined;
}

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
      "For instance http://localhost:11434/v1.",
    );
  }
  if (at.username !== "" || at.password !== "") {
    throw wrong("url", "must not contain a name or password", "Give the key as apiKey.");
  }
  if (typeof model !== "string" || model.trim() === "") {
    throw wrong("model", "must be named", `For instance ${kind.model}.`);
  }
  if (apiKey !== undefined && !/^[\x21-\x7e]+$/.test(apiKey)) {
    throw wrong("apiKey", "must be printable ASCII without spaces", "Look for a line end in it.");
  }
  const base = at.pathname.replace(/\/+$/, "");
  const end = `/${kind.endpoint}`;
  at.pathname = base.endsWith(end) ? base : base + end;
  return { kind, url: at, model, apiKey };
}

/** What a timer can wait for; a longer one would go off at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** The defaults, with what the options say instead, each a count. */
export function resolveCounts<const Defaults extends Readonly<Record<string, number>>>(
  kind: ModelServerKind,
  defaults: Defaults,
  options: { readonly [Name in keyof Defaults]?: number | undefined },
): { readonly [Name in keyof Defaults]: number } {
  const counts: Record<string, number> = { ...defaults };
  for (const name of Object.keys(defaults)) {
    const value = options[name];
    if (value === undefined) continue;
    checkCount(kind, name, value, `The default is ${defaults[name]}.`);
    counts[name] = value;
  }
  return counts as { readonly [Name in keyof Defaults]: number };
}

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
