/** Types, settings and helpers for a run of a random team. */
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

/** Leases are so long that no heartbeat, which uses real time, happens during a test. */
export const LIMITS = {
  leaseMs: 10 * MINUTE,
  coordinatorMs: 20 * MINUTE,
  personMs: 12 * HOUR,
} as const;

/** Rounds of the final phase in which everything must have ended. */
export const ROUNDS = 500;

/** How far time advances per round of the final phase. */
export const LEAPS = {
  diligent: [SECOND, 11 * MINUTE, 25 * MINUTE, HOUR, 13 * HOUR],
  deserted: [25 * MINUTE, HOUR, 13 * HOUR, 13 * HOUR],
} as const;

/** One store, opened once for each process and once for the audit. */
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

/** Accepted work, in a process that is alive or has died. */
export interface Held {
  readonly by: PlannedAgent;
  readonly work: Work;
  readonly in: Process;
  readonly at: number;
  isSettled: boolean;
}

export interface ConfirmedDecision {
  readonly answer: Extract<DecideResult, { kind: "decided" }>;
  readonly by: string;
}

/** The result of a run, besides what is in the store. */
export interface Played {
  readonly plan: TeamPlan;
  readonly hub: Hub;
  /** Tasks that were added, in order. */
  readonly tasks: readonly PlannedTask[];
  readonly held: readonly Held[];
  /** Decisions that were confirmed to the agents that made them. */
  readonly confirmed: readonly ConfirmedDecision[];
  /** Tasks whose handoffs were cancelled: only an explicit close ends them. */
  readonly takenBack: ReadonlySet<string>;
  /** What happened, one entry per occurrence. */
  readonly happened: readonly string[];
}

/** Codes that only mean that another agent was faster, or that the holder lost its work. */
export const LOST: readonly ErrorCode[] = ["already_settled", "cancelled", "lease_lost"];

export const UNREACHABLE: readonly ErrorCode[] = ["circuit_open"];

/** How work is settled; an entry that is listed more often is more likely. */
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
