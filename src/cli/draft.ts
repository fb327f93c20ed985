/** The options that describe a handoff, and the draft they come to. */
import type { Draft, Level, PolicyInput, Priority, Strategy } from "../envelope/schema.ts";
import type { OptionSpecs, OptionValues } from "./command.ts";
import { given } from "./given.ts";
import { mistake } from "./mistake.ts";

const PRIORITIES = ["urgent", "high", "normal", "low"] as const satisfies readonly Priority[];
export const STRATEGIES = [
  "full",
  "summary",
  "priority",
  "lazy",
] as const satisfies readonly Strategy[];
export const LEVELS = [
  "reference",
  "summary",
  "detail",
  "full",
] as const satisfies readonly Level[];
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
  ref: {
    type: "texts",
    value: "<memory>",
    help: "a memory it builds on: mem_…, with @full for how much of it, ? if it may be missing, =… to sum it up",
  },
  file: { type: "texts", value: "<path>", help: "a file it is about, by what is in it now" },
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
  const { budget, strategy, recent, release } = options;
  const policy = policyOf(options);
  return {
    ...requireObject(draft),
    ...contentOf(options),
    ...given({
      task,
      action,
      key,
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
      strategy: strategy as Strategy | undefined,
      recent,
      releases: release?.map(releaseOf),
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

/** `mem_…@summary?=Why we chose REST` */
function referenceOf(text: string): NonNullable<Draft["refs"]>[number] {
  const [, id, level, optional, summary] =
    /^([^@?=\s]+)(?:@([a-z]+))?(\?)?(?:=(.+))?$/s.exec(text) ?? [];
  const known = LEVELS.find((each) => each === level);
  if (id === undefined || (level !== undefined && known === undefined)) {
    throw mistake(
      "--ref",
      `--ref is "${text}", which names no memory.`,
      `Write mem_…, mem_…@${LEVELS.join("|")} for how much of it, mem_…? if it may be missing, mem_…=<summary>.`,
    );
  }
  if (level === undefined && optional === undefined && summary === undefined) return id;
  return {
    id,
    ...given({
      level: known,
      optional: optional === undefined ? undefined : (true as const),
      summary,
    }),
  };
}

/** `con-1a2b3c=The client no longer asks for it` */
function releaseOf(text: string): NonNullable<Draft["releases"]>[number] {
  const at = text.indexOf("=");
  const reason = text.slice(at + 1).trim();
  if (at > 0 && reason !== "") return { id: text.slice(0, at).trim(), reason };
  throw mistake(
    "--release",
    `--release is "${text}", which gives no reason.`,
    'Write --release <id>="<reason>", with an id of baton ledger <task>.',
  );
}

/** `verdict:approval`, `patch:diff=All tests pass; it is small` */
function expectedOf(text: string): NonNullable<Draft["expects"]>[number] {
  const [, name, type, criteria] = /^([^=]+):([^:\s=]+)(?:=(.*))?$/s.exec(text) ?? [];
  if (name !== undefined && type !== undefined) {
    const good = criteria?.split(";").map((each) => each.trim());
    return { name: name.trim(), type, ...given({ criteria: good?.filter((each) => each !== "") }) };
  }
  throw mistake(
    "--expect",
    `--expect is "${text}", which names no type.`,
    "Write <name>:<type>, as in report:text, patch:diff or verdict:approval; criteria after =.",
  );
}

function requireObject(draft: unknown): object {
  if (draft === undefined) return {};
  if (typeof draft === "object" && draft !== null && !Array.isArray(draft)) return draft;
  throw mistake("--draft", "--draft is no JSON object.", "See baton schema envelope.");
}
