/**
 * Runs tasks along lines of agents and measures what arrives. A line of n agents is the first n of
 * the longest: agents do not know how many follow, so one line of twelve is measured at each of its
 * agents. Questions are answered the same for every way: from the agent's context, then by lookup.
 * A text answers a question if it contains the key words of the answer.
 */
import { type Item, LONGEST, mentions, type Task } from "./tasks.ts";
import { countTokens } from "./tokens.ts";
import { type Line, READ_TOKENS, READS, type Way } from "./way.ts";
import { redone, type Session, sessionOf, withAgain } from "./work.ts";

/** The result of one agent on one line. */
export interface Seen {
  readonly task: string;
  readonly way: string;
  /** The agent's position on the line, from 2. */
  readonly agent: number;
  readonly tokens: number;
  readonly intent: boolean;
  /** Per item of the task: whether it is in the agent's context, and whether it was obtained. */
  readonly front: readonly boolean[];
  readonly obtained: readonly boolean[];
  /** Steps it repeated, and steps that were done before it started. */
  readonly again: number;
  readonly before: number;
  /** The maximum for any one question. */
  readonly reads: number;
  readonly readTokens: number;
}

/** An item that could not be obtained at the end of the line, and why. */
export interface Lost {
  readonly task: string;
  readonly kind: Item["kind"];
  readonly labelled: boolean;
  readonly noted: boolean;
  readonly sentence: string;
  readonly probe: string;
  readonly why: string;
}

/** Whether search alone finds a planted item at the end of a line, if the way has a search. */
export interface Searched {
  readonly asked: Item["asked"];
  readonly obtained: boolean;
  /** Whether one plain recall of the question finds it, even if it is in the agent's context. */
  readonly recalled: boolean;
}

export interface Played {
  readonly seen: readonly Seen[];
  readonly searched: readonly Searched[];
  readonly lost: readonly Lost[];
}

export async function play(task: Task, ways: readonly Way[], agents = LONGEST): Promise<Played> {
  const sessions = Array.from({ length: agents - 1 }, (_, n) => sessionOf(task, n + 1));
  const seen: Seen[] = [];
  const searched: Searched[] = [];
  const lost: Lost[] = [];
  for (const way of ways) {
    await using line = await way.begin(task);
    seen.push(...(await travel(task, { way, line, sessions })));
    const last = seen.at(-1);
    if (last === undefined) continue;
    searched.push(...(await searchedAt(task, line, last)));
    lost.push(...(await lostAt(task, { line, last, sessions })));
  }
  return { seen, searched, lost };
}

async function travel(
  task: Task,
  { way, line, sessions }: { way: Way; line: Line; sessions: readonly Session[] },
): Promise<Seen[]> {
  const seen: Seen[] = [];
  let session = sessions[0] as Session;
  for (let agent = 2; agent <= sessions.length + 1; agent++) {
    const given = await line.pass(session);
    const again = redone(task, agent, given.text);
    const front = task.items.map(({ key }) => mentions(given.text, key));
    const lookups = await lookUp(task.items, front, line);
    seen.push({
      task: task.name,
      way: way.name,
      agent,
      tokens: given.tokens,
      intent: mentions(given.text, task.intent.key),
      front,
      again: again.length,
      before: agent - 1,
      ...lookups,
    });
    const next = sessions[agent - 1];
    if (next !== undefined) session = withAgain(next, again);
  }
  return seen;
}

/** Asks for every item that is not in the agent's context. */
async function lookUp(
  items: readonly Item[],
  front: readonly boolean[],
  line: Line,
): Promise<Pick<Seen, "obtained" | "reads" | "readTokens">> {
  const obtained: boolean[] = [];
  let [most, mostTokens] = [0, 0];
  for (const [n, { probe, key }] of items.entries()) {
    if (front[n]) {
      obtained.push(true);
      continue;
    }
    const reads = await line.look(probe);
    const tokens = reads.reduce((sum, text) => sum + countTokens(text), 0);
    if (reads.length > READS || tokens > READ_TOKENS) {
      throw new Error(`A question took ${reads.length} reads and ${tokens} tokens`);
    }
    most = Math.max(most, reads.length);
    mostTokens = Math.max(mostTokens, tokens);
    obtained.push(reads.some((text) => mentions(text, key)));
  }
  return { obtained, reads: most, readTokens: mostTokens };
}

async function searchedAt({ items }: Task, line: Line, last: Seen): Promise<Searched[]> {
  const searched: Searched[] = [];
  if (line.search === undefined) return searched;
  for (const [n, { probe, key, asked }] of items.entries()) {
    const texts = last.front[n] ? [] : await line.search(probe);
    const obtained = last.front[n] || texts.some((text) => mentions(text, key));
    const recalled = (await line.recall?.(probe)) ?? [];
    searched.push({
      asked,
      obtained: obtained === true,
      recalled: recalled.some((text) => mentions(text, key)),
    });
  }
  return searched;
}

async function lostAt(
  task: Task,
  { line, last, sessions }: { line: Line; last: Seen; sessions: readonly Session[] },
): Promise<Lost[]> {
  const lost: Lost[] = [];
  for (const [n, { kind, labelled, sentence, probe, key }] of task.items.entries()) {
    if (last.obtained[n] || line.whyLost === undefined) continue;
    const noted = sessions[0]?.notes.some(({ text }) => mentions(text, key)) ?? false;
    const why = await line.whyLost(probe, key);
    lost.push({ task: task.name, kind, labelled, noted, sentence, probe, why });
  }
  return lost;
}
