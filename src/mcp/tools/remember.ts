/** The tool `remember` stores one memory for other agents, or for this agent later. */
import * as z from "zod";
import { textAtLevel } from "../../context/detail/detail-level.ts";
import { MEMORY_TYPES, RELATION_KINDS } from "../../memory/record.ts";
import { memoryText, secretLines } from "../text.ts";
import { APPEND_ONLY, Text, taskName, tool } from "../tool.ts";

/** Stores a memory and reports similar ones. */
export const remember = tool({
  name: "remember",
  title: "Remember",
  description:
    "Stores one thing that other agents should know: a finding, a decision and why, a constraint, a lesson, a mistake. One statement, understandable on its own. Returns memories that say the same or contradict it.",
  input: z.strictObject({
    content: z.string().min(1).describe("The statement and its reason, in full sentences."),
    type: z
      .string()
      .min(1)
      .default("fact")
      .describe(`What it is: ${MEMORY_TYPES.join(", ")}, or your own word.`),
    task: taskName("The task it belongs to.").optional(),
    tags: z.array(z.string().min(1)).optional().describe("Words to find it by."),
    concepts: z.array(z.string().min(1)).optional().describe("Things it is about."),
    refs: z.array(z.string().min(1)).optional().describe("Memories it is based on: mem_…"),
    run: z.string().min(1).optional().describe("The run it belongs to."),
    importance: z.number().min(0).max(1).optional().describe("From 0 to 1."),
    confidence: z.number().min(0).max(1).optional().describe("How sure you are, from 0 to 1."),
    scope: z
      .enum(["agent", "session", "user", "team"])
      .optional()
      .describe("Who can see it (default: the team)."),
    related: z
      .array(
        z.strictObject({
          kind: z.enum(RELATION_KINDS).describe("Its relation to that memory."),
          to: z.string().min(1).describe("A memory's id: mem_…"),
        }),
      )
      .optional()
      .describe('Related memories. "supersedes": it replaces that one.'),
    if_known: z
      .enum(["report", "refuse", "ignore"])
      .default("report")
      .describe("If it is already known: store and report, do not store, or do not check."),
  }),
  output: z.strictObject({
    text: Text,
    id: z.string().describe("The memory's id, for refs and read."),
    known: z
      .array(
        z.strictObject({
          id: z.string(),
          verdict: z.enum(["same", "contradicts"]),
          similarity: z.number(),
        }),
      )
      .describe("Memories that say the same or contradict it."),
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
    const notes = known.map(({ memory, verdict }) =>
      memoryText(memory, textAtLevel(memory, "summary"), [
        verdict === "same" ? "This says the same." : "This contradicts it.",
      ]),
    );
    const advice =
      known.length === 0
        ? []
        : [
            "Similar memories exist. If the new one replaces one of them, call remember again with related, kind supersedes.",
            ...notes,
          ];
    return {
      text: [`Remembered as ${id}.`, ...secretLines(secrets), ...advice].join("\n"),
      id,
      known: known.map(({ memory, verdict, similarity }) => ({
        id: memory.id,
        verdict,
        similarity,
      })),
    };
  },
});
