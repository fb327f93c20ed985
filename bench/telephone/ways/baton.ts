/**
 * Baton through its public interface only, on a SQLite file. The first agent remembers the thread
 * verbatim, one record per paragraph. Every agent remembers its notes and hands off what is new
 * (its step, its important notes, new constraints) together with the references it received. No
 * agent repeats a rule, a note, finished work, a dead end or the intent: the hub carries them. An
 * agent starts from its view; questions are answered by recall from the thread.
 */
import {
  type Agent,
  type Hit,
  type Hub,
  type Memory,
  openHub,
  type Work,
} from "../../../src/index.ts";
import { seededIds, seededRandom, VirtualClock } from "../../../src/testing/index.ts";
import type { Note } from "../agents.ts";
import { type Key, LONGEST, mentions, type Task } from "../tasks.ts";
import { countTokens } from "../tokens.ts";
import { FRONT_TOKENS, type Given, type Line, READ_TOKENS, type Way } from "../way.ts";
import type { Session } from "../work.ts";

const ROLES = ["planner", "researcher", "coder", "reviewer", "tester", "writer"] as const;

/** A model with the tokenizer used here; for an unknown model, views keep a margin. */
const MODEL = "gpt-4o";

const TYPE: Readonly<Record<Note["kind"], string>> = {
  must: "constraint",
  rule: "constraint",
  decision: "decision",
  fact: "fact",
  failed: "lesson",
  done: "checkpoint",
  finding: "finding",
};

/** Uses one workspace per task: similar tasks would answer each other's questions. */
export function baton(file: string): Way {
  return {
    name: "Baton",
    begin: async (task) => {
      const clock = new VirtualClock();
      const hub = await openHub(`sqlite:${file}`, {
        workspace: task.name,
        clock, // Clock and ids are deterministic: the same seed gives exactly the same views.
        ids: seededIds(task.seed, clock),
        random: seededRandom(task.seed),
        limits: { hops: 2 * LONGEST },
      });
      return new BatonLine(hub, task, clock);
    },
  };
}

/** Notes without a field of their own are handed off as references. */
const isWorthReferring = ({ kind }: Note): boolean => kind === "fact" || kind === "finding";

/** Tokens per question for the first agent's notes; the rest is for the thread. */
const NOTE_TOKENS = 400;

const NOTED: readonly string[] = ["decision", "fact", "lesson"];

/** Joins the memories that fit into the budget. */
function page(memories: readonly Pick<Memory, "content">[], tokens: number): string {
  const texts: string[] = [];
  let left = tokens;
  for (const { content } of memories) {
    const takes = countTokens(content) + 1;
    if (takes > left) continue;
    left -= takes;
    texts.push(content);
  }
  return texts.join("\n");
}

/** Returns what an agent sees of a hit: its content, and the matching passage of a handoff. */
const shownOf = ({ memory, passage }: Hit): Pick<Memory, "content"> => ({
  content: passage === undefined ? memory.content : `${memory.content}\n${passage}`,
});

class BatonLine implements Line {
  readonly #hub: Hub;
  readonly #task: Task;
  readonly #clock: VirtualClock;
  #work: Work | undefined;
  #reader: Agent | undefined;
  /** The view that the current agent starts from. */
  #front = "";

  constructor(hub: Hub, task: Task, clock: VirtualClock) {
    this.#hub = hub;
    this.#task = task;
    this.#clock = clock;
  }

  async pass(session: Session): Promise<Given> {
    const sender = await this.#agent(session.agent);
    if (session.agent === 1) await this.#keepThread(sender);
    const worth = await this.#keepNotes(sender, session.notes);
    const receiver = await this.#agent(session.agent + 1);
    await this.#handOn(session, { sender, receiver, worth });
    this.#clock.advance(60_000);
    const work = await receiver.accept({ task: this.#task.name });
    if (work === undefined) throw new Error(`The inbox of ${receiver.id} is empty`);
    const { text } = await work.view();
    this.#work = work;
    this.#front = text;
    this.#reader = receiver;
    await this.#hub.index.embed();
    return { text, tokens: countTokens(text) };
  }

  #agent(n: number): Promise<Agent> {
    const role = ROLES[(n - 1) % ROLES.length] as string;
    return this.#hub.agent(`agent-${n}`, { role, model: MODEL });
  }

  async #keepThread(agent: Agent): Promise<void> {
    const paragraphs = this.#task.thread.flatMap((message, n) =>
      message.split("\n\n").map((content) => ({
        type: "brief",
        content,
        task: this.#task.name,
        session: `thread ${n + 1}`,
      })),
    );
    await agent.remember(paragraphs);
  }

  /** Remembers all notes except rules, which become constraints. Returns the ids to refer to. */
  async #keepNotes(agent: Agent, taken: readonly Note[]): Promise<string[]> {
    const task = this.#task.name;
    const own = taken.filter(({ kind }) => kind !== "must" && kind !== "rule");
    const kept = await agent.remember(
      own.map(({ text, kind }) => ({
        type: TYPE[kind],
        content: text,
        task,
      })),
    );
    return kept.filter((_, n) => isWorthReferring(own[n] as Note)).map(({ id }) => id);
  }

  async #handOn(
    { notes: taken, next }: Session,
    { sender, receiver, worth }: { sender: Agent; receiver: Agent; worth: readonly string[] },
  ): Promise<void> {
    const of = (...kinds: Note["kind"][]): string[] =>
      taken.filter(({ kind }) => kinds.includes(kind)).map(({ text }) => text);
    const before = this.#work?.envelope;
    const draft = {
      to: receiver.id,
      next: [next],
      done: of("done"),
      doNotRedo: of("decision", "failed"),
      constraints: of("must", "rule"),
      refs: [...(before?.refs ?? []).map(({ id }) => id), ...worth],
      budget: { tokens: FRONT_TOKENS },
    };
    const sent =
      this.#work === undefined
        ? await sender.handoff({ ...draft, task: this.#task.name, intent: this.#task.intent.text })
        : await this.#work.handoff(draft);
    if (sent.kind !== "sent") throw new Error("The work was extended by its sender");
  }

  /**
   * Makes two reads: the first agent's notes that are not in the view, in order; then the thread,
   * recalled by the question.
   */
  async look(question: string): Promise<readonly string[]> {
    const { items: hits } = await (this.#reader as Agent).recall(question, {
      task: this.#task.name,
      type: "brief",
      limit: 60,
    });
    const unseen = (await this.#firstNotes()).filter(this.#isNew);
    const noted = page(unseen, NOTE_TOKENS);
    const said = page(
      hits.map(({ memory }) => memory),
      READ_TOKENS - countTokens(noted),
    );
    return noted === "" ? [said] : [noted, said];
  }

  /** Makes one read: recalls from all memories of the task, leaving out what is in the view. */
  async search(question: string): Promise<readonly string[]> {
    const query = { task: this.#task.name, limit: 60 };
    const { items: hits } = await (this.#reader as Agent).recall(question, query);
    return [page(hits.map(shownOf).filter(this.#isNew), READ_TOKENS)];
  }

  readonly #isNew = ({ content }: Pick<Memory, "content">): boolean =>
    !this.#front.includes(content);

  /** Returns the ten hits of a recall with default options. */
  async recall(question: string): Promise<readonly string[]> {
    const { items: hits } = await (this.#reader as Agent).recall(question);
    return hits.map((hit) => shownOf(hit).content);
  }

  /** Returns the notes of the agent that started the line, oldest first. */
  async #firstNotes(): Promise<readonly Memory[]> {
    const { path, from } = (this.#work as Work).envelope;
    const all = (
      await (this.#reader as Agent).memories.recent({
        task: this.#task.name,
        agent: path?.[0]?.from ?? from.agent,
        limit: 200,
      })
    ).items;
    return all.filter(({ type }) => NOTED.includes(type)).toReversed();
  }

  async whyLost(question: string, key: Key): Promise<string> {
    const { items: hits } = await (this.#reader as Agent).recall(question, {
      task: this.#task.name,
      type: "brief",
      limit: 200,
    });
    const at = hits.findIndex(({ memory }) => mentions(memory.content, key));
    return at < 0 ? "not found" : `found in place ${at + 1}, beyond what may be read`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#work?.complete({ summary: "The line has come to its end." });
    await this.#hub.close();
  }
}
