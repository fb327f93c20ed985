/** `recall`: what is known about a question, best first. */
import * as z from "zod";
import { atLevel } from "../../context/detail.ts";
import type { Hit } from "../../memory/recall.ts";
import { fitted, meterOf } from "../fit.ts";
import { memoryText } from "../text.ts";
import { detail, maxTokens, READS, Text, taskName, tool } from "../tool.ts";

const MOST_HITS = 50;

export const recall = tool({
  name: "recall",
  title: "Recall",
  description:
    "Finds what is known about a question, best first: by words, by meaning and by connection. Ask before you decide, before you look something up, and before you do what somebody may have done.",
  input: z.strictObject({
    question: z.string().min(1).describe("In words, as you would ask a colleague."),
    task: taskName("Only of this task.").optional(),
    agent: z.string().min(1).optional().describe("Only what this agent wrote."),
    type: z.string().min(1).optional().describe("Only of this type, such as decision."),
    tag: z.string().min(1).optional().describe("Only with this tag."),
    concept: z.string().min(1).optional().describe("Only about this concept."),
    run: z.string().min(1).optional().describe("Only of this run."),
    limit: z.int().min(1).max(MOST_HITS).default(10).describe("How many."),
    cursor: z
      .string()
      .min(1)
      .optional()
      .describe("The cursor of the answer before: its next page, of the same question."),
    detail: detail("concise"),
    max_tokens: maxTokens(2_000),
  }),
  output: z.strictObject({
    text: Text,
    hits: z.array(
      z.strictObject({
        id: z.string(),
        type: z.string(),
        agent: z.string(),
        task: z.string().optional(),
        score: z.number(),
      }),
    ),
    omitted: z.array(z.string()).describe("Hits that did not fit, by their ids: read them."),
    cursor: z.string().optional().describe("For the next page; absent when there is none."),
  }),
  annotations: READS,

  async run({ question, detail: much, max_tokens, ...query }, { agent }) {
    const [{ hits, cursor }, meter] = await Promise.all([
      agent.recall(question, query),
      meterOf(agent),
    ]);
    const { text, shown, omitted } = fitted(
      {
        items: hits.map((hit) => ({ id: hit.memory.id, text: hitText(hit, much) })),
        none: "Nothing is known about that.",
        more: "Read them by their ids, or ask with more max_tokens.",
      },
      meter,
      max_tokens,
    );
    const isShown = new Set(shown);
    return {
      text,
      hits: hits
        .filter(({ memory }) => isShown.has(memory.id))
        .map(({ memory: { id, type, agent: by, task }, score }) => ({
          id,
          type,
          agent: by,
          ...(task === undefined ? {} : { task }),
          score,
        })),
      omitted: [...omitted],
      ...(cursor === undefined ? {} : { cursor }),
    };
  },
});

function hitText({ memory, why }: Hit, much: "concise" | "detailed"): string {
  if (much === "detailed") return memoryText(memory, memory.content, [`Why: ${why.join("; ")}`]);
  return memoryText(memory, memory.redacted === undefined ? atLevel(memory, "summary") : "");
}
