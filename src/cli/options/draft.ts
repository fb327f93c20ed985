/** Options that describe a handoff, and their conversion to a draft. */
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
/** How a view chooses what fits its budget. */
export const STRATEGIES = [
  "full",
  "summary",
  "priority",
  "lazy",
] as const satisfies readonly ViewStrategy[];

/** Options for the content of a handoff. */
export const CONTENT_OPTIONS = {
  next: { type: "texts", value: "<step>", help: "next step for the receiver" },
  constraint: {
    type: "texts",
    value: "<rule>",
    help: 'rule for the work; prefix "should:" or "may:" for advice (default: must)',
  },
  state: { type: "text", value: "<text>", help: "current state of the task" },
  done: { type: "texts", value: "<step>", help: "step that is done" },
  "do-not-redo": {
    type: "texts",
    value: "<what>",
    help: "settled work that must not be redone",
  },
  payload: { type: "json", value: "<json>", help: "typed data as a JSON object, or @<file>" },
  "payload-type": { type: "text", value: "<name>", help: "type of the payload (default: json)" },
} as const satisfies OptionSpecs;

/** All options of a draft, except receiver and intent. */
export const DRAFT_OPTIONS = {
  task: { type: "text", value: "<task>", help: "task of the handoff (default: a new one)" },
  run: { type: "text", value: "<name>", help: "run it belongs to" },
  ...CONTENT_OPTIONS,
  blocked: {
    type: "texts",
    value: "<what>",
    help: 'blocker, with what it waits for: "The release=Legal approval"',
  },
  decision: {
    type: "texts",
    value: "<question>",
    help: 'open decision, with its options: "Which cache?=memory; redis"',
  },
  history: {
    type: "texts",
    value: "<agent:did>",
    help: 'what an agent did, and why: "planner:Split the module=It was too long"',
  },
  ref: {
    type: "texts",
    value: "<memory>",
    help: "memory it builds on: mem_…, with @full for the level of detail, ? if optional, =… for a summary",
  },
  file: {
    type: "texts",
    value: "<path>",
    help: "file it is about, with the digest of its current content",
  },
  artifact: {
    type: "texts",
    value: "<kind:path>",
    help: "external artifact: pr:42, url:https://…",
  },
  expect: {
    type: "texts",
    value: "<name:type>",
    help: 'expected output (verdict:approval), with criteria: "patch:diff=All tests pass; small"',
  },
  touches: {
    type: "texts",
    value: "<glob>",
    help: "files or resources the work will change: src/auth/**, db:users",
  },
  branch: { type: "text", value: "<name>", help: "branch to work on" },
  "merge-on-complete": { type: "flag", help: "merge the branch when the work is completed" },
  action: {
    type: "text",
    value: "<word>",
    help: "needs_review, escalated, … (default: delegated)",
  },
  receipt: {
    type: "flag",
    help: "require the receiver to repeat goal, first step and musts when accepting",
  },
  priority: { type: "text", value: "<priority>", help: PRIORITIES.join(", "), choices: PRIORITIES },
  delay: { type: "duration", value: "<time>", help: "time until it can be claimed: 15s, 5m, 2h" },
  deadline: { type: "duration", value: "<time>", help: "time within which it must be settled" },
  "accept-within": {
    type: "duration",
    value: "<time>",
    help: "time to accept it, after which the attempt fails",
  },
  attempts: { type: "number", value: "<n>", help: "maximum attempts per receiver" },
  fallback: {
    type: "texts",
    value: "<receiver>",
    help: "receiver that gets it after the last failed attempt",
  },
  escalate: { type: "flag", help: "notify the coordinator after the last failed attempt" },
  remind: { type: "duration", value: "<time>", help: "interval for reminding the receiver" },
  budget: { type: "number", value: "<tokens>", help: "token budget of the receiver's view" },
  strategy: {
    type: "text",
    value: "<strategy>",
    help: `strategy of the view: ${STRATEGIES.join(", ")}`,
    choices: STRATEGIES,
  },
  recent: {
    type: "number",
    value: "<n>",
    help: "number of recent memories of the task that the view may include",
  },
  release: {
    type: "texts",
    value: "<id=reason>",
    help: "constraint or open decision to release from the ledger, with the reason",
  },
  metadata: {
    type: "json",
    value: "<json>",
    help: "metadata of the handoff (confidence, model, …) as a JSON object, or @<file>",
  },
  key: {
    type: "text",
    value: "<key>",
    help: "idempotency key: sending again with it returns the same handoff",
  },
  draft: {
    type: "json",
    value: "<json>",
    help: "whole draft as JSON, or @<file>; other options override its fields",
  },
} as const satisfies OptionSpecs;

type Content = Pick<Draft, "constraints" | "doNotRedo" | "done" | "next" | "payload" | "state">;

/** Returns the content fields of a draft. */
export function contentOf(options: OptionValues<typeof CONTENT_OPTIONS>): Content {
  const { next, state, done, payload } = options;
  const type = options["payload-type"] ?? "json";
  return omitUndefined({
    next: next?.slice(),
    state,
    done: done?.slice(),
    doNotRedo: options["do-not-redo"]?.slice(),
    constraints: options.constraint?.map(constraintOf),
    // The library rejects payloads that are not objects.
    payload: payload === undefined ? undefined : { type, data: payload as Record<string, unknown> },
  });
}

/** Returns the draft of the options, without receiver and intent. */
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
      metadata: metadata as Draft["metadata"], // The library rejects values that are not objects.
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
  throw usageError(
    "--draft",
    "--draft must be a JSON object.",
    "See baton schema envelope for its fields.",
  );
}
