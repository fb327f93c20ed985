/**
 * A shared file: the first agent writes the opening, every agent appends its notes, and an agent
 * that finds the file too long summarizes it. An agent starts with the beginning and the newest
 * lines, as far as they fit, and can search the rest: lines that share most words with the question
 * first, as with grep, then all others.
 */
import { randomFrom } from "../../../test/support/random.ts";
import { sentencesOf, summarise, within } from "../agents.ts";
import { seedOf, type Task } from "../tasks.ts";
import { countTokens } from "../tokens.ts";
import { FRONT_TOKENS, type Given, type Line, READ_TOKENS, READS, type Way } from "../way.ts";
import type { Session } from "../work.ts";

/** A longer file is summarized to half of this size. */
export const FILE_TOKENS = 1_500;

export const sharedFile: Way = {
  name: "shared file",
  begin: (task) => Promise.resolve(new FileLine(task)),
};

class FileLine implements Line {
  readonly #task: Task;
  #lines: readonly string[] = [];
  /** Lines in the context of the current agent. */
  #shown: ReadonlySet<string> = new Set();

  constructor(task: Task) {
    this.#task = task;
  }

  pass(session: Session): Promise<Given> {
    const opening = session.agent === 1 ? this.#task.thread.slice(0, 1).flatMap(linesOf) : [];
    const own = session.notes.map((note) => note.text).filter((note) => !opening.includes(note));
    this.#lines = [...this.#lines, ...opening, ...own, session.next];
    if (countTokens(this.#lines.join("\n")) > FILE_TOKENS) this.#rewrite(session.agent);
    const text = this.#front();
    return Promise.resolve({ text, tokens: countTokens(text) });
  }

  #rewrite(agent: number): void {
    const random = randomFrom(seedOf(this.#task.seed, "file", agent));
    const all = sentencesOf(this.#lines.join("\n"));
    this.#lines = linesOf(summarise(all, FILE_TOKENS / 2, random));
  }

  /** Fills a third of the budget from the top of the file, the rest from the end. */
  #front(): string {
    const top = within(this.#lines, FRONT_TOKENS / 3);
    const rest = this.#lines.slice(top.length).toReversed();
    const newest = within(rest, FRONT_TOKENS - FRONT_TOKENS / 3).toReversed();
    this.#shown = new Set([...top, ...newest]);
    return [...this.#shown].join("\n");
  }

  /** Reads the lines with most words of the question first, then the others. */
  look(question: string): Promise<readonly string[]> {
    const words = (question.toLowerCase().match(/[\p{L}\p{N}]{3,}/gu) ?? []).filter(
      (word) => !FREQUENT.has(word),
    );
    const unseen = this.#lines.filter((line) => !this.#shown.has(line));
    const counted = unseen.map((line) => ({
      line,
      words: words.filter((word) => saysWord(line, word)).length,
    }));
    const found = counted.toSorted((a, b) => b.words - a.words).map(({ line }) => line);
    const reads: string[] = [];
    for (let read = 0, from = 0; read < READS; read++) {
      const part = within(found.slice(from), Math.floor(READ_TOKENS / READS));
      if (part.length === 0) break;
      from += part.length;
      reads.push(part.join("\n"));
    }
    return Promise.resolve(reads);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve();
  }
}

const linesOf = (text: string): string[] => sentencesOf(text).map((sentence) => sentence.text);

/** Matches like `grep -i` with a stemmed word. */
const saysWord = (line: string, word: string): boolean =>
  line.toLowerCase().includes(word.length > 5 ? word.slice(0, -2) : word);

const FREQUENT = new Set(
  "the and are for was with what which who whom how why when where does did has have had that this from not any one our can may must there they them been into out its".split(
    " ",
  ),
);
