/**
 * What a harness tells its hooks, read into one shape. Claude Code and Codex share their field names;
 * Cursor has its own. Fields nobody here needs are left alone, so that a harness may add some.
 */
import * as z from "zod";
import { Name } from "../envelope/schema.ts";
import { parseOr } from "../envelope/violations.ts";
import { BatonError } from "../errors.ts";
import { type EventKind, eventOf, type Harness } from "./names.ts";

/** One event of a harness's session, and what of it matters here. */
export type HookEvent =
  /** `source` says how it started; a harness that fires this at every model call does not. */
  | { readonly kind: "start"; readonly source: string | undefined }
  | { readonly kind: "prompt"; readonly prompt: string }
  | ({ readonly kind: "tool-begins" } & ToolCall)
  | ({ readonly kind: "tool-ends"; readonly output: unknown; readonly ok: boolean } & ToolCall)
  | { readonly kind: "compaction"; readonly trigger: string }
  | ({ readonly kind: "subagent-ends" } & LastMessage)
  | ({ readonly kind: "turn-ends" } & LastMessage);

interface ToolCall {
  readonly name: string;
  readonly input: unknown;
  readonly id: string | undefined;
  readonly ms: number | undefined;
}

interface LastMessage {
  readonly message: string | undefined;
  /** Where it can be read if the harness does not say it. */
  readonly transcript: string | undefined;
}

export interface HookInput {
  /** The harness's name of its session. */
  readonly session: string;
  readonly cwd: string;
  readonly transcript: string | undefined;
  /** Who acts in the session, where it is not the session itself. */
  readonly subagent: { readonly id: string; readonly type: string } | undefined;
  readonly event: HookEvent;
}

const Text = z.string().nullish();

const InputSchema = z.object({
  agent_id: Text,
  agent_transcript_path: Text,
  agent_type: Text,
  conversation_id: Text,
  cwd: Text,
  duration: z.number().nullish(),
  duration_ms: z.number().nullish(),
  error: z.unknown().optional(),
  error_message: z.unknown().optional(),
  hook_event_name: Text,
  last_assistant_message: Text,
  prompt: Text,
  session_id: Text,
  source: Text,
  subagent_id: Text,
  subagent_type: Text,
  summary: Text,
  tool_input: z.unknown().optional(),
  tool_name: Text,
  tool_output: z.unknown().optional(),
  tool_response: z.unknown().optional(),
  tool_use_id: Text,
  transcript_path: Text,
  trigger: Text,
  workspace_roots: z.array(z.string()).nullish(),
});

type Told = z.output<typeof InputSchema>;

/** `event` is what the hook was set up for; the harness says it too, and both must agree. */
export function readInput(harness: Harness, event: string, text: string): HookInput {
  const kind = eventOf(harness, event);
  const told = parseOr(InputSchema, json(text), {
    code: "invalid_input",
    what: `What ${harness} told the hook`,
  });
  if (typeof told.hook_event_name === "string" && told.hook_event_name !== event) {
    throw new BatonError("invalid_input", {
      message: `The hook is set up for ${event}, and was told of ${told.hook_event_name}.`,
      path: "hook_event_name",
      hint: `Set it up again: baton setup ${harness}`,
    });
  }
  const id = told.agent_id ?? told.subagent_id ?? undefined;
  return {
    session: parseOr(Name, told.session_id ?? told.conversation_id, {
      code: "invalid_input",
      what: "The session",
      prefix: "session_id",
    }),
    cwd: needed(told.cwd ?? told.workspace_roots?.[0], "cwd"),
    transcript: told.transcript_path ?? undefined,
    subagent:
      id === undefined
        ? undefined
        : { id, type: told.agent_type ?? told.subagent_type ?? "subagent" },
    event: whatHappened(kind, told),
  };
}

function whatHappened(kind: EventKind, told: Told): HookEvent {
  switch (kind) {
    case "start":
      return { kind, source: told.source ?? undefined };
    case "prompt":
      return { kind, prompt: needed(told.prompt, "prompt") };
    case "tool-begins":
      return { kind, ...callIn(told) };
    case "tool-ends": {
      const error = told.error ?? told.error_message ?? undefined;
      const output = error ?? told.tool_response ?? told.tool_output;
      return { kind, ...callIn(told), output, ok: error === undefined };
    }
    case "compaction":
      return { kind, trigger: told.trigger ?? "auto" };
    case "subagent-ends":
      return {
        kind,
        message: told.last_assistant_message ?? told.summary ?? undefined,
        transcript: told.agent_transcript_path ?? undefined,
      };
    case "turn-ends":
      return {
        kind,
        message: told.last_assistant_message ?? undefined,
        transcript: told.transcript_path ?? undefined,
      };
  }
}

const callIn = (told: Told): ToolCall => ({
  name: needed(told.tool_name, "tool_name"),
  input: told.tool_input,
  id: told.tool_use_id ?? undefined,
  ms: told.duration_ms ?? told.duration ?? undefined,
});

function json(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new BatonError("invalid_input", {
      message: `What the hook was told is no JSON: ${(error as Error).message}.`,
      path: "stdin",
      hint: "A hook is run by its harness, which writes what happened to its standard input.",
      cause: error,
    });
  }
}

function needed(value: string | null | undefined, path: string): string {
  if (typeof value === "string" && value !== "") return value;
  throw new BatonError("invalid_input", {
    message: `What the hook was told has no ${path}.`,
    path,
    hint: "See docs/HARNESSES.md for which versions of the harnesses are known.",
  });
}
