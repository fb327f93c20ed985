/** One question to an embedding server: sent, repeated while that may help, read within bounds. */
import { setTimeout as pause } from "node:timers/promises";
import { assertNever, BatonError } from "../errors.ts";
import { unusable } from "./http-answer.ts";
import type { Address, Settings } from "./http-options.ts";

/** A million numbers take about 10 MB of JSON; more than this is no answer to one batch. */
const MOST_BYTES = 256 * 1024 * 1024;
/** Of what a server says about a refusal; it is free to send a page. */
const REASON_LENGTH = 300;
/** A server can ask for a longer pause, up to this. */
const LONGEST_PAUSE_MS = 30_000;

interface Question {
  readonly texts: readonly string[];
  readonly settings: Settings;
  readonly signal: AbortSignal | undefined;
}

type Outcome =
  | { readonly kind: "answered"; readonly answer: unknown }
  | { readonly kind: "later"; readonly error: BatonError; readonly pauseMs: number };

/** The parsed JSON of the answer. Throws when the server refuses, or has not answered in the end. */
export async function request(address: Address, question: Question): Promise<unknown> {
  const { settings, signal } = question;
  for (let tries = 0; ; tries++) {
    signal?.throwIfAborted();
    const outcome = await once(address, question);
    switch (outcome.kind) {
      case "answered":
        return outcome.answer;
      case "later": {
        if (tries >= settings.retries) throw outcome.error;
        const backoff = settings.backoffMs * 2 ** tries * (0.75 + Math.random() / 2);
        const wait = Math.min(Math.max(backoff, outcome.pauseMs), LONGEST_PAUSE_MS);
        await pause(wait, undefined, signal === undefined ? {} : { signal });
        break;
      }
      default:
        assertNever(outcome);
    }
  }
}

async function once(address: Address, question: Question): Promise<Outcome> {
  const { texts, settings, signal } = question;
  const timeout = AbortSignal.timeout(settings.timeoutMs);
  let response: Response;
  let body: string;
  try {
    response = await fetch(address.url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json",
        ...(address.apiKey === undefined ? {} : { authorization: `Bearer ${address.apiKey}` }),
      },
      body: JSON.stringify({ model: address.model, input: texts, encoding_format: "float" }),
      // Followed, a redirect would turn the question into a GET, or carry texts to another host.
      redirect: "manual",
      signal: signal === undefined ? timeout : AbortSignal.any([timeout, signal]),
    });
    body = await bounded(response);
  } catch (cause) {
    if (cause instanceof BatonError) throw cause;
    signal?.throwIfAborted();
    const why = timeout.aborted
      ? `no answer within ${settings.timeoutMs} ms`
      : networkReason(cause);
    return { kind: "later", error: unavailable(address, why, cause), pauseMs: 0 };
  }
  if (response.ok) return { kind: "answered", answer: parsed(body) };
  const reason = reasonIn(body, address);
  const { status } = response;
  if (status === 408 || status === 425 || status === 429 || status >= 500) {
    const error = unavailable(address, `status ${status}${reason}`);
    return { kind: "later", error, pauseMs: retryAfter(response) };
  }
  throw refused(address, { status, reason });
}

/** The answer's text; reading stops when it is more than an answer can be. */
async function bounded(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.length;
    if (size > MOST_BYTES) throw unusable(`it is larger than ${MOST_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch (cause) {
    throw unusable("it is no JSON", cause);
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
function reasonIn(body: string, { apiKey }: Address): string {
  const text = apiKey === undefined ? body : body.replaceAll(apiKey, "…");
  const line = text.replace(/\s+/g, " ").trim();
  if (line === "") return "";
  return `: ${line.length > REASON_LENGTH ? `${line.slice(0, REASON_LENGTH)}…` : line}`;
}

function unavailable(address: Address, why: string, cause?: unknown): BatonError {
  return new BatonError("embedder_unavailable", {
    message: `The embedding server at ${address.url.origin} could not be used: ${why}.`,
    path: "embedder.url",
    hint: "Check that the server runs and has the model loaded; then try again.",
    ...(cause === undefined ? {} : { cause }),
  });
}

function refused(
  address: Address,
  { status, reason }: { readonly status: number; readonly reason: string },
): BatonError {
  return new BatonError("embedder_invalid", {
    message: `The embedding server at ${address.url.origin} refused with status ${status}${reason}.`,
    path: "embedder.url",
    hint: hintFor(status, address.model),
    details: { status },
  });
}

function hintFor(status: number, model: string): string {
  if (status === 401 || status === 403) return "Check the embedder's apiKey.";
  if (status === 404) return `Check the address, and that the server knows the model "${model}".`;
  if (status >= 300 && status < 400) return "Name the address it redirects to.";
  if (status === 413) return "Lower the embedder's batch or textLength.";
  return "Check the model's name and the length of the texts.";
}
