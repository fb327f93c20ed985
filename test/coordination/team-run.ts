/** What a run of a random team consists of: its stage, processes and settings, and what it leaves behind. */
import type { DecideResult } from "../../src/coordination/failures/decision.ts";
import type { Agent, ErrorCode, Hub, Store, Work } from "../../src/index.ts";
import type { VirtualClock } from "../../src/testing/index.ts";
import type { MortalStore } from "./mortal-store.ts";
import {
  HOUR,
  MINUTE,
  type PlannedAgent,
  type PlannedTask,
  SECOND,
  type TeamPlan,
} from "./random-team.ts";

/** A lease is long enough that no heartbeat, which goes by real time, beats while a test runs. */
export const LIMITS = {
  leaseMs: 10 * MINUTE,
  coordinatorMs: 20 * MINUTE,
  personMs: 12 * HOUR,
} as const;

/** Rounds in which everything must have ended once it is let run. */
export const ROUNDS = 500;

/** How time goes on then. */
export const LEAPS = {
  diligent: [SECOND, 11 * MINUTE, 25 * MINUTE, HOUR, 13 * HOUR],
  deserted: [25 * MINUTE, HOUR, 13 * HOUR, 13 * HOUR],
} as const;

/** Where it is played: one store, opened once for each process and once for whoever looks. */
export interface Stage {
  readonly workspace: string;
  readonly clock: VirtualClock;
  readonly stores: readonly [Store, Store, Store, Store];
}

export interface Process {
  readonly mortal: MortalStore;
  readonly hub: Hub;
  readonly agents: ReadonlyMap<string, Agent>;
}

/** Work that somebody accepted, in a process that lives or has died. */
export interface Held {
  readonly by: PlannedAgent;
  readonly work: Work;
  readonly in: Process;
  readonly at: number;
  isSettled: boolean;
}

export interface Told {
  readonly answer: Extract<DecideResult, { kind: "decided" }>;
  readonly by: string;
}

/** What a run leaves besides what is in the store. */
export interface Played {
  readonly plan: TeamPlan;
  readonly hub: Hub;
  /** Tasks that were added, in order. */
  readonly tasks: readonly PlannedTask[];
  readonly held: readonly Held[];
  /** Everybody who was told that a decision is theirs. */
  readonly told: readonly Told[];
  /** Tasks whose deliveries were taken back one by one: nobody but a person can close them. */
  readonly takenBack: ReadonlySet<string>;
  /** What happened, each as often as it did. */
  readonly happened: readonly string[];
}

/** Codes that say no more than that somebody else was quicker, or has died. */
export const LOST: readonly ErrorCode[] = ["already_settled", "cancelled", "lease_lost"];

export const UNREACHABLE: readonly ErrorCode[] = ["circuit_open"];

/** What becomes of work, as often as it stands here. */
export const SETTLING = [
  ...(["complete", "complete", "complete", "complete", "complete"] as const),
  ...(["note", "note", "handoff", "release", "ask", "decline"] as const),
  ...(["retryable", "retryable", "permanent"] as const),
] as const;

export type Settling = (typeof SETTLING)[number];

export const repeated = <T>(times: number, item: T): T[] =>
  Array.from({ length: times }, () => item);

export async function lastEvent(hub: Hub): Promise<number> {
  let last = 0;
  for (;;) {
    const page = (await hub.events.list({ after: last, limit: 1_000 })).items;
    last = page.at(-1)?.number ?? last;
    if (page.length < 1_000) return last;
  }
}
