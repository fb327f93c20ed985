/**
 * `play()`: runs scripted agents until nothing more happens. They act one after the other, in the order
 * passed, each step before the next. When all are idle, the clock is set to the next time at which something
 * changes by itself (a retry, the end of a lease, a deadline, a slow agent), without real waiting.
 */
import { AssertionError } from "node:assert";
import type { Hub } from "../hub/hub.ts";
import { DueTimes } from "./next-due-times.ts";
import type { ScriptedAgent } from "./scripted-agent.ts";
import type { VirtualClock } from "./virtual-clock.ts";

/** Far more than a line in a test needs. */
const MAX_ROUNDS = 1_000;

/** Options of `play()`. */
export interface PlayOptions {
  /** The maximum number of rounds; more is an error, because the agents loop. Default: 1,000. */
  readonly rounds?: number;
}

/** The result of `play()`. */
export interface PlayResult {
  /** How often an agent acted. */
  readonly turns: number;
  /** The time that passed on the test clock, in milliseconds. */
  readonly passedMs: number;
}

/**
 * Runs the agents until all are idle. Work that the test itself holds loses its lease like any other when the
 * clock passes it. Throws an AssertionError if the agents are not idle after `rounds` rounds.
 */
export async function play(
  hub: Hub,
  clock: VirtualClock,
  agents: readonly ScriptedAgent[],
  { rounds = MAX_ROUNDS }: PlayOptions = {},
): Promise<PlayResult> {
  const begun = clock.now();
  const moments = new DueTimes(hub);
  let turns = 0;
  for (let played = 0; played < rounds; played++) {
    const acted = await round(hub, clock, agents);
    turns += acted;
    if (acted > 0) continue;
    const next = await nextDueTime(moments, clock, agents);
    if (next === undefined) return { turns, passedMs: clock.now() - begun };
    clock.set(next);
  }
  throw new AssertionError({
    message: `The agents were not idle after ${rounds} rounds; their scripts probably loop.`,
    operator: "play",
    stackStartFn: play,
  });
}

/** Lets each agent act once, after processing what is due. Returns how many of them acted. */
async function round(
  hub: Hub,
  clock: VirtualClock,
  agents: readonly ScriptedAgent[],
): Promise<number> {
  let acted = 0;
  for (const agent of agents) {
    await hub.deliveries.runDue();
    if (await agent.turn(clock.now())) acted++;
  }
  await hub.deliveries.runDue();
  return acted;
}

async function nextDueTime(
  moments: DueTimes,
  clock: VirtualClock,
  agents: readonly ScriptedAgent[],
): Promise<number | undefined> {
  const now = clock.now();
  const wakings = agents.flatMap(({ asleepUntil }) => asleepUntil ?? []);
  const due = await moments.after(now);
  const later = [...wakings, ...due].filter((at) => at > now);
  return later.length === 0 ? undefined : Math.min(...later);
}
