/**
 * What a hook prints so that the model reads it. Each harness has its own form, and loses a text that
 * comes with a field it does not know: nothing is said but the text.
 */
import type { Harness } from "./harness-events.ts";

/** Claude Code puts a longer text into a file and shows its beginning. */
export const MAX_OUTPUT_CHARACTERS = 10_000;

export function formatHookOutput(harness: Harness, event: string, text: string): string {
  return harness === "cursor"
    ? JSON.stringify({ additional_context: text })
    : JSON.stringify({ hookSpecificOutput: { hookEventName: event, additionalContext: text } });
}
