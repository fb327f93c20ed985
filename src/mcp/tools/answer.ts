/** The tool `answer` answers a receiver's question about a handoff that this agent sent. */
import * as z from "zod";
import { APPEND_ONLY, handoffId, Text, tool } from "../tool.ts";

/** Answers a question; the work is then offered again. */
export const answer = tool({
  name: "answer",
  title: "Answer a question",
  description:
    "Answers a receiver's question about a handoff you sent (see wait and catch_up). The work is offered again, with your answer.",
  input: z.strictObject({
    handoff: handoffId("The one with the question."),
    text: z.string().min(1).describe("The answer."),
  }),
  output: z.strictObject({
    text: Text,
    handoff: z.string(),
    state: z.string().describe("State of the handoff."),
  }),
  annotations: APPEND_ONLY,

  async run({ handoff, text }, { agent }) {
    const { id, state } = await agent.questions.answer(handoff, text);
    return { text: `Answered. ${id} is ${state} again.`, handoff: id, state };
  },
});
