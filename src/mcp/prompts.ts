/** The MCP prompts: `hand_off_task` for a sender and `take_over_task` for a receiver. */
import { completable, type GetPromptResult, type McpServer } from "@modelcontextprotocol/server";
import * as z from "zod";
import { FENCE_RULE, fenceAddress, fenceLine } from "../text/fence.ts";
import { type Connection, shownText } from "./tool.ts";

/** How many waiting deliveries are searched to complete a task name. */
const MAX_WAITING = 100;

/** Registers the prompts on a server. */
export function registerPrompts(server: McpServer, connection: Connection): void {
  const { agent, hub } = connection;
  server.registerPrompt(
    "hand_off_task",
    {
      title: "Hand a task off",
      description: "For the sender: collects what the next agent needs and hands the task off.",
      argsSchema: z.object({
        to: completable(
          z.string().describe('The receiver: an agent\'s name, or "role:<role>".'),
          async (typed) =>
            (await hub.agents.list())
              .flatMap(({ id, role }) => (role === undefined ? [id] : [id, `role:${role}`]))
              .filter((name, at, all) => name.startsWith(typed) && all.indexOf(name) === at),
        ),
        task: z.string().optional().describe("The task's name (default: a new task)."),
        focus: z.string().optional().describe("What the receiver should do first."),
      }),
    },
    ({ to, task, focus }) =>
      message(connection, [
        `Hand ${task === undefined ? "what you are working on" : `the task ${fenceLine(task)}`} off to ${fenceAddress(to)} with the hand_off tool.`,
        ...(focus === undefined ? [] : [`The receiver's first step: ${focus}`]),
        "First:",
        "1. remember what you learned or decided and have not stored yet; keep the ids.",
        "2. recall the memories that the receiver needs; keep those ids too.",
        "Then hand off with: intent (the user's words, verbatim), state, done, next (first step first), constraints (the rules), do_not_redo (what was tried or decided), decisions (open questions), refs (the ids), expects (the required outputs).",
        "If you hold the work of this task, pass its handle, so that your part is completed in the same step.",
        "State facts and reasons. Omit what the receiver can see for itself. Then call wait.",
      ]),
  );

  server.registerPrompt(
    "take_over_task",
    {
      title: "Take a task over",
      description: "For the receiver: accepts a handoff, works on it, and settles it.",
      argsSchema: z.object({
        task: completable(
          z
            .string()
            .optional()
            .describe("Only a handoff of this task (default: the first waiting)."),
          async (typed) => {
            const open = (await agent.deliveries.waiting({ limit: MAX_WAITING })).items;
            const tasks = new Set(open.map(({ delivery }) => delivery.task));
            return [...tasks].filter((name) => name.startsWith(typed ?? ""));
          },
        ),
      }),
    },
    ({ task }) =>
      message(connection, [
        `Take over ${task === undefined ? "the first handoff waiting for you" : `the handoff of the task ${fenceLine(task)}`}.`,
        "1. catch_up, then accept. Keep the handle.",
        "2. Read what it returns. Follow the constraints, and do not redo what it says not to redo. Read the memories it names when you need them (read, with the handle).",
        "3. If you need information that only the sender has: update with clarify. If you cannot do it: decline.",
        "4. Do the work. Note each important step (update, action note), and remember what others should know.",
        "5. Settle it: complete with a summary and every expected output; hand_off with the handle if another agent should continue; fail with what you attempted if it failed.",
        FENCE_RULE,
      ]),
  );
}

const message = (connection: Connection, lines: readonly string[]): GetPromptResult => ({
  messages: [
    { role: "user", content: { type: "text", text: shownText(lines.join("\n"), connection) } },
  ],
});
