/**
 * Runs the same random steps on two hubs, one on the reference store and one on a real store. All
 * results, all errors and everything that is stored at the end must be equal. The reference store
 * is written to be obviously correct: a difference is a bug in the real store, or in the reference.
 *
 * `BATON_SEED` repeats a run, `BATON_RUNS_FACTOR` multiplies the number of runs.
 */
import fc from "fast-check";
import { expect, it } from "vitest";
import { OPEN_STATES } from "../../src/store/rows.ts";
import { testSchema } from "../support/postgres/schema.ts";
import { chosenSeed } from "../support/random.ts";
import { runs } from "../support/runs.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { type Dump, dumpOf } from "./model/dump.ts";
import { decideDue } from "./model/move-step.ts";
import { NAMES, type Opening, postgres, reference, Side, sessionOf, sqlite } from "./model/side.ts";
import type { Step } from "./model/step.ts";
import { anyStep } from "./model/steps.ts";
import { Watch } from "./model/watch.ts";

const RUNS = { sqlite: runs(20), postgres: runs(5) } as const;
const STEPS = 40;
/** Maximum time to shrink a failure before it is reported. */
const SHRINK_MS = 60_000;

class Pair implements AsyncDisposable {
  readonly reference: Side;
  readonly real: Side;
  readonly #watch: Watch;
  #seeds = 0;

  private constructor(reference: Side, real: Side) {
    this.reference = reference;
    this.real = real;
    this.#watch = new Watch(real);
  }

  static async open(opening: Opening): Promise<Pair> {
    const pair = new Pair(await Side.open(reference), await Side.open(opening));
    for (const name of NAMES) await pair.step(arrival(name));
    return pair;
  }

  async step({ title, burst = false, past = false, parts }: Step): Promise<void> {
    for (const part of parts) {
      if (!past)
        await this.#part(decideDue, { title: `what is due before: ${title}`, burst: true });
      await this.#part(part, { title, burst });
    }
  }

  async #part(
    part: Step["parts"][number],
    { title, burst }: { readonly title: string; readonly burst: boolean },
  ): Promise<void> {
    const seed = ++this.#seeds;
    const expected = await this.reference.run(seed, part);
    const actual = await this.real.run(seed, part);
    expect(actual, title).toEqual(expected);
    await this.#watch.look(burst);
  }

  async compare(): Promise<void> {
    const expected = await dumpOf(this.reference.store);
    await this.real.reopen();
    const actual = await dumpOf(this.real.store);
    expect(actual).toEqual(expected);
    expect(actual.verified.problems).toEqual([]);
    checkTotals(actual);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.reference.close();
    await this.real.close();
  }
}

const arrival = (name: string): Step => ({
  title: `${name} arrives`,
  parts: [
    async (side) => {
      side.agents.set(name, await side.hub.agent(name, { role: "any" }, sessionOf(name)));
    },
  ],
});

/** Checks that every delivery has one state and an event, and that every envelope is on a line. */
function checkTotals({ totals, deliveries, lines, open }: Dump): void {
  const sum = (numbers: readonly number[]) => numbers.reduce((total, each) => total + each, 0);
  expect(totals.deliveries).toBe(sum(Object.values(totals.byState)));
  expect(totals.deliveries).toBe(deliveries.length);
  expect(totals.envelopes).toBe(sum(lines.map((line) => line.length)));
  expect(sum(OPEN_STATES.map((state) => totals.byState[state]))).toBe(sum(open));
}

/** A step as a fast-check command: it can always run, and prints its title. */
class Command implements fc.AsyncCommand<object, Pair> {
  readonly #step: Step;
  constructor(step: Step) {
    this.#step = step;
  }
  check(): boolean {
    return true;
  }
  run(_model: object, pair: Pair): Promise<void> {
    return pair.step(this.#step);
  }
  toString(): string {
    return `\n  ${this.#step.title}`;
  }
}

/** Runs the commands on a new store, and compares what is stored at the end. */
type Play = (commands: Iterable<fc.AsyncCommand<object, Pair>>) => Promise<void>;

const play =
  (fresh: () => { opening: Opening } & (Disposable | AsyncDisposable)): Play =>
  async (commands) => {
    await using store = fresh() as { opening: Opening } & AsyncDisposable;
    await using pair = await Pair.open(store.opening);
    await fc.asyncModelRun(() => ({ model: {}, real: pair }), commands);
    await pair.compare();
  };

const onSqlite = play(() => {
  const folder = temporaryFolder();
  return {
    opening: sqlite(folder.file("hub.db")),
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  };
});

const onPostgres = play(() => {
  const schema = testSchema();
  return {
    opening: postgres(schema.address),
    [Symbol.asyncDispose]: () => schema[Symbol.asyncDispose](),
  };
});

async function holdsFor(playOn: Play, numRuns: number): Promise<void> {
  const seed = chosenSeed();
  const commands = fc.commands([anyStep.map((step) => new Command(step))], {
    maxCommands: STEPS,
    size: "max",
  });
  try {
    await fc.assert(fc.asyncProperty(commands, playOn), {
      seed,
      numRuns,
      interruptAfterTimeLimit: SHRINK_MS + numRuns * 2_000,
    });
  } catch (error) {
    const replay = `BATON_SEED=${seed} npx vitest run test/store/model.test.ts`;
    const message = error instanceof Error ? error.message : String(error);
    throw new Error(`Replay: ${replay}\n${message}`, { cause: error });
  }
}

const LONG = { timeout: 10 * 60_000 };

it("matches the reference store in random runs on SQLite [DLV-6 DLV-13 ENV-11]", LONG, () =>
  holdsFor(onSqlite, RUNS.sqlite),
);

it(
  "matches the reference store in random runs on PostgreSQL [DLV-6 DLV-13 ENV-11 OPS-10]",
  LONG,
  () => holdsFor(onPostgres, RUNS.postgres),
);
