/**
 * A session of work: what an agent reads, does and thinks aloud, a result, now and then a finding, and
 * the step it was there for. The log is the same for every way; only what an agent does again, because
 * nobody told it that it is done, differs.
 */
import { randomFrom } from "../../test/support/random.ts";
import { type Note, notes, type Sentence, sentencesOf } from "./agents.ts";
import { FINDINGS, LOG, NEXT, RESULTS } from "./prose.ts";
import { about, type Step, seedOf, type Task, tells } from "./tasks.ts";
import { countTokens } from "./tokens.ts";

/**
 * The tokens of a session. Real ones are reported with 30,000 to 50,000; here everything is a tenth of
 * that, also the window that a prompt has to fit in (ways/prompt.ts).
 */
export const SESSION_TOKENS = 4_000;

/** Lines of the log in one message. */
const LINES = 12;

export interface Message {
  readonly text: string;
  readonly tokens: number;
}

/** What one agent of a line did. */
export interface Session {
  /** From 1: the first agent of the line. */
  readonly agent: number;
  /** In order; the first agent's begin with the thread. */
  readonly messages: readonly Message[];
  readonly sentences: readonly Sentence[];
  readonly notes: readonly Note[];
  /** What comes next, in its own words. */
  readonly next: string;
  /** Steps it did again. */
  readonly again: readonly Step[];
}

/** Whether a text says that a step is done. */
export const toldDone = (text: string, step: Step): boolean => tells(text, ["done", ...step.key]);

const done = (step: Step): string => `Done: ${step.name}.`;

/** How many steps of others an agent has time to do again. */
const MOST_AGAIN = 2;

/** Steps before the agent's own that what it was given does not say are done. */
export function redone(task: Task, agent: number, given: string): Step[] {
  return task.steps
    .slice(0, agent - 1)
    .filter((step) => !toldDone(given, step))
    .slice(0, MOST_AGAIN);
}

/** The session of an agent, before anything is done again: made once, for all ways. */
export function sessionOf(task: Task, agent: number): Session {
  const random = randomFrom(seedOf(task.seed, "work", agent));
  const { domain, thread, steps } = task;
  const any = (lines: readonly string[]): string =>
    capital(about(lines[random.below(lines.length)] as string, domain, random));
  const messages = (agent === 1 ? thread : []).map(messageOf);
  let tokens = messages.reduce((sum, message) => sum + message.tokens, 0);
  while (tokens < SESSION_TOKENS) {
    const message = messageOf(Array.from({ length: LINES }, () => any(LOG)).join("\n"));
    messages.push(message);
    tokens += message.tokens;
  }
  const next = any(NEXT);
  const findings = random.chance(0.6) ? [any(FINDINGS)] : [];
  const told = [...findings, any(RESULTS), done(steps[agent - 1] as Step), next];
  messages.push(messageOf(told.join("\n")));
  const texts = messages.map(({ text }) => text);
  return {
    agent,
    messages,
    sentences: texts.flatMap(sentencesOf),
    notes: notes(texts, randomFrom(seedOf(task.seed, "notes", agent))),
    next,
    again: [],
  };
}

/** The same session with steps that were done again: it says so, and notes it. */
export function withAgain(session: Session, again: readonly Step[]): Session {
  if (again.length === 0) return session;
  const texts = again.map(done);
  return {
    ...session,
    messages: [...session.messages, messageOf(texts.join("\n"))],
    sentences: [...session.sentences, ...texts.flatMap(sentencesOf)],
    notes: [...session.notes, ...texts.map((text) => ({ text, kind: "done" as const }))],
    again,
  };
}

const messageOf = (text: string): Message => ({ text, tokens: countTokens(text) });

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
