/**
 * Generators of the streams: events and inboxes as server-sent events, exports as lines. A stream ends when
 * its reader disconnects or the hub closes; a reader that reconnects with `Last-Event-ID` misses nothing.
 */
import type { HubEvent } from "../history/event.ts";
import type { LocalAgent } from "../hub/agent.ts";
import type { LocalHub } from "../hub/hub.ts";

/** Events per read. */
const PAGE = 500;
/** How often the event log is polled, because other processes write to it, too. */
const EVENT_POLL_MS = 500;
/** After this time without a message a comment is sent, so that proxies keep the connection open. */
const KEEP_ALIVE_MS = 15_000;
/** How often an inbox is polled without a wake-up, because a wake-up is only a hint. */
const INBOX_POLL_MS = 5_000;
/** How often the token is checked again: as long as a token check is cached. */
const REAUTHORIZE_MS = 2_000;

type Message = { readonly id?: string; readonly event: string; readonly data: unknown };

/** Yields the events after a number as they are written; undefined when there are none at the moment. */
export async function* eventsAfter(
  hub: LocalHub,
  after: number,
  signal: AbortSignal,
): AsyncGenerator<Message | undefined, void, undefined> {
  let last = after;
  while (!signal.aborted) {
    const { items, next } = await hub.events.list({ after: last, limit: PAGE });
    for (const event of items) yield messageOf(event);
    last = items.at(-1)?.number ?? last;
    if (next === undefined) {
      yield undefined;
      await pause(EVENT_POLL_MS, signal);
    }
  }
}

const messageOf = (event: HubEvent): Message => ({
  id: String(event.number),
  event: event.kind,
  data: event,
});

/**
 * Yields the deliveries that wait for an agent, each once per state. Claims nothing: a reader that wants a
 * delivery accepts it. A new connection gets everything that is waiting.
 */
export async function* inboxOf(
  agent: LocalAgent,
  signal: AbortSignal,
): AsyncGenerator<Message | undefined, void, undefined> {
  let wake = Promise.withResolvers<void>();
  const stop = agent.onWake(() => wake.resolve());
  let reported = new Map<string, string>();
  try {
    while (!signal.aborted) {
      const now = new Map<string, string>();
      for (const waiting of (await agent.deliveries.waiting()).items) {
        const { id, state, envelope, attempt } = waiting.delivery;
        const seen = JSON.stringify([state, envelope, attempt]);
        now.set(id, seen);
        if (reported.get(id) !== seen) yield { id, event: "waiting", data: waiting };
      }
      reported = now;
      yield undefined;
      await pause(INBOX_POLL_MS, signal, wake.promise);
      wake = Promise.withResolvers<void>();
    }
  } finally {
    stop();
  }
}

/** Waits; returns early, without an error, when the signal aborts or `woken` resolves. */
function pause(ms: number, signal: AbortSignal, woken?: Promise<void>): Promise<void> {
  return new Promise((done) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      done();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener("abort", end, { once: true });
    void woken?.then(end);
    if (signal.aborted) end();
  });
}

/** Passes messages on until the reader loses its access, which is checked every two seconds. */
export async function* whileAuthorized<T>(
  messages: AsyncIterable<T>,
  isAdmitted: () => Promise<boolean>,
): AsyncGenerator<T, void, undefined> {
  let askedAt = performance.now();
  for await (const message of messages) {
    if (performance.now() - askedAt >= REAUTHORIZE_MS) {
      if (!(await isAdmitted())) return;
      askedAt = performance.now();
    }
    yield message;
  }
}

/** Formats messages as server-sent events, with a comment after a time without messages. */
export async function* toServerSentEvents(
  messages: AsyncIterable<Message | undefined>,
): AsyncGenerator<string, void, undefined> {
  yield ": baton\n\n";
  let spokeAt = performance.now();
  for await (const message of messages) {
    const now = performance.now();
    if (message !== undefined) yield formatServerSentEvent(message);
    else if (now - spokeAt >= KEEP_ALIVE_MS) yield ": still here\n\n";
    else continue;
    spokeAt = now;
  }
}

function formatServerSentEvent({ id, event, data }: Message): string {
  const lines = [`event: ${event}`, `data: ${JSON.stringify(data)}`];
  return `${id === undefined ? "" : `id: ${id}\n`}${lines.join("\n")}\n\n`;
}

/** Returns a body that produces chunks as fast as they are read. An error aborts it and is reported. */
export function bodyOf(
  pieces: AsyncGenerator<string, unknown, undefined>,
  { onEnd, onError }: { readonly onEnd?: () => void; readonly onError: (error: unknown) => Error },
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let isLeft = false;
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { value, done } = await pieces.next();
        if (isLeft) return; // The reader disconnected while the chunk was produced.
        if (done === true) {
          controller.close();
          onEnd?.();
        } else controller.enqueue(encoder.encode(value));
      } catch (error) {
        onEnd?.();
        throw onError(error);
      }
    },
    async cancel() {
      isLeft = true;
      onEnd?.();
      await pieces.return(undefined);
    },
  });
}
