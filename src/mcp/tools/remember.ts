/** `remember`: one thing that others, or this agent later, should know. */
import * as z from "zod";
import { textAtLevel } from "../../context/detail/detail-level.ts";
import { MEMORY_TYPES, RELATION_KINDS } from "../../memory/record.ts";
import { memoryText, secretLines } from "../text.ts";
import { APPEND_ONLY, Text, taskName, tool } from "../tool.ts";

export const remember = tool({
  name: "remember",
  title: "Remember",
  description:
    "Writes down one thing that whoever comes next should know: a finding, a decision and why, a constraint, a lesson, a mistake. One statement, understandable on its own. You are told when it is known already, or speaks against something.",
  input: z.strictObject({
    content: z.string().min(1).describe("What is so, and why, in full sentences."),
    type: z
      .string()
      .min(1)
      .default("fact")
      .describe(`What it is: ${MEMORY_TYPES.join(", ")}, or a word of your own.`),
    task: taskName("The task it belongs to.").optional(),
    tags: z.array(z.string().min(1)).optional().describe("Words to find it by."),
    concepts: z.array(z.string().min(1)).optional().describe("Things it is about."),
    refs: z.array(z.string().min(1)).optional().describe("Memories it rests on: mem_…"),
    run: z.string().min(1).optional().describe("The name of the run it belongs to."),
    importance: z.number().min(0).max(1).optional().describe("From 0 to 1."),
    confidence: z.number().min(0).max(1).optional().describe("How sure you are, from 0 to 1."),
    scope: z
      .enum(["agent", "session", "user", "team"])
      .optional()
      .describe("Who may see it; the whole team when nothing is said."),
    related: z
      .array(
        z.strictObject({
          kind: z.enum(RELATION_KINDS).describe("What it is to that memory."),
          to: z.string().min(1).describe("A memory's id: mem_…"),
        }),
      )
      .optional()
      .describe('Memories it goes on from. "supersedes" when that one holds no more.'),
    if_known: z
      .enum(["report", "refuse", "ignore"])
      .default("report")
      .describe("What to do when it is known already: write and tell, not write, or not look."),
  }),
  output: z.strictObject({
    text: Text,
    id: z.string().describe("The memory's id, for refs and read."),
    known: z
      .array(
        z.strictObject({
          id: z.string(),
          verdict: z.enum(["same", "contradicts"]),
          likeness: z.number(),
        }),
      )
      .describe("Memories that say the same, or speak against it."),
  }),
  annotations: APPEND_ONLY,

  async run({ if_known: mode, related, ...given }, { agent }) {
    const {
      id,
      known = [],
      secrets,
    } = await agent.remember(
      { ...given, ...(related === undefined ? {} : { relations: related }) },
      { known: mode },
    );
    const told = known.map(({ memory, verdict }) =>
      memoryText(memory, textAtLevel(memory, "summary"), [
        verdict === "same" ? "This says the same." : "This speaks against it.",
      ]),
    );
    const advice =
      known.length === 0
        ? []
        : [
            "Known before. If the new one replaces it, say so: remember again with related supersedes.",
            ...told,
          ];
    return {
      text: [`Remembered as ${id}.`, ...secretLines(secrets), ...advice].join("\n"),
      id,
      known: known.map(({ memory, verdict, likeness }) => ({
        id: memory.id,
        verdict,
        likeness,
      })),
    };
  },
});
