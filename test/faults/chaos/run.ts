/**
 * Chaos: many processes at once on one store that send, accept, renew, fail, ask and cancel; they are
 * killed, or stopped for longer than their lease and let go again. In the end all that is open is
 * taken over, and the books are audited. Shared by the test and by `npm run chaos`.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { type Agent, type EventKind, type Hub, isBatonError, openHub } from "../../../src/index.ts";
import { type Child, startChild } from "../../support/child.ts";
import { type Random, randomFrom } from "../../support/random.ts";
import { type Audit, audit } from "./audit.ts";
import { AGENTS, CHAOS_LIMITS, type ChaosFact, ROLE } from "./facts.ts";

const CHILD = new URL("./child.ts", import.meta.url);
const LONGEST_LIFE_MS = 8_000;
/** Rounds of a chaos that has not shown enough yet, at most. */
const MOST_ROUNDS = 20;
/** Some are killed before they have finished opening. */
const EARLY_SHARE = 0.1;
const EARLY_MS = 400;
/** One fate in so many is to be stopped and let go on, instead of being killed. */
const STOP_SHARE = 0.5;
/** All of its leases have run out by then. */
const STOPPED_MS = CHAOS_LIMITS.leaseMs * 1.5;
const TAKEN_OVER_WITHIN_MS = 120_000;
/** Longer than any pause of this process: it must not lose what it takes over. */
const TAKEOVER_LIMITS = { ...CHAOS_LIMITS, leaseMs: 600_000, holdMs: 600_000 };

export interface ChaosOptions {
  readonly address: string;
  readonly forMs: number;
  /** Events that must have happened: the chaos goes on until each of them has. */
  readonly kinds?: readonly EventKind[];
  /** The longest a process goes on between two blows. */
  readonly lifeMs?: number;
  readonly processes: number;
  readonly seed: number;
  readonly onProgress?: (progress: ChaosProgress) => void;
}

export interface ChaosProgress {
  /** Of the time the chaos lasts. */
  readonly share: number;
  readonly facts: number;
  readonly kills: number;
  readonly stops: number;
}

export interface ChaosReport extends Audit {
  readonly facts: readonly ChaosFact[];
  readonly kills: number;
  /** Times a process was stopped past its lease and went on. */
  readonly stops: number;
  /** Settlements that came too late and were refused. */
  readonly refused: number;
  /** Holds that ended because their holder was silent or gone. */
  readonly redelivered: number;
}

interface Chaos {
  readonly options: ChaosOptions;
  readonly random: Random;
  readonly facts: ChaosFact[];
  readonly violations: string[];
  /** So long after the first process was under way: starting one takes seconds on a busy machine. */
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
    await (await openHub(options.address)).close(); // Made once, not by all at the same moment.
    for (let round = 1; ; round++) {
      chaos.until = Number.POSITIVE_INFINITY;
      await Promise.all(Array.from({ length: options.processes }, () => lives(chaos)));
      const report = await reckon(chaos);
      const lacks = options.kinds?.some((kind) => report.events[kind] === undefined) ?? false;
      if (!lacks || round === MOST_ROUNDS) return report;
    }
  } finally {
    clearInterval(progress);
  }
}

/** One place at the table: whoever dies there is followed by another. */
async function lives(chaos: Chaos): Promise<void> {
  while (performance.now() < chaos.until) await life(chaos);
}

async function life(chaos: Chaos): Promise<void> {
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
  // A few are killed while they are still opening.
  const early = random.chance(EARLY_SHARE) ? sleep(random.below(EARLY_MS)) : undefined;
  const born = Promise.race([early ?? underWay.promise, child.ended]);
  const fate = born.then(() => suffer(chaos, child));
  const end = await child.ended;
  await fate;
  if (end.signal === "SIGKILL") return;
  violations.push(`process ${seed} ended by itself (exit code ${end.code}): ${end.stderr}`);
}

/** Lives for a while, is stopped now and then, and is killed in the end. */
async function suffer(chaos: Chaos, child: Child): Promise<void> {
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

async function reckon(chaos: Chaos): Promise<ChaosReport> {
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

/** Answers, completes or cancels all that is still open, as the agents would after a restart. */
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
    await sleep(100); // Leases of the dead run out, retries and joins fall due.
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
