/**
 * The MCP server: what one connection of one agent can do. Made for each connection over stdio and for
 * each request over HTTP, where nothing is remembered between two of them. Who calls is said by whoever
 * makes it, never by an argument.
 */
import { McpServer, type ServerOptions } from "@modelcontextprotocol/server";
import type { Access } from "../access/levels.ts";
import { batonVersion } from "../base/version.ts";
import type { Agent } from "../hub/agent.ts";
import type { Hub } from "../hub/hub.ts";
import { HeldWork } from "./held-work.ts";
import { instructionsFor } from "./instructions.ts";
import { registerPrompts } from "./prompts.ts";
import { registerResources } from "./resources.ts";
import { registerTool } from "./tool.ts";
import { TOOLS } from "./tools/tools.ts";

/** The lists are the same for everybody, and for as long as this version runs. */
const LIST_CACHE_HINT = { ttlMs: 3_600_000, cacheScope: "public" } as const;

export interface McpServerSettings {
  /** What the caller may do; default: everything the hub allows, as for a process that opened the store. */
  readonly access?: Access;
  /** What the protocol's own layer takes besides. */
  readonly protocol?: Omit<ServerOptions, "instructions">;
}

export function mcpServer(
  agent: Agent,
  hub: Hub,
  { access = "admin", protocol = {} }: McpServerSettings = {},
): McpServer {
  const server = new McpServer(
    { name: "baton", title: "Baton", version: batonVersion() },
    {
      ...protocol,
      capabilities: {
        // What there is does not change while it runs.
        tools: { listChanged: false },
        prompts: { listChanged: false },
        resources: { listChanged: false },
        ...protocol.capabilities,
      },
      cacheHints: {
        "tools/list": LIST_CACHE_HINT,
        "prompts/list": LIST_CACHE_HINT,
        "resources/templates/list": LIST_CACHE_HINT,
      },
      instructions: instructionsFor(agent),
    },
  );
  const connection = { access, agent, hub, held: new HeldWork() };
  for (const each of TOOLS) registerTool(server, connection, each);
  registerResources(server, connection);
  registerPrompts(server, connection);
  return server;
}
