/**
 * Runs the benchmark: engines, processes, rounds. In each round every system runs every workload,
 * one after the other, so that noise on the machine affects all systems alike; each round starts
 * with the next system.
 */
import type { Engine, Place } from "../engines/engine.ts";
import { startPostgres } from "../engines/postgres.ts";
import { startRedis } from "../engines/redis.ts";
import { startSqlite } from "../engines/sqlite.ts";
import { installPeers } from "../peers/load.ts";
import type { Options } from "./options.ts";
import { Process, Processes } from "./processes.ts";
import { RATE_WORKLOADS, type RateSample, type RateWorkload, Samples } from "./samples.ts";
import type { EngineName, System, Way } from "./system.ts";
import { RAW_SQLITE } from "./systems.ts";
import { inFiveProcesses, inOneProcess, PROCESSES } from "./workloads/end-to-end.ts";
import { enqueue } from "./workloads/enqueue.ts";
import { kill } from "./workloads/kill.ts";
import { latency } from "./workloads/latency.ts";
import { rawSqliteInserts } from "./workloads/raw-inserts.ts";

/** Sending one by one is slow in every system, so it gets fewer messages. */
const ONE_BY_ONE_SHARE = 1 / 8;
const RAW_SQLITE_WEIGHT = 12;

const START: Readonly<Record<EngineName, () => Promise<Engine>>> = {
  sqlite: startSqlite,
  postgres: startPostgres,
  "redis-everysec": () => startRedis("everysec"),
  "redis-always": () => startRedis("always"),
};

export class Bench implements AsyncDisposable {
  readonly samples = new Samples();
  readonly #options: Options;
  readonly #engines = new Map<EngineName, Engine>();
  readonly #processes = new Processes();
  /** Systems that cannot run on this machine, with the reason. */
  readonly #absent = new Map<string, string>();

  constructor(options: Options) {
    this.#options = options;
  }

  get engineVersions(): string[] {
    return [...new Set([...this.#engines.values()].map((engine) => engine.version))];
  }

  async run(): Promise<void> {
    await this.#prepare();
    await this.#rates();
    if (this.#options.workloads.has("latency")) await this.#latencies();
    if (this.#options.workloads.has("kill")) await this.#kills();
  }

  /** Installs the peers, starts the engines, and records which systems are missing. */
  async #prepare(): Promise<void> {
    const { systems } = this.#options;
    if (systems.some((system) => system.peer)) {
      await installPeers().catch((error: unknown) => {
        const reason = `Installing bench/peers failed (${messageOf(error)})`;
        for (const { name, peer } of systems) if (peer) this.#absent.set(name, reason);
      });
    }
    for (const { name, engine } of systems) {
      if (this.#absent.has(name) || this.#engines.has(engine)) continue;
      try {
        this.#engines.set(engine, await START[engine]());
      } catch (error) {
        this.#absent.set(name, messageOf(error));
      }
    }
    for (const [name, reason] of this.#absent) {
      logLine(`${name}: not measured: ${reason}`);
      for (const workload of this.#options.workloads) {
        this.samples.miss({ system: name, workload, reason, failed: false });
      }
    }
  }

  async #rates(): Promise<void> {
    const { rounds, workloads } = this.#options;
    const chosen = (Object.keys(RATE_WORKLOADS) as RateWorkload[]).filter((name) =>
      workloads.has(name),
    );
    if (chosen.length === 0) return;
    for (let round = 0; round <= rounds; round++) {
      for (const workload of chosen) {
        logLine(
          round === 0 ? `warming up: ${workload}` : `round ${round} of ${rounds}: ${workload}`,
        );
        for (const system of this.#inTurn(round)) await this.#rate(system, workload, round);
        if (this.#options.rawSqlite) await this.#rawSqlite(workload, round);
      }
    }
  }

  #inTurn(round: number): System[] {
    const { systems } = this.#options;
    const first = round % Math.max(1, systems.length);
    return [...systems.slice(first), ...systems.slice(0, first)];
  }

  async #rate(system: System, workload: RateWorkload, round: number): Promise<void> {
    for (const { way, bulk } of runsOf(system, workload)) {
      await this.#measured(system, workload, async (place) => {
        const count = this.#countFor(system.weight, workload, round);
        const found = await this.#runRate(place, { system, workload, way, bulk, count });
        const named = bulk ? `${way}, bulk` : way;
        const sample = { round, workload, system: system.name, way: named, count, ...found };
        logLine(`  ${system.name} (${named}): ${Math.round(sample.perSecond)}/s`);
        if (round > 0) this.samples.rates.push(sample);
      });
    }
  }

  async #runRate(place: Place, run: Run): Promise<Pick<RateSample, "perSecond">> {
    const { system, workload, way, bulk, count } = run;
    switch (workload) {
      case "enqueue-1":
      case "enqueue-64": {
        const [process] = this.#processes.of(system, 1) as [Process];
        const inFlight = workload === "enqueue-1" ? 1 : 64;
        return { perSecond: await enqueue(process, place, { inFlight, way, bulk, count }) };
      }
      case "in-process":
      case "in-process-bulk": {
        const [process] = this.#processes.of(system, 1) as [Process];
        return inOneProcess(process, place, run);
      }
      case "processes":
        return inFiveProcesses(this.#processes.of(system, PROCESSES), place, run);
    }
  }

  #countFor(weight: number, workload: RateWorkload, round: number): number {
    const share = workload === "enqueue-1" ? ONE_BY_ONE_SHARE : 1;
    const whole = this.#options.count * weight * share;
    return Math.max(64, Math.ceil(round === 0 ? whole / 2 : whole));
  }

  async #rawSqlite(workload: RateWorkload, round: number): Promise<void> {
    if (workload === "in-process-bulk") return;
    const count = this.#countFor(RAW_SQLITE_WEIGHT, workload, round);
    const rowsPerCommit = workload === "enqueue-1" ? 1 : 64;
    const perSecond = await rawSqliteInserts(count, rowsPerCommit);
    logLine(`  ${RAW_SQLITE.name}: ${Math.round(perSecond)}/s`);
    const way = `${rowsPerCommit} a commit`;
    if (round === 0) return;
    this.samples.rates.push({ round, workload, system: RAW_SQLITE.name, way, count, perSecond });
  }

  async #latencies(): Promise<void> {
    const { latencyRounds, seconds, idleSeconds } = this.#options;
    for (let round = 1; round <= latencyRounds; round++) {
      logLine(`round ${round} of ${latencyRounds}: latency`);
      for (const system of this.#inTurn(round)) {
        for (const way of system.ways.latency) {
          await this.#measured(system, "latency", async (place) => {
            const pair = this.#processes.of(system, 2) as [Process, Process];
            const idle = round === 1 ? idleSeconds : 0;
            const found = await latency(pair, place, { way, seconds, idleSeconds: idle });
            logLine(
              `  ${system.name} (${way}): p50 ${found.p50.toFixed(2)} p99 ${found.p99.toFixed(2)}`,
            );
            this.samples.latencies.push({ round, system: system.name, way, ...found });
          });
        }
      }
    }
  }

  /** Runs Baton's kills one after the other, then all peers at once, since these only wait. */
  async #kills(): Promise<void> {
    const { systems, killPeers } = this.#options;
    logLine("kill");
    for (const system of systems) if (!system.peer) await this.#kill(system);
    const peers = systems.filter((system) => system.peer);
    if (killPeers) await Promise.all(peers.map((system) => this.#kill(system)));
    else {
      for (const { name: system } of peers) {
        this.samples.miss({ system, workload: "kill", reason: "left out", failed: false });
      }
    }
  }

  /** Peers are killed once, which takes a minute; Baton often, to hit every phase of its wait. */
  async #kill(system: System): Promise<void> {
    const { killCapMs: capMs, kills } = this.#options;
    const took: (number | undefined)[] = [];
    for (const way of system.ways.kill) {
      for (let i = 0; i < (system.peer ? 1 : kills); i++) {
        await this.#measured(system, "kill", async (place) => {
          const pair = [new Process(system), new Process(system)] as const;
          const ms = await kill(pair, place, { way, capMs });
          logLine(`  ${system.name}: ${ms === undefined ? `> ${capMs}` : Math.round(ms)} ms`);
          took.push(ms);
        });
      }
    }
    if (took.length > 0) this.samples.kills.push({ system: system.name, capMs, took });
  }

  /** Measures in a new store. A failure is reported as a result; other systems continue. */
  async #measured(
    system: System,
    workload: string,
    measure: (place: Place) => Promise<void>,
  ): Promise<void> {
    const engine = this.#engines.get(system.engine);
    if (engine === undefined || this.samples.reason(system.name, workload) !== undefined) return;
    const place = await engine.place();
    try {
      await measure(place);
    } catch (error) {
      const reason = messageOf(error);
      logLine(`  ${system.name}: failed: ${reason}`);
      this.samples.miss({ system: system.name, workload, reason, failed: true });
      await this.#processes.renew(system);
    } finally {
      await place[Symbol.asyncDispose]();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#processes[Symbol.asyncDispose]();
    for (const engine of this.#engines.values()) await engine[Symbol.asyncDispose]();
  }
}

interface Run {
  readonly system: System;
  readonly workload: RateWorkload;
  readonly way: Way;
  readonly bulk: boolean;
  readonly count: number;
}

/** Returns the configurations in which a system runs a workload. */
function runsOf(
  { ways, bulk }: System,
  workload: RateWorkload,
): readonly { way: Way; bulk: boolean }[] {
  switch (workload) {
    case "enqueue-1":
      return [{ way: ways.enqueue, bulk: false }];
    case "enqueue-64":
      return [false, ...(bulk ? [true] : [])].map((each) => ({ way: ways.enqueue, bulk: each }));
    case "in-process-bulk":
      return bulk ? ways.rate.map((way) => ({ way, bulk: true })) : [];
    default:
      return ways.rate.map((way) => ({ way, bulk: false }));
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function logLine(line: string): void {
  process.stderr.write(`${line}\n`);
}
