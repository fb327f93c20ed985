/**
 * What a test expects of a whole line of handoffs. Read once, then asked as often as one likes; what is
 * not so throws an AssertionError with what was expected, what was, and the line, as any test runner
 * shows it.
 */
import { AssertionError } from "node:assert";
import type { DeliveryDetails } from "../delivery/watch/delivery-details.ts";
import type { Hub } from "../hub/hub.ts";
import { type DeliveryState, isOpen } from "../store/rows.ts";
import { discrepanciesIn } from "./line-discrepancies.ts";
import {
  attemptsOf,
  finalDeliveriesOf,
  holderOrReceiverOf,
  type LineFacts,
  readLine,
} from "./line-facts.ts";
import { formatLine } from "./line-text.ts";
import { repeatsOf } from "./repeats.ts";

/** How a piece of work can be over. */
export type EndState = Extract<
  DeliveryState,
  "cancelled" | "completed" | "dead" | "declined" | "expired"
>;

/** `(await expectLine(hub, "auth")).wentThrough("planner", "coder").ended("completed")` */
export async function expectLine(hub: Hub, task: string): Promise<LineAssertions> {
  return new LineAssertions(await readLine(hub, task));
}

type Expectation = Exclude<keyof LineAssertions, "ends" | "text">;

export class LineAssertions {
  readonly #facts: LineFacts;

  constructor(facts: LineFacts) {
    this.#facts = facts;
  }

  /** The deliveries the line has got to: what was not handed on. For what no expectation here says. */
  get ends(): readonly DeliveryDetails[] {
    return finalDeliveriesOf(this.#facts);
  }

  /** The line as text, for snapshots. */
  get text(): string {
    return formatLine(this.#facts);
  }

  /**
   * Through whose hands it went, in order: who handed it over first, then who had each handoff last.
   * Retries, reminders and questions are no new hands; of what nobody took, the inbox it lies in.
   */
  wentThrough(...agents: readonly string[]): this {
    const { steps, deliveries } = this.#facts;
    const first = steps[0]?.envelope.from.agent;
    const was = first === undefined ? [] : [first, ...deliveries.map(holderOrReceiverOf)];
    const path = (names: readonly string[]) => (names.length === 0 ? "nobody" : names.join(" → "));
    if (path(was) === path(agents)) return this;
    throw this.#broken("wentThrough", "did not go through these hands", path(agents), path(was));
  }

  /** From where it was first said to the end, every handoff had this constraint: by its rule, or its id. */
  keptConstraint(constraint: string): this {
    const handoffs = this.#facts.steps.map(({ envelope }) => ({
      to: `${envelope.from.agent}, hop ${envelope.hop}`,
      has: envelope.constraints.some(({ id, rule }) => rule === constraint || id === constraint),
    }));
    const first = handoffs.findIndex(({ has }) => has);
    const dropped = handoffs.slice(Math.max(first, 0)).filter(({ has }) => !has);
    if (first !== -1 && dropped.length === 0) return this;
    const was =
      first === -1
        ? "no handoff ever said it"
        : `missing in the handoff by ${dropped.map(({ to }) => to).join(" and by ")}`;
    throw this.#broken("keptConstraint", "did not keep a constraint", constraint, was);
  }

  /** It is over, everywhere it got to, and this is how. */
  ended(state: EndState): this {
    const states = this.ends.map(({ delivery }) => delivery.state);
    if (states.length > 0 && states.every((each) => each === state)) return this;
    throw this.#broken("ended", `did not end as ${state}`, state, this.#standing());
  }

  /** It is not over, and this is who it waits for: an agent, or an inbox. */
  waitsFor(...whom: readonly string[]): this {
    const open = this.ends.filter(({ delivery }) => isOpen(delivery.state));
    const waiting = open.map(({ delivery }) =>
      delivery.state === "waiting" ? delivery.sender : delivery.holder || delivery.receiver,
    );
    if (waiting.length > 0 && waiting.join() === whom.join()) return this;
    throw this.#broken("waitsFor", "does not wait for them", whom.join(", "), this.#standing());
  }

  /**
   * The books balance: every delivery that was ever made is there, once, in one state that the table of
   * states knows, and everything is as it was written.
   */
  nothingLost(): this {
    const losses = discrepanciesIn(this.#facts);
    if (losses.length === 0) return this;
    throw this.#broken("nothingLost", "lost something", "books that balance", losses.join("; "));
  }

  /**
   * Nobody did it a second time: it was noted, or handed in, at most once; and not at all after a handoff
   * said not to redo it. A text is looked for in what was said.
   */
  neverRedid(what: string | RegExp): this {
    const { told, again } = repeatsOf(this.#facts, what);
    if (told && again.length === 0) return this;
    const was = told ? `done again: ${again.join("; ")}` : "nobody ever spoke of it";
    throw this.#broken("neverRedid", "did something again", `${what} once`, was);
  }

  /** So many tries all told, or by one agent: also those that failed, ran out or were not accepted. */
  attempts(count: number, agent?: string): this {
    const tries = this.#facts.deliveries
      .flatMap(attemptsOf)
      .filter((each) => agent === undefined || each.agent === agent);
    if (tries.length === count) return this;
    const list = tries.map((each) => `${each.agent} ${each.outcome}`).join(", ");
    const was = `${tries.length}${list === "" ? "" : ` (${list})`}`;
    const by = agent === undefined ? "" : ` by ${agent}`;
    throw this.#broken("attempts", `did not take ${count} tries${by}`, String(count), was);
  }

  /** Each handoff was accepted once: nobody got it twice, none was left lying. */
  deliveredOnce(): this {
    const counts = this.#facts.deliveries.map((shown) => ({
      to: holderOrReceiverOf(shown),
      times: this.#facts.timeline.filter(
        ({ kind, delivery }) => kind === "accepted" && delivery === shown.delivery.id,
      ).length,
    }));
    const wrong = counts.filter(({ times }) => times !== 1);
    if (counts.length > 0 && wrong.length === 0) return this;
    const was =
      counts.length === 0
        ? "nothing was handed over"
        : wrong.map(({ to, times }) => `${to} accepted it ${times} times`).join("; ");
    throw this.#broken("deliveredOnce", "was not delivered once", "each accepted once", was);
  }

  #standing(): string {
    const ends = this.ends.map((shown) => `${shown.delivery.state} (${holderOrReceiverOf(shown)})`);
    return ends.length === 0 ? "nothing was handed over" : ends.join(", ");
  }

  #broken(operator: Expectation, what: string, expected: string, was: string): Error {
    return new AssertionError({
      message: [
        `The line of "${this.#facts.task}" ${what}.`,
        `  expected  ${expected}`,
        `  was       ${was}`,
        "",
        this.text,
      ].join("\n"),
      expected,
      actual: was,
      operator,
      stackStartFn: this[operator],
    });
  }
}
