/** What the hub serves besides calls: health, metrics, its description, the schemas, and MCP. */
import { type Access, hasAccess } from "../access/levels.ts";
import { BatonError, isBatonError } from "../base/errors.ts";
import { batonVersion } from "../base/version.ts";
import { mcpFetch } from "../mcp/http.ts";
import { HEADERS } from "../operations/wire/headers.ts";
import type { App } from "./app.ts";
import type { Caller } from "./caller.ts";
import { bodyIn } from "./decode.ts";
import { frontPage } from "./front-page.ts";
import { openApi } from "./openapi.ts";
import { SCHEMA_NAMES, schemaOf } from "./published-schemas.ts";
import { referencePage } from "./reference-page.ts";
import { INTERACTIVE_SESSION_MS } from "./session-cache.ts";

const HTML = {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy":
    "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'",
};
const PLAIN = { "content-type": "text/plain; version=0.0.4; charset=utf-8" };

/** Of an agent that nobody knows yet: it says hello. */
const FIRST_CALL_BYTES = 64 * 1024;

/** Pages that show nothing of the store need no token; the others take this access. */
export const PAGES: Readonly<Record<string, Access | "anybody">> = {
  "/": "anybody",
  "/healthz": "anybody",
  "/readyz": "anybody",
  "/openapi.json": "anybody",
  "/reference": "anybody",
  "/schemas": "anybody",
  "/schemas/:name": "anybody",
  "/metrics": "reader",
};

export function addPages(app: App): void {
  const html = (text: string) => new Response(text, { headers: HTML });
  const page = (path: string, run: (request: Request, name: string) => Promise<Response>) =>
    app.hono.get(path, (c) =>
      app.answered(path, c.req.raw, async (about) => {
        const access = PAGES[path];
        if (access !== undefined && access !== "anybody") {
          about.caller = await app.admit(c.req.raw, access);
        }
        return run(c.req.raw, c.req.param("name") ?? "");
      }),
    );
  page("/", async (request) => html(frontPage(new URL(request.url).origin)));
  page("/healthz", async () => Response.json({ status: "ok", version: batonVersion() }));
  page("/readyz", async () => {
    await app.hub.settings.get(); // Reads one row of the store: throws when it cannot.
    if (app.closing.aborted) throw closing();
    return Response.json({ status: "ready" });
  });
  page("/openapi.json", async () => Response.json(openApi()));
  page("/reference", async (request) => html(referencePage(new URL(request.url).origin)));
  page("/schemas", async () => Response.json({ schemas: SCHEMA_NAMES }));
  page("/schemas/:name", async (_, name) => Response.json(schemaNamed(name)));
  page("/metrics", async () => new Response(app.metrics.text(), { headers: PLAIN }));
  mcpRoutes(app);
}

function schemaNamed(name: string): object {
  const schema = schemaOf(name);
  if (schema !== undefined) return schema;
  throw new BatonError("unknown_call", {
    message: `There is no schema "${name}".`,
    path: "/schemas",
    hint: `There are: ${SCHEMA_NAMES.join(", ")}.`,
  });
}

/**
 * MCP at /mcp, for the agent of the token or the header; at /mcp/<agent> for clients that can set
 * neither. An agent that is not registered yet is, where the caller may do that.
 */
function mcpRoutes(app: App): void {
  const answer = mcpFetch(async (request) => {
    const { access, hub, agent } = app.actingFor(request, await app.identify(request));
    return { access, hub, agent: await agent() };
  });
  app.closing.addEventListener("abort", () => void answer.close(), { once: true });
  const serve = (raw: Request, named: string | undefined) =>
    app.answered("mcp", raw, async (about) => {
      about.waits = true;
      if (app.closing.aborted) throw closing();
      const request = withAgentHeaders(raw, named);
      const caller = await app.admit(request, "agent");
      about.caller = caller;
      const acting = app.actingFor(request, caller);
      await acting.agent().catch(async (error: unknown) => {
        if (!mayRegister(error, request, caller)) throw error;
        await bodyIn(request.clone(), FIRST_CALL_BYTES); // What is no call makes nobody known.
        await acting.hub.agent(caller.agent as string, { role: "agent" });
      });
      return answer(request);
    });
  app.hono.all("/mcp", (c) => serve(c.req.raw, undefined));
  app.hono.all("/mcp/:agent", (c) => serve(c.req.raw, c.req.param("agent")));
}

/** Whether it is an agent that nobody knows yet, and the caller may act as it and make it known. */
const mayRegister = (error: unknown, { method }: Request, caller: Caller): boolean =>
  isBatonError(error) &&
  error.code === "unknown_agent" &&
  method === "POST" &&
  caller.bound === undefined &&
  hasAccess(caller.access, "coordinator");

/** As the agent that the path names; and a model thinks between two calls. */
function withAgentHeaders(request: Request, agent: string | undefined): Request {
  const headers = new Headers(request.headers);
  if (agent !== undefined) headers.set(HEADERS.agent, encodeURIComponent(agent));
  if (!headers.has(HEADERS.silence)) headers.set(HEADERS.silence, String(INTERACTIVE_SESSION_MS));
  return new Request(request, { headers });
}

const closing = (): BatonError =>
  new BatonError("store_closed", {
    message: "The hub is closing.",
    hint: "Call another hub, or this one when it has started again.",
  });
