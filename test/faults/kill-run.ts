/**
 * Kills writers at random moments and compares what is stored with what was acknowledged. Several
 * children write to one store; each is killed with SIGKILL after a random number of
 * acknowledgements (a few while they are still opening) and replaced by another. At the end all
 * open deliveries are taken over, and the store is audited. Shared by the tests and `npm run kill`.
 *
 * A child's lifetime is counted in acknowledgements, not in milliseconds, so that a busy machine
 * makes a run longer instead of emptier.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { type Agent, type Delivery, type Hub, openHub } from "../../src/index.ts";
import { startChild } from "../support/child.ts";
import { type Random, randomFrom } from "../support/random.ts";
import { type Acknowledged, audit, countLostHolds } from "./kill-audit.ts";
import { AGENTS, type Fact, KILL_LIMITS } from "./kill-facts.ts";
import { serverIsDone } from "./server-done.ts";

export const CHILD = new URL("./kill-child.ts", import.meta.url);
const CHILDREN_AT_ONCE = 4;
/** Maximum number of acknowledgements before a child is killed, and maximum delay of the kill. */
const LONGEST_LIFE = 120;
const LONGEST_DELAY_MS = 20;
/** One child in this many is killed before it has finished opening. */
const EARLY_KILLS = 8;
const LONGEST_OPENING_MS = 300;
const TAKERS = 8;
/** Time limit for a takeover that makes no progress. */
const STUCK_MS = 60_000;
/** Longer than any pause of this process, which must not lose what it takes over. */
const TAKEOVER_LIMITS = { ...KILL_LIMITS, leaseMs: 600_000 };

export interface KillOptions {
  /** Address of the store. */
  readonly address: string;
  readonly kills: number;
  /** Kills continue until all of these were acknowledged and a killed child held a delivery. */
  readonly kinds?: readonly Fact["kind"][];
  readonly seed: number;
  readonly onKill?: (progress: { readonly kills: number; readonly facts: number }) => void;
}

export interface KillReport extends Reckoning {
  readonly kills: number;
}

export interface Reckoning {
  readonly facts: number;
  /** Number of acknowledgements by kind. */
  readonly byKind: Readonly<Record<string, number>>;
  /** Attempts of killed children that were redelivered after their lease expired. */
  readonly redelivered: number;
  readonly acknowledged: Acknowledged;
  /** Each broken guarantee in plain text; empty if there is none. */
  readonly violations: readonly string[];
}

export async function killRun(options: KillOptions): Promise<KillReport> {
  const random = randomFrom(options.seed);
  const facts: Fact[] = [];
  const violations: string[] = [];
  let started = 0;
  let kills = 0;
  const killNext = async (): Promise<void> => {
    started++;
    violations.push(...(await killOne(options, random, facts)));
    kills++;
    options.onKill?.({ kills, facts: facts.length });
  };
  const isWell = (): boolean => violations.length === 0;
  const keepKilling = async (): Promise<void> => {
    while (started < options.kills || (lacks(options, facts) && isWell())) await killNext();
  };
  const together = (kill: () => Promise<void>) =>
    Promise.all(Array.from({ length: CHILDREN_AT_ONCE }, kill));
  await together(keepKilling);
  while (options.kinds !== undefined && isWell()) {
    await serverIsDone(options.address);
    if ((await countLostHolds(options.address, facts)) > 0) break;
    await together(killNext);
  }
  const reckoning = await reckon(options.address, facts);
  return { kills, ...reckoning, violations: [...violations, ...reckoning.violations] };
}

const lacks = ({ kinds = [] }: KillOptions, facts: readonly Fact[]): boolean =>
  kinds.some((wanted) => !facts.some(({ kind }) => kind === wanted));

/** Takes over all open deliveries, and audits the store against what the children reported. */
export async function reckon(address: string, facts: readonly Fact[]): Promise<Reckoning> {
  await serverIsDone(address);
  await using hub = await openHub(address, { limits: TAKEOVER_LIMITS });
  const takenOver = await takeOver(hub);
  const acknowledged: Acknowledged = { facts, takenOver };
  const { redelivered, violations } = await audit(hub, address, acknowledged);
  return {
    facts: facts.length,
    byKind: countKinds(facts),
    redelivered,
    acknowledged,
    violations,
  };
}

/** Starts one child and kills it. Returns what went wrong. */
async function killOne({ address }: KillOptions, random: Random, facts: Fact[]): Promise<string[]> {
  const early = random.below(EARLY_KILLS) === 0;
  const seed = random.below(2 ** 31);
  const life = 1 + random.below(LONGEST_LIFE);
  const delay = random.below(early ? LONGEST_OPENING_MS : LONGEST_DELAY_MS);
  let said = 0;
  const child = startChild(CHILD, [address, String(seed)], (line) => {
    if (++said === life && !early) setTimeout(child.kill, delay);
    facts.push(JSON.parse(line) as Fact);
  });
  if (early) setTimeout(child.kill, delay);
  const end = await child.ended;
  if (end.signal === "SIGKILL") return [];
  return [`child ${seed} ended by itself (exit code ${end.code}): ${end.stderr}`];
}

/** Takes over and completes everything that is still open, as the agents would after a restart. */
async function takeOver(hub: Hub): Promise<ReadonlyMap<string, number>> {
  const taken = new Map<string, number>();
  const agents = await Promise.all(AGENTS.map((name) => hub.agent(name, { role: name })));
  let deadline = performance.now() + STUCK_MS;
  for (;;) {
    const before = taken.size;
    await Promise.all(
      agents.flatMap((agent) => Array.from({ length: TAKERS }, () => take(agent, taken))),
    );
    const pages = await Promise.all(agents.map((agent) => agent.deliveries.waiting()));
    const open = pages.flatMap(({ items }) => items).map(({ delivery }) => delivery);
    if (open.length === 0) return taken;
    if (taken.size > before) deadline = performance.now() + STUCK_MS;
    if (performance.now() > deadline) throw new Error(`still open: ${describeOpen(open)}`);
    await sleep(50); // Leases of killed children expire; retries become due.
  }
}

async function take(agent: Agent, taken: Map<string, number>): Promise<void> {
  for (;;) {
    const work = await agent.accept();
    if (work === undefined) return;
    taken.set(work.id, work.delivery.attempt);
    await work.complete({ summary: "taken over" });
  }
}

function describeOpen(open: readonly Delivery[]): string {
  return open.map(({ id, state, attempt }) => `${id} ${state} ${attempt}`).join(", ");
}

function countKinds(facts: readonly Fact[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { kind } of facts) counts[kind] = (counts[kind] ?? 0) + 1;
  return counts;
}
