/** The timeline of a task: what happened, in order, with failures and decisions about them. */
import { describe, expect, it } from "vitest";
import type { HubOptions, Timeline, TimelineStep } from "../../../src/index.ts";
import { VirtualClock } from "../../../src/testing/index.ts";
import { openFresh, refusal, STORES, take } from "../../support/hub/support.ts";

const LEASE_MS = 60_000;

/** Returns the kind, agent and receiver of each step. */
const story = ({ items: steps }: Timeline) =>
  steps.map(({ kind, agent, to }) => (to === undefined ? [kind, agent] : [kind, agent, to]));

const only = ({ items: steps }: Timeline, kind: TimelineStep["kind"]): TimelineStep => {
  const [found, ...more] = steps.filter((step) => step.kind === kind);
  expect(more).toEqual([]);
  expect(found, kind).toBeDefined();
  return found as TimelineStep;
};

describe.each(STORES)("the timeline of a task on %s", (store) => {
  async function team(options: HubOptions = {}) {
    const clock = new VirtualClock();
    const limits = { leaseMs: LEASE_MS, ...options.limits };
    const hub = await openFresh(store, { clock, random: () => 0.5, ...options, limits });
    const planner = await hub.agent("planner", { role: "planner" });
    const coder = await hub.agent("coder", { role: "coder" });
    const tester = await hub.agent("tester", { role: "tester" });
    return { clock, hub, planner, coder, tester };
  }

  it("lists handoffs, notes and how the work ended, with agents and times [CRD-5]", async () => {
    const { clock, hub, planner, coder, tester } = await team();
    const began = clock.now();
    const sent = await planner.handoff({ to: "coder", task: "t", intent: "Build the endpoint" });
    clock.advance(1_000);
    const work = await take(coder);
    const noted = await work.note({ type: "finding", content: "There is a router." });
    await work.handoff({ to: "tester", action: "needs_review", state: "The endpoint is there" });
    clock.advance(1_000);
    await (await take(tester)).complete({ summary: "All tests pass." });
    await planner.remember({ task: "another", content: "Not of this one." });
    const timeline = await hub.tasks.timeline("t");
    expect(timeline).toMatchObject({ task: "t", tasks: ["t"] });
    expect(timeline.next).toBeUndefined();
    expect(story(timeline)).toEqual([
      ["handed_over", "planner", "coder"],
      ["accepted", "coder"],
      ["noted", "coder"],
      ["handed_over", "coder", "tester"],
      ["accepted", "tester"],
      ["completed", "tester"],
    ]);
    const [first, accepted, note, second, , last] = timeline.items;
    expect(first).toMatchObject({ at: began, text: "Build the endpoint", delivery: sent.id });
    expect(accepted).toMatchObject({ at: began + 1_000, delivery: sent.id, attempt: 1 });
    expect(note).toMatchObject({ type: "finding", text: "There is a router." });
    expect(note?.memory).toBe(noted.memory.id);
    expect(second).toMatchObject({ action: "needs_review", text: "The endpoint is there" });
    expect(last).toMatchObject({ at: began + 2_000, text: "All tests pass." });
  });

  it("shows what a failed attempt tried, and that the policy retries [CRD-5]", async () => {
    const { clock, hub, planner, coder } = await team();
    await planner.handoff({ to: "coder", task: "t", intent: "Deploy" });
    const failure = { type: "timeout", message: "503", attempted: "A rollout", hints: ["Wait"] };
    await (await take(coder)).fail(failure);
    clock.advance(3_600_000);
    await (await take(coder)).complete();
    const step = only(await hub.tasks.timeline("t"), "failed");
    expect(step).toMatchObject({
      agent: "coder",
      attempt: 1,
      text: "503",
      failure: { ...failure, by: "coder", class: "retryable" },
      decision: { decision: "retry", by: "policy", reason: expect.stringContaining("1 of 3") },
    });
  });

  it("lists lost leases, unaccepted handoffs, missed deadlines and releases [CRD-5]", async () => {
    const { clock, hub, planner, coder } = await team();
    await planner.handoff({ to: "coder", task: "silent", intent: "Go" });
    const lost = await take(coder);
    await lost.note("Began.");
    clock.advance(LEASE_MS);
    await hub.deliveries.runDue();
    const silent = await hub.tasks.timeline("silent");
    expect(story(silent)).toEqual([
      ["handed_over", "planner", "coder"],
      ["accepted", "coder"],
      ["noted", "coder"],
      ["silent", "coder"],
      ["reconstructed", "baton", "coder"],
    ]);
    const step = only(silent, "silent");
    expect(step).toMatchObject({ attempt: 1, delivery: lost.id, failure: { type: "silent" } });
    expect(step.memory).toBeUndefined();

    const policy = { acceptMs: 1_000, attempts: 1, fallback: ["tester"] };
    await planner.handoff({ to: "planner", task: "missed", intent: "Go", policy });
    clock.advance(1_000);
    await hub.deliveries.runDue();
    expect(story(await hub.tasks.timeline("missed"))).toEqual([
      ["handed_over", "planner", "planner"],
      ["not_accepted", "baton"],
      ["rerouted", "baton", "tester"],
    ]);

    const late = { deadlineMs: 5_000 };
    await planner.handoff({ to: "coder", task: "late", intent: "Go", policy: late });
    await take(coder, { task: "late" });
    clock.advance(5_000);
    await hub.deliveries.runDue();
    const expired = await hub.tasks.timeline("late");
    expect(story(expired).at(-1)).toEqual(["deadline_passed", "coder"]);
    expect(story(expired)).toHaveLength(3);

    await planner.handoff({ to: "coder", task: "left", intent: "Go" });
    await (await take(coder, { task: "left" })).release();
    expect(story(await hub.tasks.timeline("left")).at(-1)).toEqual(["released", "coder"]);
  });

  it("shows why a line was stopped, and a handoff declined or cancelled [CRD-5]", async () => {
    const { hub, planner, coder, tester } = await team({ limits: { hops: 1, leaseMs: LEASE_MS } });
    await planner.handoff({ to: "coder", task: "round", intent: "Go" });
    await (await take(coder)).handoff({ to: "tester" });
    await (await take(tester)).handoff({ to: "coder" });
    expect(only(await hub.tasks.timeline("round"), "stopped").failure).toMatchObject({
      type: "hop_limit",
      class: "permanent",
    });
    await planner.handoff({ to: "coder", task: "no", intent: "Go" });
    await (await take(coder, { task: "no" })).decline("Not mine");
    expect(only(await hub.tasks.timeline("no"), "declined")).toMatchObject({ why: "Not mine" });
    await planner.handoff({ to: "coder", task: "back", intent: "Go" });
    await planner.tasks.cancelHandoffs("back", "Nobody wants it");
    expect(only(await hub.tasks.timeline("back"), "cancelled")).toMatchObject({
      why: "Nobody wants it",
    });
  });

  it("shows who decided about a failure and why, linked to the delivery [CRD-5]", async () => {
    const { hub, planner, coder, tester } = await team();
    const boss = await hub.agent("boss", { role: "coordinator" });
    const { sent } = await planner.tasks.add({ to: "coder", task: "t", intent: "Build it" });
    await (await take(coder)).fail({ type: "bad_input", message: "No key", class: "permanent" });
    const report = await take(boss);
    await boss.failures.decide(report, {
      decision: "reroute",
      to: "tester",
      reason: "It has a key",
    });
    await (await take(tester)).complete({ summary: "Built." });
    const timeline = await hub.tasks.timeline("t");
    const reported = only(timeline, "reported");
    expect(reported).toMatchObject({
      agent: "baton",
      to: "role:coordinator",
      delivery: sent.id,
      attempt: 1,
      failure: { type: "bad_input", class: "permanent", message: "No key", by: "coder" },
    });
    const decided = only(timeline, "decided");
    expect(decided).toMatchObject({
      agent: "boss",
      delivery: sent.id,
      attempt: 1,
      decision: { decision: "reroute", by: "boss", to: "tester", reason: "It has a key" },
    });
    expect((await hub.memories.read(decided.memory ?? "")).type).toBe("decision");
    expect(timeline.items.filter((step) => step.report).map(({ kind }) => kind)).toEqual([
      "reported",
      "accepted",
      "completed",
    ]);
    expect(only(timeline, "closed").text).toContain("done");
    const kinds = timeline.items.map(({ kind }) => kind);
    const order = ["failed", "reported", "decided", "closed"] as const;
    const places = order.map((kind) => kinds.indexOf(kind));
    expect(places).toEqual(places.toSorted((a, b) => a - b));
  });

  it("includes the parts of a task on request [CRD-5]", async () => {
    const { hub, planner, coder, tester } = await team();
    await planner.tasks.add({ to: "tester", task: "whole", intent: "All", closing: "manual" });
    await planner.tasks.add({ to: "coder", task: "part", parent: "whole", intent: "One" });
    await planner.tasks.add({ to: "coder", task: "piece", parent: "part", intent: "Half" });
    await (await take(coder, { task: "piece" })).complete();
    await (await take(coder, { task: "part" })).complete();
    await (await take(tester)).complete();
    const { tasks, items: steps } = await hub.tasks.timeline("whole", { children: true });
    expect(tasks).toEqual(["whole", "part", "piece"]);
    expect(steps.filter(({ kind }) => kind === "completed").map(({ task }) => task)).toEqual([
      "piece",
      "part",
      "whole",
    ]);
    const times = steps.map(({ at }) => at);
    expect(times).toEqual(times.toSorted((a, b) => a - b));
    const alone = await hub.tasks.timeline("whole");
    expect(new Set(alone.items.map(({ task }) => task))).toEqual(new Set(["whole"]));
  });

  it("is paged from the newest step back, each step once [CRD-5]", async () => {
    const { clock, hub, planner, coder } = await team();
    await planner.handoff({ to: "coder", task: "t", intent: "Go", policy: { attempts: 9 } });
    for (let round = 0; round < 4; round++) {
      const work = await take(coder);
      clock.advance(10);
      await work.note(`Note ${round}`);
      clock.advance(round % 2 === 0 ? 10 : 0);
      await work.release();
      clock.advance(10);
      await hub.deliveries.runDue();
    }
    const all = await hub.tasks.timeline("t");
    expect(all.items).toHaveLength(1 + 4 * 3);
    const pages: TimelineStep[][] = [];
    let after: string | undefined;
    do {
      const page: Timeline = await hub.tasks.timeline("t", {
        limit: 2,
        ...(after === undefined ? {} : { after }),
      });
      pages.unshift([...page.items]);
      after = page.next;
    } while (after !== undefined);
    expect(pages.length).toBeGreaterThan(3);
    expect(pages.flat()).toEqual(all.items);
    expect((await refusal(hub.tasks.timeline("t", { limit: 1_001 }))).code).toBe("limit_exceeded");
    expect((await hub.tasks.timeline("unheard-of")).items).toEqual([]);
  });

  it("marks redacted text, and leaves out quarantined memories [CRD-5]", async () => {
    const { hub, planner, coder } = await team();
    await planner.handoff({ to: "coder", task: "t", intent: "Go" });
    const work = await take(coder);
    const secret = await work.note("The key is hunter2.");
    const wrong = await work.note("The earth is flat.");
    await work.complete();
    await planner.memories.redact({ ids: [secret.memory.id] }, "A key");
    await coder.memories.quarantine([wrong.memory.id], "Wrong");
    const { items: steps } = await hub.tasks.timeline("t");
    expect(JSON.stringify(steps)).not.toMatch(/hunter2|flat/);
    expect(steps.find(({ memory }) => memory === secret.memory.id)?.text).toContain("A key");
    expect(steps.some(({ memory }) => memory === wrong.memory.id)).toBe(false);
  });
});
