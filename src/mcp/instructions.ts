/** What a model is told when it connects: when to use which tool. Short, since every session pays for it. */

import type { Agent } from "../hub/agent.ts";
import { FENCE_NOTICE, fenceLine } from "../text/fence.ts";

export function instructionsFor({ id, info }: Agent): string {
  const role = info.role === undefined ? "" : `, in the role ${fenceLine(info.role)}`;
  return [
    `Baton is the team's memory and its handoffs between agents. Here you are ${id}${role}.`,
    "- First, and after your context was compacted: catch_up. It names what waits for you and the handles of work you hold.",
    "- Before you decide or look something up: recall. Read what it names with read.",
    "- When you find out, decide or get something wrong that others should know: remember, one statement at a time, with the reason.",
    "- To take work: accept. Keep its handle. Note progress with update (action note), and settle with complete, fail, decline, release or clarify.",
    "- When another should go on: hand_off, with the user's intent verbatim, where it stands, what comes next, what must hold, what not to redo, and the memories it needs. With a handle it hands on the work you hold.",
    "- To learn who can receive a handoff: agents.",
    "- After handing off: wait for the answer. If it is a question: answer.",
    "- When a call is refused, its answer says what to do. Never invent ids or handles.",
    FENCE_NOTICE,
  ].join("\n");
}
