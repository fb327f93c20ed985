/**
 * The hub as a web-standard `fetch(Request)`. Every operation becomes a route with the same steps, in this
 * order: check host and origin, authenticate, check access, apply the rate limit, decode the input, replay by
 * idempotency key; then one line that calls the hub.
 */
import { Hono } from "hono";
import { requireAccess } from "../access/refusals.ts";
import { BatonError } from "../base/errors.ts";
import type { LocalHub } from "../hub/hub.ts";
import { sessionTimeout } from "../hub/option-checks.ts";
import { OPERATIONS, routeOf } from "../operations/index.ts";
import type { Operation, OperationContext } from "../operations/operation.ts";
import { runOperation } from "../operations/run.ts";
import { HEADERS } from "../operations/wire/headers.ts";
import { type AnonymousAccess, type Caller, callerOf, header } from "./caller.ts";
import { decode } from "./decode.ts";
import { actorOf, DeniedCalls } from "./denied-calls.ts";
import {
  checkHostAndOrigin,
  checkOrigins,
  corsHeaders,
  type Guard,
  preflight,
  SECURITY_HEADERS,
} from "./guard.ts";
import { IdempotencyCache, type Reply } from "./idempotency-cache.ts";
import type { LocalAccess } from "./local-access.ts";
import { Metrics } from "./metrics.ts";
import { addPages, isPublicPage } from "./pages.ts";
import { callerErrorOf, problemOf, problemReply } from "./problem.ts";
import { type RateLimit, RateLimiter } from "./rate-limiter.ts";
import { servedFiles } from "./served-files.ts";
import { SessionCache } from "./session-cache.ts";
import { streamRoutes } from "./stream-routes.ts";
import { bodyOf } from "./streams.ts";

/** Options of `httpHub()`. */
export interface HttpOptions extends Partial<Guard> {
  /** Access level of callers without a token (default: none). For tests and hubs within a process. */
  readonly open?: AnonymousAccess;
  /** Accepts programs and browsers of this user on this machine (listen.ts decides). Default: none. */
  readonly local?: LocalAccess | undefined;
  /**
   * The folders whose files callers may compare artifacts with, by workspace (default: none). Without one, their
   * artifacts are unchecked. Dotfiles are never read.
   */
  readonly files?: Readonly<Record<string, string>>;
  /** Maximum body size of a call, in bytes (default: 16 MiB). Imports are not limited. */
  readonly bodyBytes?: number;
  /** Rate limit of each caller (default: 5,000 calls per second, 10,000 at once). */
  readonly rate?: RateLimit;
  /** Called for every response, for logging. Contains no token and no content. */
  readonly onAnswer?: (answer: RequestLogEntry) => void;
  /** Called with unexpected errors, which are bugs in Baton. */
  readonly onBug?: (bug: unknown) => void;
}

/** One response, for the request log. */
export interface RequestLogEntry {
  readonly operation: string;
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly ms: number;
  readonly caller: string;
  readonly workspace: string;
}

/** The HTTP interface of a hub. */
export interface HttpHub {
  /** `address`: the address of the caller, if the server knows it. */
  fetch(request: Request, address?: () => string | undefined): Promise<Response>;
  /** Ends long polls and streams; calls in progress are answered. Does not close the hub. */
  close(): void;
}

/** What route handlers share; passed to the files that add routes. */
export interface App {
  readonly hono: Hono;
  readonly hub: LocalHub;
  readonly sessions: SessionCache;
  readonly metrics: Metrics;
  readonly closing: AbortSignal;
  readonly local: LocalAccess | undefined;
  readonly denied: DeniedCalls;
  /** Called with unexpected errors, which are bugs in Baton. */
  readonly report: (bug: unknown) => void;
  /**
   * Authenticates the caller and notes it in `about`, applies its rate limit and checks its access. Throws if
   * any of them fails.
   */
  admit(request: Request, needs: Operation["access"], about?: RequestInfo): Promise<Caller>;
  /** Authenticates the caller of a request that was already admitted. */
  identify(request: Request): Promise<Caller>;
  /** Returns the context in which the caller's operations run. */
  actingFor(
    request: Request,
    caller: Caller,
    how?: {
      readonly onProgress?: OperationContext["onProgress"];
      readonly key?: OperationContext["key"];
    },
  ): OperationContext;
  /** Runs a handler, turns errors into problem responses, and records metrics and the log entry. */
  answered(
    operation: string,
    request: Request,
    run: (about: RequestInfo) => Promise<Response>,
  ): Promise<Response>;
}

/** What a handler learns about its call, for the log and the metrics. */
export interface RequestInfo {
  caller?: Caller;
  waits?: true | undefined;
}

/** Fits the largest batch of memories that one call can contain. */
const BODY_BYTES = 16 * 1024 * 1024;
/** High enough for a busy team, low enough to stop a runaway loop. */
const RATE: RateLimit = { perSecond: 5_000, burst: 10_000 };
/** For failed authentication: enough for mistakes, too few to guess a token. */
const FAILED_AUTH_RATE_LIMIT: RateLimit = { perSecond: 10, burst: 100 };

/** Returns the HTTP interface of a hub. */
export function httpHub(hub: LocalHub, options: HttpOptions = {}): HttpHub {
  const guard: Guard = { hosts: options.hosts ?? [], origins: options.origins ?? [] };
  checkOrigins(guard.origins);
  const { open = false, local } = options;
  const closing = new AbortController();
  const limiter = new RateLimiter(options.rate ?? RATE);
  const strangers = new RateLimiter(FAILED_AUTH_RATE_LIMIT);
  const sessions = new SessionCache(hub, servedFiles(options.files));
  const denied = new DeniedCalls(sessions, hub);
  const metrics = new Metrics();
  const replies = new IdempotencyCache();
  const report = options.onBug ?? (() => {});
  hub.coverAllWorkspaces();

  const app: App = {
    hono: new Hono({ strict: false }),
    hub,
    sessions,
    metrics,
    closing: closing.signal,
    local,
    denied,
    report,
    identify: (request) => callerOf(request, hub, { open, local }),
    async admit(request, needs, about = {}) {
      const caller = await app.identify(request).catch((error: unknown) => {
        strangers.take("");
        throw error;
      });
      about.caller = caller;
      limiter.take(caller.id);
      requireAccess(caller, needs);
      const { agent, bound } = caller;
      // A caller that names another agent than its token's is refused, also if the operation uses no agent.
      if (bound !== undefined && agent !== bound) await app.actingFor(request, caller).agent();
      return caller;
    },
    actingFor(request, caller, { onProgress = () => {}, key } = {}) {
      const branch = header(request, HEADERS.branch, "The branch");
      const instance = header(request, HEADERS.session, "The session");
      const inWorkspace = sessions.hubOf(caller.workspace);
      const silentMs = sessionTimeoutOf(request);
      const agent = () => sessions.agentOf({ caller, instance, branch, silentMs });
      return {
        hub: inWorkspace,
        access: caller.access,
        actor: actorOf(caller),
        key,
        named: caller.agent,
        agent,
        // Reading a branch requires an agent; without one the call fails instead of reading the main branch.
        reader: async () =>
          caller.agent === undefined && branch === undefined ? inWorkspace : agent(),
        get signal() {
          return AbortSignal.any([request.signal, closing.signal]);
        },
        onProgress,
      };
    },
    async answered(operation, request, run) {
      const began = performance.now();
      const about: RequestInfo = {};
      metrics.begin();
      const response = await run(about).catch((error: unknown) => {
        denied.record(error, { operation, request, caller: about.caller });
        return respond(problemReply(callerErrorOf(error, report), request));
      });
      const ms = performance.now() - began;
      metrics.end(operation, response.status, about.waits ? undefined : ms / 1_000);
      options.onAnswer?.({
        operation,
        method: request.method,
        path: new URL(request.url).pathname,
        status: response.status,
        ms,
        caller: about.caller?.id ?? "",
        workspace: about.caller?.workspace ?? "",
      });
      return response;
    },
  };

  const call = async (
    operation: Operation,
    request: Request,
    params: Readonly<Record<string, string>>,
    about: RequestInfo,
  ): Promise<Response> => {
    const caller = await app.admit(request, operation.access, about);
    about.waits = operation.waits;
    const bodyBytes = options.bodyBytes ?? BODY_BYTES;
    const input = await decode(operation, { request, params, bodyBytes });
    const key = keyOf(request);
    if (operation.progress && wantsLines(request)) {
      return streamProgress(app, request, caller, (acting) =>
        runOperation(operation, acting, input).catch((error: unknown) => {
          denied.record(error, { operation: operation.name, request, caller });
          throw error;
        }),
      );
    }
    const run = async (): Promise<Reply> => {
      try {
        const acting = app.actingFor(request, caller, { key });
        const output = await runOperation(operation, acting, input);
        if (CHANGES_AGENTS.has(operation.name)) sessions.forget();
        return { status: 200, headers: JSON_TYPE, body: JSON.stringify(output ?? null) };
      } catch (error) {
        denied.record(error, { operation: operation.name, request, caller });
        return problemReply(callerErrorOf(error, report), request);
      }
    };
    if (key === undefined) return respond(await run());
    const who = JSON.stringify([caller.workspace, caller.id, caller.agent]);
    // A retry with another waitMs is still the same call.
    const meant = { ...(input as object), waitMs: undefined };
    const asked = [operation.name, meant, request.headers.get(HEADERS.branch)];
    const account = JSON.stringify([caller.workspace, caller.id]);
    const same = { caller: who, account, key, request: JSON.stringify(asked) };
    return respond(await replies.once(same, run));
  };

  for (const operation of OPERATIONS) {
    app.hono.on(...routeOf(operation), (c) =>
      app.answered(operation.name, c.req.raw, (about) =>
        call(operation, c.req.raw, c.req.param(), about),
      ),
    );
  }
  streamRoutes(app);
  addPages(app);
  app.hono.notFound((c) =>
    app.answered("unknown", c.req.raw, async () => {
      throw unknownCall(app.hono, c.req.raw);
    }),
  );

  return {
    async fetch(request, address) {
      if (address !== undefined) denied.from(request, address);
      try {
        checkHostAndOrigin(request, guard, isPublicPage);
      } catch (error) {
        return addHeaders(await app.answered("refused", request, () => Promise.reject(error)), {});
      }
      const sharing = corsHeaders(request, guard);
      if (request.method === "OPTIONS") return addHeaders(preflight(request, guard), sharing);
      if (request.method === "HEAD")
        return addHeaders(await withoutBody(app.hono, request), sharing);
      return addHeaders(await app.hono.fetch(request), sharing);
    },
    close: () => closing.abort(),
  };
}

const JSON_TYPE = { "content-type": "application/json" } as const;

/** Operations after which cached agents may be out of date. */
const CHANGES_AGENTS: ReadonlySet<string> = new Set(["agent", "agents.pause", "agents.unpause"]);

function sessionTimeoutOf(request: Request): number | undefined {
  const said = request.headers.get(HEADERS.sessionMs);
  return said === null ? undefined : sessionTimeout({ sessionMs: Number(said) }, HEADERS.sessionMs);
}

const keyOf = (request: Request): string | undefined =>
  request.method === "GET" ? undefined : (request.headers.get(HEADERS.key) ?? undefined);

/** Sets all headers at once: adding them later, one by one, cost more than the rest of a response. */
function respond({ status, headers, body }: Reply): Response {
  const response = new Response(body, { status, headers: { ...SECURITY_HEADERS, ...headers } });
  responsesWithHeaders.add(response);
  return response;
}

const responsesWithHeaders = new WeakSet<Response>();

function addHeaders(response: Response, sharing: Readonly<Record<string, string>>): Response {
  const missing = responsesWithHeaders.has(response)
    ? sharing
    : { ...SECURITY_HEADERS, ...sharing };
  for (const [name, value] of Object.entries(missing)) {
    if (!response.headers.has(name)) response.headers.set(name, value);
  }
  return response;
}

/** Answers HEAD as GET without the body, and cancels the body so that no stream stays open. */
async function withoutBody(hono: Hono, request: Request): Promise<Response> {
  const whole = await hono.fetch(new Request(request, { method: "GET" }));
  await whole.body?.cancel();
  return new Response(null, { status: whole.status, headers: whole.headers });
}

const LINES = "application/x-ndjson";

const wantsLines = (request: Request): boolean =>
  request.headers.get("accept")?.includes(LINES) === true;

/** Streams progress as NDJSON lines, then the answer or the problem. */
function streamProgress(
  app: App,
  request: Request,
  caller: Caller,
  run: (acting: OperationContext) => Promise<unknown>,
): Response {
  const lines: string[] = [];
  let wake = Promise.withResolvers<void>();
  const say = (line: object): void => {
    lines.push(`${JSON.stringify(line)}\n`);
    wake.resolve();
  };
  let over = false;
  const acting = app.actingFor(request, caller, { onProgress: (progress) => say({ progress }) });
  run(acting)
    .then(
      (answer) => say({ answer: answer ?? null }),
      (error: unknown) => say({ problem: problemOf(callerErrorOf(error, app.report), request) }),
    )
    .finally(() => {
      over = true;
      wake.resolve();
    });
  async function* pieces(): AsyncGenerator<string, void, undefined> {
    for (;;) {
      yield lines.splice(0).join("");
      if (over && lines.length === 0) return;
      await wake.promise;
      wake = Promise.withResolvers<void>();
    }
  }
  const body = bodyOf(pieces(), { onError: (error) => callerErrorOf(error, app.report) });
  return new Response(body, { headers: { "content-type": LINES } });
}

/** Returns wrong_method if the path exists with another method, otherwise unknown_call. */
function unknownCall(hono: Hono, request: Request): BatonError {
  const { pathname } = new URL(request.url);
  const methods = (["GET", "POST", "PUT", "PATCH", "DELETE"] as const).filter(
    (method) => hono.router.match(method, pathname)[0].length > 0,
  );
  if (methods.length > 0) {
    return new BatonError("wrong_method", {
      message: `${pathname} does not support ${request.method}.`,
      path: pathname,
      hint: `Use ${methods.join(" or ")}.`,
      details: { methods },
    });
  }
  return new BatonError("unknown_call", {
    message: "Route not found.",
    path: pathname,
    hint: "See /reference for all routes.",
  });
}
