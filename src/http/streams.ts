/**
 * What streams: events and inboxes as server-sent events, exports as lines. A stream ends with its
 * reader or with the hub; whoever comes back says how far it got (`Last-Event-ID`), and misses nothing.
 */
import type { HubEvent } from "../history/event.ts";
import type { LocalAgent } from "../hub/agent.ts";
import type { LocalHub } from "../hub/hub.ts";

/** Events of one read. */
const PAGE = 500;
/** How often the log is looked at although nobody called: other processes write to it too. */
const EVENT_POLL_MS = 500;
/** A comment keeps the connection from being taken for dead. */
const KEEP_ALIVE_MS = 15_000;
/** How often an inbox is looked at although nobody woke us: a wake-up is only a hint. */
const INBOX_POLL_MS = 5_000;
/** As long as what was read of a token is believed. */
const REAUTHORIZE_MS = 2_000;

type Message = { readonly id?: string; readonly event: string; readonly data: unknown };

/** Events after a number, each as it is written. */
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
 * What waits for an agent, each delivery once in every state it waits in. Looking claims nothing: who
 * wants it accepts it. Whoever connects anew is told of everything that waits.
 */
export async function* inboxOf(
  agent: LocalAgent,
  signal: AbortSignal,
): AsyncGenerator<Message | undefined, void, undefined> {
  let wake = Promise.withResolvers<void>();
  const stop = agent.onWake(() => wake.resolve());
  let told = new Map<string, string>();
  try {
    while (!signal.aborted) {
      const now = new Map<string, string>();
      for (const waiting of (await agent.deliveries.waiting()).items) {
        const { id, state, envelope, attempt } = waiting.delivery;
        const seen = JSON.stringify([state, envelope, attempt]);
        now.set(id, seen);
        if (told.get(id) !== seen) yield { id, event: "waiting", data: waiting };
      }
      told = now;
      yield undefined;
      await pause(INBOX_POLL_MS, signal, wake.promise);
      wake = Promise.withResolvers<void>();
    }
  } finally {
    stop();
  }
}

/** Ends early, without an error, when the signal aborts or somebody wakes it. */
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

/** For as long as its reader is let in; asked again every few seconds. */
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

/** Messages as server-sent events; with a comment when nothing was said for a while. */
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

/** A body from pieces of text, as fast as they are read. What goes wrong in the middle is cut off, and told. */
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
        if (isLeft) return; // Its reader went while the piece was made.
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
