/**
 * `scriptedAgent()`: an agent that follows a script on the test clock. It works on one delivery after the
 * other; each of its steps is completed before another agent acts, and while it is slow the others continue.
 * So the same script and seed reproduce the same line. `play()` lets it act.
 */

import { isBatonError } from "../base/errors.ts";
import type { Receipt } from "../delivery/receive/receipt.ts";
import type { Envelope } from "../envelope/schema.ts";
import type { Agent } from "../hub/agent.ts";
import type { Hub } from "../hub/hub.ts";
import type { Offer } from "../hub/offer.ts";
import type { Work } from "../hub/work.ts";
import type { AgentProfile } from "../memory/agents.ts";
import { type WatchedWork, watchWork } from "./watched-work.ts";

/** What a step can use beside the work. */
export interface StepContext {
  readonly hub: Hub;
  /** The agent in the session that holds the work. */
  readonly agent: Agent;
  /** Returns the time of the test clock. */
  now(): number;
  /**
   * Lets this many milliseconds pass on the test clock. The lease is not renewed, so the work may be lost.
   */
  pass(ms: number): Promise<void>;
  /** Ends this session like a crash: the work is left as it is. */
  die(): never;
}

/** A step of a script: one of the kit (`completes()`, `fails()`, …), or a function of the test. */
export type WorkStep = (work: Work, turn: StepContext) => unknown;

/** Answers the next question that a receiver of this agent's handoffs has asked. */
export interface AnswerStep {
  readonly answers: string;
}

/**
 * A list of steps in order: a step that ends the work (completing, failing, crashing, …) ends it, and the
 * next step is for the next work; after the last step the agent accepts nothing more. Or a function that is
 * called for each offer and returns the steps.
 */
export type Script =
  | readonly (WorkStep | AnswerStep)[]
  | ((offer: Offer) => WorkStep | readonly WorkStep[]);

/** Registers an agent with a script. It acts when `play()` lets it. */
export async function scriptedAgent(
  hub: Hub,
  name: string,
  profile: AgentProfile,
  script: Script,
): Promise<ScriptedAgent> {
  const agent = await hub.agent(name, profile, sessionOf(name, 1));
  return new ScriptedAgent(hub, agent, script);
}

/** Leases of the session are renewed only by its calls, never in the background. */
const sessionOf = (name: string, number: number) => ({
  instance: `${name}-${number}`,
  lease: "session" as const,
});

/** Thrown to end a session that crashes. */
class SessionCrash extends Error {
  override readonly name = "Died";
}

/** An agent with a script. */
export class ScriptedAgent {
  readonly #hub: Hub;
  readonly #script: Script;
  #agent: Agent;
  #sessions = 1;
  /** The index of the next step, if the script is a list. */
  #at = 0;
  #working: Promise<void> | undefined;
  #pause: { readonly until: number; readonly wake: () => void } | undefined;
  #paused = Promise.withResolvers<void>();
  #now = 0;

  constructor(hub: Hub, agent: Agent, script: Script) {
    this.#hub = hub;
    this.#agent = agent;
    this.#script = script;
  }

  /** The agent that acts now; after a crash, another session of the same agent. */
  get agent(): Agent {
    return this.#agent;
  }

  get id(): string {
    return this.#agent.id;
  }

  /** When it continues by itself; undefined if it is not in the middle of a step. */
  get asleepUntil(): number | undefined {
    return this.#pause?.until;
  }

  /**
   * Acts once: continues its work, answers a question, or accepts the next offer. Returns false if there is
   * nothing to do.
   */
  async turn(now: number): Promise<boolean> {
    this.#now = now;
    if (this.#pause !== undefined) {
      if (this.#pause.until > now) return false;
      await this.#goOn(this.#pause.wake);
      return true;
    }
    const next = typeof this.#script === "function" ? undefined : this.#script[this.#at];
    if (typeof next === "object") return this.#answer(next.answers);
    if (typeof this.#script !== "function" && next === undefined) return false;
    const offer = await this.#nextOffer();
    if (offer === undefined) return false;
    await this.#goOn(() => {
      this.#working = this.#workOn(offer);
    });
    return true;
  }

  async #answer(text: string): Promise<boolean> {
    const [question] = await this.#agent.questions.list();
    if (question === undefined) return false;
    this.#at++;
    await this.#agent.questions.answer(question.delivery.id, text);
    return true;
  }

  async #nextOffer(): Promise<Offer | undefined> {
    for await (const offer of this.#agent.inbox({ wait: false })) return offer;
    return undefined;
  }

  /** Waits until the work is done or the agent lets time pass. */
  async #goOn(start: () => void): Promise<void> {
    this.#paused = Promise.withResolvers<void>();
    this.#pause = undefined;
    start();
    await Promise.race([this.#working, this.#paused.promise]);
  }

  async #workOn(offer: Offer): Promise<void> {
    const watched = watchWork(await offer.accept({ receipt: receiptOf }));
    try {
      await this.#doAll(offer, watched);
    } catch (error) {
      if (error instanceof SessionCrash) return this.#rise();
      if (!isLoss(error)) throw error;
      return; // The work is no longer its own, so it stops.
    }
    if (!watched.isOver()) throw unfinished(this.id, offer.task);
  }

  async #doAll(offer: Offer, watched: WatchedWork): Promise<void> {
    const turn: StepContext = {
      hub: this.#hub,
      agent: this.#agent,
      now: () => this.#now,
      pass: (ms) => this.#pass(ms),
      die: () => {
        throw new SessionCrash("a scripted agent died");
      },
    };
    for (const step of this.#stepsFor(offer)) {
      await step(watched.work, turn);
      if (watched.isOver()) return;
    }
  }

  /** Yields the steps for an offer. Of a list, the remaining ones, each counted when it starts. */
  *#stepsFor(offer: Offer): Generator<WorkStep> {
    if (typeof this.#script === "function") {
      const steps = this.#script(offer);
      yield* typeof steps === "function" ? [steps] : steps;
      return;
    }
    for (let step = this.#script[this.#at]; step !== undefined; step = this.#script[this.#at]) {
      if (typeof step === "object") return; // Not about this work.
      this.#at++;
      yield step;
    }
  }

  #pass(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#pause = { until: this.#now + ms, wake: resolve };
    this.#paused.resolve();
    return promise;
  }

  async #rise(): Promise<void> {
    this.#sessions++;
    this.#agent = await this.#hub.agent(this.id, undefined, sessionOf(this.id, this.#sessions));
  }
}

/** Returns a matching receipt if the handoff requires one. */
function receiptOf({ receipt, intent, next, constraints }: Envelope): Receipt | undefined {
  if (!receipt) return undefined;
  const musts = constraints.filter(({ level }) => level === "must");
  return { goal: intent, firstStep: next[0] ?? intent, constraints: musts.map(({ id }) => id) };
}

const isLoss = (error: unknown): boolean =>
  isBatonError(error) && (error.code === "lease_lost" || error.code === "cancelled");

const unfinished = (agent: string, task: string): Error =>
  new Error(
    `The script of "${agent}" ends in the middle of "${task}". End the work: completes(), fails(), declines(), clarifies(), handsOver(), releases() or crashes().`,
  );
