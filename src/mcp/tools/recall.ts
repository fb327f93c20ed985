/** The tool `recall` searches memories for a question, best first. */
import * as z from "zod";
import { textAtLevel } from "../../context/detail/detail-level.ts";
import type { Hit } from "../../memory/recall/recall.ts";
import { quoteText } from "../../text/fence.ts";
import { memoryText } from "../text.ts";
import { fitItems, tokenCounterFor } from "../token-budget.ts";
import { detail, maxTokens, READ_ONLY, Text, taskName, tool } from "../tool.ts";

const MAX_HITS = 50;
/** How many handoffs of a hit are listed; one publication can have a thousand. */
const MAX_HANDOFFS = 5;

/** Searches memories, one page at a time. */
export const recall = tool({
  name: "recall",
  title: "Recall",
  description:
    "Finds memories about a question, best first, by words, meaning and relations. Call it before you decide, before you look something up, and before you do what another agent may have done.",
  input: z.strictObject({
    question: z.string().min(1).describe("In words, as you would ask a colleague."),
    task: taskName("Only of this task.").optional(),
    agent: z.string().min(1).optional().describe("Only what this agent wrote."),
    type: z.string().min(1).optional().describe("Only of this type, such as decision."),
    tag: z.string().min(1).optional().describe("Only with this tag."),
    concept: z.string().min(1).optional().describe("Only about this concept."),
    run: z.string().min(1).optional().describe("Only of this run."),
    limit: z.int().min(1).max(MAX_HITS).default(10).describe("Page size."),
    after: z.string().min(1).optional().describe("next of the previous page of the same question."),
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
          .describe("The matching part of a handoff or result; absent if its content matches."),
        handoffs: z
          .array(z.string())
          .optional()
          .describe("Ids of handoffs it sends or settles, for read."),
        envelope: z.string().optional().describe("Id of the envelope it sends."),
      }),
    ),
    omitted: z.array(z.string()).describe("Ids of hits that did not fit, for read."),
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
        none: "No memory matches the question.",
        more: "Read them by id, or call again with a larger max_tokens.",
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

/** Returns the matching passage of a handoff, and the id to read the rest by. */
function matchNotes({ passage, handoff }: Hit): string[] {
  const [id] = handoff?.deliveries ?? [];
  return [
    ...(passage === undefined ? [] : [`Passage: ${quoteText(passage)}`]),
    ...(id === undefined ? [] : [`Handoff: ${id}`]),
  ];
}
