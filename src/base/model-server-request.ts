/**
 * Sends a request to a model server, with retries, a timeout and a limit on the size of the response. Errors
 * that may be temporary (no connection, 408, 425, 429, 5xx) are retried with exponential backoff. The API key
 * is sent only in the authorization header and removed from error messages.
 */
import { setTimeout as pause } from "node:timers/promises";
import { assertNever, BatonError, trimFullStop } from "./errors.ts";
import type { ModelServer, ModelServerKind, RequestPolicy } from "./model-server-options.ts";

/** A million numbers take about 10 MB of JSON; a larger response than this cannot be valid for one batch. */
const MAX_RESPONSE_BYTES = 256 * 1024 * 1024;
/** Characters of the server's error text that a message quotes; a server may send a whole page. */
const REASON_LENGTH = 300;
/** Upper bound of a pause in milliseconds, also if the server asks for a longer one (Retry-After). */
const MAX_PAUSE_MS = 30_000;

interface ModelRequest {
  readonly body: object;
  readonly policy: RequestPolicy;
  readonly signal: AbortSignal | undefined;
  /** Called before each attempt, also a retry: a server that did not answer may still have done the work. */
  readonly paying?: () => void;
}

type AttemptOutcome =
  | { readonly kind: "answered"; readonly answer: unknown }
  | { readonly kind: "later"; readonly error: BatonError; readonly pauseMs: number };

/**
 * Returns the parsed JSON of the response. Throws if the server rejects the request, or if the last retry
 * failed.
 */
export async function request(server: ModelServer, question: ModelRequest): Promise<unknown> {
  const { policy, signal } = question;
  for (let attempt = 0; ; attempt++) {
    signal?.throwIfAborted();
    question.paying?.();
    const outcome = await attemptRequest(server, question);
    switch (outcome.kind) {
      case "answered":
        return outcome.answer;
      case "later": {
        if (attempt >= policy.retries) throw outcome.error;
        const backoff = policy.backoffMs * 2 ** attempt * (0.75 + Math.random() / 2);
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
  const { body, policy, signal } = question;
  const timeout = AbortSignal.timeout(policy.timeoutMs);
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
      // A followed redirect would turn the POST into a GET, or send the texts to another host.
      redirect: "manual",
      signal: signal === undefined ? timeout : AbortSignal.any([timeout, signal]),
    });
    text = await readBoundedText(server, response);
  } catch (cause) {
    if (cause instanceof BatonError) throw cause;
    signal?.throwIfAborted();
    const why = timeout.aborted
      ? `no response within ${policy.timeoutMs} ms`
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

/** Returns the body of the response; stops reading when it exceeds the limit. */
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
    throw invalidServerResponse(kind, "it is not valid JSON", cause);
  }
}

function retryAfter(response: Response): number {
  const seconds = Number(response.headers.get("retry-after") ?? 0);
  return Number.isFinite(seconds) && seconds > 0 ? seconds * 1_000 : 0;
}

/** fetch() hides the reason in the cause of its error. */
function networkReason(error: unknown): string {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  if (!(cause instanceof Error)) return "no connection";
  return (cause as NodeJS.ErrnoException).code ?? cause.message;
}

/** Formats the server's error text for a message; removes the API key in case the server repeats it. */
function formatReason(body: string, { apiKey }: ModelServer): string {
  const text = apiKey === undefined ? body : body.replaceAll(apiKey, "…");
  const line = text.replace(/\s+/g, " ").trim();
  if (line === "") return "";
  return `: ${line.length > REASON_LENGTH ? `${line.slice(0, REASON_LENGTH)}…` : line}`;
}

function serverUnavailable({ kind, url }: ModelServer, why: string, cause?: unknown): BatonError {
  return new BatonError(kind.unavailable, {
    message: `The ${kind.name} at ${url.origin} failed: ${trimFullStop(why)}.`,
    path: `${kind.option}.url`,
    hint: "Check that the server is running and has the model loaded, then retry.",
    ...(cause === undefined ? {} : { cause }),
  });
}

function serverRefused(
  { kind, url, model }: ModelServer,
  { status, reason }: { readonly status: number; readonly reason: string },
): BatonError {
  return new BatonError(kind.invalid, {
    message: `The ${kind.name} at ${url.origin} rejected the request with status ${status}${trimFullStop(reason)}.`,
    path: `${kind.option}.url`,
    hint: hintFor(status, model, kind),
    details: { status },
  });
}

function hintFor(status: number, model: string, { option, lower }: ModelServerKind): string {
  if (status === 401 || status === 403) return `Check the ${option}'s apiKey.`;
  if (status === 404)
    return `Check the ${option}'s url, and that the server has the model "${model}".`;
  if (status >= 300 && status < 400)
    return `Set the ${option}'s url to the address it redirects to.`;
  if (status === 413) return `Lower the ${option}'s ${lower}.`;
  return "Check the name of the model and the length of the texts.";
}

/** Returns the error for a response that does not have the expected form. */
export function invalidServerResponse(
  kind: ModelServerKind,
  why: string,
  cause?: unknown,
): BatonError {
  return new BatonError(kind.invalid, {
    message: `The response of the ${kind.name} is invalid: ${why}.`,
    path: `${kind.option}.url`,
    hint: "Use the address of an OpenAI-compatible server, up to and including /v1.",
    ...(cause === undefined ? {} : { cause }),
  });
}

/** Returns a field of a value of unknown type; undefined if the value is not an object. */
export function readField(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null) return undefined;
  return (value as Readonly<Record<string, unknown>>)[name];
}
