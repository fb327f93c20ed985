/**
 * Records scenarios on the real store, replays them onto a model of a disk, cuts the power at many moments,
 * and checks each state that is left. Shared by the test and by `npm run powerloss`.
 */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { type Random, randomFrom } from "../../support/random.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { brokenPromises } from "./crash-check.ts";
import { Disk } from "./disk.ts";
import { type Call, recordScenarios } from "./recording.ts";
import { CONTROL, NOTES, type Note, type Scenario } from "./scenarios.ts";

export interface PowerLossOptions {
  readonly scenarios: readonly Scenario[];
  /** Crash states per scenario. */
  readonly states: number;
  readonly seed: number;
}

/** Opening a store waits for the disk most of the time. */
const CHECKS_AT_ONCE = 6;

export interface PowerLossReport {
  readonly states: number;
  readonly recordings: readonly Recording[];
  /** Each promise that was broken, with scenario and moment; empty if all were kept. */
  readonly violations: readonly string[];
}

/** A recorded scenario. */
export interface Recording {
  readonly scenario: Scenario;
  readonly calls: readonly Call[];
  readonly notes: readonly Note[];
  /** How many writes and syncs failed. */
  readonly failures: number;
}

/** Records the scenarios and checks `states` crash states of each. */
export async function cutPower(options: PowerLossOptions): Promise<PowerLossReport> {
  using folder = temporaryFolder();
  const calls = await recordScenarios(folder.path, options.scenarios);
  const random = randomFrom(options.seed);
  const violations: string[] = [];
  const recordings: Recording[] = [];
  for (const [scenario, own] of callsByScenario(calls, options.scenarios)) {
    const root = join(folder.path, "run", scenario.name);
    const replay = new Replay(root, own);
    const moments = momentsIn(own.length, options.states, random);
    const checks = moments.map((moment, n) => async (): Promise<void> => {
      replay.to(moment);
      const left = folder.file(`left-${n}`);
      replay.disk.afterCrash(random, left);
      const broken = await brokenPromises(left, [...replay.notes]);
      rmSync(left, { recursive: true, force: true });
      if (broken.length > 0)
        violations.push(
          `${scenario.name}, after call ${moment} of ${own.length}: ${broken.slice(0, 3).join("; ")}`,
        );
    });
    await inOrder(checks, CHECKS_AT_ONCE);
    replay.to(own.length);
    const failures = own.filter((call) => call.kind !== "open" && call.error !== 0).length;
    recordings.push({ scenario, calls: own, notes: replay.notes, failures });
  }
  return { states: options.states * recordings.length, recordings, violations };
}

/** Starts tasks in order, at most so many at a time. */
async function inOrder(tasks: readonly (() => Promise<void>)[], atOnce: number): Promise<void> {
  let next = 0;
  const run = async (): Promise<void> => {
    for (let task = tasks[next++]; task !== undefined; task = tasks[next++]) await task();
  };
  await Promise.all(Array.from({ length: atOnce }, run));
}

/** Moments in order, always with the end. */
function momentsIn(calls: number, count: number, random: Random): number[] {
  const chosen = Array.from({ length: count - 1 }, () => random.below(calls + 1));
  return [...chosen, calls].toSorted((a, b) => a - b);
}

class Replay {
  readonly disk: Disk;
  readonly notes: Note[] = [];
  readonly #calls: readonly Call[];
  #next = 0;
  readonly #notesFile = new Set<number>();

  constructor(root: string, calls: readonly Call[]) {
    this.disk = new Disk(root);
    this.#calls = calls;
  }

  to(moment: number): void {
    for (; this.#next < moment; this.#next++) this.#replay(this.#calls[this.#next] as Call);
  }

  #replay(call: Call): void {
    if (call.kind === "open") {
      this.#notesFile.delete(call.fd);
      if (call.data.toString().endsWith(`/${NOTES}`)) this.#notesFile.add(call.fd);
    }
    if (!this.#notesFile.has(call.fd)) this.disk.replay(call);
    else if (call.kind === "write") this.notes.push(JSON.parse(call.data.toString()) as Note);
  }
}

/** Splits a trace: each scenario has a folder of its own. */
function callsByScenario(
  calls: Iterable<Call>,
  scenarios: readonly Scenario[],
): Map<Scenario, Call[]> {
  const byName = new Map(scenarios.map((scenario) => [scenario.name, [] as Call[]]));
  const open = new Map<number, Call[] | undefined>();
  for (const call of calls) {
    const path = call.fd < 0 || call.kind === "open" ? call.data.toString().split("\0")[0] : "";
    const named = byName.get(/\/run\/([^/]+)/.exec(path ?? "")?.[1] ?? "");
    if (call.kind === "open") open.set(call.fd, path?.endsWith(`/${CONTROL}`) ? undefined : named);
    (call.fd < 0 ? named : open.get(call.fd))?.push(call);
  }
  return new Map(scenarios.map((scenario) => [scenario, byName.get(scenario.name) ?? []]));
}
