/**
 * Random runs that create, write to, merge and abandon branches on every store, compared with a
 * model: each branch is a list of what it saw when it was created, plus what was written or merged
 * since. Every branch must return what the model holds, now and as of every earlier step.
 *
 * `BATON_SEED` repeats a run; `BATON_RUNS_FACTOR` multiplies the number of runs.
 */
import fc from "fast-check";
import { expect, it } from "vitest";
import type { Agent } from "../../../src/index.ts";
import { VirtualClock } from "../../../src/testing/index.ts";
import { openFresh, STORES } from "../../support/hub/support.ts";
import { chosenSeed } from "../../support/random.ts";
import { runs } from "../../support/runs.ts";

const RUNS = runs(6);

type Step =
  | { readonly kind: "begin"; readonly from: number }
  | { readonly kind: "write"; readonly on: number; readonly count: number }
  | { readonly kind: "merge" | "abandon"; readonly which: number };

const anyStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("begin" as const), from: fc.nat(20) }) },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("write" as const),
      on: fc.nat(20),
      count: fc.integer({ min: 1, max: 3 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constantFrom("merge" as const, "abandon" as const),
      which: fc.nat(20),
    }),
  },
);

/** A branch of the model: `sees` lists the visible words in the order they were written. */
interface Modelled {
  readonly name: string;
  readonly base: Modelled | undefined;
  sees: readonly number[];
  state: "open" | "merged" | "abandoned";
}

class Model {
  readonly branches: Modelled[] = [{ name: "main", base: undefined, sees: [], state: "open" }];
  #words = 0;

  open(at: number): Modelled {
    const open = this.branches.filter(({ state }) => state === "open");
    return open[at % open.length] as Modelled;
  }

  begin(from: Modelled): Modelled {
    const name = `b${this.branches.length}`;
    const branch: Modelled = { name, base: from, sees: from.sees, state: "open" };
    this.branches.push(branch);
    return branch;
  }

  write(branch: Modelled): number {
    const word = ++this.#words;
    branch.sees = [...branch.sees, word];
    return word;
  }

  /** Returns the open branch that a merge goes to; undefined if the base was abandoned. */
  target({ base }: Modelled): Modelled | undefined {
    if (base === undefined || base.state === "open") return base;
    return base.state === "merged" ? this.target(base) : undefined;
  }

  merge(branch: Modelled, into: Modelled): void {
    into.sees = [...new Set([...into.sees, ...branch.sees])].sort((a, b) => a - b);
    branch.state = "merged";
  }
}

async function run(hubOf: () => Promise<Agent>, clock: VirtualClock, steps: readonly Step[]) {
  const agent = await hubOf();
  const model = new Model();
  const moments: { readonly at: number; readonly sees: ReadonlyMap<string, readonly number[]> }[] =
    [];
  for (const step of steps) {
    switch (step.kind) {
      case "begin": {
        const from = model.open(step.from);
        await agent.branches.create(model.begin(from).name, { from: from.name });
        break;
      }
      case "write": {
        const branch = model.open(step.on);
        const on = await agent.branches.use(branch.name);
        for (let n = 0; n < step.count; n++) {
          await on.remember({ type: "word", content: `${model.write(branch)}` });
        }
        break;
      }
      case "merge": {
        const branch = model.open(step.which);
        const into = model.target(branch);
        if (branch.base === undefined) break;
        if (into === undefined) {
          await expect(agent.branches.merge(branch.name)).rejects.toMatchObject({
            code: "branch_closed",
          });
          break;
        }
        expect(await agent.branches.merge(branch.name)).toMatchObject({
          kind: "merged",
          into: into.name,
        });
        model.merge(branch, into);
        break;
      }
      case "abandon": {
        const branch = model.open(step.which);
        if (branch.base === undefined) break;
        await agent.branches.abandon(branch.name, "Chance.");
        branch.state = "abandoned";
        break;
      }
    }
    const sees = new Map(model.branches.map(({ name, sees: seen }) => [name, seen]));
    moments.push({ at: clock.now(), sees });
    clock.advance(10);
  }
  await agrees(agent, model, moments);
}

async function agrees(
  agent: Agent,
  model: Model,
  moments: readonly {
    readonly at: number;
    readonly sees: ReadonlyMap<string, readonly number[]>;
  }[],
): Promise<void> {
  for (const { name, sees, state } of model.branches) {
    const on = await agent.branches.use(name);
    const words = async (asOf?: number) =>
      (
        await on.memories.recent({
          type: "word",
          limit: 1_000,
          ...(asOf !== undefined && { asOf }),
        })
      ).items
        .map(({ content }) => Number(content))
        .reverse();
    expect(await words(), `what ${name} sees`).toEqual(sees);
    for (const moment of moments) {
      const then = moment.sees.get(name);
      if (then === undefined) continue; // Not created yet: asOf shows the base.
      expect(await words(moment.at), `what ${name} saw at ${moment.at}`).toEqual(then);
    }
    const write = on.remember({ content: "one more" });
    if (state === "open") await write;
    else await expect(write).rejects.toMatchObject({ code: "branch_closed" });
  }
}

it.each(STORES)(
  "branches on %s show what the model predicts after random operations [MEM-10]",
  async (store) => {
    const seed = chosenSeed();
    await fc.assert(
      fc.asyncProperty(fc.array(anyStep, { minLength: 4, maxLength: 25 }), async (steps) => {
        const clock = new VirtualClock();
        const hub = await openFresh(store, { clock });
        await run(() => hub.agent("ada", {}), clock, steps);
        expect((await hub.verify()).problems).toEqual([]);
        await hub.close();
      }),
      { seed, numRuns: RUNS },
    );
  },
  runs(120_000),
);
