/** The options that describe a handoff, and the draft they come to. */
import type { Draft, PolicyInput, Priority } from "../envelope/schema.ts";
import type { OptionSpecs, OptionValues } from "./command.ts";
import { given } from "./given.ts";
import { mistake } from "./mistake.ts";

const PRIORITIES = ["urgent", "high", "normal", "low"] as const satisfies readonly Priority[];
const LEVEL = /^(must|should|may):\s*(?=\S)/;

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
  ...CONTENT_OPTIONS,
  ref: { type: "texts", value: "<memory>", help: "a memory it builds on (mem_…)" },
  expect: { type: "texts", value: "<name:type>", help: "an output, as in verdict:approval" },
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
  return given({
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
  const { task, ref, expect, action, receipt, priority, delay, key, draft, branch } = options;
  const policy = policyOf(options);
  return {
    ...requireObject(draft),
    ...contentOf(options),
    ...given({
      task,
      action,
      key,
      refs: ref?.slice(),
      expects: expect?.map(expectedOf),
      branch,
      mergeOnComplete: options["merge-on-complete"],
      receipt,
      priority: priority as Priority | undefined,
      delayMs: delay,
      policy,
    }),
  } as Partial<Draft>;
}

function policyOf(options: OptionValues<typeof DRAFT_OPTIONS>): PolicyInput | undefined {
  const policy = given({
    acceptMs: options["accept-within"],
    attempts: options.attempts,
    deadlineMs: options.deadline,
    exhausted: options.escalate ? ("escalate" as const) : undefined,
    fallback: options.fallback?.slice(),
    remindMs: options.remind,
  });
  return Object.keys(policy).length === 0 ? undefined : policy;
}

/** `should: stay small` */
function constraintOf(text: string): NonNullable<Draft["constraints"]>[number] {
  const level = LEVEL.exec(text)?.[1];
  if (level === undefined) return text;
  return { level: level as "must" | "should" | "may", rule: text.replace(LEVEL, "") };
}

/** `verdict:approval` */
function expectedOf(text: string): NonNullable<Draft["expects"]>[number] {
  const [, name, type] = /^(.+):([^:\s]+)$/.exec(text) ?? [];
  if (name !== undefined && type !== undefined) return { name: name.trim(), type };
  throw mistake(
    "--expect",
    `--expect is "${text}", which names no type.`,
    "Write <name>:<type>, as in report:text, patch:diff or verdict:approval.",
  );
}

function requireObject(draft: unknown): object {
  if (draft === undefined) return {};
  if (typeof draft === "object" && draft !== null && !Array.isArray(draft)) return draft;
  throw mistake("--draft", "--draft is no JSON object.", "See baton schema envelope.");
}
