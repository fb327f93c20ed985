/**
 * Formats the output of a hook, which the harness adds to the model's context. Each harness has its own
 * format and drops output with unknown fields, so the output contains only the text.
 */
import type { Harness } from "./harness-events.ts";

/** Claude Code moves longer texts to a file and shows only their beginning. */
export const MAX_OUTPUT_CHARACTERS = 10_000;

/** Returns the JSON that makes the harness show `text` to the model. */
export function formatHookOutput(harness: Harness, event: string, text: string): string {
  return harness === "cursor"
    ? JSON.stringify({ additional_context: text })
    : JSON.stringify({ hookSpecificOutput: { hookEventName: event, additionalContext: text } });
}
