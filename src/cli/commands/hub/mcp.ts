import { isBatonError } from "../../../base/errors.ts";
import type { Agent } from "../../../hub/agent.ts";
import type { Hub } from "../../../hub/hub.ts";
import { command, STORE_OPTIONS } from "../../command.ts";
import { OK } from "../../exit.ts";
import { openStore } from "../../store.ts";
import { usageError } from "../../usage-error.ts";

/** Of an agent that is registered by connecting, and whose role nobody said. */
const ROLE = "agent";

export const mcp = command({
  name: "mcp",
  summary: "serves MCP over stdio, for one client, as one agent; straight on the store",
  args: [],
  options: {
    as: {
      type: "text",
      value: "<agent>",
      help: "who the client is; else BATON_AGENT. Registered if it is new",
    },
    role: { type: "text", value: "<role>", help: `the role of a new agent; else "${ROLE}"` },
    ...STORE_OPTIONS,
  },

  async run({ options: { as, role, ...choice } }) {
    const name = as ?? process.env["BATON_AGENT"];
    if (name === undefined || name === "") {
      throw usageError(
        "--as",
        "baton mcp needs to know who the client is.",
        "Write --as <agent>, or set BATON_AGENT.",
      );
    }
    const told = new AbortController();
    const stop = (): void => told.abort();
    for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.once(signal, stop);
    await using hub = await openStore(choice);
    const agent = await agentOf(hub, name, role);
    const { serveMcp } = await import("../../../mcp/stdio.ts");
    await serveMcp(agent, hub, {
      signal: told.signal,
      onError: ({ message }) => process.stderr.write(`baton mcp: ${message}\n`),
    });
    return OK;
  },
});

/** One that is known stays what it is, unless a role is named; each connection is a session of its own. */
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
