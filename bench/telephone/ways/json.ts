/**
 * A plain JSON message with the fields of an envelope, which every agent rewrites: it copies what
 * it considers important, adds its own notes, and drops the least salient entries if the message is
 * too long.
 */
import { randomFrom } from "../../../test/support/random.ts";
import { copyOut, type Note, salienceOf } from "../agents.ts";
import { seedOf, type Task } from "../tasks.ts";
import { countTokens } from "../tokens.ts";
import { FRONT_TOKENS, type Given, type Line, type Way, WithoutStore } from "../way.ts";
import type { Session } from "../work.ts";

const LISTS = ["constraints", "decisions", "facts", "doNotRedo", "done", "findings"] as const;
type List = (typeof LISTS)[number];

interface Message extends Record<List, readonly string[]> {
  readonly task: string;
  readonly intent: string;
  readonly next: readonly string[];
}

const FIELD: Readonly<Record<Note["kind"], List>> = {
  must: "constraints",
  rule: "constraints",
  decision: "decisions",
  fact: "facts",
  failed: "doNotRedo",
  done: "done",
  finding: "findings",
};

export const jsonMessage: Way = {
  name: "JSON message",
  begin: (task) => Promise.resolve(new JsonLine(task)),
};

class JsonLine extends WithoutStore implements Line {
  readonly #task: Task;
  #message: Message | undefined;

  constructor(task: Task) {
    super();
    this.#task = task;
  }

  pass(session: Session): Promise<Given> {
    const random = randomFrom(seedOf(this.#task.seed, "json", session.agent));
    const before = this.#message;
    const lists = Object.fromEntries(
      LISTS.map((list) => {
        const own = session.notes.filter((note) => FIELD[note.kind] === list);
        return [list, [...copyOut(before?.[list] ?? [], random), ...own.map(({ text }) => text)]];
      }),
    ) as Record<List, string[]>;
    this.#message = fitted({
      task: this.#task.name,
      intent: this.#task.intent.text, // Copied verbatim: one sentence in its own field.
      ...lists,
      next: [session.next],
    });
    const text = JSON.stringify(this.#message);
    return Promise.resolve({ text, tokens: countTokens(text) });
  }
}

/** Extra salience from the field of an entry: the field alone marks it as a rule. */
const FIELD_SALIENCE: Readonly<Partial<Record<List, number>>> = { constraints: 0.3 };

/** Removes the least salient entries (the oldest first among equals) until the message fits. */
function fitted(message: Message): Message {
  const entries = LISTS.flatMap((list) =>
    message[list].map((text, n) => ({
      list,
      text,
      order: salienceOf(text, 0) + (FIELD_SALIENCE[list] ?? 0) + n / 1_000,
    })),
  ).sort((a, b) => a.order - b.order);
  let fits = message;
  let over = countTokens(JSON.stringify(message)) - FRONT_TOKENS;
  for (const { list, text } of entries) {
    if (over <= 0) break;
    fits = { ...fits, [list]: fits[list].filter((entry) => entry !== text) };
    over -= countTokens(text) + 2;
  }
  return fits;
}
