/**
 * Prompt passing: every agent gets the whole conversation so far. If it exceeds the context window,
 * the opening and the newest messages are kept and those in between are dropped, as frameworks do;
 * dropping the oldest first would lose the opening too.
 */
import { type Given, type Line, type Way, WithoutStore } from "../way.ts";
import type { Message, Session } from "../work.ts";

/** A tenth of today's large windows (200,000 tokens), since sessions are scaled to a tenth. */
export const WINDOW_TOKENS = 20_000;

export const promptPassing: Way = {
  name: "prompt passing",
  begin: () => Promise.resolve(new PromptLine()),
};

class PromptLine extends WithoutStore implements Line {
  #messages: readonly Message[] = [];

  pass(session: Session): Promise<Given> {
    this.#messages = cut([...this.#messages, ...session.messages]);
    return Promise.resolve({
      text: this.#messages.map(({ text }) => text).join("\n"),
      tokens: this.#messages.reduce((sum, { tokens }) => sum + tokens, 0),
    });
  }
}

function cut(messages: readonly Message[]): readonly Message[] {
  const [opening, ...rest] = messages;
  if (opening === undefined) return [];
  let left = WINDOW_TOKENS - opening.tokens;
  let from = rest.length;
  while (from > 0 && left - (rest[from - 1] as Message).tokens >= 0) {
    from--;
    left -= (rest[from] as Message).tokens;
  }
  return [opening, ...rest.slice(from)];
}
