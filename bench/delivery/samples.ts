/** The results of a run: every value of every round, and why values are missing. */
import { median } from "../kit.ts";
import type { System, Way } from "./system.ts";
import type { EndToEndResult } from "./workloads/end-to-end.ts";
import type { LatencyResult } from "./workloads/latency.ts";

export const RATE_WORKLOADS = {
  "enqueue-1": "enqueue one by one",
  "enqueue-64": "enqueue, 64 in flight",
  "in-process": "end to end, one process",
  "in-process-bulk": "end to end, one process, peers send 64 per call",
  processes: "end to end, five processes",
} as const;

export type RateWorkload = keyof typeof RATE_WORKLOADS;

export interface RateSample extends Partial<Omit<EndToEndResult, "perSecond">> {
  readonly round: number;
  readonly workload: RateWorkload;
  readonly system: string;
  readonly way: Way;
  readonly count: number;
  readonly perSecond: number;
}

export interface LatencySample extends LatencyResult {
  readonly round: number;
  readonly system: string;
  readonly way: Way;
}

export interface KillSample {
  readonly system: string;
  readonly capMs: number;
  /** Milliseconds per kill; undefined if longer than the cap. */
  readonly took: readonly (number | undefined)[];
}

/** Returns the slowest redelivery; infinity if one took longer than the cap. */
export function slowest({ took }: KillSample): number {
  return Math.max(...took.map((ms) => ms ?? Number.POSITIVE_INFINITY));
}

/** Why a system has no result for a workload, or none for later rounds. */
export interface Missing {
  readonly system: string;
  readonly workload: string;
  readonly reason: string;
  /** True if the system ran and failed; false if it is unavailable or was excluded. */
  readonly failed: boolean;
}

export class Samples {
  readonly rates: RateSample[] = [];
  readonly latencies: LatencySample[] = [];
  readonly kills: KillSample[] = [];
  readonly missing: Missing[] = [];

  /** Records a missing result. Only the first reason is kept, since the system is not run again. */
  miss(missing: Missing): void {
    if (this.reason(missing.system, missing.workload) === undefined) this.missing.push(missing);
  }

  reason(system: string, workload: string): string | undefined {
    return this.missing.find((each) => each.system === system && each.workload === workload)
      ?.reason;
  }

  get failures(): readonly Missing[] {
    return this.missing.filter((each) => each.failed);
  }

  /** Returns the best configuration's result of each round, in order. */
  best(system: string, workload: RateWorkload): readonly RateSample[] {
    const own = this.rates.filter((each) => each.system === system && each.workload === workload);
    const rounds = Map.groupBy(own, (each) => each.round);
    return [...rounds.values()].map((round) =>
      round.reduce((best, each) => (each.perSecond > best.perSecond ? each : best)),
    );
  }

  /** Returns the rate of `system` divided by that of `against`, by round. */
  ratios(workload: RateWorkload, system: string, against: string): readonly number[] {
    const others = this.best(against, workload);
    // Only peers send in bulk; Baton's result without bulk in the same round is compared with them.
    const own = this.best(system, workload === "in-process-bulk" ? "in-process" : workload);
    return own.flatMap(({ round, perSecond }) => {
      const other = others.find((each) => each.round === round);
      return other === undefined ? [] : [perSecond / other.perSecond];
    });
  }

  /** Returns the p50 of a configuration divided by the lowest p50 of a syncing peer, by round. */
  latencyRatios(system: string, way: Way, peers: readonly System[]): readonly number[] {
    const durable = new Set(peers.filter((peer) => peer.synced).map((peer) => peer.name));
    return this.latencyOf(system, way).flatMap(({ round, p50 }) => {
      const others = this.latencies.filter(
        (each) => each.round === round && durable.has(each.system),
      );
      return others.length === 0 ? [] : [p50 / Math.min(...others.map((each) => each.p50))];
    });
  }

  latencyOf(system: string, way: Way): readonly LatencySample[] {
    return this.latencies.filter((each) => each.system === system && each.way === way);
  }
}

export function medianOf<T>(values: readonly T[], figure: (value: T) => number): number {
  return median(values.map(figure));
}
