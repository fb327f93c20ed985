/**
 * Plans a random team and its tasks from one seed: agents, tasks with parents, dependencies,
 * deadlines and policies, coordinators and their behaviour, and rules. Pure: play-team.ts runs the
 * plan, and audit-team.ts checks the result.
 */
import type { FailureRule } from "../../src/coordination/failures/rules.ts";
import type { Priority } from "../../src/envelope/schema.ts";
import type { PolicyInput } from "../../src/index.ts";
import { type Random, randomFrom } from "../support/random.ts";

export const SECOND = 1_000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;

export const OWNER = "olga";
export const PERSON = "pia";
const ROLES = ["coder", "tester"] as const;

export interface PlannedTask {
  readonly name: string;
  readonly parent?: string;
  readonly after: string[];
  readonly to: string;
  readonly priority: Priority;
  readonly deadlineMs?: number;
  readonly closing: "automatic" | "manual";
  readonly policy: Exclude<PolicyInput, "direct">;
  /** Added while agents work, not at the start. */
  readonly isLate: boolean;
}

/**
 * How a coordinator behaves: decides; decides too late; accepts a report and stops responding;
 * never accepts one.
 */
const MANNERS = ["present", "slow", "silent", "absent"] as const;
type Manner = (typeof MANNERS)[number];

export interface PlannedAgent {
  readonly name: string;
  readonly role: string;
  readonly kind: "agent" | "person";
  /** The process it runs in. */
  readonly process: number;
  /** Only for agents that decide about failures, or can be asked to. */
  readonly manner?: Manner;
}

/** Behaviour of the hub's `coordinate` function, which is called before rules apply. */
const FUNCTIONS = ["none", "decides", "passes", "throws", "nonsense"] as const;

export interface TeamPlan {
  readonly seed: number;
  readonly tasks: readonly PlannedTask[];
  readonly workers: readonly [PlannedAgent, ...PlannedAgent[]];
  readonly coordinators: readonly PlannedAgent[];
  readonly person: PlannedAgent | undefined;
  readonly processes: number;
  readonly rules: readonly PlannedRule[];
  readonly function: (typeof FUNCTIONS)[number];
  readonly hops: number;
  /** Number of steps before the final phase. */
  readonly steps: number;
  /** The final phase: the workers finish what is left, or no agent acts and only time passes. */
  readonly later: "diligent" | "deserted";
}

interface PlannedRule {
  readonly name: string;
  readonly rule: FailureRule;
}

export function planTeam(seed: number): TeamPlan {
  const random = randomFrom(seed);
  const processes = 1 + random.below(3);
  const workers = planWorkers(random, processes);
  const later = random.chance(0.65) ? "diligent" : "deserted";
  const person = random.chance(0.25)
    ? planAgent(random, { name: PERSON, role: "person", kind: "person", processes })
    : undefined;
  return {
    seed,
    tasks: planTasks(random, workers, later),
    workers,
    coordinators: planCoordinators(random, processes),
    person,
    processes,
    rules: planRules(random, workers),
    function: random.chance(0.6) ? "none" : random.pick(FUNCTIONS),
    hops: random.chance(0.15) ? 3 : 10,
    steps: 5 + random.below(36),
    later,
  };
}

function planWorkers(random: Random, processes: number): TeamPlan["workers"] {
  const names = ["ada", "ben", "cyd", "dan", "eve"].slice(0, 2 + random.below(4));
  const [first, ...others] = names.map((name, i) => ({
    name,
    role: ROLES[i] ?? random.pick(ROLES),
    kind: "agent" as const,
    process: random.below(processes),
  }));
  return [first as PlannedAgent, ...others];
}

interface AgentDraft {
  readonly name: string;
  readonly role: string;
  readonly kind: PlannedAgent["kind"];
  readonly processes: number;
}

const planAgent = (random: Random, { processes, ...who }: AgentDraft): PlannedAgent => ({
  ...who,
  process: random.below(processes),
  manner: random.pick(MANNERS),
});

function planCoordinators(random: Random, processes: number): PlannedAgent[] {
  const names = ["kim", "leo"].slice(0, random.pick([0, 0, 1, 1, 2, 2]));
  const kind = random.chance(0.2) ? "person" : "agent";
  return names.map((name) => planAgent(random, { name, role: "coordinator", kind, processes }));
}

function planTasks(
  random: Random,
  workers: readonly PlannedAgent[],
  later: TeamPlan["later"],
): PlannedTask[] {
  const tasks: PlannedTask[] = [];
  const count = 1 + random.below(random.chance(0.3) ? 12 : 6);
  for (let n = 0; n < count; n++) {
    const name = `task-${n}`;
    const parent = n > 0 && random.chance(0.35) ? random.pick(named(tasks)) : undefined;
    const forbidden = new Set(aboveOf(tasks, parent));
    const free = tasks.map((each) => each.name).filter((each) => isFree(tasks, each, forbidden));
    const after = free.filter(() => random.chance(0.8 / Math.max(1, free.length)));
    const needs = tasks.filter((each) => each.name === parent || after.includes(each.name));
    const deadlineMs = random.chance(0.25) ? random.pick([MINUTE, 20 * MINUTE, 3 * HOUR]) : 0;
    tasks.push({
      name,
      ...(parent === undefined ? {} : { parent }),
      after,
      to: receiver(random, workers),
      priority: random.pick(["urgent", "high", "normal", "normal", "low"]),
      ...(deadlineMs > 0 && { deadlineMs }),
      closing: random.chance(0.15) ? "manual" : "automatic",
      policy: planPolicy(random, workers, later),
      isLate: n > 0 && (random.chance(0.1) || needs.some(({ isLate }) => isLate)),
    });
  }
  return tasks;
}

const named = (tasks: readonly PlannedTask[]): [string, ...string[]] =>
  tasks.map(({ name }) => name) as [string, ...string[]];

/** Returns a task and all of its ancestors. */
function aboveOf(tasks: readonly PlannedTask[], task: string | undefined): string[] {
  const found = tasks.find(({ name }) => name === task);
  return found === undefined ? [] : [found.name, ...aboveOf(tasks, found.parent)];
}

/** Returns whether depending on a task creates no cycle: it needs none of the forbidden ones. */
function isFree(
  tasks: readonly PlannedTask[],
  task: string,
  forbidden: ReadonlySet<string>,
): boolean {
  const seen = new Set<string>();
  const next = [task];
  for (let at = next.pop(); at !== undefined; at = next.pop()) {
    if (forbidden.has(at)) return false;
    if (seen.has(at)) continue;
    seen.add(at);
    const needs = tasks.filter(({ name, parent }) => name === at || parent === at);
    for (const each of needs) next.push(...(each.name === at ? each.after : [each.name]));
  }
  return true;
}

function receiver(random: Random, workers: readonly PlannedAgent[]): string {
  if (random.chance(0.4)) return `role:${random.pick(ROLES)}`;
  return random.pick(workers.map(({ name }) => name) as [string, ...string[]]);
}

function planPolicy(
  random: Random,
  workers: readonly PlannedAgent[],
  later: TeamPlan["later"],
): PlannedTask["policy"] {
  const fallback = random.chance(0.25) ? [receiver(random, workers)] : undefined;
  // If no agent acts in the final phase, only a timeout can end what waits.
  const isBounded = later === "deserted" || random.chance(0.3);
  return {
    attempts: 1 + random.below(3),
    ...(isBounded && { acceptMs: random.pick([30 * SECOND, 15 * MINUTE]) }),
    ...(fallback && { fallback }),
  };
}

function planRules(random: Random, workers: readonly PlannedAgent[]): PlannedRule[] {
  if (random.chance(0.5)) return [];
  return Array.from({ length: 1 + random.below(3) }, (_, n) => ({
    name: `rule-${n}`,
    rule: {
      when: random.pick<NonNullable<FailureRule["when"]>>([
        {},
        { type: "silent" },
        { class: "permanent" },
        { class: "retryable" },
        { type: "dependency" },
        { task: "task-1*" },
      ]),
      then: random.pick<FailureRule["then"]>([
        { retry: {} },
        { retry: { delayMs: 5 * MINUTE } },
        { reroute: receiver(random, workers) },
        { reroute: "nobody" },
        { ask: PERSON },
        { abort: true },
      ]),
    },
  }));
}
