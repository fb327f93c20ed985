/** Routes other than operations: start page, login, health, metrics, OpenAPI, reference, schemas and MCP. */
import { type Access, hasAccess } from "../access/levels.ts";
import { sha256 } from "../base/digest.ts";
import { BatonError, isBatonError } from "../base/errors.ts";
import { batonVersion } from "../base/version.ts";
import { mcpFetch } from "../mcp/http.ts";
import { HEADERS } from "../operations/wire/headers.ts";
import { runAs } from "../workspace/actor.ts";
import type { App } from "./app.ts";
import type { Caller } from "./caller.ts";
import { bodyIn } from "./decode.ts";
import { frontPage, loginFailedPage } from "./front-page.ts";
import { openApi } from "./openapi.ts";
import { SCHEMA_NAMES, schemaOf } from "./published-schemas.ts";
import { referencePage } from "./reference-page.ts";
import { INTERACTIVE_SESSION_MS } from "./session-cache.ts";

const HTML = {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy":
    "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'",
};
const JSON_TYPE = { "content-type": "application/json" };
const PLAIN = { "content-type": "text/plain; version=0.0.4; charset=utf-8" };

/** Maximum body of the first call of an unregistered agent, which is an MCP initialize request. */
const FIRST_CALL_BYTES = 64 * 1024;

/** The access that each page requires; pages that show no data of the store need no token ("public"). */
export const PAGES: Readonly<Record<string, Access | "public">> = {
  "/": "public",
  "/login": "public",
  "/healthz": "public",
  "/readyz": "public",
  "/openapi.json": "public",
  "/reference": "public",
  "/schemas": "public",
  "/schemas/:name": "public",
  "/metrics": "reader",
};

/** Returns whether a path is that of a page that shows no data of the store. */
export const isPublicPage = (path: string): boolean =>
  PAGES[path.startsWith("/schemas/") ? "/schemas/:name" : path] === "public";

/** Adds the pages and the MCP routes. */
export function addPages(app: App): void {
  const html = (text: string) => new Response(text, { headers: HTML });
  const page = (path: string, run: (request: Request, name: string) => Promise<Response>) =>
    app.hono.get(path, (c) =>
      app.answered(path, c.req.raw, async (about) => {
        const access = PAGES[path];
        if (access !== undefined && access !== "public") {
          await app.admit(c.req.raw, access, about);
        }
        return run(c.req.raw, c.req.param("name") ?? "");
      }),
    );
  page("/", async (request) => html(frontPage(new URL(request.url).origin)));
  page("/login", async (request) => login(app, request));
  page("/healthz", async () => Response.json({ status: "ok", version: batonVersion() }));
  page("/readyz", async () => {
    await app.hub.settings.get(); // Reads one row of the store; throws if the store is not available.
    if (app.closing.aborted) throw closing();
    return Response.json({ status: "ready" });
  });
  page("/openapi.json", async (request) => openApiResponse(request));
  page("/reference", async (request) => html(referencePage(new URL(request.url).origin)));
  page("/schemas", async () => Response.json({ schemas: SCHEMA_NAMES }));
  page("/schemas/:name", async (_, name) => Response.json(schemaNamed(name)));
  page("/metrics", async () => new Response(app.metrics.text(), { headers: PLAIN }));
  mcpRoutes(app);
}

let cachedDescription: { readonly text: string; readonly etag: string } | undefined;

/** The OpenAPI description as JSON: built once, because that takes up to 20 ms. */
function openApiResponse({ headers: asked }: Request): Response {
  const text = cachedDescription?.text ?? JSON.stringify(openApi());
  cachedDescription ??= { text, etag: `"${sha256(text).slice(0, 32)}"` };
  const { etag } = cachedDescription;
  // Stored by the browser, and asked for again each time: the next version has another description.
  const headers = { ...JSON_TYPE, etag, "cache-control": "no-cache" };
  const known = asked.get("if-none-match")?.split(",") ?? [];
  return known.some((each) => ["*", etag].includes(each.trim().replace(/^W\//, "")))
    ? new Response(null, { status: 304, headers })
    : new Response(text, { headers });
}

/** Exchanges the code of a printed address for a cookie; a browser that has one goes on to the start page. */
function login({ local }: App, request: Request): Response {
  const code = new URL(request.url).searchParams.get("code") ?? "";
  const cookie = local?.redeem(request, code);
  if (cookie === undefined && local?.hasCookie(request) !== true) {
    return new Response(loginFailedPage(), { status: 410, headers: HTML });
  }
  const headers = { location: "/", ...(cookie === undefined ? {} : { "set-cookie": cookie }) };
  return new Response(null, { status: 303, headers });
}

function schemaNamed(name: string): object {
  const schema = schemaOf(name);
  if (schema !== undefined) return schema;
  throw new BatonError("unknown_call", {
    message: `Unknown schema "${name}".`,
    path: "/schemas",
    hint: `Published schemas: ${SCHEMA_NAMES.join(", ")}.`,
  });
}

/**
 * Serves MCP at /mcp for the agent of the token or the header, and at /mcp/<agent> for clients that can set
 * neither. An unregistered agent is registered if the caller's access allows it.
 */
function mcpRoutes(app: App): void {
  const answer = mcpFetch(async (request) => {
    const caller = await app.identify(request);
    const { access, hub, agent } = app.actingFor(request, caller);
    const onFailure = (tool: string, error: unknown) =>
      app.denied.record(error, { operation: `mcp ${tool}`, request, caller });
    return { access, hub, agent: await agent(), onFailure };
  });
  app.closing.addEventListener("abort", () => void answer.close(), { once: true });
  const serve = (raw: Request, named: string | undefined) =>
    app.answered("mcp", raw, async (about) => {
      about.waits = true;
      if (app.closing.aborted) throw closing();
      const request = withAgentHeaders(raw, named);
      const caller = await app.admit(request, "agent", about);
      const acting = app.actingFor(request, caller);
      await acting.agent().catch(async (error: unknown) => {
        if (!mayRegister(error, request, caller)) throw error;
        await bodyIn(request.clone(), FIRST_CALL_BYTES); // An invalid body must not register an agent.
        await runAs(acting.actor, () =>
          acting.hub.agent(caller.agent as string, { role: "agent" }),
        );
      });
      return runAs(acting.actor, () => answer(request));
    });
  app.hono.all("/mcp", (c) => serve(c.req.raw, undefined));
  app.hono.all("/mcp/:agent", (c) => serve(c.req.raw, c.req.param("agent")));
}

/** Returns whether the agent is unregistered, and the caller may act as it and register it. */
const mayRegister = (error: unknown, { method }: Request, caller: Caller): boolean =>
  isBatonError(error) &&
  error.code === "unknown_agent" &&
  method === "POST" &&
  caller.bound === undefined &&
  hasAccess(caller.access, "coordinator");

/** Sets the agent of the path, and a long session timeout, because a model pauses between calls. */
function withAgentHeaders(request: Request, agent: string | undefined): Request {
  const headers = new Headers(request.headers);
  if (agent !== undefined) headers.set(HEADERS.agent, encodeURIComponent(agent));
  if (!headers.has(HEADERS.sessionMs))
    headers.set(HEADERS.sessionMs, String(INTERACTIVE_SESSION_MS));
  return new Request(request, { headers });
}

const closing = (): BatonError =>
  new BatonError("store_closed", {
    message: "The hub is closing.",
    hint: "Call another hub, or retry after this one has restarted.",
  });
