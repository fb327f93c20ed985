/**
 * Runs many processes on one store that send, accept, renew, fail, ask and cancel. The processes
 * are killed, or stopped for longer than their lease and resumed. At the end all open deliveries
 * are taken over, and the store is audited. Shared by the test and `npm run chaos`.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { type Agent, type EventKind, type Hub, isBatonError, openHub } from "../../../src/index.ts";
import { type Child, startChild } from "../../support/child.ts";
import { type Random, randomFrom } from "../../support/random.ts";
import { type Audit, audit } from "./audit.ts";
import { AGENTS, CHAOS_LIMITS, type ChaosFact, ROLE } from "./facts.ts";

const CHILD = new URL("./child.ts", import.meta.url);
const LONGEST_LIFE_MS = 8_000;
/** Maximum number of rounds while a required kind of event is missing. */
const MOST_ROUNDS = 20;
/** Share of processes that are killed before they have finished opening. */
const EARLY_SHARE = 0.1;
const EARLY_MS = 400;
/** Share of interruptions that stop and resume the process instead of killing it. */
const STOP_SHARE = 0.5;
/** All leases of the process have expired by then. */
const STOPPED_MS = CHAOS_LIMITS.leaseMs * 1.5;
const TAKEN_OVER_WITHIN_MS = 120_000;
/** Longer than any pause of this process, which must not lose what it takes over. */
const TAKEOVER_LIMITS = { ...CHAOS_LIMITS, leaseMs: 600_000, holdMs: 600_000 };

export interface ChaosOptions {
  readonly address: string;
  readonly forMs: number;
  /** Kinds of events that must occur: the run continues until each has occurred. */
  readonly kinds?: readonly EventKind[];
  /** Maximum time in milliseconds between two interruptions of a process. Default: 8,000. */
  readonly lifeMs?: number;
  readonly processes: number;
  readonly seed: number;
  readonly onProgress?: (progress: ChaosProgress) => void;
}

export interface ChaosProgress {
  /** Elapsed share of the run time, from 0 to 1. */
  readonly share: number;
  readonly facts: number;
  readonly kills: number;
  readonly stops: number;
}

export interface ChaosReport extends Audit {
  readonly facts: readonly ChaosFact[];
  readonly kills: number;
  /** Number of times a process was stopped past its lease and resumed. */
  readonly stops: number;
  /** Number of settlements that were refused because they came too late. */
  readonly refused: number;
  /** Number of attempts that expired because the holder stopped responding or died. */
  readonly redelivered: number;
}

interface Chaos {
  readonly options: ChaosOptions;
  readonly random: Random;
  readonly facts: ChaosFact[];
  readonly violations: string[];
  /**
   * End of the run, counted from when the first process is ready: starting one takes seconds on a
   * busy machine.
   */
  until: number;
  kills: number;
  stops: number;
}

export async function chaosRun(options: ChaosOptions): Promise<ChaosReport> {
  const began = performance.now();
  const chaos: Chaos = {
    options,
    random: randomFrom(options.seed),
    facts: [],
    violations: [],
    until: 0,
    kills: 0,
    stops: 0,
  };
  const progress = setInterval(() => {
    const share = Math.min(1, (performance.now() - began) / options.forMs);
    const { facts, kills, stops } = chaos;
    options.onProgress?.({ share, facts: facts.length, kills, stops });
  }, 250);
  try {
    await (await openHub(options.address)).close(); // Creates the store, once for all.
    for (let round = 1; ; round++) {
      chaos.until = Number.POSITIVE_INFINITY;
      await Promise.all(Array.from({ length: options.processes }, () => keepRunning(chaos)));
      const report = await buildReport(chaos);
      const lacks = options.kinds?.some((kind) => report.events[kind] === undefined) ?? false;
      if (!lacks || round === MOST_ROUNDS) return report;
    }
  } finally {
    clearInterval(progress);
  }
}

/** Keeps one process running: starts another whenever it dies. */
async function keepRunning(chaos: Chaos): Promise<void> {
  while (performance.now() < chaos.until) await runProcess(chaos);
}

async function runProcess(chaos: Chaos): Promise<void> {
  const { options, random, facts, violations } = chaos;
  const seed = random.below(2 ** 31);
  const underWay = Promise.withResolvers<void>();
  const child = startChild(CHILD, [options.address, String(seed)], (line) => {
    const fact = JSON.parse(line) as ChaosFact;
    facts.push(fact);
    if (fact.kind === "under-way") {
      chaos.until = Math.min(chaos.until, performance.now() + options.forMs);
      underWay.resolve();
    }
    if (fact.kind === "error") violations.push(`a process met ${fact.message}`);
  });
  const early = random.chance(EARLY_SHARE) ? sleep(random.below(EARLY_MS)) : undefined;
  const started = Promise.race([early ?? underWay.promise, child.ended]);
  const interruption = started.then(() => interrupt(chaos, child));
  const end = await child.ended;
  await interruption;
  if (end.signal === "SIGKILL") return;
  violations.push(`process ${seed} ended by itself (exit code ${end.code}): ${end.stderr}`);
}

/** Stops and resumes the process at random, and kills it at the end. */
async function interrupt(chaos: Chaos, child: Child): Promise<void> {
  const { random } = chaos;
  const { lifeMs = LONGEST_LIFE_MS } = chaos.options;
  while (performance.now() < chaos.until) {
    const left = Math.max(0, chaos.until - performance.now());
    await sleep(Math.min(random.below(lifeMs), left));
    if (!random.chance(STOP_SHARE)) break;
    child.signal("SIGSTOP");
    await sleep(STOPPED_MS);
    child.signal("SIGCONT");
    chaos.stops++;
  }
  child.kill();
  chaos.kills++;
}

async function buildReport(chaos: Chaos): Promise<ChaosReport> {
  const { options, facts, kills, stops } = chaos;
  await using hub = await openHub(options.address, { limits: TAKEOVER_LIMITS });
  const violations = [...chaos.violations, ...(await takeOver(hub))];
  if (facts.length === 0) violations.push("nothing happened: no process got under way");
  const audited = await audit(hub, facts);
  return {
    ...audited,
    violations: [...violations, ...audited.violations],
    facts,
    kills,
    stops,
    refused: facts.filter(({ kind }) => kind === "refused").length,
    redelivered: audited.events["expired"] ?? 0,
  };
}

/** Answers or completes everything that is still open, as the agents would after a restart. */
async function takeOver(hub: Hub): Promise<string[]> {
  const agents = await Promise.all(AGENTS.map((name) => hub.agent(name, { role: ROLE })));
  const until = performance.now() + TAKEN_OVER_WITHIN_MS;
  for (;;) {
    for (const agent of agents) {
      for (const { delivery } of await agent.questions.list())
        await agent.questions.answer(delivery.id, "Yes");
    }
    await Promise.all(agents.map(takeAll));
    const { byState } = await hub.deliveries.totals();
    const { scheduled, ready, claimed, accepted, waiting } = byState;
    const open = scheduled + ready + claimed + accepted + waiting;
    if (open === 0) return [];
    if (performance.now() > until)
      return [`still open after two minutes: ${JSON.stringify(byState)}`];
    await sleep(100); // Leases of dead processes expire; retries and joins become due.
  }
}

async function takeAll(agent: Agent): Promise<void> {
  for (;;) {
    const work = await agent.accept();
    if (work === undefined) return;
    await work.complete({ summary: "taken over" }).catch((error: unknown) => {
      if (!isBatonError(error) || error.code !== "lease_lost") throw error; // Its deadline passed.
    });
  }
}
