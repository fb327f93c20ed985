/**
 * The connection to one hub: a request goes out, and again while that may help and is safe. Safe it is
 * for what only reads, and for what has a key by which the hub knows it again. A hub that is away for a
 * moment is waited for, with growing pauses; what it refuses is told at once, and never asked twice.
 */
import { BatonError } from "../../base/errors.ts";
import type { NodeModules } from "../needs-node.ts";
import { pause } from "./pause.ts";
import { errorOf, hubClosed, hubUnreachable, isProblem, networkReason } from "./problem.ts";
import { backoffMs, CLIENT_TIMING } from "./timing.ts";

/** Anything that answers requests: the network, or a hub's own handler. */
export type Fetch = (request: Request) => Response | Promise<Response>;

export interface OutgoingRequest {
  readonly method: string;
  /** The path with its query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | ReadableStream<Uint8Array> | undefined;
}

export interface SendOptions {
  /** Ends it; the promise is rejected with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** How long the hub was asked to hold its answer back. */
  readonly waitMs?: number | undefined;
  /** True: it takes as long as it takes, and is sent once. */
  readonly long?: true | undefined;
  /** True: ended when the hub is closed here. Others are finished first. */
  readonly waits?: true | undefined;
  /** True: no reason for the process to go on, beyond an answer that comes at once. */
  readonly quiet?: true | undefined;
  /** Told when it is sent again: an earlier try may have been carried out. */
  readonly onAgain?: (() => void) | undefined;
  /** True: said after the hub was closed here, to leave nothing behind. */
  readonly last?: true | undefined;
}

type Outcome<T> =
  | { readonly kind: "answered"; readonly answer: T }
  /** It may go better in a while. */
  | { readonly kind: "later"; readonly error: BatonError; readonly pauseMs: number };

type ResponseReader<T> = (response: Response) => Promise<T>;

export interface ConnectionOptions {
  /** Default: the runtime's own. */
  readonly fetch?: Fetch | undefined;
  readonly outageMs: number;
  /** Undefined where the client does not run in Node. */
  readonly node?: NodeModules | undefined;
}

export class Connection {
  readonly #base: string;
  readonly #fetch: Fetch | undefined;
  readonly #outageMs: number;
  readonly #node: NodeModules | undefined;
  readonly #closing = new AbortController();
  readonly #cut = new AbortController();
  readonly #underWay = new Set<Promise<unknown>>();

  constructor(base: string, options: ConnectionOptions) {
    this.#base = base;
    this.#fetch = options.fetch;
    this.#outageMs = options.outageMs;
    this.#node = options.node;
    // Every call under way listens: Node would warn of a leak.
    const events = globalThis.process?.getBuiltinModule?.("node:events");
    events?.setMaxListeners(0, this.#closing.signal, this.#cut.signal);
  }

  /** The hub's address, without a secret. */
  get hub(): string {
    return this.#base;
  }

  /** Aborted when the hub is closed here. */
  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  /** What the hub answers, read by `read`; thrown is what it refuses with. */
  send<T>(outgoing: OutgoingRequest, sending: SendOptions, read: ResponseReader<T>): Promise<T> {
    if (this.closing.aborted && sending.last === undefined) return Promise.reject(this.closedHere);
    return this.track(this.#untilAnswered(outgoing, sending, read));
  }

  /** What a hub that is being closed waits for. */
  track<T>(promise: Promise<T>): Promise<T> {
    this.#underWay.add(promise);
    const done = () => void this.#underWay.delete(promise);
    promise.then(done, done);
    return promise;
  }

  get closedHere(): BatonError {
    return hubClosed(this.#base);
  }

  /** Ends what waits, and lets what is under way come to its end, within a few seconds. */
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
    for (let tries = 0; ; tries++) {
      const outcome = await this.#once(outgoing, sending, read);
      if (outcome.kind === "answered") return outcome.answer;
      const { error, pauseMs } = outcome;
      const waitMs = Math.max(backoffMs(tries), Math.min(pauseMs, CLIENT_TIMING.askedPauseMs));
      const isOver = performance.now() + waitMs - since > this.#outageMs;
      if (isOver || tries + 1 >= CLIENT_TIMING.attempts || sending.long) throw error;
      await this.#pause(waitMs, sending);
      sending.onAgain?.();
    }
  }

  /** A hub that is closed here tries nothing again. */
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
      const why = timeout?.aborted ? "it does not answer" : networkReason(cause);
      return { kind: "later", error: hubUnreachable(this.#base, why, cause), pauseMs: 0 };
    } finally {
      end.done();
    }
  }

  async #fetched(outgoing: OutgoingRequest, signal: AbortSignal, quiet: SendOptions["quiet"]) {
    const { method, path, headers, body } = outgoing;
    const url = this.#base + path;
    if (quiet && this.#fetch === undefined && this.#node !== undefined && method === "GET") {
      return (await this.#node.quiet()).fetchInBackground(url, { headers, signal });
    }
    const init: RequestInit & { readonly duplex?: "half" } = {
      method,
      headers,
      signal,
      // Followed, a redirect would carry the token to another host.
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
      case "store_closed": // There, not here: it is about to be started again.
        return {
          kind: "later",
          error: hubUnreachable(this.#base, "it is closing", error),
          pauseMs,
        };
      default:
        throw error;
    }
  }

  /** Not how a hub answers: something that stands before it, or something else altogether. */
  #strange(response: Response): Outcome<never> {
    const { status } = response;
    const error = hubUnreachable(this.#base, `what answers there is no hub (status ${status})`);
    if (![408, 425, 429, 500, 502, 503, 504].includes(status)) throw error;
    return { kind: "later", error, pauseMs: retryAfter(response) };
  }
}

function parseProblem(text: string) {
  try {
    const value: unknown = JSON.parse(text);
    return isProblem(value) ? value : undefined;
  } catch {
    return undefined; // A page of whatever stands before the hub.
  }
}

function retryAfter(response: Response): number {
  const seconds = Number(response.headers.get("retry-after") ?? 0);
  return Number.isFinite(seconds) && seconds > 0 ? seconds * 1_000 : 0;
}

/** One signal of several. What listens to them is taken away again: some of them live long. */
function combineSignals(signals: readonly (AbortSignal | undefined)[]) {
  const all = signals.filter((each) => each !== undefined);
  const { signal, abort } = controller();
  const onAbort = () => abort(all.find(({ aborted }) => aborted)?.reason);
  for (const each of all) each.addEventListener("abort", onAbort, { once: true });
  if (all.some(({ aborted }) => aborted)) onAbort();
  return {
    signal,
    /** Over when the signal aborts, whatever the promise is waiting for. */
    race<T>(promise: Promise<T>): Promise<T> {
      promise.catch(() => {}); // Told once, by whichever is first.
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
