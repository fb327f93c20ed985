/**
 * MCP over HTTP for tests: through a hub, or through a minimal HTTP server for a test that brings
 * its own MCP server.
 */

import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import {
  hostHeaderValidationResponse,
  originValidationResponse,
} from "@modelcontextprotocol/server";
import { systemClock } from "../../src/base/clock.ts";
import { listen as listenHub } from "../../src/http/listen.ts";
import { type Hub, LocalHub } from "../../src/index.ts";
import { type McpFetchOptions, mcpFetch } from "../../src/mcp/http.ts";
import { HEADERS } from "../../src/operations/wire/headers.ts";
import { openReferenceStore } from "../../store-contract/reference/open.ts";

export interface Listening {
  readonly url: URL;
  close(): Promise<void>;
}

/** The header that names the calling agent; the same as the hub's. */
export const AGENT = HEADERS.agent;

/** Starts a hub on a free port. Closing it closes the hub too. */
export async function throughHub(): Promise<Listening & { readonly hub: Hub }> {
  const hub = new LocalHub(openReferenceStore({ clock: systemClock }));
  const { address, close } = await listenHub(hub, {
    port: 0,
    open: "coordinator",
    rate: UNLIMITED,
  });
  return { hub, url: new URL(`${address}/mcp`), close };
}

/** No rate limit in practice, because tests call faster than any client should. */
const UNLIMITED = { perSecond: 1_000_000, burst: 1_000_000 };

/** Serves MCP on a local port, and validates Host and Origin as the hub does. */
export async function listen(hub: Hub, options: McpFetchOptions = {}): Promise<Listening> {
  const fetch = mcpFetch(async (request) => {
    const name = request.headers.get(AGENT) ?? "guest";
    const session = { instance: `http ${name}`, lease: "session" } as const;
    return { access: "admin", hub, agent: await hub.agent(name, { role: "agent" }, session) };
  }, options);
  const local = ["127.0.0.1", "localhost"];
  const server = createServer(
    getRequestListener(
      async (request) =>
        hostHeaderValidationResponse(request, local) ??
        originValidationResponse(request, local) ??
        fetch(request),
    ),
  );
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: new URL(`http://127.0.0.1:${port}/mcp`),
    close: async () => {
      await fetch.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
