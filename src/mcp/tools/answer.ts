/** `answer`: what a receiver has asked about a handoff of this agent. */
import * as z from "zod";
import { APPEND_ONLY, handoffId, Text, tool } from "../tool.ts";

export const answer = tool({
  name: "answer",
  title: "Answer a question",
  description:
    "Answers what a receiver asked about a handoff you sent (wait and catch_up tell you). The work is offered again, with your answer.",
  input: z.strictObject({
    handoff: handoffId("The one that was asked about."),
    text: z.string().min(1).describe("The answer."),
  }),
  output: z.strictObject({
    text: Text,
    handoff: z.string(),
    state: z.string().describe("Where the handoff stands now."),
  }),
  annotations: APPEND_ONLY,

  async run({ handoff, text }, { agent }) {
    const { id, state } = await agent.questions.answer(handoff, text);
    return { text: `Answered. ${id} is ${state} again.`, handoff: id, state };
  },
});
