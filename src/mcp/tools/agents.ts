/** `agents`: who can receive a handoff. A tool, because many clients show a model no resources. */
import * as z from "zod";
import { type ListedReceiver, RECEIVER_STATES, receiversAfter, receiversOf } from "../receivers.ts";
import { fitItems, tokenCounterFor } from "../token-budget.ts";
import { maxTokens, READ_ONLY, Text, tool } from "../tool.ts";

const MAX_LISTED = 200;

export const agents = tool({
  name: "agents",
  title: "List receivers",
  description:
    "Lists who can receive a handoff: roles, channels and agents, each with the address that hand_off takes as `to`, its state, and of an agent its role, model and context window. Call it before hand_off when you do not know whom to name.",
  input: z.strictObject({
    role: z.string().min(1).optional().describe("Only agents in this role."),
    limit: z.int().min(1).max(MAX_LISTED).default(50).describe("How many."),
    after: z
      .string()
      .min(1)
      .optional()
      .describe("The next of the answer before: returns the next page."),
    max_tokens: maxTokens(2_000),
  }),
  output: z.strictObject({
    text: Text,
    receivers: z.array(
      z.strictObject({
        to: z.string().describe("Pass it to hand_off."),
        state: z
          .enum(RECEIVER_STATES)
          .describe(
            "paused: takes no work for now. disabled, closed: takes no handoffs. unresponsive: its last handoffs failed, new ones are refused for a while.",
          ),
        role: z.string().optional(),
        window: z.int().optional().describe("Its context window, in tokens."),
      }),
    ),
    omitted: z.array(z.string()).describe("Receivers that did not fit into the text."),
    next: z.string().optional().describe("Pass as after for the next page; absent on the last."),
  }),
  annotations: READ_ONLY,

  async run({ role, limit, after, max_tokens }, connection) {
    const [all, meter] = await Promise.all([
      receiversOf(connection, role),
      tokenCounterFor(connection.agent),
    ]);
    const left = receiversAfter(all, after);
    const page = left.slice(0, limit);
    const last = page.at(-1);
    const { text, shown, omitted } = fitItems(
      {
        items: page.map(({ to, text: line }) => ({ id: to, text: line })),
        none: role === undefined ? "No agent is registered." : "No agent has this role.",
        more: "Ask again with more max_tokens or a lower limit.",
      },
      meter,
      max_tokens,
    );
    const isShown = new Set(shown);
    return {
      text,
      receivers: page.filter(({ to }) => isShown.has(to)).map(dataOf),
      omitted: [...omitted],
      ...(last === undefined || left.length === page.length ? {} : { next: last.to }),
    };
  },
});

const dataOf = ({ text: _, ...data }: ListedReceiver) => data;
