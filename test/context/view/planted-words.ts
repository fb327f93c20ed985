/** Drafts with a unique word in every field, to check which of them a receiver can read. */
import type { Draft } from "../../../src/index.ts";
import type { Random } from "../../support/random.ts";

/** Where a word was planted, such as `done` or `payload`. */
export type Field = string;

/** Fields of a draft without planted words, and why. */
export const NOT_PLANTED: Readonly<Record<string, string>> = {
  action: "one of a list of words",
  branch: "a branch has to exist; test/memory/branches/branches.test.ts",
  budget: "numbers",
  delayMs: "a number",
  key: "kept from receivers: it makes sending idempotent",
  mergeOnComplete: "a switch",
  parents: "ids",
  policy: "numbers and addresses",
  priority: "one of a list of words",
  receipt: "a switch",
  recent: "a number",
  refs: "records, which have words of their own: notes",
  strategy: "one of a list of words",
  task: "the name of the line",
  to: "an address",
};

/** Fields whose words later receivers of the line get in the text itself, if they fit. */
export const LASTING: ReadonlySet<Field> = new Set([
  "done",
  "doNotRedo",
  "blocked",
  "history",
  "artifacts",
  "constraints",
  "expects",
  "releases",
]);

export class Words {
  readonly #fields = new Map<string, Field>();
  readonly #ended = new Set<string>();

  /** Returns a new word for this field. */
  of(field: Field): string {
    const word = `zz${this.#fields.size}${field}zz`;
    this.#fields.set(word, field);
    return word;
  }

  /** Marks a word that later receivers no longer need. */
  end(word: string): void {
    this.#ended.add(word);
  }

  /** Returns the words that have to reach the current holder. */
  get live(): readonly (readonly [word: string, field: Field])[] {
    return [...this.#fields].filter(([word]) => !this.#ended.has(word));
  }
}

const some = <T>(random: Random, make: () => T): T[] =>
  Array.from({ length: 1 + random.below(3) }, make);

/** Returns a draft with words in every field but `releases`, which depends on the ledger. */
export function plantedDraft(random: Random, words: Words) {
  const of = (field: Field): string => words.of(field);
  return {
    intent: `Do what is asked: ${of("intent")}`,
    state: `It stands so: ${of("state")}`,
    next: some(random, () => `Then ${of("next")}`),
    done: some(random, () => `Finished ${of("done")}`),
    doNotRedo: some(random, () => `Leave ${of("doNotRedo")} alone`),
    blocked: some(random, () => ({ what: `No ${of("blocked")}`, on: of("blocked") })),
    constraints: [
      { rule: `Keep ${of("musts")}`, level: "must", source: of("musts") },
      { rule: `Prefer ${of("constraints")}`, level: "should", source: of("constraints") },
      { rule: `Perhaps ${of("constraints")}`, level: "may" },
    ],
    decisions: [{ question: `Is it ${of("decisions")}?`, options: [of("decisions"), "no"] }],
    history: some(random, () => ({
      agent: "planner",
      did: `Tried ${of("history")}`,
      decided: of("history"),
      why: `because ${of("history")}`,
    })),
    artifacts: some(random, () => ({
      kind: "file" as const,
      path: `src/${of("artifacts")}.ts`,
      note: of("artifacts"),
    })),
    expects: some(random, () => ({
      name: of("expects"),
      type: "text" as const,
      format: of("expects"),
      criteria: [`good if ${of("expects")}`],
    })),
    payload: {
      type: of("payload"),
      data: payloadOf(random, of),
    },
    run: of("details"),
    touches: [`src/${of("details")}/**`],
    metadata: { model: of("details"), [of("details")]: of("details") },
  } satisfies Partial<Draft>;
}

/** Returns prose, a table, nested lists and records; sometimes far more than fits a view. */
function payloadOf(random: Random, of: (field: Field) => string): Record<string, unknown> {
  const filler = random.chance(0.3) ? "More of the same, line after line.\n".repeat(300) : "";
  return {
    [of("payload")]: of("payload"),
    prose: `${filler}${of("payload")}\nsecond line ${of("payload")}`,
    rows: some(random, () => ({ a: of("payload"), b: 1 })).concat({ a: of("payload"), b: 2 }),
    deep: { list: [[of("payload")], { inner: { leaf: of("payload") } }, null, true] },
  };
}
