/** The goals of the delivery benchmark, and whether they are met. */
import { median } from "../kit.ts";
import { RATE_WORKLOADS, type RateWorkload, type Samples, slowest } from "./samples.ts";
import { SYSTEMS, systemOf, titleOf } from "./systems.ts";

export interface Verdict {
  readonly goal: string;
  /** Undefined if not measured. */
  readonly measured: string | undefined;
  readonly met: boolean | undefined;
}

interface RatioGoal {
  readonly workload: RateWorkload;
  readonly system: string;
  readonly against: string;
  readonly atLeast: number;
}

export const RATIO_GOALS: readonly RatioGoal[] = [
  ratio("in-process", "baton-postgres", "pg-boss", 3),
  ratio("in-process", "baton-postgres", "graphile-worker", 4),
  ratio("processes", "baton-postgres", "pg-boss", 3),
  ratio("processes", "baton-postgres", "graphile-worker", 3),
  ratio("in-process", "baton-sqlite", "bullmq-always", 1.1),
  ratio("processes", "baton-sqlite", "bullmq-always", 0.9),
];

function ratio(
  workload: RateWorkload,
  system: string,
  against: string,
  atLeast: number,
): RatioGoal {
  return { workload, system, against, atLeast };
}

const SHARES = { least: 0.18, most: 0.32 };
const LOCK_P999_MS = 150;
const KILL_MS = 150;

interface LatencyGoal {
  readonly system: string;
  readonly p50: number;
  readonly p99?: number;
  readonly idleCpuPercent?: number;
  /** p50 relative to the best peer that syncs. */
  readonly ratio: number;
}

const LATENCY_GOALS: readonly LatencyGoal[] = [
  { system: "baton-sqlite", p50: 2, p99: 10, idleCpuPercent: 0.1, ratio: 1.1 },
  { system: "baton-postgres", p50: 4, ratio: 1.6 },
];

/** Returns the result of every goal. If Baton failed in a workload, its goals there are missed. */
export function verdicts(samples: Samples): Verdict[] {
  const failed = (system: string, workload: string, verdict: Verdict): Verdict =>
    samples.failures.some((each) => each.system === system && each.workload === workload)
      ? { ...verdict, measured: "failed", met: false }
      : verdict;
  return [
    ...RATIO_GOALS.map((goal) => failed(goal.system, goal.workload, ratioVerdict(samples, goal))),
    failed("baton-sqlite", "processes", sharesVerdict(samples)),
    failed("baton-sqlite", "processes", lockVerdict(samples)),
    ...LATENCY_GOALS.flatMap((goal) =>
      latencyVerdicts(samples, goal).map((verdict) => failed(goal.system, "latency", verdict)),
    ),
    ...["baton-sqlite", "baton-postgres"].map((system) =>
      failed(system, "kill", killVerdict(samples, system)),
    ),
  ];
}

function ratioVerdict(samples: Samples, goal: RatioGoal): Verdict {
  const ratios = samples.ratios(goal.workload, goal.system, goal.against);
  const found = ratios.length === 0 ? undefined : median(ratios);
  return {
    goal: `${RATE_WORKLOADS[goal.workload]}: ${titleOf(goal.system)} ≥ ${goal.atLeast} × ${titleOf(goal.against)}`,
    measured: found?.toFixed(2),
    met: found === undefined ? undefined : found >= goal.atLeast,
  };
}

/** Checks every round, not the median: one round with a starved consumer misses the goal. */
function sharesVerdict(samples: Samples): Verdict {
  const shares = samples.best("baton-sqlite", "processes").flatMap((each) => each.shares ?? []);
  const [least, most] = [Math.min(...shares), Math.max(...shares)];
  return {
    goal: "five processes, Baton, SQLite: each consumer's share 18–32 %",
    measured: shares.length === 0 ? undefined : `${percent(least)}–${percent(most)} %`,
    met: shares.length === 0 ? undefined : least >= SHARES.least && most <= SHARES.most,
  };
}

const percent = (share: number): string => (share * 100).toFixed(0);

function lockVerdict(samples: Samples): Verdict {
  const waits = samples
    .best("baton-sqlite", "processes")
    .flatMap((each) => each.lockWaits?.p999 ?? []);
  const found = waits.length === 0 ? undefined : median(waits);
  return {
    goal: `five processes, Baton, SQLite: p99.9 of the lock wait ≤ ${LOCK_P999_MS} ms`,
    measured: found === undefined ? undefined : `${found.toFixed(1)} ms`,
    met: found === undefined ? undefined : found <= LOCK_P999_MS,
  };
}

function latencyVerdicts(samples: Samples, goal: LatencyGoal): Verdict[] {
  return systemOf(goal.system).ways.latency.flatMap((way) => {
    const own = samples.latencyOf(goal.system, way);
    const what = `100 per second, ${titleOf(goal.system)}, ${way}()`;
    const bounded = (name: string, most: number | undefined, values: readonly number[]) =>
      most === undefined ? [] : [atMost({ goal: `${what}: ${name}`, most }, values)];
    return [
      ...bounded(
        "p50 in ms",
        goal.p50,
        own.map((each) => each.p50),
      ),
      ...bounded(
        "p99 in ms",
        goal.p99,
        own.map((each) => each.p99),
      ),
      ...bounded(
        "idle CPU in %",
        goal.idleCpuPercent,
        own.flatMap((each) => each.idleCpuPercent ?? []),
      ),
      ...bounded(
        "p50 relative to the best peer that syncs",
        goal.ratio,
        samples.latencyRatios(
          goal.system,
          way,
          SYSTEMS.filter((each) => each.peer),
        ),
      ),
    ];
  });
}

function atMost(
  { goal, most }: { goal: string; most: number },
  values: readonly number[],
): Verdict {
  const found = values.length === 0 ? undefined : median(values);
  return {
    goal: `${goal} ≤ ${most}`,
    measured: found?.toFixed(found < 1 ? 3 : 2),
    met: found === undefined ? undefined : found <= most,
  };
}

/** The slowest kill counts: at which point of its wait the other consumer was is random. */
function killVerdict(samples: Samples, system: string): Verdict {
  const goal = `killed consumer, ${titleOf(system)}: redelivered within ${KILL_MS} ms, slowest`;
  const found = samples.kills.find((each) => each.system === system);
  if (found === undefined) return { goal, measured: undefined, met: undefined };
  const ms = slowest(found);
  const measured = Number.isFinite(ms) ? `${Math.round(ms)} ms` : `> ${found.capMs} ms`;
  return { goal, measured, met: ms <= KILL_MS };
}
