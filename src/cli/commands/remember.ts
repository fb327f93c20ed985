import type { MemoryInput } from "../../memory/record.ts";
import { command, JSON_OPTION, type OptionValues, STORE_OPTIONS } from "../command.ts";
import { OK } from "../exit.ts";
import { fraction } from "../fraction.ts";
import { given } from "../given.ts";
import { sayKnown } from "../known.ts";
import { mistake } from "../mistake.ts";
import { sayRedacted } from "../redacted.ts";
import { openExisting } from "../store.ts";
import { dim, say, sayJson } from "../terminal.ts";

/** What is said of the memory besides its text. */
const ABOUT = {
  task: { type: "text", value: "<task>", help: "what it is about" },
  scope: {
    type: "text",
    value: "<scope>",
    help: "who may see it; else everybody (team)",
    // No session: a call of the command line is one of its own, and over when it has answered.
    choices: ["agent", "user", "team"],
  },
  type: { type: "text", value: "<type>", help: "decision, finding, lesson, …; else fact" },
  tag: { type: "texts", value: "<tag>", help: "a word to find it by" },
  concept: { type: "texts", value: "<concept>", help: "something it is about" },
  importance: { type: "text", value: "<0…1>", help: "how much it matters" },
  confidence: { type: "text", value: "<0…1>", help: "how sure it is" },
  session: { type: "text", value: "<name>", help: "the session it belongs to" },
  ref: { type: "texts", value: "<memory>", help: "a memory it rests on" },
  continues: { type: "texts", value: "<memory>", help: "a memory it goes on from" },
  supersedes: { type: "texts", value: "<memory>", help: "a memory whose place it takes" },
  corrects: { type: "texts", value: "<memory>", help: "a memory that was wrong" },
} as const;

export const remember = command({
  name: "remember",
  summary: "writes one memory down, for everybody in the workspace; says what was known",
  args: [{ name: "text", help: "what to remember, in quotes" }],
  options: {
    agent: {
      type: "text",
      value: "<name>",
      help: "who remembers it; must be registered",
      required: true,
    },
    ...ABOUT,
    branch: { type: "text", value: "<name>", help: "on this branch; else main" },
    strict: { type: "flag", help: "writes nothing when it is known already" },
    force: { type: "flag", help: "does not look for what is known" },
    "dry-run": { type: "flag", help: "only says what is known; writes nothing" },
    ...STORE_OPTIONS,
    ...JSON_OPTION,
  },

  async run({ args: [content = ""], options }) {
    const { agent, branch, strict, force, json, store, workspace, ...rest } = options;
    const { "dry-run": dryRun, ...about } = rest;
    if (force && (strict || dryRun)) {
      const other = strict ? "--strict" : "--dry-run";
      throw mistake("--force", `${other} and --force exclude each other.`, "Leave one out.");
    }
    const input = inputOf(content, about);
    await using hub = await openExisting({ store, workspace });
    const author = await hub.agent(agent);
    const writer = branch === undefined ? author : await author.on(branch);
    if (dryRun) {
      const known = await writer.known(input);
      if (json) sayJson(known);
      else if (known.length === 0) say("Nothing is known of it.");
      else sayKnown(known);
      return OK;
    }
    const memory = await writer.remember(input, {
      known: force ? "ignore" : strict ? "refuse" : "report",
    });
    if (json) sayJson(memory);
    else {
      say(`${memory.id}${dim(`  ${memory.type} ${memory.seq} of ${memory.branch}`)}`);
      sayRedacted(memory.secrets);
      sayKnown(memory.known ?? [], memory.id);
    }
    return OK;
  },
});

function inputOf(content: string, about: OptionValues<typeof ABOUT>): MemoryInput {
  const { tag, concept, ref, continues = [], supersedes = [], corrects = [], ...said } = about;
  const relations = [
    ...continues.map((to) => ({ kind: "continues-from" as const, to })),
    ...supersedes.map((to) => ({ kind: "supersedes" as const, to })),
    ...corrects.map((to) => ({ kind: "corrects" as const, to })),
  ];
  return {
    content,
    ...given({
      ...said,
      scope: said.scope as MemoryInput["scope"],
      importance: fraction("--importance", said.importance),
      confidence: fraction("--confidence", said.confidence),
      tags: tag?.slice(),
      concepts: concept?.slice(),
      refs: ref?.slice(),
    }),
    ...(relations.length === 0 ? {} : { relations }),
  };
}
