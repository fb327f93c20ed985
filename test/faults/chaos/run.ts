/**
 * Chaos: many processes at once on one store that send, accept, renew, fail, ask and cancel; they are
 * killed, or stopped for longer than their lease and let go again. In the end all that is open is
 * taken over, and the books are audited. Shared by the test and by `npm run chaos`.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { type Agent, type Hub, isBatonError, openHub } from "../../../src/index.ts";
import { type Child, startChild } from "../../support/child.ts";
import { type Random, randomFrom } from "../../support/random.ts";
import { type Audit, audit } from "./audit.ts";
import { AGENTS, CHAOS_LIMITS, type ChaosFact, ROLE } from "./facts.ts";

const CHILD = new URL("./child.ts", import.meta.url);
const LONGEST_LIFE_MS = 8_000;
/** Some are killed before they have finished opening. */
const EARLY_SHARE = 0.1;
const EARLY_MS = 400;
/** One fate in so many is to be stopped and let go on, instead of being killed. */
const STOP_SHARE = 0.5;
/** All of its leases have run out by then. */
const STOPPED_MS = CHAOS_LIMITS.leaseMs * 1.5;

export interface ChaosOptions {
  readonly address: string;
  readonly forMs: number;
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
  readonly until: number;
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
    until: began + options.forMs,
    kills: 0,
    stops: 0,
  };
  const progress = setInterval(() => {
    const share = Math.min(1, (performance.now() - began) / options.forMs);
    const { facts, kills, stops } = chaos;
    options.onProgress?.({ share, facts: facts.length, kills, stops });
  }, 250);
  await (await openHub(options.address)).close(); // Made once, not by all at the same moment.
  await Promise.all(Array.from({ length: options.processes }, () => lives(chaos)));
  clearInterval(progress);
  return reckon(chaos);
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
    if (fact.kind === "under-way") underWay.resolve();
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
  const { random, until } = chaos;
  while (performance.now() < until) {
    await sleep(Math.min(random.below(LONGEST_LIFE_MS), Math.max(0, until - performance.now())));
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
  const { options, facts, violations, kills, stops } = chaos;
  await using hub = await openHub(options.address, { limits: CHAOS_LIMITS });
  violations.push(...(await takeOver(hub)));
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

const TAKEN_OVER_WITHIN_MS = 60_000;

/** Answers, completes or cancels all that is still open, as the agents would after a restart. */
async function takeOver(hub: Hub): Promise<string[]> {
  const agents = await Promise.all(AGENTS.map((name) => hub.agent(name, { role: ROLE })));
  const until = performance.now() + TAKEN_OVER_WITHIN_MS;
  for (;;) {
    for (const agent of agents) {
      for (const { delivery } of await agent.questions()) await agent.answer(delivery.id, "Yes");
    }
    await Promise.all(agents.map(takeAll));
    const { byState } = await hub.books();
    const { scheduled, ready, claimed, accepted, waiting } = byState;
    const open = scheduled + ready + claimed + accepted + waiting;
    if (open === 0) return [];
    if (performance.now() > until) return [`still open after a minute: ${JSON.stringify(byState)}`];
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
