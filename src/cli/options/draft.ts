/** The options that describe a handoff, and the draft they come to. */
import type { Draft, PolicyInput, Priority, ViewStrategy } from "../../envelope/schema.ts";
import type { OptionSpecs, OptionValues } from "../command.ts";
import { usageError } from "../usage-error.ts";
import {
  artifactOf,
  blockedOf,
  constraintOf,
  decisionOf,
  expectedOf,
  historyOf,
  referenceOf,
  releaseOf,
} from "./draft-forms.ts";
import { omitUndefined } from "./omit-undefined.ts";

const PRIORITIES = ["urgent", "high", "normal", "low"] as const satisfies readonly Priority[];
export const STRATEGIES = [
  "full",
  "summary",
  "priority",
  "lazy",
] as const satisfies readonly ViewStrategy[];

/** What a handoff says. */
export const CONTENT_OPTIONS = {
  next: { type: "texts", value: "<step>", help: "what the receiver is to do" },
  constraint: { type: "texts", value: "<rule>", help: 'a must; "should: …" or "may: …" is less' },
  state: { type: "text", value: "<text>", help: "where the task stands" },
  done: { type: "texts", value: "<step>", help: "what has been done" },
  "do-not-redo": { type: "texts", value: "<what>", help: "what is settled" },
  payload: { type: "json", value: "<json>", help: "typed data: an object, or @<file>" },
  "payload-type": { type: "text", value: "<name>", help: 'the payload\'s type; else "json"' },
} as const satisfies OptionSpecs;

export const DRAFT_OPTIONS = {
  task: { type: "text", value: "<task>", help: "what the line is about; else a new one" },
  run: { type: "text", value: "<name>", help: "the run it belongs to" },
  ...CONTENT_OPTIONS,
  blocked: {
    type: "texts",
    value: "<what>",
    help: 'a blocker; with what it waits for, "The release=Legal approval"',
  },
  decision: {
    type: "texts",
    value: "<question>",
    help: 'an open question; with its options, "Which cache?=memory; redis"',
  },
  history: {
    type: "texts",
    value: "<agent:did>",
    help: 'what an agent did; with why, "planner:Split the module=It was too long"',
  },
  ref: {
    type: "texts",
    value: "<memory>",
    help: "a memory it builds on: mem_…, with @full for how much of it, ? if it may be missing, =… to sum it up",
  },
  file: { type: "texts", value: "<path>", help: "a file it is about, by what is in it now" },
  artifact: {
    type: "texts",
    value: "<kind:path>",
    help: "something outside of it: pr:42, url:https://…",
  },
  expect: {
    type: "texts",
    value: "<name:type>",
    help: 'an output, as in verdict:approval; with when it is good, "patch:diff=All tests pass; small"',
  },
  touches: {
    type: "texts",
    value: "<glob>",
    help: "files or resources the work will touch: src/auth/**, db:users",
  },
  branch: { type: "text", value: "<name>", help: "the branch the work is done on" },
  "merge-on-complete": { type: "flag", help: "completing the work merges that branch" },
  action: { type: "text", value: "<word>", help: "needs_review, escalated, …; else delegated" },
  receipt: { type: "flag", help: "whoever accepts must repeat goal, first step and musts" },
  priority: { type: "text", value: "<priority>", help: PRIORITIES.join(", "), choices: PRIORITIES },
  delay: { type: "duration", value: "<time>", help: "not before: 15s, 5m, 2h from now" },
  deadline: { type: "duration", value: "<time>", help: "must be settled within" },
  "accept-within": { type: "duration", value: "<time>", help: "else the try has failed" },
  attempts: { type: "number", value: "<n>", help: "tries of each receiver" },
  fallback: { type: "texts", value: "<receiver>", help: "who gets it when all tries are used up" },
  escalate: { type: "flag", help: "tell the coordinator when every try was used up" },
  remind: { type: "duration", value: "<time>", help: "remind the receiver this often" },
  budget: { type: "number", value: "<tokens>", help: "what the receiver's view may take" },
  strategy: {
    type: "text",
    value: "<strategy>",
    help: `how the view is made: ${STRATEGIES.join(", ")}`,
    choices: STRATEGIES,
  },
  recent: { type: "number", value: "<n>", help: "recent memories of the task it may draw on" },
  release: {
    type: "texts",
    value: "<id=reason>",
    help: "takes a constraint or an open decision off the line",
  },
  metadata: {
    type: "json",
    value: "<json>",
    help: "about the handoff itself: an object (confidence, model, …), or @<file>",
  },
  key: { type: "text", value: "<key>", help: "the same key again is the same handoff" },
  draft: {
    type: "json",
    value: "<json>",
    help: "all of it as JSON, or @<file>; options add to it",
  },
} as const satisfies OptionSpecs;

type Content = Pick<Draft, "constraints" | "doNotRedo" | "done" | "next" | "payload" | "state">;

export function contentOf(options: OptionValues<typeof CONTENT_OPTIONS>): Content {
  const { next, state, done, payload } = options;
  const type = options["payload-type"] ?? "json";
  return omitUndefined({
    next: next?.slice(),
    state,
    done: done?.slice(),
    doNotRedo: options["do-not-redo"]?.slice(),
    constraints: options.constraint?.map(constraintOf),
    // The library says what is wrong with it, if it is no object.
    payload: payload === undefined ? undefined : { type, data: payload as Record<string, unknown> },
  });
}

/** Without the receiver and the intent. */
export function draftOf(options: OptionValues<typeof DRAFT_OPTIONS>): Partial<Draft> {
  const { task, run, ref, expect, action, receipt, priority, delay, key, draft, branch } = options;
  const { blocked, decision, history, artifact, metadata } = options;
  const { budget, strategy, recent, release } = options;
  const policy = policyOf(options);
  return {
    ...requireObject(draft),
    ...contentOf(options),
    ...omitUndefined({
      task,
      run,
      action,
      key,
      blocked: blocked?.map(blockedOf),
      decisions: decision?.map(decisionOf),
      history: history?.map(historyOf),
      artifacts: artifact?.map(artifactOf),
      metadata: metadata as Draft["metadata"], // The library refuses what is not an object.
      refs: ref?.map(referenceOf),
      expects: expect?.map(expectedOf),
      touches: options.touches?.slice(),
      branch,
      mergeOnComplete: options["merge-on-complete"],
      receipt,
      priority: priority as Priority | undefined,
      delayMs: delay,
      policy,
      budget: budget === undefined ? undefined : { tokens: budget },
      strategy: strategy as ViewStrategy | undefined,
      recent,
      releases: release?.map(releaseOf),
    }),
  } as Partial<Draft>;
}

function policyOf(options: OptionValues<typeof DRAFT_OPTIONS>): PolicyInput | undefined {
  const policy = omitUndefined({
    acceptMs: options["accept-within"],
    attempts: options.attempts,
    deadlineMs: options.deadline,
    exhausted: options.escalate ? ("escalate" as const) : undefined,
    fallback: options.fallback?.slice(),
    remindMs: options.remind,
  });
  return Object.keys(policy).length === 0 ? undefined : policy;
}

function requireObject(draft: unknown): object {
  if (draft === undefined) return {};
  if (typeof draft === "object" && draft !== null && !Array.isArray(draft)) return draft;
  throw usageError("--draft", "--draft is no JSON object.", "See baton schema envelope.");
}
