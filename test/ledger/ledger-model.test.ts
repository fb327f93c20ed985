/**
 * Model test of the ledger: random lines of agents on every store drop, shorten, reorder, rename
 * and copy items, add to the ledger and release from it. Each envelope must have every must and
 * every open decision that was not released, and the original intent, word for word.
 *
 * `BATON_SEED` repeats a run, `BATON_RUNS_FACTOR` multiplies the number of runs.
 */
import fc from "fast-check";
import { expect, it } from "vitest";
import type { Agent, Envelope, Sent, Work } from "../../src/index.ts";
import { VirtualClock } from "../../src/testing/index.ts";
import { openFresh, STORES, take } from "../support/hub/support.ts";
import { chosenSeed } from "../support/random.ts";
import { runs } from "../support/runs.ts";

/** Runs per store: more where a run is cheap. */
const RUNS = { memory: 60, sqlite: 6, postgres: 3, http: 6 } as const;
const INTENT = "Refactor auth without breaking mobile logins";

const KINDS = ["drop", "shorten", "reorder", "rename", "stale", "add", "release", "lower"] as const;

const anyHop = fc.record({
  line: fc.nat(3),
  kind: fc.constantFrom(...KINDS),
  intent: fc.option(fc.constantFrom<string>("Do it", "Look at it", INTENT), { nil: undefined }),
  pick: fc.nat(50),
  child: fc.boolean(),
});
type Hop = typeof anyHop extends fc.Arbitrary<infer Value> ? Value : never;

const anyRun = fc.record({
  lines: fc.integer({ min: 1, max: 4 }),
  agents: fc.integer({ min: 2, max: 12 }),
  hops: fc.array(anyHop, { minLength: 4, maxLength: 30 }),
});

type Draft = Omit<Parameters<Work["handoff"]>[0], "to">;

/** A model of what every envelope must contain. */
class Expected {
  readonly musts = new Map<string, string>();
  readonly open = new Map<string, string>();
  #count = 0;

  /** Returns the draft of a hop, and updates the model. */
  draftOf({ kind, pick, intent }: Hop, before: Envelope, old: Envelope): Draft {
    const said = { ...(intent === undefined ? {} : { intent }) };
    const { constraints, decisions } = before;
    switch (kind) {
      case "drop":
        return said;
      case "shorten": {
        const shorter = constraints.map((each) => ({ ...each, rule: each.rule.slice(0, 6) }));
        return { ...said, constraints: shorter };
      }
      case "lower":
        return {
          ...said,
          constraints: constraints.map((each) => ({ ...each, level: "may" as const })),
        };
      case "reorder":
        return {
          ...said,
          constraints: constraints.toReversed(),
          decisions: decisions.toReversed(),
        };
      case "rename": {
        const { rule } = constraints[pick % constraints.length] ?? { rule: "Something new" };
        const id = `renamed-${++this.#count}`;
        this.musts.set(id, rule);
        return { ...said, constraints: [{ id, rule }] };
      }
      case "stale":
        return { ...said, constraints: old.constraints, decisions: old.decisions };
      case "add": {
        const n = ++this.#count;
        this.musts.set(`must-${n}`, `Rule number ${n} holds`);
        this.open.set(`open-${n}`, `What about part ${n}?`);
        return {
          ...said,
          constraints: [{ id: `must-${n}`, rule: `Rule number ${n} holds` }],
          decisions: [{ id: `open-${n}`, question: `What about part ${n}?` }],
        };
      }
      case "release": {
        const ids = [...this.musts.keys(), ...this.open.keys()];
        const id = ids[pick % ids.length];
        if (id === undefined) return said;
        this.musts.delete(id);
        this.open.delete(id);
        const { constraints: stale } = old; // Released and copied in the same handoff.
        return { ...said, constraints: stale, releases: [{ id, reason: "Settled" }] };
      }
    }
  }

  isMet({ constraints, decisions, intent, origin }: Envelope): void {
    const musts = constraints.filter(({ level }) => level === "must");
    expect(Object.fromEntries(musts.map(({ id, rule }) => [id, rule]))).toEqual(
      Object.fromEntries(this.musts),
    );
    expect(Object.fromEntries(decisions.map(({ id, question }) => [id, question]))).toEqual(
      Object.fromEntries(this.open),
    );
    expect([intent, ...(origin ?? "").split("\n\n")]).toContain(INTENT);
  }
}

it.each(STORES)(
  "loses no unreleased item over random hops on %s [ENV-10]",
  async (store) => {
    const seed = chosenSeed();
    await fc.assert(
      fc.asyncProperty(anyRun, async ({ lines, agents, hops }) => {
        const clock = new VirtualClock();
        const hub = await openFresh(store, { clock, limits: { hops: 64, leaseMs: 1_000_000 } });
        const boss = await hub.agent("boss", { role: "planner" });
        const member = (line: number, place: number): Promise<Agent> =>
          hub.agent(`a${line}-${place % agents}`, { role: "lead" });
        const expected = new Expected();
        expected.musts.set("first", "Do not touch the test fixtures");
        expected.open.set("cache", "Which cache?");
        const begin = {
          ...{ task: "auth", intent: INTENT },
          constraints: [{ id: "first", rule: "Do not touch the test fixtures" }],
          decisions: [{ id: "cache", question: "Which cache?" }],
        };
        const sealed: Envelope[] = [];
        const at = Array.from({ length: lines }, () => 0);
        for (let line = 0; line < lines; line++) {
          const sent = await boss.handoff({ ...begin, to: (await member(line, 0)).id });
          sealed.push(sent.envelope as Envelope);
        }
        const step = async (line: number, hop: Hop): Promise<Envelope> => {
          const place = at[line] ?? 0;
          const holder = await member(line, place);
          const next = await member(line, place + 1);
          at[line] = place + 1;
          const work = await take(holder);
          const old = sealed[hop.pick % sealed.length] as Envelope;
          const draft = expected.draftOf(hop, work.envelope as Envelope, old);
          const child = hop.child && hop.kind !== "release" ? { task: `auth/${line}` } : {};
          const sent = (await work.handoff({ to: next.id, ...draft, ...child })) as Sent;
          const envelope = sent.envelope as Envelope;
          sealed.push(envelope);
          return envelope;
        };
        for (const hop of hops) {
          const isOne = hop.line % lines;
          expected.isMet(await step(isOne, { ...hop, child: false }));
        }
        const last = { kind: "drop", pick: 0, intent: "The end", line: 0, child: false } as const;
        for (let line = 0; line < lines; line++) expected.isMet(await step(line, last));
        const children = { ...last, child: true };
        for (let line = 0; line < lines; line++) expected.isMet(await step(line, children));
        expect((await hub.verify()).problems).toEqual([]);
        await hub.close();
      }),
      { seed, numRuns: runs(RUNS[store]) },
    );
  },
  runs(180_000),
);
