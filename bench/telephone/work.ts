/**
 * A work session: what an agent reads, does and thinks, a result, sometimes a finding, and its
 * step. The log is the same for every way; only the steps that an agent repeats, because its input
 * does not say that they are done, differ.
 */
import { randomFrom } from "../../test/support/random.ts";
import { type Note, notes, type Sentence, sentencesOf } from "./agents.ts";
import { FINDINGS, LOG, NEXT, RESULTS } from "./prose.ts";
import { about, mentions, type Step, seedOf, type Task } from "./tasks.ts";
import { countTokens } from "./tokens.ts";

/**
 * Tokens per session. Real sessions are reported to have 30,000 to 50,000; everything here is
 * scaled to a tenth, including the context window of a prompt (ways/prompt.ts).
 */
export const SESSION_TOKENS = 4_000;

/** Log lines per message. */
const LINES = 12;

export interface Message {
  readonly text: string;
  readonly tokens: number;
}

/** What one agent of a line did. */
export interface Session {
  /** Position on the line, from 1. */
  readonly agent: number;
  /** In order; those of the first agent begin with the thread. */
  readonly messages: readonly Message[];
  readonly sentences: readonly Sentence[];
  readonly notes: readonly Note[];
  /** The next step, in the agent's words. */
  readonly next: string;
  /** Steps that the agent repeated. */
  readonly again: readonly Step[];
}

/** Returns whether a text says that a step is done. */
export const reportsDone = (text: string, step: Step): boolean =>
  mentions(text, ["done", ...step.key]);

const done = (step: Step): string => `Done: ${step.name}.`;

/** The most steps of other agents that an agent repeats. */
const MOST_AGAIN = 2;

/** Returns the earlier steps that an agent repeats: its input does not say that they are done. */
export function redone(task: Task, agent: number, given: string): Step[] {
  return task.steps
    .slice(0, agent - 1)
    .filter((step) => !reportsDone(given, step))
    .slice(0, MOST_AGAIN);
}

/** Returns the session of an agent without repeated steps: the same for every way. */
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
  const outcome = [...findings, any(RESULTS), done(steps[agent - 1] as Step), next];
  messages.push(messageOf(outcome.join("\n")));
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

/** Returns the session with repeated steps in its messages and notes. */
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
