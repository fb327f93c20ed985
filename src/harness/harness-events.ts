/** Lists the supported harnesses and their names of session events. Imports nothing heavy. */
import { BatonError } from "../base/errors.ts";
import { nearestNames } from "../base/nearest-names.ts";

/** Harnesses with supported hooks. */
export const HARNESSES = ["claude-code", "codex", "cursor"] as const;
export type Harness = (typeof HARNESSES)[number];

/** Kinds of events, independent of the harness's names. */
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
  // Same names as Claude Code; a failed call ends with PostToolUse.
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

/** Returns the kind of an event; throws `invalid_input` for an unknown name. */
export function eventKindOf(harness: Harness, event: string): HookEventKind {
  const names = NAMES[harness];
  const kind = Object.hasOwn(names, event) ? names[event] : undefined;
  if (kind !== undefined) return kind;
  const [near] = nearestNames(event, Object.keys(names));
  throw new BatonError("invalid_input", {
    message: `Unknown event "${event}" for ${harness}.`,
    path: "event",
    hint:
      near === undefined
        ? `Use one of: ${Object.keys(names).join(", ")}.`
        : `Did you mean ${near}?`,
  });
}
