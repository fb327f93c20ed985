/**
 * The receiver that a view is composed for: a registered agent, or a role or channel before it is claimed.
 */
import type { Envelope } from "../../envelope/schema.ts";
import { type AgentInfo, agentInfo, requireAgent } from "../../memory/agents.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import type { ViewReceiver } from "./view.ts";

/** Returns an agent as the receiver of a view. */
export function viewReceiverOf({ id, role, model, window }: AgentInfo): ViewReceiver {
  return { agent: id, role, model, window };
}

/** Returns the receiver before a claim: for a role its profile applies, for a channel nothing is known. */
export async function addressedReceiver(
  workspace: Workspace,
  to: Envelope["to"],
): Promise<ViewReceiver> {
  const unknown = { model: undefined, window: undefined };
  switch (to.kind) {
    case "agent":
      return viewReceiverOf(agentInfo(await requireAgent(workspace, to.agent)));
    case "role":
      return { agent: `role:${to.role}`, role: to.role, ...unknown };
    case "channel":
      return { agent: `channel:${to.channel}`, ...unknown };
  }
}
