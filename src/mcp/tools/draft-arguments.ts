/**
 * The arguments of `hand_off` that describe the handoff: the fields of a draft, in snake case. Lists hold one
 * form of item each, where the library takes several: not every client can read a schema with alternatives.
 */
import * as z from "zod";
import {
  ACTIONS,
  CONSTRAINT_LEVELS,
  EXHAUSTED_ACTIONS,
  PRIORITIES,
  VIEW_STRATEGIES,
} from "../../envelope/schema.ts";
import { freeObject, taskName } from "../tool.ts";

export const textArgument = (what: string) => z.string().min(1).describe(what);
const textListArgument = (what: string) => z.array(z.string().min(1)).optional().describe(what);
const milliseconds = (what: string) => z.int().positive().optional().describe(`${what} (ms).`);

/** What the handoff says. */
const CONTENT = {
  to: textArgument(
    'An agent\'s name, "role:<role>" or "channel:<channel>"; agents lists them. Without it, routes decide.',
  ).optional(),
  task: taskName("The task's name. A new one is made when there is none.").optional(),
  run: textArgument("The name of the run it belongs to.").optional(),
  intent: textArgument(
    "What the user originally wanted, verbatim. Needed unless you hand on work.",
  ).optional(),
  state: textArgument("Where the task stands now.").optional(),
  done: textListArgument("What is done."),
  next: textListArgument("What the receiver is to do, first step first."),
  do_not_redo: textListArgument("What must not be done again: already tried, already decided."),
  blocked: z
    .array(
      z.strictObject({
        what: textArgument("What cannot go on."),
        on: textArgument("What it waits for.").optional(),
      }),
    )
    .optional()
    .describe("Blockers: what waits, and for what."),
  constraints: z
    .array(
      z.strictObject({
        rule: textArgument("What to keep to."),
        level: z.enum(CONSTRAINT_LEVELS).default("must"),
        source: textArgument("Who or what demands it.").optional(),
      }),
    )
    .optional()
    .describe("Rules for the receiver and every agent after it."),
  decisions: z
    .array(
      z.strictObject({
        question: textArgument("What is open."),
        options: textListArgument("The choices."),
        owner: textArgument("The agent that is to decide.").optional(),
      }),
    )
    .optional()
    .describe("Questions that are still open."),
  releases: z
    .array(
      z.strictObject({
        id: textArgument("Its id, as the handoff you accepted names it."),
        reason: textArgument("Why it no longer applies."),
        decided: textArgument("Of a decision: what was chosen.").optional(),
      }),
    )
    .optional()
    .describe("Constraints and open decisions that end here."),
  history: z
    .array(
      z.strictObject({
        agent: textArgument("Who."),
        did: textArgument("What it did."),
        decided: textArgument("What it decided.").optional(),
        why: textArgument("Why.").optional(),
        ref: textArgument("The memory that records it: mem_…").optional(),
        at: z.int().min(0).optional().describe("When, in ms since 1970."),
      }),
    )
    .optional()
    .describe("What happened so far, oldest first."),
  refs: textListArgument("Memories the receiver needs, by their ids: mem_…"),
  artifacts: z
    .array(
      z.strictObject({
        kind: textArgument("file, pr, url, output, …"),
        path: textArgument("Path, URL or number."),
        note: textArgument("What it is.").optional(),
      }),
    )
    .optional()
    .describe("Files and other things outside of the handoff."),
  expects: z
    .array(
      z.strictObject({
        name: textArgument("What it is called in the result."),
        type: textArgument("text, code, json, file, approval, …"),
        criteria: textListArgument("How the receiver knows that it is good."),
        format: textArgument("markdown, unified diff, …").optional(),
        max_length: z.int().positive().optional().describe("In characters."),
      }),
    )
    .optional()
    .describe("What the receiver is to hand in."),
  payload: z
    .strictObject({
      type: textArgument(
        "What kind of data it is; handoff_rules lists registered types and their schemas.",
      ),
      data: freeObject("The data, as an object."),
    })
    .optional()
    .describe("Data for the receiver, typed."),
  action: textArgument(`What you did, in one word: ${ACTIONS.join(", ")}.`).optional(),
  touches: textListArgument("Files and resources the work will touch, as globs."),
  metadata: freeObject(
    "About the handoff itself: confidence (0 to 1), model, tokens { input, output }, or keys of your own.",
  ).optional(),
};

/** What the receiver's view is made of. */
const VIEW = {
  budget: z
    .strictObject({ tokens: z.int().positive().describe("At most this many.") })
    .optional()
    .describe("How long the receiver's view may be."),
  strategy: z
    .enum(VIEW_STRATEGIES)
    .optional()
    .describe(
      "What the view shows of records: all of each, summaries, as much as each is worth (default), or names to read on demand.",
    ),
  recent: z
    .int()
    .min(0)
    .optional()
    .describe("How many recent memories of the task the view may draw on."),
};

/** How it is delivered. */
const DELIVERY = {
  priority: z.enum(PRIORITIES).optional().describe("Which handoffs come first."),
  delay_ms: milliseconds("Deliver no earlier than this from now"),
  policy: z
    .strictObject({
      accept_ms: milliseconds("An attempt that is not accepted in this time has failed"),
      attempts: z.int().positive().optional().describe("Attempts per receiver."),
      backoff: z
        .strictObject({
          first_ms: z.int().positive().describe("The first wait (ms)."),
          longest_ms: z.int().positive().describe("The longest wait (ms)."),
        })
        .optional()
        .describe("Waits between attempts; they double."),
      deadline_ms: milliseconds("Must be settled within this time from now"),
      exhausted: z
        .enum(EXHAUSTED_ACTIONS)
        .optional()
        .describe("After the last attempt: park it, or also notify the coordinator."),
      fallback: textListArgument("Receivers that get it next, when all attempts have failed."),
      remind_ms: milliseconds("Remind the receiver this often until it accepts"),
    })
    .optional()
    .describe("Retries and timeouts. Default: those of the receiver or the workspace."),
  branch: textArgument("The memory branch the work is done on.").optional(),
  merge_on_complete: z.boolean().optional().describe("True: completing it merges that branch."),
  receipt: z
    .boolean()
    .optional()
    .describe("True: whoever accepts must say back goal, first step and every must."),
  key: textArgument(
    "The same key again is the same handoff: safe to repeat after a timeout.",
  ).optional(),
};

export const DRAFT_ARGUMENTS = { ...CONTENT, ...VIEW, ...DELIVERY };
