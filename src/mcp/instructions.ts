/** The MCP instructions: when to use which tool. Short, because every session spends tokens on them. */

import type { Agent } from "../hub/agent.ts";
import { FENCE_RULE, fenceLine } from "../text/fence.ts";

/** Returns the instructions for an agent; they name the agent and its role. */
export function instructionsFor({ id, info }: Agent): string {
  const role = info.role === undefined ? "" : `, in the role ${fenceLine(info.role)}`;
  return [
    `Baton is your team's shared memory and handoffs between agents. You are ${id}${role}.`,
    "- First, and after your context was compacted: catch_up. It lists waiting handoffs and the handles of work you hold.",
    "- Before you decide or look something up: recall. Read full records with read.",
    "- When you learn, decide or get wrong something that others should know: remember, one statement at a time, with the reason.",
    "- To take work: accept. Keep its handle. Note progress with update (action note), and settle with complete, fail, decline, release or clarify.",
    "- When another agent should continue: hand_off, with the user's intent verbatim, current state, next steps, constraints, what not to redo, and the memories it needs. With a handle it hands on the work you hold.",
    "- To find a receiver for a handoff: agents.",
    "- After handing off: wait. If the receiver asks a question: answer.",
    "- If a call is refused, the error says what to do. Never invent ids or handles.",
    FENCE_RULE,
  ].join("\n");
}
