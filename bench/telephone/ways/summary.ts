/** Summary passing: each agent summarizes its input and its work, and hands off only that. */
import { randomFrom } from "../../../test/support/random.ts";
import { sentencesOf, summarise } from "../agents.ts";
import { seedOf, type Task } from "../tasks.ts";
import { countTokens } from "../tokens.ts";
import { FRONT_TOKENS, type Given, type Line, type Way, WithoutStore } from "../way.ts";
import type { Session } from "../work.ts";

export const summaryPassing: Way = {
  name: "summary passing",
  begin: (task) => Promise.resolve(new SummaryLine(task)),
};

class SummaryLine extends WithoutStore implements Line {
  readonly #task: Task;
  #summary = "";

  constructor(task: Task) {
    super();
    this.#task = task;
  }

  pass(session: Session): Promise<Given> {
    const random = randomFrom(seedOf(this.#task.seed, "summary", session.agent));
    const read = [...sentencesOf(this.#summary), ...session.sentences];
    this.#summary = summarise(read, FRONT_TOKENS, random);
    return Promise.resolve({ text: this.#summary, tokens: countTokens(this.#summary) });
  }
}
