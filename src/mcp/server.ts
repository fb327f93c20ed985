/**
 * Creates the MCP server of one agent: tools, resources, prompts and instructions. One per connection over
 * stdio, one per request over HTTP, where no state is kept between requests. The transport identifies the
 * caller, never an argument.
 */
import { McpServer, type ServerOptions } from "@modelcontextprotocol/server";
import type { Access } from "../access/levels.ts";
import { systemClock } from "../base/clock.ts";
import { type IdGenerator, randomIdGenerator } from "../base/ids.ts";
import { batonVersion } from "../base/version.ts";
import type { Agent } from "../hub/agent.ts";
import type { Hub } from "../hub/hub.ts";
import { HeldWork } from "./held-work.ts";
import { instructionsFor } from "./instructions.ts";
import { registerPrompts } from "./prompts.ts";
import { registerResources } from "./resources.ts";
import { type Connection, registerTool } from "./tool.ts";
import { TOOLS } from "./tools/tools.ts";

/** The lists are the same for every caller and constant while this version runs. */
const LIST_CACHE_HINT = { ttlMs: 3_600_000, cacheScope: "public" } as const;

const RANDOM = randomIdGenerator(systemClock);

/** Settings of `mcpServer()`. */
export interface McpServerSettings {
  /** Access level of the caller (default: admin, as for a process that opened the store). */
  readonly access?: Access;
  /** Called with the error of each tool call that failed, for the audit records. */
  readonly onFailure?: Connection["onFailure"];
  /** Source of the numbers in the fences around stored text, for tests and replays. Default: random. */
  readonly ids?: Pick<IdGenerator, "salt">;
  /** Further options of the MCP SDK's server. */
  readonly protocol?: Omit<ServerOptions, "instructions">;
}

/** Returns a server that acts as `agent`, with every tool, resource and prompt registered. */
export function mcpServer(
  agent: Agent,
  hub: Hub,
  { access = "admin", ids = RANDOM, onFailure, protocol = {} }: McpServerSettings = {},
): McpServer {
  const server = new McpServer(
    { name: "baton", title: "Baton", version: batonVersion() },
    {
      ...protocol,
      capabilities: {
        // The lists do not change while the server runs.
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
  const connection = { access, agent, hub, ids, held: new HeldWork(), onFailure };
  for (const each of TOOLS) registerTool(server, connection, each);
  registerResources(server, connection);
  registerPrompts(server, connection);
  return server;
}
