/**
 * Parses the JSON that a harness passes to its hooks into one format. Claude Code and Codex use the same
 * field names, Cursor uses others. Unknown fields are ignored, so that a harness may add some.
 */
import { BatonError } from "../base/errors.ts";
import { eventKindOf, type Harness, type HookEventKind } from "./harness-events.ts";

/** One event of a session, with the fields that hooks use. */
export type HookEvent =
  /** `source`: how the session started; undefined for harnesses that fire this at every model call. */
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
  /** Duration; undefined if the harness does not report it. */
  readonly ms: number | undefined;
}

interface LastMessage {
  readonly message: string | undefined;
  /** Transcript file to read the message from if the harness does not pass it. */
  readonly transcript: string | undefined;
}

/** The parsed input of a hook. */
export interface HookInput {
  /** Session id of the harness. */
  readonly session: string;
  readonly cwd: string;
  readonly transcript: string | undefined;
  /** The subagent that acts; undefined for the main agent of the session. */
  readonly subagent: { readonly id: string; readonly type: string } | undefined;
  readonly event: HookEvent;
}

/** Parses the input; throws `invalid_input` if it is malformed or names another event than `event`. */
export function parseHookInput(harness: Harness, event: string, text: string): HookInput {
  const kind = eventKindOf(harness, event);
  const fields = new HookFields(json(text));
  const named = fields.text("hook_event_name");
  if (named !== undefined && named !== event) {
    throw new BatonError("invalid_input", {
      message: `The hook is set up for ${event} but received ${named}.`,
      path: "hook_event_name",
      hint: `Run the setup again: baton setup ${harness}`,
    });
  }
  const subagent = fields.text("agent_id", "subagent_id");
  return {
    session: fields.needed("session_id", "conversation_id"),
    cwd: fields.text("cwd") ?? fields.firstOf("workspace_roots") ?? fields.needed("cwd"),
    transcript: fields.text("transcript_path"),
    subagent:
      subagent === undefined
        ? undefined
        : { id: subagent, type: fields.text("agent_type", "subagent_type") ?? "subagent" },
    event: eventOfKind(kind, fields),
  };
}

function eventOfKind(kind: HookEventKind, fields: HookFields): HookEvent {
  switch (kind) {
    case "start":
      return { kind, source: fields.text("source") };
    case "prompt":
      return { kind, prompt: fields.text("prompt") ?? "" }; // A prompt can consist of images only.
    case "tool-begins":
      return { kind, ...callIn(fields) };
    case "tool-ends": {
      const error = fields.any("error", "error_message");
      const output = error ?? fields.any("tool_response", "tool_output");
      return { kind, ...callIn(fields), output, ok: error === undefined };
    }
    case "compaction":
      return { kind, trigger: fields.text("trigger") ?? "auto" };
    case "subagent-ends":
      return {
        kind,
        message: fields.text("last_assistant_message", "summary"),
        transcript: fields.text("agent_transcript_path"),
      };
    case "turn-ends":
      return {
        kind,
        message: fields.text("last_assistant_message"),
        transcript: fields.text("transcript_path"),
      };
  }
}

const callIn = (fields: HookFields): ToolCall => ({
  name: fields.needed("tool_name"),
  input: fields.any("tool_input"),
  ms: fields.number("duration_ms", "duration"),
});

/**
 * Reads fields by any of the names that harnesses use; null counts as absent. Written by hand, because a
 * hook without a store ends before a validator would be loaded.
 */
class HookFields {
  readonly #fields: Readonly<Record<string, unknown>>;

  constructor(value: unknown) {
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      throw invalidHookInput("stdin", "The hook input must be a JSON object.");
    }
    this.#fields = value as Readonly<Record<string, unknown>>;
  }

  any(...names: readonly string[]): unknown {
    return names
      .map((name) => this.#fields[name] ?? undefined)
      .find((value) => value !== undefined);
  }

  text(...names: readonly string[]): string | undefined {
    const value = this.any(...names);
    if (value === undefined || typeof value === "string") return value;
    throw invalidHookInput(
      names[0] ?? "",
      `The field ${names[0]} of the hook input must be a string.`,
    );
  }

  number(...names: readonly string[]): number | undefined {
    const value = this.any(...names);
    return typeof value === "number" ? value : undefined;
  }

  firstOf(name: string): string | undefined {
    const value = this.any(name);
    const first: unknown = Array.isArray(value) ? value[0] : undefined;
    return typeof first === "string" ? first : undefined;
  }

  needed(...names: readonly string[]): string {
    const value = this.text(...names);
    if (value !== undefined && value !== "") return value;
    throw invalidHookInput(names[0] ?? "", `The hook input has no field ${names[0]}.`);
  }
}

function json(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new BatonError("invalid_input", {
      // Without the parser's message, which quotes text of the session.
      message: `The hook input is not valid JSON (${text.length} characters).`,
      path: "stdin",
      hint: "Let the harness run the hook: it writes the event as JSON to standard input.",
      cause: error,
    });
  }
}

const invalidHookInput = (path: string, message: string): BatonError =>
  new BatonError("invalid_input", {
    message,
    path,
    hint: "See docs/HARNESSES.md for the supported harnesses.",
  });
