/** The routes that stream: events and inbox as server-sent events, export and import as NDJSON lines. */
import * as z from "zod";
import { type MemoryExportQuery, MemoryExportQuerySchema } from "../archive/memory-export-query.ts";
import { isBatonError } from "../base/errors.ts";
import { parseOrThrow } from "../envelope/violations.ts";
import { type AuditExportQuery, AuditExportSchema } from "../memory/audit/read-audit.ts";
import { routeOf } from "../operations/index.ts";
import type { OperationContext } from "../operations/operation.ts";
import { recordAdminRead } from "../operations/run.ts";
import { STREAMS, type Stream } from "../operations/streams.ts";
import { runAs } from "../workspace/actor.ts";
import type { App } from "./app.ts";
import { piecesOf, queryIn } from "./decode.ts";
import { callerErrorOf } from "./problem.ts";
import { bodyOf, eventsAfter, inboxOf, toServerSentEvents, whileAuthorized } from "./streams.ts";

const EVENTS = { "content-type": "text/event-stream", "x-accel-buffering": "no" };
const LINES = { "content-type": "application/x-ndjson" };

const EventNumber = z.coerce.number().pipe(z.int().min(0));

/** Adds the streaming routes. */
export function streamRoutes(app: App): void {
  addRoute(app, "events.stream", async (request, { hub, signal }) => {
    const after = lastSeen(request);
    await hub.events.list({ after, limit: 1 }); // Fails here rather than in the middle of the stream.
    return eventStreamResponse(app, request, "events.stream", eventsAfter(hub, after, signal));
  });
  addRoute(app, "inbox.stream", async (request, call) => {
    const agent = await call.agent();
    return eventStreamResponse(app, request, "inbox.stream", inboxOf(agent, call.signal));
  });
  addRoute(app, "archive.export", async (_, { hub }) =>
    stream(app, await withFirstChunk(hub.archive.export()), LINES),
  );
  addRoute(app, "events.exportAudit", async (request, { hub }) => {
    const query = queryIn(AuditExportSchema, new URL(request.url).searchParams);
    return stream(
      app,
      await withFirstChunk(hub.events.exportAudit(query as AuditExportQuery)),
      LINES,
    );
  });
  addRoute(app, "memories.export", async (request, call) => {
    const reader = await call.reader();
    const query = queryIn(MemoryExportQuerySchema, new URL(request.url).searchParams);
    return stream(
      app,
      await withFirstChunk(reader.memories.export(query as MemoryExportQuery)),
      LINES,
    );
  });
  addRoute(app, "archive.import", async (request, { hub }) =>
    Response.json(await hub.archive.import(piecesOf(request))),
  );
}

function addRoute(
  app: App,
  name: string,
  run: (request: Request, acting: OperationContext) => Promise<Response>,
): void {
  const { access, route } = STREAMS[name] as Stream;
  const operation = { name, access, route };
  app.hono.on(...routeOf({ route }), (c) =>
    app.answered(name, c.req.raw, async (about) => {
      about.waits = true;
      const acting = app.actingFor(c.req.raw, await app.admit(c.req.raw, access, about));
      await recordAdminRead(operation, acting);
      return runAs(acting.actor, () => run(c.req.raw, acting));
    }),
  );
}

/** Streams messages as server-sent events, until the caller's token is no longer valid. */
function eventStreamResponse(
  app: App,
  request: Request,
  name: string,
  messages: ReturnType<typeof eventsAfter>,
): Response {
  const isAdmitted = () =>
    app.admit(request, (STREAMS[name] as Stream).access).then(
      () => true,
      (error: unknown) => !isAccessError(error),
    );
  return stream(app, toServerSentEvents(whileAuthorized(messages, isAdmitted)), EVENTS);
}

/** Only these end the stream; any other error may be temporary. */
const isAccessError = (error: unknown): boolean =>
  isBatonError(error) && (error.code === "unauthenticated" || error.code === "forbidden");

/** Returns the number of the last event the reader has: from Last-Event-ID, or `after` (default: 0). */
function lastSeen(request: Request): number {
  const fields =
    request.headers.get("last-event-id") ?? new URL(request.url).searchParams.get("after") ?? "0";
  return parseOrThrow(EventNumber, fields, {
    code: "invalid_input",
    what: "The event number",
    prefix: "after",
  });
}

/** Reads the first chunk before the response starts, so that an error is not raised in the middle. */
async function withFirstChunk(
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
  const onEnd = () => {
    if (open) app.metrics.streamClosed();
    open = false;
  };
  const body = bodyOf(pieces, { onEnd, onError: (error) => callerErrorOf(error, app.report) });
  return new Response(body, { headers });
}
