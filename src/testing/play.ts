/**
 * Lets scripted agents act until nothing more happens: one after the other, in the order they are given,
 * each step before the next. When all are at rest, the clock goes to the next moment at which something
 * would happen by itself (a retry, a lease that runs out, a deadline, an agent that was slow), and nobody
 * waits for it.
 */
import { AssertionError } from "node:assert";
import type { Hub } from "../hub/hub.ts";
import { DueTimes } from "./next-due-times.ts";
import type { ScriptedAgent } from "./scripted-agent.ts";
import type { VirtualClock } from "./virtual-clock.ts";

/** Far more than a line of a test has. */
const MAX_ROUNDS = 1_000;

export interface PlayOptions {
  /** Agents that have not come to rest after so many rounds go round for ever: that is an error. */
  readonly rounds?: number;
}

export interface PlayResult {
  /** How often an agent acted. */
  readonly turns: number;
  /** How much time went by on the test's clock. */
  readonly passedMs: number;
}

/** What the test itself holds unsettled is lost to it when its lease runs out, like anybody's. */
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
    message: `The agents did not come to rest within ${rounds} rounds: something goes round for ever.`,
    operator: "play",
    stackStartFn: play,
  });
}

/** Each agent once; before each, what is due is carried out. How many of them did something. */
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
