/** The command `baton mcp`: serves MCP over stdio, directly on the store. */
import { isBatonError } from "../../../base/errors.ts";
import type { Agent } from "../../../hub/agent.ts";
import type { Hub } from "../../../hub/hub.ts";
import { command, STORE_OPTIONS } from "../../command.ts";
import { OK } from "../../exit.ts";
import { openStore } from "../../store.ts";
import { usageError } from "../../usage-error.ts";

/** Role of an agent that is registered by connecting without --role. */
const ROLE = "agent";

export const mcp = command({
  name: "mcp",
  summary: "Serve MCP over stdio for one client, acting as one agent",
  args: [],
  options: {
    as: {
      type: "text",
      value: "<agent>",
      help: "agent that the client acts as, registered if new (default: BATON_AGENT)",
    },
    role: { type: "text", value: "<role>", help: `role of a new agent (default: ${ROLE})` },
    ...STORE_OPTIONS,
  },

  async run({ options: { as, role, ...choice } }) {
    const name = as ?? process.env["BATON_AGENT"];
    if (name === undefined || name === "") {
      throw usageError(
        "--as",
        "baton mcp needs the agent that the client acts as.",
        "Pass --as <agent>, or set BATON_AGENT.",
      );
    }
    const ended = new AbortController();
    const stop = (): void => ended.abort();
    for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.once(signal, stop);
    await using hub = await openStore(choice);
    const agent = await agentOf(hub, name, role);
    const { serveMcp } = await import("../../../mcp/stdio.ts");
    await serveMcp(agent, hub, {
      signal: ended.signal,
      onError: ({ message }) => process.stderr.write(`baton mcp: ${message}\n`),
    });
    return OK;
  },
});

/**
 * Returns the agent; registers a new one, and changes the role of a known one only if --role is set. Each
 * connection is a separate session.
 */
async function agentOf(hub: Hub, name: string, role: string | undefined): Promise<Agent> {
  const session = { lease: "process" } as const;
  if (role !== undefined) return hub.agent(name, { role }, session);
  try {
    return await hub.agent(name, undefined, session);
  } catch (error) {
    if (!(isBatonError(error) && error.code === "unknown_agent")) throw error;
    return hub.agent(name, { role: ROLE }, session);
  }
}
