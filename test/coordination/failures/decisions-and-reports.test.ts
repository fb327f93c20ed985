/** Decisions about failures, the reports they settle, and concurrent decisions. */
import { describe, expect, it } from "vitest";
import type { HubOptions } from "../../../src/index.ts";
import { VirtualClock } from "../../../src/testing/index.ts";
import { openTwo, refusal, STORES, take } from "../../support/hub/support.ts";
import {
  COORDINATOR_MS,
  decisionsIn,
  fails,
  PAUSE_MS,
  PERSON_MS,
  people,
  random,
  teamOn,
} from "./failing-team.ts";

describe.each(STORES)("a decision on %s", (store) => {
  /** Returns a team with a failure that carl is to decide. */
  async function failed(options: HubOptions = {}) {
    const team = await teamOn({ store, options });
    const sent = await team.ada.handoff({ to: "ben", task: "t", intent: "Build it" });
    await fails(team.ben);
    return { ...team, sent };
  }

  it("to retry redelivers after its delay, and is stored with its cause [CRD-4]", async () => {
    const { hub, ben, carl, sent, pass } = await failed();
    const work = await take(carl);
    const answer = await carl.failures.decide(work, {
      decision: "retry",
      reason: "types.ts is there now",
      delayMs: 5_000,
      changes: { next: ["Import User from types.ts"] },
    });
    expect(answer).toMatchObject({ kind: "decided", decision: "retry", by: "carl" });
    expect((await hub.deliveries.get(work.id)).delivery.state).toBe("completed");
    expect(await ben.accept()).toBeUndefined();
    await pass(5_000);
    const again = await take(ben);
    expect(again.envelope.next).toEqual(["Import User from types.ts"]);
    const [memory] = await decisionsIn(hub, "t");
    expect(memory).toMatchObject({
      agent: "carl",
      data: { decision: "retry", delivery: sent.id, reason: "types.ts is there now", attempt: 1 },
    });
    const [mistake] = (await hub.memories.recent({ task: "t", type: "mistake" })).items;
    const causes = (await carl.memories.relations(memory?.id ?? "")).items;
    expect(causes.filter(({ kind }) => kind === "caused-by").map(({ target }) => target)).toContain(
      mistake?.id,
    );
    expect((await hub.failures.list({ task: "t" })).items).toMatchObject([
      { delivery: sent.id, decision: { decision: "retry", by: "carl" } },
    ]);
    await again.complete();
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("to reroute delivers the work to another receiver [CRD-4]", async () => {
    const { hub, carl, sent } = await failed();
    const dora = await hub.agent("dora", { role: "architect" });
    const decided = { decision: "reroute", to: "role:architect", reason: "She knows" } as const;
    expect(await carl.failures.decide(sent.id, decided)).toMatchObject({
      kind: "decided",
      to: "role:architect",
      delivery: { state: "ready", receiver: "role:architect" },
    });
    await (await take(dora)).complete();
    expect(await carl.accept(), "the report is taken back").toBeUndefined();
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("to abort cancels all open work of the task, and closes it as failed [CRD-4]", async () => {
    const { hub, ada, ben, carl, sent } = await failed();
    const other = await hub.agent("eve", { role: "coder" });
    const more = await ada.handoff({ to: "eve", task: "t", intent: "The other half" });
    const held = await take(other);
    const { signal } = held;
    const answer = await carl.failures.decide(sent.id, { decision: "abort", reason: "No budget" });
    expect(answer).toMatchObject({ kind: "decided", decision: "abort" });
    expect(await more.completed()).toMatchObject({ kind: "cancelled", reason: "No budget" });
    expect((await refusal(held.complete())).code).toBe("cancelled");
    expect(signal.aborted).toBe(true);
    expect(await ben.accept()).toBeUndefined();
    expect(await hub.tasks.get("t")).toMatchObject({ state: "failed", closed: { as: "failed" } });
    expect((await refusal(ada.handoff({ to: "ben", task: "t", intent: "Again" }))).code).toBe(
      "task_closed",
    );
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("to ask sends the report to a person, who is reminded and decides [CRD-4]", async () => {
    const { hub, carl, sent, pass } = await failed();
    const asking = { decision: "ask", reason: "Is it worth it?" } as const;
    const work = await take(carl);
    const noPerson = await refusal(carl.failures.decide(work, asking));
    expect(noPerson).toMatchObject({ code: "unknown_agent", path: "to" });
    const pat = await hub.agent("pat", { kind: "person" });
    expect(await carl.failures.decide(work, asking)).toEqual({
      kind: "asked",
      who: "pat",
      report: work.id,
    });
    expect((await refusal(work.complete())).code).toBe("lease_lost");
    expect((await hub.failures.list({ undecided: true })).items).toMatchObject([
      { delivery: sent.id, with: "pat", asked: ["pat"] },
    ]);
    await pass(PERSON_MS / 4);
    const reminded = (await hub.events.list({ after: 0, limit: 1_000 })).items.filter(
      ({ kind }) => kind === "reminded",
    );
    expect(reminded).toMatchObject([{ delivery: work.id }]);
    const asked = await take(pat);
    expect(asked.envelope.history.at(-1)).toMatchObject({ agent: "carl", why: "Is it worth it?" });
    const answer = await pat.failures.decide(asked, { decision: "retry", reason: "Yes" });
    expect(answer).toMatchObject({ kind: "decided", by: "pat", delivery: { state: "ready" } });
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("is made by the hub if the person who was asked never answers [CRD-4]", async () => {
    const { hub, carl, sent, pass } = await failed();
    await hub.agent("pat", { kind: "person" });
    await carl.failures.decide(sent.id, { decision: "ask", to: "pat", reason: "You know best" });
    await pass(PERSON_MS);
    expect((await hub.failures.list()).items).toMatchObject([
      { delivery: sent.id, decision: { decision: "abort", by: "baton" } },
    ]);
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("is final: a second one returns who decided what, and why [CRD-4]", async () => {
    const { hub, carl, sent } = await failed();
    const dan = await hub.agent("dan", { role: "coordinator" });
    await carl.failures.decide(sent.id, { decision: "retry", reason: "Once more" });
    expect(await dan.failures.decide(sent.id, { decision: "abort", reason: "No" })).toMatchObject({
      kind: "already",
      by: "carl",
      decision: "retry",
      reason: "Once more",
    });
    expect(await decisionsIn(hub, "t")).toHaveLength(1);
  });

  it("requires permission, valid input and an undecided failure [CRD-4]", async () => {
    const { ada, ben, carl, sent } = await failed();
    const retry = { decision: "retry", reason: "x" } as const;
    expect(await refusal(ben.failures.decide(sent.id, retry))).toMatchObject({
      code: "not_permitted",
    });
    const wrong: [object, string][] = [
      [{ decision: "reroute", reason: "x" }, "to"],
      [{ decision: "retry", reason: "x", to: "ben" }, "to"],
      [{ decision: "abort", reason: "x", changes: {} }, "changes"],
      [{ decision: "retry", reason: "x", changes: { to: "ada" } }, "changes"],
      [{ decision: "retry", reason: "x", changes: null }, "changes"],
      [{ decision: "abort" }, "reason"],
      [{ decision: "shrug", reason: "x" }, "decision"],
    ];
    for (const [decision, path] of wrong) {
      const error = await refusal(carl.failures.decide(sent.id, decision as typeof retry));
      expect(error).toMatchObject({ code: "invalid_input", path });
    }
    const to = "role:nobody";
    const unknown = await refusal(
      carl.failures.decide(sent.id, { decision: "reroute", to, reason: "x" }),
    );
    expect(unknown.code).toBe("unknown_role");
    const open = await ada.handoff({ to: "ben", task: "u", intent: "x" });
    expect((await refusal(carl.failures.decide(open.id, retry))).code).toBe("not_open");
    expect(
      (await carl.failures.list({ undecided: true })).items.map(({ delivery }) => delivery),
    ).toEqual([sent.id]);
  });

  it("to retry after a missed deadline grants the same time again [CRD-4]", async () => {
    const { hub, ada, ben, carl, pass, clock } = await teamOn({ store });
    const policy = { deadlineMs: 5_000 };
    const sent = await ada.handoff({ to: "ben", task: "t", intent: "x", policy });
    await pass(5_000);
    await carl.failures.decide(sent.id, { decision: "retry", reason: "Ben is back" });
    expect(await sent.status()).toMatchObject({ state: "ready", deadline: clock.now() + 5_000 });
    await pass(5_000);
    expect((await sent.status()).state).toBe("expired");
    expect(await ben.accept()).toBeUndefined();
    const [undecided] = (await hub.failures.list({ undecided: true })).items;
    expect(undecided).toMatchObject({ before: [{ decision: "retry" }] });
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("to retry with a delay starts the deadline after the delay [CRD-4]", async () => {
    const { hub, ada, ben, carl, pass, clock } = await teamOn({ store });
    const policy = { deadlineMs: 5_000 };
    const late = await ada.handoff({ to: "ben", task: "late", intent: "x", policy });
    await pass(5_000);
    const soon = await ada.handoff({ to: "ben", task: "soon", intent: "x", policy });
    await fails(ben);
    for (const { id } of [late, soon]) {
      const decided = { decision: "retry", delayMs: PAUSE_MS, reason: "Ben rests" } as const;
      await carl.failures.decide(id, decided);
      const { delivery } = await hub.deliveries.get(id);
      expect(delivery).toMatchObject({ state: "scheduled", deadline: clock.now() + 35_000 });
    }
    await pass(PAUSE_MS);
    for (const task of ["late", "soon"]) expect((await take(ben)).delivery.task).toBe(task);
    expect((await hub.verify()).problems).toEqual([]);
  });
});

describe.each(STORES)("a report on %s", (store) => {
  /** Returns a team with a queued task that failed; the failure was reported to carl. */
  async function reported(options: HubOptions = {}) {
    const team = await teamOn({ store, options });
    const { sent } = await team.ada.tasks.add({ task: "t", to: "ben", intent: "x" });
    await fails(team.ben);
    return { ...team, sent };
  }

  it("is ended by a decision, not by completing it or handing it on [CRD-4]", async () => {
    const { hub, carl, sent } = await reported();
    const work = await take(carl);
    for (const end of [
      () => work.complete({ summary: "Seen" }),
      () => work.handoff({ to: "ada" }),
    ]) {
      expect(await refusal(end())).toMatchObject({
        code: "not_open",
        details: { delivery: sent.id, attempt: 1 },
      });
    }
    expect((await hub.failures.list({ undecided: true })).items).toMatchObject([{ with: "carl" }]);
    await carl.failures.decide(work, { decision: "abort", reason: "Enough" });
    expect((await hub.deliveries.get(work.id)).delivery.state).toBe("completed");
    expect((await hub.verify()).problems).toEqual([]);
  });

  /** Ways to cancel a report without a decision. */
  const TAKEN_BACK: Record<
    string,
    { readonly run: (team: Awaited<ReturnType<typeof reported>>) => Promise<unknown>; as: string }
  > = {
    "it is cancelled": {
      async run({ hub, ada }) {
        const [failure] = (await hub.failures.list()).items;
        await ada.deliveries.cancel(failure?.report ?? "", "Never mind");
      },
      as: "failed",
    },
    "all handoffs of its task are cancelled": {
      run: ({ ada }) => ada.tasks.cancelHandoffs("t", "Never mind"),
      as: "failed",
    },
    "its task is cancelled": {
      run: ({ ada }) => ada.tasks.cancel("t", "Never mind"),
      as: "cancelled",
    },
  };

  it.each(Object.entries(TAKEN_BACK))(
    "counts as aborted by the agent that cancels it, when %s [CRD-4]",
    async (_, { run, as }) => {
      const team = await reported();
      const { hub, sent, carl, pass } = team;
      await run(team);
      expect((await hub.failures.list()).items).toMatchObject([
        { delivery: sent.id, decision: { decision: "abort", by: "ada", reason: "Never mind" } },
      ]);
      expect(await decisionsIn(hub, "t")).toHaveLength(1);
      expect(await hub.tasks.get("t")).toMatchObject({ state: as, closed: { by: "ada" } });
      const again = { decision: "retry", reason: "Wait" } as const;
      expect(await carl.failures.decide(sent.id, again)).toMatchObject({
        kind: "already",
        by: "ada",
      });
      await pass(2 * COORDINATOR_MS);
      expect((await sent.status()).state).toBe("dead");
      expect((await hub.verify()).problems).toEqual([]);
    },
  );

  it("of a part is decided by the agent that aborts the parent task [CRD-2 CRD-4]", async () => {
    const { hub, ada, ben, carl, sent } = await reported();
    const eve = await hub.agent("eve", { role: "coder" });
    const part = await ada.tasks.add({ task: "t/part", parent: "t", to: "eve", intent: "y" });
    await fails(eve);
    await carl.failures.decide(sent.id, { decision: "abort", reason: "No budget" });
    const [decided] = (await hub.failures.list({ task: "t/part" })).items;
    expect(decided).toMatchObject({
      delivery: part.sent.id,
      decision: { decision: "abort", by: "carl" },
    });
    expect(decided?.decision?.reason).toContain('Its parent task "t" failed: No budget');
    expect((await hub.failures.list({ undecided: true })).items).toEqual([]);
    expect(await hub.tasks.get("t/part")).toMatchObject({ state: "cancelled" });
    expect(await ben.accept()).toBeUndefined();
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("can be passed on by asking only a limited number of times [CRD-4]", async () => {
    const { hub, carl, sent } = await reported();
    const dan = await hub.agent("dan", { role: "coordinator" });
    const pairs = [
      [carl, "dan"],
      [dan, "carl"],
    ] as const;
    const most = 200;
    for (let n = 0; n < most; n++) {
      const [who, to] = pairs[n % 2] ?? pairs[0];
      await who.failures.decide(sent.id, { decision: "ask", to, reason: "You know" });
    }
    const more = carl.failures.decide(sent.id, { decision: "ask", to: "dan", reason: "You know" });
    expect(await refusal(more)).toMatchObject({ code: "limit_exceeded", details: { max: most } });
  });

  it("that is passed to the hub is decided at once [CRD-4]", async () => {
    const { hub, carl, sent, pass } = await reported();
    await carl.failures.decide(sent.id, { decision: "ask", to: "baton", reason: "As usual" });
    await pass(1);
    expect((await hub.failures.list()).items).toMatchObject([{ decision: { by: "baton" } }]);
  });
});

describe.each(STORES)("two coordinators on %s", (store) => {
  async function two() {
    const clock = new VirtualClock();
    const [one, other] = await openTwo(store, { clock, random });
    const team = await people(one, clock);
    const dan = await one.agent("dan", { role: "coordinator" });
    const sent = await team.ada.handoff({ to: "ben", task: "t", intent: "x" });
    await fails(team.ben);
    return { ...team, one, sent, here: team.carl, there: await other.agent(dan.id) };
  }

  it.each(["retry", "abort"] as const)(
    "get one common decision if they decide at once (%s) [CRD-4]",
    async (decision) => {
      const { one, sent, here, there } = await two();
      const answers = await Promise.all([
        here.failures.decide(sent.id, { decision, reason: "I say so" }),
        there.failures.decide(sent.id, { decision: "retry", reason: "So do I" }),
      ]);
      expect(answers.map(({ kind }) => kind).sort()).toEqual(["already", "decided"]);
      const [kept] = (await one.failures.list({ task: "t" })).items;
      for (const answer of answers) {
        expect(answer).toMatchObject({ by: kept?.decision?.by, reason: kept?.decision?.reason });
      }
      expect(await decisionsIn(one, "t")).toHaveLength(1);
      expect((await one.failures.list({ undecided: true })).items).toEqual([]);
      expect((await one.verify()).problems).toEqual([]);
    },
  );

  it("get one common decision even if one of them holds the report [CRD-4]", async () => {
    const { one, sent, here, there } = await two();
    const work = await take(here);
    const [mine, theirs] = await Promise.all([
      here.failures.decide(work, { decision: "retry", reason: "I have it" }),
      there.failures.decide(sent.id, { decision: "abort", reason: "I was quicker" }),
    ]);
    expect([mine.kind, theirs.kind].sort()).toEqual(["already", "decided"]);
    const state = (await one.deliveries.get(work.id)).delivery.state;
    expect(["completed", "cancelled"]).toContain(state);
    expect((await one.verify()).problems).toEqual([]);
  });
});
