/**
 * Prompt passing: everything that was said and done goes on to the next. Where the window is full, the
 * opening and the newest messages stay and what is between them goes, as frameworks cut it; cutting the
 * oldest first would lose the opening too.
 */
import { type Given, type Line, type Way, WithoutStore } from "../way.ts";
import type { Message, Session } from "../work.ts";

/** A tenth of the 200,000 tokens of today's large windows, as sessions are a tenth of real ones. */
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
