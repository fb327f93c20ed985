/**
 * Concurrent decisions about the same failure by two coordinators, each in its own process, and the
 * hub: one decision takes effect, once, and the other calls return that decision.
 */
import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { DecideResult, Decision } from "../../src/coordination/failures/decision.ts";
import { type Agent, type Hub, type HubOptions, LocalHub, type Work } from "../../src/index.ts";
import { isOpen } from "../../src/store/rows.ts";
import { VirtualClock } from "../../src/testing/index.ts";
import { sharedStore } from "../support/hub/shared-store.ts";
import { EMBEDDED_STORES, type StoreName, take } from "../support/hub/support.ts";
import { chosenSeed, type Random, randomFrom } from "../support/random.ts";
import { runs } from "../support/runs.ts";

const ROUNDS = { memory: runs(24), sqlite: runs(12), postgres: runs(8) } as const;
/**
 * When the coordinators decide relative to the hub: before it, at the same time, a little later, or
 * after it. The first and the last are not races, so each side wins some rounds on any machine.
 */
const MOMENTS = ["before", "same", "little", "after"] as const;
const MINUTE = 60_000;
const LIMITS = { leaseMs: 30 * MINUTE, coordinatorMs: 10 * MINUTE } as const;

interface Scene {
  readonly clock: VirtualClock;
  readonly hubs: readonly [Hub, Hub];
  readonly owner: Agent;
  readonly coder: Agent;
  readonly kim: Agent;
  readonly leo: Agent;
}

async function sceneOn(store: StoreName): Promise<Scene> {
  const clock = new VirtualClock(Date.now());
  const options: HubOptions = {
    clock,
    limits: LIMITS,
    embedder: false,
    processes: { self: "", isGone: () => false },
  };
  const reopen = sharedStore(store, options);
  const here = new LocalHub(await reopen(), options);
  const there = new LocalHub(await reopen(), options);
  return {
    clock,
    hubs: [here, there],
    owner: await here.agent("olga", { role: "owner" }),
    coder: await here.agent("ada", { role: "coder" }),
    kim: await here.agent("kim", { role: "coordinator" }),
    leo: await there.agent("leo", { role: "coordinator" }),
  };
}

interface Failed {
  readonly task: string;
  readonly delivery: string;
  readonly report: string;
}

/** Adds a task that fails for good; returns its reported failure. */
async function failOne({ owner, coder, hubs }: Scene, round: number): Promise<Failed> {
  const task = `task-${round}`;
  await owner.tasks.add({ task, to: "ada", intent: `Do ${task}.`, policy: { attempts: 1 } });
  const work = await take(coder, { task });
  await work.fail({ type: "missing", class: "permanent", message: "Not there." });
  const [failure] = (await hubs[0].failures.list({ task, undecided: true })).items;
  expect(failure?.delivery).toBe(work.id);
  return { task, delivery: work.id, report: failure?.report ?? "" };
}

/** Waits for a random number of turns, sometimes until the others have started. */
async function someTurns(store: StoreName, random: Random): Promise<void> {
  const turns = random.below(store === "memory" ? 400 : 40);
  for (let n = 0; n < turns; n++) await (store === "memory" ? undefined : turn());
}

const DECISIONS: readonly [Decision, ...Decision[]] = [
  { decision: "retry", reason: "Once more." },
  { decision: "reroute", to: "role:coder", reason: "Others may." },
  { decision: "abort", reason: "Enough." },
];

/** Returns a random id of the failure: its delivery, its report, or the work of the report. */
function named(random: Random, { delivery, report }: Failed, work: Work | undefined) {
  return random.pick<string | Work>([delivery, report, work ?? report]);
}

/** Checks that one decision took effect, once. Returns the agent that made it. */
async function requireOne(
  { hubs, coder }: Scene,
  { task, delivery, report }: Failed,
  answers: readonly DecideResult[],
): Promise<string> {
  const [failure, ...more] = (await hubs[1].failures.list({ task })).items;
  const { decision: stands } = failure ?? {};
  expect(more).toEqual([]);
  if (stands === undefined) expect.fail(`no decision about ${task}`);
  const decided = answers.filter(({ kind }) => kind === "decided");
  expect(decided.length).toBe(stands.by === "baton" ? 0 : 1);
  const about = { by: stands.by, decision: stands.decision, record: stands.record };
  for (const answer of answers) expect(answer).toMatchObject(about);
  expect(new Set(answers.map(({ kind }) => kind))).not.toContain("asked");
  const memories = (await hubs[1].memories.recent({ task, type: "decision", limit: 100 })).items;
  const saying = memories.filter(({ data }) => data?.["delivery"] === delivery);
  expect(saying.map(({ id }) => id)).toEqual([stands.record]);
  expect(isOpen((await hubs[1].deliveries.get(report)).delivery.state)).toBe(false);
  await requireEffect({ hub: hubs[1], coder }, { task, delivery }, stands.decision);
  return stands.by;
}

async function requireEffect(
  { hub, coder }: { readonly hub: Hub; readonly coder: Agent },
  { task, delivery }: Pick<Failed, "delivery" | "task">,
  decision: string,
): Promise<void> {
  const closings = async () => (await hub.memories.recent({ task, tag: "task-closed" })).items;
  if (decision === "abort") {
    expect(await hub.tasks.get(task)).toMatchObject({ state: "failed" });
    expect(await closings()).toHaveLength(1);
    expect((await hub.deliveries.get(delivery)).delivery.state).toBe("dead");
    return;
  }
  expect(await closings()).toHaveLength(0);
  const again = await take(coder, { task });
  expect([again.id, again.delivery.attempt]).toEqual([delivery, 2]); // Retried once.
  await again.complete({ summary: "Done after all." });
  expect(await hub.tasks.get(task)).toMatchObject({ state: "done" });
  expect((await hub.deliveries.get(delivery)).attempts).toHaveLength(1);
}

describe.each(EMBEDDED_STORES)("concurrent decisions about one failure on %s", (store) => {
  const rounds = ROUNDS[store];

  it(`take effect once, and both coordinators get the result, ${rounds} times [CRD-3 CRD-4]`, {
    timeout: 120_000 + rounds * 2_000,
  }, async () => {
    const seed = chosenSeed();
    console.log(`BATON_SEED=${seed}`);
    const random = randomFrom(seed);
    const scene = await sceneOn(store);
    const won = new Map<string, number>();
    for (let round = 0; round < rounds; round++) {
      const failed = await failOne(scene, round);
      const holder = random.pick([scene.kim, scene.leo, undefined]);
      const work = holder && (await take(holder, { delivery: failed.report }));
      const both = [scene.kim, scene.leo].toSorted(() => random.next() - 0.5);
      const answers = await Promise.all(
        both.map((agent) => {
          const about = named(random, failed, agent === holder ? work : undefined);
          return agent.failures.decide(about, random.pick(DECISIONS));
        }),
      );
      expect(answers.map(({ kind }) => kind).toSorted()).toEqual(["already", "decided"]);
      const by = await requireOne(scene, failed, answers);
      won.set(by, (won.get(by) ?? 0) + 1);
    }
    console.log(JSON.stringify(Object.fromEntries(won))); // Which one wins is random.
    expect((await scene.hubs[0].verify()).problems).toEqual([]);
  });

  it(`take effect once if the hub decides too after the timeout, ${rounds} times [CRD-3 CRD-4]`, {
    timeout: 120_000 + rounds * 2_000,
  }, async () => {
    const seed = chosenSeed();
    console.log(`BATON_SEED=${seed}`);
    const random = randomFrom(seed);
    const scene = await sceneOn(store);
    const { clock, hubs, kim, leo } = scene;
    const won = new Map<string, number>();
    for (let round = 0; round < rounds; round++) {
      const failed = await failOne(scene, round);
      const holder = random.pick([kim, leo, undefined]);
      const work = holder && (await take(holder, { delivery: failed.report }));
      clock.advance(3 * LIMITS.coordinatorMs);
      const moment = MOMENTS[round % MOMENTS.length];
      const ran = Promise.withResolvers<void>();
      const decided = Promise.withResolvers<void>();
      let undecided = 2;
      const deciding = [kim, leo].map((agent) => async () => {
        if (moment === "little") await someTurns(store, random);
        if (moment === "after") await ran.promise;
        const about = named(random, failed, agent === holder ? work : undefined);
        const answer = await agent.failures.decide(about, random.pick(DECISIONS));
        if (--undecided === 0) decided.resolve();
        return [answer];
      });
      const runHubs = async () => {
        if (moment === "before") await decided.promise;
        await Promise.all(hubs.map((hub) => hub.deliveries.runDue()));
        ran.resolve();
        return [];
      };
      const all = [...deciding, runHubs].toSorted(() => random.next() - 0.5);
      const answers = (await Promise.all(all.map((each) => each()))).flat();
      for (const hub of hubs) await hub.deliveries.runDue();
      const by = await requireOne(scene, failed, answers);
      won.set(by, (won.get(by) ?? 0) + 1);
    }
    console.log(JSON.stringify(Object.fromEntries(won)));
    expect(won.has("baton")).toBe(true);
    expect(won.size).toBeGreaterThan(1);
    expect((await hubs[0].verify()).problems).toEqual([]);
  });
});
