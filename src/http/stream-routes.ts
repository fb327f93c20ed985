/** The routes of what streams. */
import * as z from "zod";
import type { Access } from "../access/levels.ts";
import { parseOr } from "../envelope/violations.ts";
import type { KeepingQuery } from "../keeping/query.ts";
import { jsonIn } from "../wire/address.ts";
import { STREAMS } from "../wire/routes.ts";
import type { App } from "./app.ts";
import { asEvents, bodyOf, eventsAfter, inboxOf } from "./streams.ts";

/** The least access each takes. */
export const STREAM_ACCESS: Readonly<Record<keyof typeof STREAMS, Access>> = {
  events: "reader",
  inbox: "agent",
  export: "admin",
  import: "admin",
  memories: "reader",
};

const EVENTS = { "content-type": "text/event-stream", "x-accel-buffering": "no" };
const LINES = { "content-type": "application/x-ndjson" };

const EventNumber = z.coerce.number().pipe(z.int().min(0));

export function streamRoutes(app: App): void {
  add(app, "events", async (request) => {
    const { hub, signal } = await acting(app, request, "events");
    const after = lastSeen(request);
    await hub.events(after, 1); // Refused now rather than in the middle of the stream.
    return stream(app, asEvents(eventsAfter(hub, after, signal)), EVENTS);
  });
  add(app, "inbox", async (request) => {
    const call = await acting(app, request, "inbox");
    const agent = await call.agent();
    return stream(app, asEvents(inboxOf(agent, call.signal)), EVENTS);
  });
  add(app, "export", async (request) => {
    const { hub } = await acting(app, request, "export");
    return stream(app, await begun(hub.export()), LINES);
  });
  add(app, "memories", async (request) => {
    const reader = await (await acting(app, request, "memories")).reader();
    const query = Object.fromEntries(
      [...new URL(request.url).searchParams].map(([name, text]) => [
        name,
        jsonIn(text)?.value ?? text,
      ]),
    );
    return stream(app, await begun(reader.exportMemories(query as KeepingQuery)), LINES);
  });
  add(app, "import", async (request) => {
    const { hub } = await acting(app, request, "import");
    const report = await hub.import(request.body ?? []);
    return Response.json(report);
  });
}

function add(
  app: App,
  name: keyof typeof STREAMS,
  run: (request: Request) => Promise<Response>,
): void {
  const [method, path] = STREAMS[name].split(" ") as [string, string];
  app.hono.on(method, path, (c) =>
    app.answered(name, c.req.raw, async (about) => {
      about.waits = true;
      return run(c.req.raw);
    }),
  );
}

async function acting(app: App, request: Request, name: keyof typeof STREAMS) {
  const caller = await app.admit(request, STREAM_ACCESS[name]);
  return app.actingFor(request, caller);
}

/** The number of the last event the reader has: from its header, or `after`. */
function lastSeen(request: Request): number {
  const said =
    request.headers.get("last-event-id") ?? new URL(request.url).searchParams.get("after") ?? "0";
  return parseOr(EventNumber, said, {
    code: "invalid_input",
    what: "The event number",
    prefix: "after",
  });
}

/** With its first piece in hand: what is refused is refused now rather than in the middle. */
async function begun(
  pieces: AsyncGenerator<string, unknown, undefined>,
): Promise<AsyncGenerator<string, void, undefined>> {
  const first = await pieces.next();
  return (async function* () {
    if (first.done !== true) yield first.value;
    yield* pieces;
  })();
}

function stream(
  app: App,
  pieces: AsyncGenerator<string, unknown, undefined>,
  headers: Readonly<Record<string, string>>,
): Response {
  let open = true;
  app.metrics.streamOpened();
  const body = bodyOf(pieces, () => {
    if (open) app.metrics.streamClosed();
    open = false;
  });
  return new Response(body, { headers });
}
