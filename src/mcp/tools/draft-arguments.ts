/**
 * The arguments of `hand_off` that describe the handoff: the fields of a draft, in snake case. A list takes
 * one form of item, where the SDK takes several: not every client can read a schema with alternatives.
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

/** A required text argument. */
export const textArgument = (what: string) => z.string().min(1).describe(what);
const textListArgument = (what: string) => z.array(z.string().min(1)).optional().describe(what);
const milliseconds = (what: string) => z.int().positive().optional().describe(`${what} (ms).`);

/** The content of the handoff. */
const CONTENT = {
  to: textArgument(
    'An agent\'s name, "role:<role>" or "channel:<channel>"; agents lists them. Default: by routes.',
  ).optional(),
  task: taskName("The task's name (default: a new task).").optional(),
  run: textArgument("The run it belongs to.").optional(),
  intent: textArgument(
    "What the user originally wanted, verbatim. Required unless you pass a handle.",
  ).optional(),
  state: textArgument("Current state of the task.").optional(),
  done: textListArgument("What is done."),
  next: textListArgument("What the receiver should do, first step first."),
  do_not_redo: textListArgument("What not to do again: already tried or decided."),
  blocked: z
    .array(
      z.strictObject({
        what: textArgument("What is blocked."),
        on: textArgument("What it waits for.").optional(),
      }),
    )
    .optional()
    .describe("What is blocked, and on what."),
  constraints: z
    .array(
      z.strictObject({
        rule: textArgument("The rule."),
        level: z.enum(CONSTRAINT_LEVELS).default("must"),
        source: textArgument("Who or what requires it.").optional(),
      }),
    )
    .optional()
    .describe("Rules for the receiver and every agent after it."),
  decisions: z
    .array(
      z.strictObject({
        question: textArgument("The question."),
        options: textListArgument("The choices."),
        owner: textArgument("The agent that decides.").optional(),
      }),
    )
    .optional()
    .describe("Open questions."),
  releases: z
    .array(
      z.strictObject({
        id: textArgument("Its id in the handoff you accepted."),
        reason: textArgument("Why it no longer applies."),
        decided: textArgument("The choice, for a decision.").optional(),
      }),
    )
    .optional()
    .describe("Constraints and open decisions that end here."),
  history: z
    .array(
      z.strictObject({
        agent: textArgument("The agent."),
        did: textArgument("What it did."),
        decided: textArgument("What it decided.").optional(),
        why: textArgument("Why.").optional(),
        ref: textArgument("The memory that records it: mem_…").optional(),
        at: z.int().min(0).optional().describe("When, in ms since 1970."),
      }),
    )
    .optional()
    .describe("What happened so far, oldest first."),
  refs: textListArgument("Ids of memories the receiver needs: mem_…"),
  artifacts: z
    .array(
      z.strictObject({
        kind: textArgument("file, pr, url, output, …"),
        path: textArgument("Path, URL or number."),
        note: textArgument("What it is.").optional(),
      }),
    )
    .optional()
    .describe("Files and other resources outside the handoff."),
  expects: z
    .array(
      z.strictObject({
        name: textArgument("Its name in the result."),
        type: textArgument("text, code, json, file, approval, …"),
        criteria: textListArgument("Acceptance criteria."),
        format: textArgument("markdown, unified diff, …").optional(),
        max_length: z.int().positive().optional().describe("In characters."),
      }),
    )
    .optional()
    .describe("What the receiver must return."),
  payload: z
    .strictObject({
      type: textArgument(
        "The payload type; handoff_rules lists registered types and their schemas.",
      ),
      data: freeObject("The data, as an object."),
    })
    .optional()
    .describe("Typed data for the receiver."),
  action: textArgument(`What you did, in one word: ${ACTIONS.join(", ")}.`).optional(),
  touches: textListArgument("Files and resources the work will touch, as globs."),
  metadata: freeObject(
    "About the handoff itself: confidence (0 to 1), model, tokens { input, output }, or your own keys.",
  ).optional(),
};

/** How the receiver's view is composed. */
const VIEW = {
  budget: z
    .strictObject({ tokens: z.int().positive().describe("Maximum.") })
    .optional()
    .describe("Token budget of the receiver's view."),
  strategy: z
    .enum(VIEW_STRATEGIES)
    .optional()
    .describe(
      "How the view shows records: in full, summaries, by relevance (default), or as ids to read on demand.",
    ),
  recent: z
    .int()
    .min(0)
    .optional()
    .describe("How many recent memories of the task the view can use."),
};

/** How it is delivered. */
const DELIVERY = {
  priority: z.enum(PRIORITIES).optional().describe("Order in the inbox."),
  delay_ms: milliseconds("Deliver after this time"),
  policy: z
    .strictObject({
      accept_ms: milliseconds("An attempt not accepted in this time fails"),
      attempts: z.int().positive().optional().describe("Attempts per receiver."),
      backoff: z
        .strictObject({
          first_ms: z.int().positive().describe("First wait (ms)."),
          longest_ms: z.int().positive().describe("Longest wait (ms)."),
        })
        .optional()
        .describe("Waits between attempts; they double."),
      deadline_ms: milliseconds("Must be settled within this time"),
      exhausted: z
        .enum(EXHAUSTED_ACTIONS)
        .optional()
        .describe("After the last attempt: dead-letter it, or also notify the coordinator."),
      fallback: textListArgument("Next receivers if all attempts fail."),
      remind_ms: milliseconds("Remind the receiver at this interval until it accepts"),
    })
    .optional()
    .describe("Retries and timeouts. Default: the receiver's or the workspace's."),
  branch: textArgument("The memory branch of the work.").optional(),
  merge_on_complete: z.boolean().optional().describe("True: completing merges the branch."),
  receipt: z
    .boolean()
    .optional()
    .describe("True: the receiver must restate goal, first step and every must."),
  key: textArgument("Idempotency key: repeating it returns the original handoff.").optional(),
};

/** All arguments that describe a handoff. */
export const DRAFT_ARGUMENTS = { ...CONTENT, ...VIEW, ...DELIVERY };
