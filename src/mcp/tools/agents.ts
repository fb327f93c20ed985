/** The tool `agents` lists the receivers of handoffs. Many clients do not show resources to the model. */
import * as z from "zod";
import { type ListedReceiver, RECEIVER_STATES, receiversAfter, receiversOf } from "../receivers.ts";
import { fitItems, tokenCounterFor } from "../token-budget.ts";
import { maxTokens, READ_ONLY, Text, tool } from "../tool.ts";

const MAX_LISTED = 200;

/** Lists the possible receivers, one page at a time. */
export const agents = tool({
  name: "agents",
  title: "List receivers",
  description:
    "Lists possible receivers of a handoff: roles, channels and agents, each with its address (pass it to hand_off as `to`) and state; for agents also role, model and context window. Call it before hand_off if you do not know the receiver.",
  input: z.strictObject({
    role: z.string().min(1).optional().describe("Only agents in this role."),
    limit: z.int().min(1).max(MAX_LISTED).default(50).describe("Page size."),
    after: z.string().min(1).optional().describe("next of the previous page."),
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
            "paused: gets no work for now. disabled, closed: accepts no handoffs. unresponsive: its last handoffs failed; new ones are refused for now.",
          ),
        role: z.string().optional(),
        window: z.int().optional().describe("Its context window, in tokens."),
      }),
    ),
    omitted: z.array(z.string()).describe("Receivers that did not fit."),
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
        none: role === undefined ? "No agents are registered." : "No agent has this role.",
        more: "Call again with a larger max_tokens or a smaller limit.",
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
