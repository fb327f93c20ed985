/** Reads server-sent events as a client does. */

export interface ServerSentEvent {
  readonly id: string | undefined;
  readonly event: string;
  readonly data: unknown;
}

/** Yields one event after the other until the hub ends the stream. Returning early disconnects. */
export async function* readEvents(
  response: Response,
): AsyncGenerator<ServerSentEvent, void, undefined> {
  let rest = "";
  for await (const piece of (response.body as ReadableStream<Uint8Array>).pipeThrough(
    new TextDecoderStream(),
  )) {
    const messages = (rest + piece).split("\n\n");
    rest = messages.pop() ?? "";
    for (const message of messages) {
      const event = read(message);
      if (event !== undefined) yield event;
    }
  }
}

/** Parses a message. Returns undefined for a comment. */
function read(message: string): ServerSentEvent | undefined {
  const fields = new Map(
    message.split("\n").map((line) => {
      const at = line.indexOf(": ");
      return [line.slice(0, at), line.slice(at + 2)] as const;
    }),
  );
  const event = fields.get("event");
  if (event === undefined) return undefined;
  return { id: fields.get("id"), event, data: JSON.parse(fields.get("data") ?? "null") };
}

/** Returns the next `count` events. Throws if the stream ends before that. */
export async function take(
  events: AsyncGenerator<ServerSentEvent, void, undefined>,
  count: number,
): Promise<ServerSentEvent[]> {
  const taken: ServerSentEvent[] = [];
  while (taken.length < count) {
    const { value, done } = await events.next();
    if (done === true) throw new Error(`the stream ended after ${taken.length} of ${count}`);
    taken.push(value);
  }
  return taken;
}
