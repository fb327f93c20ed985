/**
 * Stores conversations as memories, recalls them by question, and scores the results. Uses the
 * public interface only: each speaker is an agent, each session of a conversation is a session.
 */
import type { Hub } from "../src/index.ts";
import type { AskedQuestion, Conversation, SpokenTurn } from "./conversations.ts";

const DEEPEST = 20;
const BATCH = 500;

/** Turn keys by memory id. */
export type Ingested = ReadonlyMap<string, string>;

export async function ingest(hub: Hub, conversations: readonly Conversation[]): Promise<Ingested> {
  const keys = new Map<string, string>();
  for (const { turns } of conversations) {
    for (const run of runsOf(turns)) {
      const speaker = (run[0] as SpokenTurn).speaker;
      const agent = await hub.agent(nameOf(speaker), {});
      const memories = await agent.remember(
        run.map((turn) => ({
          content: turn.text,
          session: turn.session,
          ...(turn.at === undefined ? {} : { validFrom: turn.at }),
        })),
      );
      for (const [n, memory] of memories.entries()) keys.set(memory.id, run[n]?.key ?? "");
    }
  }
  return keys;
}

/** Groups consecutive turns of one speaker, which keeps the order of the conversation. */
function* runsOf(turns: readonly SpokenTurn[]): Iterable<SpokenTurn[]> {
  let run: SpokenTurn[] = [];
  for (const turn of turns) {
    if (run.length === BATCH || (run[0] !== undefined && run[0].speaker !== turn.speaker)) {
      yield run;
      run = [];
    }
    run.push(turn);
  }
  if (run.length > 0) yield run;
}

const nameOf = (speaker: string): string => speaker.trim().replace(/[^\p{L}\p{N}._-]+/gu, "-");

export interface Answered {
  readonly question: AskedQuestion;
  /** Keys of the turns found, best first. */
  readonly found: readonly string[];
  readonly ms: number;
}

export async function ask(
  hub: Hub,
  questions: readonly AskedQuestion[],
  options: { readonly keys: Ingested; readonly meaning: boolean },
): Promise<Answered[]> {
  const answers: Answered[] = [];
  for (const question of questions) {
    const began = performance.now();
    const { items: hits } = await hub.recall(question.text, {
      limit: DEEPEST,
      meaning: options.meaning,
    });
    const ms = performance.now() - began;
    const found = hits.map(({ memory }) => options.keys.get(memory.id) ?? "");
    answers.push({ question, found, ms });
  }
  return answers;
}

export interface Figures {
  readonly questions: number;
  /** Percentage of questions with at least one turn of the evidence among the first k. */
  readonly any5: number;
  readonly any10: number;
  readonly any20: number;
  /** Mean percentage of the evidence that is among the first ten. */
  readonly fraction10: number;
  readonly mrr: number;
  readonly msMedian: number;
  readonly ms95: number;
}

export function figuresOf(answers: readonly Answered[]): Figures {
  const ranks = answers.map(({ question, found }) =>
    found.findIndex((key) => question.evidence.includes(key)),
  );
  const among = (k: number): number =>
    percent(ranks.filter((rank) => rank >= 0 && rank < k).length, answers.length);
  const fractions = answers.map(({ question, found }) => {
    const first = new Set(found.slice(0, 10));
    const evidence = [...new Set(question.evidence)];
    return evidence.filter((key) => first.has(key)).length / evidence.length;
  });
  const times = answers.map(({ ms }) => ms).sort((a, b) => a - b);
  return {
    questions: answers.length,
    any5: among(5),
    any10: among(10),
    any20: among(20),
    fraction10: percent(sum(fractions), answers.length),
    mrr: sum(ranks.map((rank) => (rank < 0 ? 0 : 1 / (rank + 1)))) / answers.length,
    msMedian: times[Math.floor(times.length / 2)] ?? 0,
    ms95: times[Math.floor(times.length * 0.95)] ?? 0,
  };
}

/**
 * Scores by the lenient rule of some publications: a turn of the evidence, or one at most two turns
 * away in the same session, counts as found.
 */
export function lenient(
  answers: readonly Answered[],
  conversations: readonly Conversation[],
  k: number,
): number {
  const near = new Map<string, ReadonlySet<string>>();
  for (const { turns } of conversations) {
    for (const [n, turn] of turns.entries()) {
      const around = turns.slice(Math.max(0, n - 2), n + 3);
      const same = around.filter((other) => other.session === turn.session);
      near.set(turn.key, new Set(same.map((other) => other.key)));
    }
  }
  const hits = answers.filter(({ question, found }) =>
    found.slice(0, k).some((key) => question.evidence.some((each) => near.get(each)?.has(key))),
  );
  return percent(hits.length, answers.length);
}

const percent = (part: number, whole: number): number => (100 * part) / Math.max(1, whole);
const sum = (values: readonly number[]): number => values.reduce((all, each) => all + each, 0);
