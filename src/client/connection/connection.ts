/**
 * The connection to one hub: sends requests, and retries them if that is safe and can help. It is safe for
 * reads, and for calls with an idempotency key. While a hub is unreachable, calls are retried with growing
 * pauses; an error that the hub returns is thrown at once and never retried.
 */
import { BatonError } from "../../base/errors.ts";
import type { NodeModules } from "../needs-node.ts";
import { pause } from "./pause.ts";
import { errorOf, hubClosed, hubUnreachable, isProblem, networkReason } from "./problem.ts";
import { backoffMs, CLIENT_TIMING } from "./timing.ts";

/** Sends requests: the runtime's fetch, or the handler of a hub in this process. */
export type Fetch = (request: Request) => Response | Promise<Response>;

/** A request, relative to the hub's address. */
export interface OutgoingRequest {
  readonly method: string;
  /** The path with its query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | ReadableStream<Uint8Array> | undefined;
}

/** How a request is sent. */
export interface SendOptions {
  /** Aborts the request; the promise is rejected with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** The `waitMs` of a long poll, added to the timeout, in milliseconds. */
  readonly waitMs?: number | undefined;
  /** True: no timeout and no retries. */
  readonly long?: true | undefined;
  /** True: aborted when this client closes. Other calls are finished first. */
  readonly waits?: true | undefined;
  /** True: the request does not keep the process running. */
  readonly quiet?: true | undefined;
  /** Called when the request is sent again: an earlier attempt may have been carried out. */
  readonly onAgain?: (() => void) | undefined;
  /** True: allowed after this client was closed, for cleanup. */
  readonly last?: true | undefined;
}

type Outcome<T> =
  | { readonly kind: "answered"; readonly answer: T }
  /** A retry may succeed. */
  | { readonly kind: "later"; readonly error: BatonError; readonly pauseMs: number };

type ResponseReader<T> = (response: Response) => Promise<T>;

/** The token of a connection: a fixed text, or the file of a hub on this machine. */
export interface TokenSource {
  /** Returns the token to send; undefined: none. */
  current(): string | undefined;
  /** Called when the hub refused the token. Returns whether there is another one now. */
  renew(): boolean;
}

/** Options of a connection. */
export interface ConnectionOptions {
  /** Default: the runtime's fetch. */
  readonly fetch?: Fetch | undefined;
  /** How long calls are retried while the hub is unreachable, in milliseconds. */
  readonly outageMs: number;
  /** Undefined outside Node. */
  readonly node?: NodeModules | undefined;
  /** Undefined: requests are sent without a token. */
  readonly tokens?: TokenSource | undefined;
}

/** Sends requests to one hub and keeps track of those in progress. */
export class Connection {
  readonly #base: string;
  readonly #fetch: Fetch | undefined;
  readonly #outageMs: number;
  readonly #node: NodeModules | undefined;
  readonly #tokens: TokenSource | undefined;
  readonly #closing = new AbortController();
  readonly #cut = new AbortController();
  readonly #underWay = new Set<Promise<unknown>>();

  constructor(base: string, options: ConnectionOptions) {
    this.#base = base;
    this.#fetch = options.fetch;
    this.#outageMs = options.outageMs;
    this.#node = options.node;
    this.#tokens = options.tokens;
    // Every call in progress adds a listener; Node would warn about a leak.
    const events = globalThis.process?.getBuiltinModule?.("node:events");
    events?.setMaxListeners(0, this.#closing.signal, this.#cut.signal);
  }

  /** The hub's address, without credentials. */
  get hub(): string {
    return this.#base;
  }

  /** Aborted when this client closes. */
  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  /** Sends a request and returns the response as read by `read`. Throws the hub's error. */
  send<T>(outgoing: OutgoingRequest, sending: SendOptions, read: ResponseReader<T>): Promise<T> {
    if (this.closing.aborted && sending.last === undefined) return Promise.reject(this.closedHere);
    return this.track(this.#untilAnswered(outgoing, sending, read));
  }

  /** Registers a promise that `close()` waits for. */
  track<T>(promise: Promise<T>): Promise<T> {
    this.#underWay.add(promise);
    const done = () => void this.#underWay.delete(promise);
    promise.then(done, done);
    return promise;
  }

  /** The error of calls on a closed client. */
  get closedHere(): BatonError {
    return hubClosed(this.#base);
  }

  /** Aborts long polls and waits up to 5 seconds for other calls to finish. */
  async close(): Promise<void> {
    this.#closing.abort(this.closedHere);
    const timer = setTimeout(() => this.#cut.abort(this.closedHere), CLIENT_TIMING.closingMs);
    while (this.#underWay.size > 0) await Promise.allSettled([...this.#underWay]);
    clearTimeout(timer);
  }

  async #untilAnswered<T>(
    outgoing: OutgoingRequest,
    sending: SendOptions,
    read: ResponseReader<T>,
  ): Promise<T> {
    const since = performance.now();
    for (let attempt = 0; ; attempt++) {
      const outcome = await this.#once(outgoing, sending, read);
      if (outcome.kind === "answered") return outcome.answer;
      const { error, pauseMs } = outcome;
      const waitMs = Math.max(backoffMs(attempt), Math.min(pauseMs, CLIENT_TIMING.askedPauseMs));
      const isOver = performance.now() + waitMs - since > this.#outageMs;
      if (isOver || attempt + 1 >= CLIENT_TIMING.attempts || sending.long) throw error;
      await this.#pause(waitMs, sending);
      sending.onAgain?.();
    }
  }

  /** Waits before a retry; rejects if the client closes. */
  #pause(ms: number, { signal, quiet }: SendOptions): Promise<void> {
    const signals = [this.closing, ...(signal === undefined ? [] : [signal])];
    return pause(ms, { signals, quiet });
  }

  async #once<T>(
    outgoing: OutgoingRequest,
    sending: SendOptions,
    read: ResponseReader<T>,
  ): Promise<Outcome<T>> {
    const { signal, waitMs = 0, long, waits, quiet } = sending;
    const timeout = long ? undefined : AbortSignal.timeout(CLIENT_TIMING.answerMs + waitMs);
    const ends = [signal, waits && this.closing, this.#cut.signal];
    const end = combineSignals([...ends, timeout]);
    try {
      const response = await end.race(this.#fetched(outgoing, end.signal, quiet));
      return await end.race(this.#answer(response, read));
    } catch (cause) {
      if (cause instanceof BatonError) throw cause;
      for (const each of ends) each?.throwIfAborted();
      const why = timeout?.aborted ? "the request timed out" : networkReason(cause);
      return { kind: "later", error: hubUnreachable(this.#base, why, cause), pauseMs: 0 };
    } finally {
      end.done();
    }
  }

  async #fetched(outgoing: OutgoingRequest, signal: AbortSignal, quiet: SendOptions["quiet"]) {
    const { method, path, body } = outgoing;
    const url = this.#base + path;
    const token = this.#tokens?.current();
    const headers = {
      ...outgoing.headers,
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    };
    if (quiet && this.#fetch === undefined && this.#node !== undefined && method === "GET") {
      return (await this.#node.quiet()).fetchInBackground(url, { headers, signal });
    }
    const init: RequestInit & { readonly duplex?: "half" } = {
      method,
      headers,
      signal,
      // Following a redirect would send the token to another host.
      redirect: "manual",
      ...(body === undefined ? {} : { body }),
      ...(body instanceof ReadableStream ? { duplex: "half" as const } : {}),
    };
    return this.#fetch === undefined ? fetch(url, init) : this.#fetch(new Request(url, init));
  }

  async #answer<T>(response: Response, read: ResponseReader<T>): Promise<Outcome<T>> {
    if (response.ok) return { kind: "answered", answer: await read(response) };
    const problem = parseProblem(await response.text());
    if (problem === undefined) return this.#strange(response);
    const error = errorOf(problem);
    const pauseMs = retryAfter(response);
    switch (error.code) {
      case "rate_limited":
        return { kind: "later", error, pauseMs };
      case "store_closed": // The hub is closing, not this client: it may be restarting.
        return {
          kind: "later",
          error: hubUnreachable(this.#base, "the hub is closing", error),
          pauseMs,
        };
      case "unauthenticated": // A hub on this machine was restarted, and has another token now.
        if (this.#tokens?.renew()) return { kind: "later", error, pauseMs };
        throw error;
      default:
        throw error;
    }
  }

  /** Handles a response that is not from a hub: from a proxy in front of it, or from another server. */
  #strange(response: Response): Outcome<never> {
    const { status } = response;
    const error = hubUnreachable(
      this.#base,
      `the response is not from a Baton hub (status ${status})`,
    );
    if (![408, 425, 429, 500, 502, 503, 504].includes(status)) throw error;
    return { kind: "later", error, pauseMs: retryAfter(response) };
  }
}

function parseProblem(text: string) {
  try {
    const value: unknown = JSON.parse(text);
    return isProblem(value) ? value : undefined;
  } catch {
    return undefined; // An error page of a proxy.
  }
}

function retryAfter(response: Response): number {
  const seconds = Number(response.headers.get("retry-after") ?? 0);
  return Number.isFinite(seconds) && seconds > 0 ? seconds * 1_000 : 0;
}

/** Combines signals into one. `done` removes the listeners, because some of the signals live long. */
function combineSignals(signals: readonly (AbortSignal | undefined)[]) {
  const all = signals.filter((each) => each !== undefined);
  const { signal, abort } = controller();
  const onAbort = () => abort(all.find(({ aborted }) => aborted)?.reason);
  for (const each of all) each.addEventListener("abort", onAbort, { once: true });
  if (all.some(({ aborted }) => aborted)) onAbort();
  return {
    signal,
    /** Rejects when the signal aborts, even if the promise is still pending. */
    race<T>(promise: Promise<T>): Promise<T> {
      promise.catch(() => {}); // Only the first of the two rejections is reported.
      return new Promise<T>((resolve, reject) => {
        const onEnd = () => reject(signal.reason);
        signal.addEventListener("abort", onEnd, { once: true });
        if (signal.aborted) onEnd();
        promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", onEnd));
      });
    },
    done(): void {
      for (const each of all) each.removeEventListener("abort", onAbort);
    },
  };
}

function controller() {
  const it = new AbortController();
  return { signal: it.signal, abort: (reason: unknown) => it.abort(reason) };
}
