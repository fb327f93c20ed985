/**
 * MCP over HTTP, both protocol eras: a handler of requests for the hub's HTTP door to mount. Each request
 * is served for itself. Who calls is for `open` to say; host, origin, size and rate are looked at before.
 */
import { createMcpHandler } from "@modelcontextprotocol/server";
import type { Access } from "../access/levels.ts";
import type { Agent } from "../hub/agent.ts";
import type { Hub } from "../hub/hub.ts";
import { mcpServer } from "./server.ts";

/** Who calls, through which hub, and what it may do there. */
export interface McpCaller {
  readonly access: Access;
  readonly agent: Agent;
  readonly hub: Hub;
}

export interface McpFetchOptions {
  /** What goes wrong besides the answer, for a log. */
  readonly onError?: (error: Error) => void;
  /** Makes the server of one request, where it is to be more than Baton's own. */
  readonly server?: typeof mcpServer;
}

export interface McpFetch {
  (request: Request): Promise<Response>;
  /** Ends what is under way. */
  close(): Promise<void>;
}

export function mcpFetch(
  open: (request: Request) => Promise<McpCaller>,
  { onError, server = mcpServer }: McpFetchOptions = {},
): McpFetch {
  const handler = createMcpHandler(
    async ({ requestInfo }) => {
      if (requestInfo === undefined) throw new Error("MCP over HTTP was asked without a request");
      const { access, agent, hub } = await open(requestInfo);
      return server(agent, hub, { access });
    },
    onError === undefined ? {} : { onerror: onError },
  );
  return Object.assign((request: Request) => handler.fetch(request), { close: handler.close });
}
