/**
 * Kills writers at random moments and compares what is left with what was acknowledged. Several
 * children write to one store; each is killed with SIGKILL some moment after it is under way (a few
 * while they are still opening), and a new one takes its place. In the end whatever the dead held
 * is taken over, and the books are audited. Shared by the tests and by `npm run kill`.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { type Agent, type DeliveryRow, type Hub, openHub } from "../../src/index.ts";
import { startChild } from "../support/child.ts";
import { type Random, randomFrom } from "../support/random.ts";
import { type Acknowledged, audit } from "./kill-audit.ts";
import { AGENTS, type Fact, KILL_LIMITS } from "./kill-facts.ts";

export const CHILD = new URL("./kill-child.ts", import.meta.url);
const CHILDREN_AT_ONCE = 4;
const LONGEST_LIFE_MS = 400;
/** One child in so many is killed before it has finished opening. */
const EARLY_KILLS = 8;
const LONGEST_OPENING_MS = 300;
const TAKERS = 8;
/** How many times more than asked for are killed at most. */
const MOST = 5;

export interface KillOptions {
  /** The store's. */
  readonly address: string;
  readonly kills: number;
  /** On a busy machine little is done in a life: more are killed until all of these were acknowledged. */
  readonly kinds?: readonly Fact["kind"][];
  readonly seed: number;
  /** The longest a child lives once it is under way. */
  readonly lifeMs?: number;
  readonly onKill?: (progress: { readonly kills: number; readonly facts: number }) => void;
}

export interface KillReport extends Reckoning {
  readonly kills: number;
}

export interface Reckoning {
  readonly facts: number;
  /** How often each thing was acknowledged. */
  readonly byKind: Readonly<Record<string, number>>;
  /** Holds of killed children that went to somebody else after their lease. */
  readonly redelivered: number;
  readonly acknowledged: Acknowledged;
  /** Each promise that was broken, in words; none, when all is well. */
  readonly violations: readonly string[];
}

export async function killRun(options: KillOptions): Promise<KillReport> {
  const random = randomFrom(options.seed);
  const facts: Fact[] = [];
  const violations: string[] = [];
  let started = 0;
  let kills = 0;
  const keepKilling = async (): Promise<void> => {
    while (started < options.kills || (lacks(options, facts) && started < MOST * options.kills)) {
      started++;
      violations.push(...(await killOne(options, random, facts)));
      kills++;
      options.onKill?.({ kills, facts: facts.length });
    }
  };
  await Promise.all(Array.from({ length: CHILDREN_AT_ONCE }, keepKilling));
  const reckoning = await reckon(options.address, facts);
  return { kills, ...reckoning, violations: [...violations, ...reckoning.violations] };
}

const lacks = ({ kinds = [] }: KillOptions, facts: readonly Fact[]): boolean =>
  kinds.some((wanted) => !facts.some(({ kind }) => kind === wanted));

/** Takes over what is left, and compares everything with what the children were told. */
export async function reckon(address: string, facts: readonly Fact[]): Promise<Reckoning> {
  await using hub = await openHub(address, { limits: KILL_LIMITS });
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

/** One life: born, under way, killed. Returns what should not have happened in it. */
async function killOne(
  { address, lifeMs = LONGEST_LIFE_MS }: KillOptions,
  random: Random,
  facts: Fact[],
): Promise<string[]> {
  const early = random.below(EARLY_KILLS) === 0;
  const seed = random.below(2 ** 31);
  const life = random.below(early ? LONGEST_OPENING_MS : lifeMs);
  const child = startChild(CHILD, [address, String(seed)], (line) => {
    const fact = JSON.parse(line) as Fact;
    if (fact.kind === "under-way" && !early) setTimeout(child.kill, life);
    facts.push(fact);
  });
  if (early) setTimeout(child.kill, life);
  const end = await child.ended;
  if (end.signal === "SIGKILL") return [];
  return [`child ${seed} ended by itself (exit code ${end.code}): ${end.stderr}`];
}

/** Takes over and completes all that is still open, as the agents would after a restart. */
async function takeOver(hub: Hub): Promise<ReadonlyMap<string, number>> {
  const taken = new Map<string, number>();
  const agents = await Promise.all(AGENTS.map((name) => hub.agent(name, { role: name })));
  const deadline = Date.now() + 60_000;
  for (;;) {
    await Promise.all(
      agents.flatMap((agent) => Array.from({ length: TAKERS }, () => take(agent, taken))),
    );
    const waiting = (await Promise.all(agents.map((agent) => agent.waiting()))).flat();
    const open = waiting.map(({ delivery }) => delivery);
    if (open.length === 0) return taken;
    if (Date.now() > deadline) throw new Error(`still open after a minute: ${describeOpen(open)}`);
    await sleep(50); // Leases of the dead run out, retries fall due.
  }
}

async function take(agent: Agent, taken: Map<string, number>): Promise<void> {
  for (;;) {
    const work = await agent.accept();
    if (work === undefined) return;
    taken.set(work.id, work.attempt);
    await work.complete({ summary: "taken over" });
  }
}

function describeOpen(open: readonly DeliveryRow[]): string {
  return open.map(({ id, state, attempt }) => `${id} ${state} ${attempt}`).join(", ");
}

function countKinds(facts: readonly Fact[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { kind } of facts) counts[kind] = (counts[kind] ?? 0) + 1;
  return counts;
}
