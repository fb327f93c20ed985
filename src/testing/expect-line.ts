/**
 * `expectLine()`: assertions about a whole line of handoffs. The line is read once and can be asserted any
 * number of times. A failed assertion throws an AssertionError with the expected value, the actual value and
 * the line as text, which any test runner displays.
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

/** The states in which work can end. */
export type EndState = Extract<
  DeliveryState,
  "cancelled" | "completed" | "dead" | "declined" | "expired"
>;

/**
 * Reads the line of a task for assertions.
 *
 * ```ts
 * (await expectLine(hub, "auth")).wentThrough("planner", "coder").ended("completed");
 * ```
 */
export async function expectLine(hub: Hub, task: string): Promise<LineAssertions> {
  return new LineAssertions(await readLine(hub, task));
}

type Expectation = Exclude<keyof LineAssertions, "ends" | "text">;

/** Assertions about one line. Each returns `this`, so they can be chained. */
export class LineAssertions {
  readonly #facts: LineFacts;

  constructor(facts: LineFacts) {
    this.#facts = facts;
  }

  /**
   * The deliveries at the end of the line, which were not handed on. For conditions that no assertion here
   * covers.
   */
  get ends(): readonly DeliveryDetails[] {
    return finalDeliveriesOf(this.#facts);
  }

  /** The line as text, for snapshots. */
  get text(): string {
    return formatLine(this.#facts);
  }

  /**
   * Asserts which agents held the task, in order: the sender of the first handoff, then the last holder of
   * each handoff. Retries, reminders and questions are not counted. For a handoff that no agent claimed, its
   * inbox.
   */
  wentThrough(...agents: readonly string[]): this {
    const { steps, deliveries } = this.#facts;
    const first = steps[0]?.envelope.from.agent;
    const was = first === undefined ? [] : [first, ...deliveries.map(holderOrReceiverOf)];
    const path = (names: readonly string[]) =>
      names.length === 0 ? "no agent" : names.join(" → ");
    if (path(was) === path(agents)) return this;
    throw this.#broken("wentThrough", "did not go through these agents", path(agents), path(was));
  }

  /**
   * Asserts that every handoff had this constraint, by its rule or id, from the first one that has it to the
   * end.
   */
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
        ? "no handoff has it"
        : `missing in the handoff by ${dropped.map(({ to }) => to).join(" and by ")}`;
    throw this.#broken("keptConstraint", "dropped a constraint", constraint, was);
  }

  /** Asserts that every end of the line has this state. */
  ended(state: EndState): this {
    const states = this.ends.map(({ delivery }) => delivery.state);
    if (states.length > 0 && states.every((each) => each === state)) return this;
    throw this.#broken("ended", `did not end as ${state}`, state, this.#standing());
  }

  /** Asserts that the line has not ended and which agents or inboxes it waits for. */
  waitsFor(...whom: readonly string[]): this {
    const open = this.ends.filter(({ delivery }) => isOpen(delivery.state));
    const waiting = open.map(({ delivery }) =>
      delivery.state === "waiting" ? delivery.sender : delivery.holder || delivery.receiver,
    );
    if (waiting.length > 0 && waiting.join() === whom.join()) return this;
    throw this.#broken(
      "waitsFor",
      "does not wait for these receivers",
      whom.join(", "),
      this.#standing(),
    );
  }

  /**
   * Asserts that the totals match: every delivery that was ever created exists once, in a valid state, and
   * everything is stored unchanged.
   */
  nothingLost(): this {
    const losses = discrepanciesIn(this.#facts);
    if (losses.length === 0) return this;
    throw this.#broken(
      "nothingLost",
      "lost deliveries or records",
      "matching totals",
      losses.join("; "),
    );
  }

  /**
   * Asserts that nothing was done twice: it was noted or reported as completed at most once, and not at all
   * after a handoff listed it in `doNotRedo`. A string matches as a substring.
   */
  neverRedid(what: string | RegExp): this {
    const { isMentioned, again } = repeatsOf(this.#facts, what);
    if (isMentioned && again.length === 0) return this;
    const was = isMentioned ? `done again: ${again.join("; ")}` : "it was never mentioned";
    throw this.#broken("neverRedid", "repeated work", `${what} once`, was);
  }

  /**
   * Asserts the number of attempts, in total or of one agent, including those that failed, expired or were
   * not accepted.
   */
  attempts(count: number, agent?: string): this {
    const attempts = this.#facts.deliveries
      .flatMap(attemptsOf)
      .filter((each) => agent === undefined || each.agent === agent);
    if (attempts.length === count) return this;
    const list = attempts.map((each) => `${each.agent} ${each.outcome}`).join(", ");
    const was = `${attempts.length}${list === "" ? "" : ` (${list})`}`;
    const by = agent === undefined ? "" : ` by ${agent}`;
    throw this.#broken("attempts", `did not take ${count} attempts${by}`, String(count), was);
  }

  /** Asserts that each handoff was accepted exactly once. */
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
        ? "there are no handoffs"
        : wrong.map(({ to, times }) => `${to} accepted it ${times} times`).join("; ");
    throw this.#broken("deliveredOnce", "was not delivered once", "each accepted once", was);
  }

  #standing(): string {
    const ends = this.ends.map((shown) => `${shown.delivery.state} (${holderOrReceiverOf(shown)})`);
    return ends.length === 0 ? "there are no handoffs" : ends.join(", ");
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
