/** The harnesses that are known, and what each calls the events of a session. Imports nothing heavy. */
import { BatonError } from "../base/errors.ts";
import { nearestNames } from "../base/nearest-names.ts";

export const HARNESSES = ["claude-code", "codex", "cursor"] as const;
export type Harness = (typeof HARNESSES)[number];

/** What happened, whatever a harness calls it. */
export type HookEventKind =
  | "start"
  | "prompt"
  | "tool-begins"
  | "tool-ends"
  | "compaction"
  | "subagent-ends"
  | "turn-ends";

type EventNames = Readonly<Record<string, HookEventKind>>;

const CLAUDE_CODE: EventNames = {
  SessionStart: "start",
  UserPromptSubmit: "prompt",
  PreToolUse: "tool-begins",
  PostToolUse: "tool-ends",
  PostToolUseFailure: "tool-ends",
  PreCompact: "compaction",
  SubagentStop: "subagent-ends",
  Stop: "turn-ends",
};

const NAMES: Readonly<Record<Harness, EventNames>> = {
  "claude-code": CLAUDE_CODE,
  // The same names; a failed call ends with PostToolUse there.
  codex: CLAUDE_CODE,
  cursor: {
    sessionStart: "start",
    beforeSubmitPrompt: "prompt",
    preToolUse: "tool-begins",
    postToolUse: "tool-ends",
    postToolUseFailure: "tool-ends",
    preCompact: "compaction",
    subagentStop: "subagent-ends",
    stop: "turn-ends",
  },
};

export function eventKindOf(harness: Harness, event: string): HookEventKind {
  const names = NAMES[harness];
  const kind = Object.hasOwn(names, event) ? names[event] : undefined;
  if (kind !== undefined) return kind;
  const [near] = nearestNames(event, Object.keys(names));
  throw new BatonError("invalid_input", {
    message: `${harness} has no event "${event}" that a hook of ours answers.`,
    path: "event",
    hint:
      near === undefined ? `One of: ${Object.keys(names).join(", ")}.` : `Did you mean ${near}?`,
  });
}
