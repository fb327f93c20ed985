/**
 * One question to a model's server: sent, repeated while that may help, read within bounds. Trouble that
 * may pass (no connection, 408, 425, 429, 5xx) is tried again with growing pauses. The key travels in
 * its header and nowhere else.
 */
import { setTimeout as pause } from "node:timers/promises";
import { assertNever, BatonError } from "./errors.ts";
import type { ModelServer, ModelServerKind, RequestPolicy } from "./model-server-options.ts";

/** A million numbers take about 10 MB of JSON; more than this is no answer to one batch. */
const MAX_RESPONSE_BYTES = 256 * 1024 * 1024;
/** Of what a server says about a refusal; it is free to send a page. */
const REASON_LENGTH = 300;
/** A server can ask for a longer pause, up to this. */
const MAX_PAUSE_MS = 30_000;

interface ModelRequest {
  readonly body: object;
  readonly patience: RequestPolicy;
  readonly signal: AbortSignal | undefined;
  /** Called before each try: a server that gave no answer may have worked on one. */
  readonly paying?: () => void;
}

type AttemptOutcome =
  | { readonly kind: "answered"; readonly answer: unknown }
  | { readonly kind: "later"; readonly error: BatonError; readonly pauseMs: number };

/** The parsed JSON of the answer. Throws when the server refuses, or has not answered in the end. */
export async function request(server: ModelServer, question: ModelRequest): Promise<unknown> {
  const { patience, signal } = question;
  for (let tries = 0; ; tries++) {
    signal?.throwIfAborted();
    question.paying?.();
    const outcome = await attemptRequest(server, question);
    switch (outcome.kind) {
      case "answered":
        return outcome.answer;
      case "later": {
        if (tries >= patience.retries) throw outcome.error;
        const backoff = patience.backoffMs * 2 ** tries * (0.75 + Math.random() / 2);
        const wait = Math.min(Math.max(backoff, outcome.pauseMs), MAX_PAUSE_MS);
        await pause(wait, undefined, signal === undefined ? {} : { signal });
        break;
      }
      default:
        assertNever(outcome);
    }
  }
}

async function attemptRequest(
  server: ModelServer,
  question: ModelRequest,
): Promise<AttemptOutcome> {
  const { body, patience, signal } = question;
  const timeout = AbortSignal.timeout(patience.timeoutMs);
  let response: Response;
  let text: string;
  try {
    response = await fetch(server.url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json",
        ...(server.apiKey === undefined ? {} : { authorization: `Bearer ${server.apiKey}` }),
      },
      body: JSON.stringify({ model: server.model, ...body }),
      // Followed, a redirect would turn the question into a GET, or carry texts to another host.
      redirect: "manual",
      signal: signal === undefined ? timeout : AbortSignal.any([timeout, signal]),
    });
    text = await readBoundedText(server, response);
  } catch (cause) {
    if (cause instanceof BatonError) throw cause;
    signal?.throwIfAborted();
    const why = timeout.aborted
      ? `no answer within ${patience.timeoutMs} ms`
      : networkReason(cause);
    return { kind: "later", error: serverUnavailable(server, why, cause), pauseMs: 0 };
  }
  if (response.ok) return { kind: "answered", answer: parseJson(server, text) };
  const reason = formatReason(text, server);
  const { status } = response;
  if (status === 408 || status === 425 || status === 429 || status >= 500) {
    const error = serverUnavailable(server, `status ${status}${reason}`);
    return { kind: "later", error, pauseMs: retryAfter(response) };
  }
  throw serverRefused(server, { status, reason });
}

/** The answer's text; reading stops when it is more than an answer can be. */
async function readBoundedText({ kind }: ModelServer, response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.length;
    if (size > MAX_RESPONSE_BYTES)
      throw invalidServerResponse(kind, `it is larger than ${MAX_RESPONSE_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function parseJson({ kind }: ModelServer, body: string): unknown {
  try {
    return JSON.parse(body);
  } catch (cause) {
    throw invalidServerResponse(kind, "it is no JSON", cause);
  }
}

function retryAfter(response: Response): number {
  const seconds = Number(response.headers.get("retry-after") ?? 0);
  return Number.isFinite(seconds) && seconds > 0 ? seconds * 1_000 : 0;
}

/** fetch hides what happened in the cause of its error. */
function networkReason(error: unknown): string {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  if (!(cause instanceof Error)) return "no connection";
  return (cause as NodeJS.ErrnoException).code ?? cause.message;
}

/** What the server says about it, without the key, should it repeat it. */
function formatReason(body: string, { apiKey }: ModelServer): string {
  const text = apiKey === undefined ? body : body.replaceAll(apiKey, "…");
  const line = text.replace(/\s+/g, " ").trim();
  if (line === "") return "";
  return `: ${line.length > REASON_LENGTH ? `${line.slice(0, REASON_LENGTH)}…` : line}`;
}

function serverUnavailable({ kind, url }: ModelServer, why: string, cause?: unknown): BatonError {
  return new BatonError(kind.unavailable, {
    message: `The ${kind.name} at ${url.origin} could not be used: ${why}.`,
    path: `${kind.option}.url`,
    hint: "Check that the server runs and has the model loaded; then try again.",
    ...(cause === undefined ? {} : { cause }),
  });
}

function serverRefused(
  { kind, url, model }: ModelServer,
  { status, reason }: { readonly status: number; readonly reason: string },
): BatonError {
  return new BatonError(kind.invalid, {
    message: `The ${kind.name} at ${url.origin} refused with status ${status}${reason}.`,
    path: `${kind.option}.url`,
    hint: hintFor(status, model, kind),
    details: { status },
  });
}

function hintFor(status: number, model: string, { option, lower }: ModelServerKind): string {
  if (status === 401 || status === 403) return `Check the ${option}'s apiKey.`;
  if (status === 404) return `Check the address, and that the server knows the model "${model}".`;
  if (status >= 300 && status < 400) return "Name the address it redirects to.";
  if (status === 413) return `Lower the ${option}'s ${lower}.`;
  return "Check the model's name and the length of the texts.";
}

/** An answer that says something else than such a server should. */
export function invalidServerResponse(
  kind: ModelServerKind,
  why: string,
  cause?: unknown,
): BatonError {
  return new BatonError(kind.invalid, {
    message: `The ${kind.name}'s answer cannot be used: ${why}.`,
    path: `${kind.option}.url`,
    hint: "The address must be that of an OpenAI-compatible server, up to and with its /v1.",
    ...(cause === undefined ? {} : { cause }),
  });
}

/** A field of what may be anything. */
export function readField(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null) return undefined;
  return (value as Readonly<Record<string, unknown>>)[name];
}
