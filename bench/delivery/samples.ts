/** What a run of the benchmark found: every figure of every round, and why some are missing. */
import { median } from "../kit.ts";
import type { System, Way } from "./system.ts";
import type { EndToEndResult } from "./workloads/end-to-end.ts";
import type { LatencyResult } from "./workloads/latency.ts";

export const RATE_WORKLOADS = {
  "enqueue-1": "enqueue one by one",
  "enqueue-64": "enqueue, 64 in flight",
  "in-process": "end to end, one process",
  "in-process-bulk": "end to end, one process, peers send 64 a call",
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
  /** Of each kill; undefined: longer than the cap. */
  readonly took: readonly (number | undefined)[];
}

/** The slowest redelivery; infinite when one was longer than the cap. */
export function slowest({ took }: KillSample): number {
  return Math.max(...took.map((ms) => ms ?? Number.POSITIVE_INFINITY));
}

/** Why a system has no figure for a workload, or none of later rounds. */
export interface Missing {
  readonly system: string;
  readonly workload: string;
  readonly reason: string;
  /** False: it was not there, or left out. True: it was run, and went wrong. */
  readonly failed: boolean;
}

export class Samples {
  readonly rates: RateSample[] = [];
  readonly latencies: LatencySample[] = [];
  readonly kills: KillSample[] = [];
  readonly missing: Missing[] = [];

  /** The first reason stands: after it, the system is not asked again. */
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

  /** The best way's figure of each round, in the order of the rounds. */
  best(system: string, workload: RateWorkload): readonly RateSample[] {
    const own = this.rates.filter((each) => each.system === system && each.workload === workload);
    const rounds = Map.groupBy(own, (each) => each.round);
    return [...rounds.values()].map((round) =>
      round.reduce((best, each) => (each.perSecond > best.perSecond ? each : best)),
    );
  }

  /** `system` divided by `against`, round by round. */
  ratios(workload: RateWorkload, system: string, against: string): readonly number[] {
    const others = this.best(against, workload);
    // Only peers send in bulk; Baton's figure is that of the same round without.
    const own = this.best(system, workload === "in-process-bulk" ? "in-process" : workload);
    return own.flatMap(({ round, perSecond }) => {
      const other = others.find((each) => each.round === round);
      return other === undefined ? [] : [perSecond / other.perSecond];
    });
  }

  /** Each round's p50 of a way, divided by the lowest p50 of a peer that syncs. */
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
