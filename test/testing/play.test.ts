/** Scripted agents, played on a hub in memory: what each step does, without waiting. */
import { AssertionError } from "node:assert";
import { expect, it, onTestFinished } from "vitest";
import { type Agent, type Hub, isBatonError, type Work } from "../../src/index.ts";
import {
  answers,
  clarifies,
  completes,
  crashes,
  declines,
  expectLine,
  fails,
  handsOver,
  type MemoryHubOptions,
  memoryHub,
  notes,
  play,
  releases,
  type Script,
  type ScriptedAgent,
  scriptedAgent,
  stalls,
  type VirtualClock,
  worksFor,
} from "../../src/testing/index.ts";

const LEASE_MS = 60_000;

interface Scene {
  readonly hub: Hub;
  readonly clock: VirtualClock;
  readonly planner: Agent;
  cast(name: string, script: Script): Promise<ScriptedAgent>;
}

async function scene(options: MemoryHubOptions = {}): Promise<Scene> {
  const { hub, clock } = memoryHub({
    ...options,
    limits: { leaseMs: LEASE_MS, ...options.limits },
  });
  onTestFinished(() => hub.close());
  const planner = await hub.agent("planner", { role: "planner" });
  return {
    hub,
    clock,
    planner,
    cast: (name, script) => scriptedAgent(hub, name, { role: name }, script),
  };
}

const TASK = { task: "auth", intent: "Refactor auth" };

it("play runs a line to its end: notes, handing on, completing [OPS-11]", async () => {
  const { hub, clock, planner, cast } = await scene();
  const critic = await cast("critic", [completes("Approved.")]);
  const coder = await cast("coder", [notes("47 of 47 tests pass"), handsOver({ to: "critic" })]);
  await planner.handoff({ ...TASK, to: "coder" });
  expect(await play(hub, clock, [critic, coder])).toEqual({ turns: 2, passedMs: 0 });
  const line = await expectLine(hub, "auth");
  line.wentThrough("planner", "coder", "critic").ended("completed").deliveredOnce().nothingLost();
  expect(line.ends).toMatchObject([{ result: { summary: "Approved." } }]);
  expect((await coder.agent.memories.recent({ type: "step" })).items).toMatchObject([
    { content: "47 of 47 tests pass", agent: "coder" },
  ]);
});

it("play skips backoffs, and the script continues with the next attempt [OPS-11]", async () => {
  const { hub, clock, planner, cast } = await scene();
  const coder = await cast("coder", [fails("503"), fails({ message: "503" }), completes("Live.")]);
  const policy = { attempts: 3, backoff: { firstMs: 3_600_000, longestMs: 86_400_000 } };
  await planner.handoff({ ...TASK, to: "coder", policy });
  const { turns, passedMs } = await play(hub, clock, [coder]);
  expect(turns).toBe(3);
  expect(passedMs).toBeGreaterThan(0);
  (await expectLine(hub, "auth")).attempts(3).ended("completed");
});

it("an agent that crashes loses its work at the end of the lease, to its next session [OPS-11]", async () => {
  const { hub, clock, planner, cast } = await scene();
  const coder = await cast("coder", [notes("half of it"), crashes(), completes("all of it")]);
  await planner.handoff({ ...TASK, to: "coder" });
  const first = coder.agent;
  expect(await play(hub, clock, [coder])).toEqual({ turns: 2, passedMs: LEASE_MS });
  expect(coder.agent).not.toBe(first);
  const line = await expectLine(hub, "auth");
  line.attempts(2, "coder").ended("completed").nothingLost();
  const [end] = line.ends;
  expect(end?.delivery.instance).toBe("coder-2");
  expect(end?.envelope.history).toMatchObject([{ did: "half of it" }]);
});

it("an agent that stalls longer than its lease is refused, and attempts the work again [OPS-11]", async () => {
  const { hub, clock, planner, cast } = await scene();
  const slowest = await cast("coder", [
    stalls(LEASE_MS + 1),
    completes("late"),
    completes("again"),
  ]);
  await planner.handoff({ ...TASK, to: "coder" });
  expect((await play(hub, clock, [slowest])).passedMs).toBe(LEASE_MS + 1);
  const line = await expectLine(hub, "auth");
  line.attempts(2).ended("completed");
  expect(line.ends).toMatchObject([{ result: { summary: "again" } }]);
});

it("an agent that stalls within its lease, or works for longer, keeps the work [OPS-11]", async () => {
  const { hub, clock, planner, cast } = await scene();
  const coder = await cast("coder", [
    stalls(LEASE_MS - 1),
    notes("x"),
    worksFor(300_000),
    completes(),
  ]);
  const critic = await cast("critic", [completes()]);
  await planner.handoff({ ...TASK, to: "coder" });
  await planner.handoff({ to: "critic", task: "other", intent: "Look at it" });
  await play(hub, clock, [coder, critic]);
  (await expectLine(hub, "auth")).attempts(1).ended("completed");
  const [auth] = (await expectLine(hub, "auth")).ends;
  const [other] = (await expectLine(hub, "other")).ends;
  expect((auth?.delivery.settledAt ?? 0) - (auth?.delivery.sentAt ?? 0)).toBe(
    LEASE_MS - 1 + 300_000,
  );
  expect(other?.delivery.settledAt).toBe(other?.delivery.sentAt);
});

it("declining, releasing and asking end an attempt, and the asked agent answers [OPS-11]", async () => {
  const { hub, clock, cast } = await scene();
  const planner = await cast("lead", [answers("Yes, until Monday.")]);
  const coder = await cast("coder", [
    declines("Not mine."),
    releases(),
    clarifies("Is there a way back?"),
    completes("Done."),
  ]);
  await planner.agent.handoff({ task: "no", intent: "i", to: "coder" });
  await play(hub, clock, [planner, coder]);
  await planner.agent.handoff({ ...TASK, to: "coder" });
  await play(hub, clock, [coder]);
  (await expectLine(hub, "no")).ended("declined");
  (await expectLine(hub, "auth")).waitsFor("lead");
  await play(hub, clock, [planner, coder]);
  const line = await expectLine(hub, "auth");
  line.wentThrough("lead", "coder").ended("completed").attempts(3).nothingLost();
  expect(line.ends[0]?.envelope.history.at(-1)).toMatchObject({
    did: "answered: Is there a way back?",
  });
});

it("an agent that accepts nothing loses the handoff to the fallback [OPS-11]", async () => {
  const { hub, clock, planner, cast } = await scene();
  const asleep = await cast("reviewer", []);
  const backup = await cast("backup", [completes("Approved.")]);
  const policy = { acceptMs: 15_000, attempts: 2, fallback: ["backup"] };
  await planner.handoff({ ...TASK, to: "reviewer", policy });
  const { passedMs } = await play(hub, clock, [asleep, backup]);
  expect(passedMs).toBeGreaterThanOrEqual(30_000);
  (await expectLine(hub, "auth"))
    .wentThrough("planner", "backup")
    .attempts(3)
    .attempts(1, "backup")
    .ended("completed");
});

it("play advances to a deadline, but does not wait for reminders [OPS-11]", async () => {
  const { hub, clock, planner, cast } = await scene();
  const asleep = await cast("reviewer", []);
  const policy = { remindMs: 60_000 };
  await planner.handoff({ ...TASK, to: "reviewer", policy });
  expect(await play(hub, clock, [asleep])).toEqual({ turns: 0, passedMs: 0 });
  (await expectLine(hub, "auth")).waitsFor("reviewer");
  await planner.handoff({
    task: "soon",
    intent: "i",
    to: "planner",
    policy: { ...policy, deadlineMs: 86_400_000 },
  });
  expect((await play(hub, clock, [asleep])).passedMs).toBe(86_400_000);
  (await expectLine(hub, "soon")).ended("expired");
});

it("a script function is called for each offer, and custom code can be a step [OPS-11]", async () => {
  const { hub, clock, planner, cast } = await scene();
  const handled: string[] = [];
  const handle = async (work: Work): Promise<void> => {
    await using own = work;
    handled.push(own.delivery.task);
    if (work.delivery.attempt === 1) return; // Leaving the block unsettled releases the work.
    await work.complete();
  };
  const coder = await cast("coder", ({ task }) => (task === "odd" ? [declines("odd")] : handle));
  for (const task of ["one", "odd", "two"]) {
    await planner.handoff({ task, intent: "i", to: "coder" });
  }
  await play(hub, clock, [coder]);
  expect(handled.sort()).toEqual(["one", "one", "two", "two"]);
  (await expectLine(hub, "one")).attempts(2).ended("completed");
  (await expectLine(hub, "odd")).attempts(1).ended("declined");
});

it("a step settles again after an extension, and stops after a cancellation [OPS-11]", async () => {
  const { hub, clock, planner, cast } = await scene();
  const coder = await cast("coder", [
    () => planner.handoff({ ...TASK, to: "coder", next: ["Also rate-limit"] }),
    completes("both"),
    (work) => planner.tasks.cancelHandoffs(work.delivery.task, "not needed"),
    completes("nobody wants it"),
    completes("the next"),
  ]);
  await planner.handoff({ ...TASK, to: "coder" });
  await planner.handoff({ task: "vain", intent: "i", to: "coder" });
  await planner.handoff({ task: "last", intent: "i", to: "coder" });
  await play(hub, clock, [coder]);
  (await expectLine(hub, "auth")).ended("completed").attempts(1);
  (await expectLine(hub, "vain")).ended("cancelled");
  (await expectLine(hub, "last")).ended("completed");
});

it("a scripted agent gives the required receipt [OPS-11]", async () => {
  const { hub, clock, planner, cast } = await scene();
  const coder = await cast("coder", [completes()]);
  const constraints = [
    "Do not touch the fixtures",
    { level: "should", rule: "Stay small" },
  ] as const;
  await planner.handoff({ ...TASK, to: "coder", receipt: true, constraints: [...constraints] });
  await play(hub, clock, [coder]);
  (await expectLine(hub, "auth")).ended("completed");
});

it("play fails when a script ends before its work is settled [OPS-11]", async () => {
  const { hub, clock, planner, cast } = await scene();
  const coder = await cast("coder", [notes("half of it")]);
  await planner.handoff({ ...TASK, to: "coder" });
  await expect(play(hub, clock, [coder])).rejects.toThrow(
    /script of "coder" ends in the middle of "auth"/,
  );
});

it("play throws what a step throws [OPS-11]", async () => {
  const { hub, clock, planner, cast } = await scene();
  const wrong = new AssertionError({ message: "the rule is missing" });
  const coder = await cast("coder", [
    () => {
      throw wrong;
    },
  ]);
  await planner.handoff({ ...TASK, to: "coder" });
  await expect(play(hub, clock, [coder])).rejects.toBe(wrong);
  const unknown = await cast("tester", [handsOver({ to: "nobody" })]);
  await planner.handoff({ task: "other", intent: "i", to: "tester" });
  const refused = await play(hub, clock, [unknown]).catch((error: unknown) => error);
  expect(isBatonError(refused) && refused.code).toBe("unknown_agent");
});

it("play stops agents that hand work to each other forever, and reports it [OPS-11]", async () => {
  const { hub, clock, planner, cast } = await scene();
  const ping = await cast(
    "ping",
    () =>
      (work, { agent }) =>
        agent.handoff({ task: `${work.id}`, intent: "i", to: "ping" }).then(() => work.complete()),
  );
  await planner.handoff({ ...TASK, to: "ping" });
  const playing = play(hub, clock, [ping], { rounds: 40 });
  await expect(playing).rejects.toThrow(/were not idle after 40 rounds/);
  expect((await hub.deliveries.totals()).byState).toMatchObject({ completed: 40, ready: 1 });
});
