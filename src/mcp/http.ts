/**
 * MCP over HTTP, for both protocol eras: a request handler that the hub's HTTP server mounts. Each request is
 * served independently. `open` identifies the caller; host, origin, size and rate are checked before.
 */
import { createMcpHandler } from "@modelcontextprotocol/server";
import type { Access } from "../access/levels.ts";
import type { Agent } from "../hub/agent.ts";
import type { Hub } from "../hub/hub.ts";
import { type McpServerSettings, mcpServer } from "./server.ts";

/** The caller of a request: its agent, hub and access level, and what reports its failed calls. */
export interface McpCaller {
  readonly access: Access;
  readonly agent: Agent;
  readonly hub: Hub;
  readonly onFailure?: McpServerSettings["onFailure"];
}

/** Options of `mcpFetch()`. */
export interface McpFetchOptions {
  /** Called with errors that are not part of a response, for logging. */
  readonly onError?: (error: Error) => void;
  /** Creates the server of one request (default: `mcpServer`). */
  readonly server?: typeof mcpServer;
}

/** A request handler that can be closed. */
export interface McpFetch {
  (request: Request): Promise<Response>;
  /** Ends requests in progress. */
  close(): Promise<void>;
}

/** Returns a handler that serves MCP to the caller that `open` identifies. */
export function mcpFetch(
  open: (request: Request) => Promise<McpCaller>,
  { onError, server = mcpServer }: McpFetchOptions = {},
): McpFetch {
  const handler = createMcpHandler(
    async ({ requestInfo }) => {
      if (requestInfo === undefined) throw new Error("MCP over HTTP: the SDK passed no request");
      const { agent, hub, ...settings } = await open(requestInfo);
      return server(agent, hub, settings);
    },
    onError === undefined ? {} : { onerror: onError },
  );
  return Object.assign((request: Request) => handler.fetch(request), { close: handler.close });
}
