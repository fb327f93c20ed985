/** An HTTP listener for `mcpFetch`, where a test needs no more of a door. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import {
  hostHeaderValidationResponse,
  originValidationResponse,
} from "@modelcontextprotocol/server";
import type { Hub } from "../../src/index.ts";
import { type McpFetchOptions, mcpFetch } from "../../src/mcp/http.ts";

export interface Listening {
  readonly url: URL;
  close(): Promise<void>;
}

/** Who calls, as a header says it here; the hub's own door asks for a token. */
export const AGENT = "x-test-agent";

/** An address on this machine only, that looks at Host and Origin as every door does. */
export async function listen(hub: Hub, options: McpFetchOptions = {}): Promise<Listening> {
  const fetch = mcpFetch(async (request) => {
    const name = request.headers.get(AGENT) ?? "guest";
    const session = { instance: `http ${name}`, lease: "session" } as const;
    return { hub, agent: await hub.agent(name, { role: "agent" }, session) };
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
