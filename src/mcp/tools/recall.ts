/** `recall`: what is known about a question, best first. */
import * as z from "zod";
import { textAtLevel } from "../../context/detail/detail-level.ts";
import type { Hit } from "../../memory/recall/recall.ts";
import { quoteText } from "../../text/fence.ts";
import { memoryText } from "../text.ts";
import { fitItems, tokenCounterFor } from "../token-budget.ts";
import { detail, maxTokens, READ_ONLY, Text, taskName, tool } from "../tool.ts";

const MAX_HITS = 50;
/** One publication can have a thousand. */
const MAX_HANDOFFS = 5;

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
    limit: z.int().min(1).max(MAX_HITS).default(10).describe("How many."),
    after: z
      .string()
      .min(1)
      .optional()
      .describe("The next of the answer before: returns the next page of the same question."),
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
        passage: z
          .string()
          .optional()
          .describe("The part of the handoff or result that answers, where its content does not."),
        handoffs: z
          .array(z.string())
          .optional()
          .describe("The handoffs it sends or settles: read them by these ids."),
        envelope: z.string().optional().describe("What it sends."),
      }),
    ),
    omitted: z.array(z.string()).describe("Hits that did not fit, by their ids: read them."),
    next: z.string().optional().describe("Pass as after for the next page; absent on the last."),
  }),
  annotations: READ_ONLY,

  async run({ question, detail: much, max_tokens, ...query }, { agent }) {
    const [{ items: hits, next }, meter] = await Promise.all([
      agent.recall(question, query),
      tokenCounterFor(agent),
    ]);
    const { text, shown, omitted } = fitItems(
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
        .map(({ memory: { id, type, agent: by, task }, score, passage, handoff }) => ({
          id,
          type,
          agent: by,
          ...(task === undefined ? {} : { task }),
          score,
          ...(passage === undefined ? {} : { passage }),
          ...(handoff && { handoffs: handoff.deliveries.slice(0, MAX_HANDOFFS) }),
          ...(handoff?.envelope && { envelope: handoff.envelope }),
        })),
      omitted: [...omitted],
      ...(next === undefined ? {} : { next }),
    };
  },
});

function hitText(hit: Hit, much: "concise" | "detailed"): string {
  const { memory, why } = hit;
  const found = matchNotes(hit);
  if (much === "detailed") {
    return memoryText(memory, memory.content, [...found, `Why: ${why.join("; ")}`]);
  }
  return memoryText(
    memory,
    memory.redacted === undefined ? textAtLevel(memory, "summary") : "",
    found,
  );
}

/** What of a handoff answers, and the id to read the rest by. */
function matchNotes({ passage, handoff }: Hit): string[] {
  const [id] = handoff?.deliveries ?? [];
  return [
    ...(passage === undefined ? [] : [`Says: ${quoteText(passage)}`]),
    ...(id === undefined ? [] : [`Handoff: ${id}`]),
  ];
}
