/**
 * What a harness tells its hooks, read into one shape. Claude Code and Codex share their field names;
 * Cursor has its own. Fields nobody here needs are left alone, so that a harness may add some.
 */
import { BatonError } from "../base/errors.ts";
import { eventKindOf, type Harness, type HookEventKind } from "./harness-events.ts";

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

/** `event` is what the hook was set up for; the harness says it too, and both must agree. */
export function parseHookInput(harness: Harness, event: string, text: string): HookInput {
  const kind = eventKindOf(harness, event);
  const told = new HookFields(json(text));
  const named = told.text("hook_event_name");
  if (named !== undefined && named !== event) {
    throw new BatonError("invalid_input", {
      message: `The hook is set up for ${event}, and was told of ${named}.`,
      path: "hook_event_name",
      hint: `Set it up again: baton setup ${harness}`,
    });
  }
  const subagent = told.text("agent_id", "subagent_id");
  return {
    session: told.needed("session_id", "conversation_id"),
    cwd: told.text("cwd") ?? told.firstOf("workspace_roots") ?? told.needed("cwd"),
    transcript: told.text("transcript_path"),
    subagent:
      subagent === undefined
        ? undefined
        : { id: subagent, type: told.text("agent_type", "subagent_type") ?? "subagent" },
    event: eventOfKind(kind, told),
  };
}

function eventOfKind(kind: HookEventKind, told: HookFields): HookEvent {
  switch (kind) {
    case "start":
      return { kind, source: told.text("source") };
    case "prompt":
      return { kind, prompt: told.text("prompt") ?? "" }; // It may be a picture only.
    case "tool-begins":
      return { kind, ...callIn(told) };
    case "tool-ends": {
      const error = told.any("error", "error_message");
      const output = error ?? told.any("tool_response", "tool_output");
      return { kind, ...callIn(told), output, ok: error === undefined };
    }
    case "compaction":
      return { kind, trigger: told.text("trigger") ?? "auto" };
    case "subagent-ends":
      return {
        kind,
        message: told.text("last_assistant_message", "summary"),
        transcript: told.text("agent_transcript_path"),
      };
    case "turn-ends":
      return {
        kind,
        message: told.text("last_assistant_message"),
        transcript: told.text("transcript_path"),
      };
  }
}

const callIn = (told: HookFields): ToolCall => ({
  name: told.needed("tool_name"),
  input: told.any("tool_input"),
  ms: told.number("duration_ms", "duration"),
});

/**
 * Fields by the names that harnesses have for them; null is none. By hand: where there is no store, a
 * hook is over before a validator would be loaded.
 */
class HookFields {
  readonly #fields: Readonly<Record<string, unknown>>;

  constructor(value: unknown) {
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      throw invalidHookInput("stdin", "What the hook was told is no object.");
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
      `What the hook was told has a ${names[0]} that is no text.`,
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
    throw invalidHookInput(names[0] ?? "", `What the hook was told has no ${names[0]}.`);
  }
}

function json(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new BatonError("invalid_input", {
      // Not what the parser says: that quotes from the session.
      message: `What the hook was told is no JSON (${text.length} characters).`,
      path: "stdin",
      hint: "A hook is run by its harness, which writes what happened to its standard input.",
      cause: error,
    });
  }
}

const invalidHookInput = (path: string, message: string): BatonError =>
  new BatonError("invalid_input", {
    message,
    path,
    hint: "See docs/HARNESSES.md for the harnesses that are known.",
  });
