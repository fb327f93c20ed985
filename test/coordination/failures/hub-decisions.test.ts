/** Failures that the hub decides: no coordinator, no answer in time, rules, a function, limits. */
import { describe, expect, it } from "vitest";
import type { HubOptions, Work } from "../../../src/index.ts";
import { refusal, STORES, take } from "../../support/hub/support.ts";
import { BROKEN, COORDINATOR_MS, fails, PAUSE_MS, PERSON_MS, teamOn } from "./failing-team.ts";

describe.each(STORES)("the hub on %s", (store) => {
  const queued = async (options: HubOptions = {}, coordinator = false) => {
    const team = await teamOn({ store, options, coordinator });
    const { sent } = await team.ada.tasks.add({ task: "t", to: "ben", intent: "Build it" });
    return { ...team, sent };
  };

  it("without a coordinator retries, then reroutes, then aborts the task [CRD-4]", async () => {
    const { hub, ben, sent, pass } = await queued();
    const eve = await hub.agent("eve", { role: "coder" });
    await hub.agent("fay", { role: "coder" });
    await hub.agents.pause("fay");
    for (let attempt = 0; attempt < 3; attempt++) {
      await fails(ben, { type: "timeout", message: "Slow" });
      await pass(PAUSE_MS);
    }
    expect((await hub.failures.list({ task: "t" })).items).toMatchObject([
      { decision: { decision: "retry", by: "baton" }, failure: { retries: 2, type: "timeout" } },
    ]);
    for (let attempt = 0; attempt < 3; attempt++) {
      await fails(ben, { type: "timeout", message: "Slow" });
      await pass(PAUSE_MS);
    }
    expect(await sent.status()).toMatchObject({ receiver: "eve", state: "ready" });
    await fails(eve);
    expect(await hub.tasks.get("t")).toMatchObject({ state: "failed" });
    const decided = (await hub.failures.list({ task: "t" })).items.map(
      (each) => each.decision?.decision,
    );
    expect(decided).toEqual(["retry", "reroute", "abort"]);
    expect((await hub.failures.list({ undecided: true })).items).toEqual([]);
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("asks a person before it gives a task up [CRD-4]", async () => {
    const { hub, ben, sent } = await queued();
    const pat = await hub.agent("pat", { kind: "person" });
    await fails(ben);
    const asked = await take(pat);
    expect(asked.envelope.failure).toMatchObject({ delivery: sent.id, type: BROKEN.type });
    await pat.failures.decide(asked, { decision: "abort", reason: "Leave it" });
    expect(await hub.tasks.get("t")).toMatchObject({
      state: "failed",
      closed: { by: "pat", reason: "Leave it" },
    });
    expect((await hub.verify()).problems).toEqual([]);
  });

  /** Ways in which a coordinator does not decide. */
  const ABSENT: Record<string, (team: Awaited<ReturnType<typeof queued>>) => Promise<void>> = {
    "is paused": async ({ hub }) => hub.agents.pause("carl"),
    "is disabled": async ({ hub }) => void (await hub.agent("carl", { status: "disabled" })),
    "does not accept": async () => {},
  };

  it.each(Object.entries(ABSENT))(
    "decides after the timeout when the coordinator %s [CRD-4]",
    async (_, leave) => {
      const team = await queued({}, true);
      await leave(team);
      await fails(team.ben);
      await team.pass(COORDINATOR_MS);
      expect((await team.hub.failures.list()).items).toMatchObject([
        { delivery: team.sent.id, decision: { by: "baton", decision: "abort" } },
      ]);
      expect(await team.hub.tasks.get("t")).toMatchObject({ state: "failed" });
      expect((await team.hub.verify()).problems).toEqual([]);
    },
  );

  it("decides if the coordinator declines, fails or delays the report [CRD-4]", async () => {
    const endings: ((work: Work, pass: (ms: number) => Promise<void>) => Promise<unknown>)[] = [
      (work) => work.decline("Not me"),
      (work) => work.fail({ message: "I cannot", class: "permanent" }),
      async (work, pass) => {
        for (let spent = 0; spent < 2 * COORDINATOR_MS; spent += 50_000) {
          await work.renew().catch(() => {});
          await pass(50_000);
        }
      },
    ];
    for (const end of endings) {
      const { hub, ben, carl, sent, pass } = await queued({}, true);
      await fails(ben);
      const work = await take(carl);
      await end(work, pass);
      expect((await hub.failures.list()).items).toMatchObject([
        { delivery: sent.id, decision: { by: "baton" } },
      ]);
      expect(
        await carl.failures.decide(work.id, { decision: "retry", reason: "Late" }),
      ).toMatchObject({ kind: "already", by: "baton" });
      expect((await hub.verify()).problems).toEqual([]);
    }
  });

  it("waits longer for a coordinator that is a person [CRD-4]", async () => {
    const { hub, ben, sent, pass } = await queued();
    const pat = await hub.agent("pat", { kind: "person", role: "coordinator" });
    await fails(ben);
    await pass(COORDINATOR_MS * 3);
    expect((await pat.failures.list({ undecided: true })).items).toMatchObject([
      { delivery: sent.id, with: "role:coordinator", advice: { decision: { decision: "abort" } } },
    ]);
    await pass(PERSON_MS);
    expect((await hub.failures.list()).items).toMatchObject([{ decision: { by: "baton" } }]);
  });

  it("applies the rule with the most conditions that can be carried out [CRD-4]", async () => {
    const { hub, ben, sent } = await queued();
    await hub.agent("dora", { role: "architect" });
    const rules = {
      any: { then: { abort: true } },
      "missing types": {
        when: { type: "missing_type", role: "coder", task: "t*", decided: 0 },
        then: { reroute: "role:architect" },
        reason: "Whoever knows the data defines its types",
      },
      "to nobody": {
        when: {
          type: "missing_type",
          class: "permanent",
          role: "coder",
          task: "t",
          receiver: "ben",
        },
        then: { reroute: "role:nobody" },
      },
      "other task": { when: { task: "x*", type: "missing_type" }, then: { ask: "dora" } },
    } as const;
    for (const [name, rule] of Object.entries(rules)) await hub.failures.setRule(name, rule);
    expect((await hub.failures.rules()).map(({ name }) => name)).toEqual(Object.keys(rules).sort());
    await fails(ben);
    expect(await sent.status()).toMatchObject({ receiver: "role:architect", state: "ready" });
    const [decided] = (await hub.failures.list({ task: "t" })).items;
    expect(decided?.decision).toMatchObject({
      by: "baton",
      decision: "reroute",
      to: "role:architect",
    });
    expect(decided?.decision?.reason).toContain("Whoever knows the data");
    expect(decided?.decision?.reason).toContain("to nobody");
    await fails(await hub.agent("dora"));
    expect((await hub.failures.list({ task: "t" })).items[1]).toMatchObject({
      decision: { decision: "abort", reason: 'Decided by the rule "any".' },
    });
    await hub.failures.deleteRule("any");
    expect(await hub.failures.rules()).toHaveLength(3);
    const bad = hub.failures.setRule("bad", { then: { retry: {}, abort: true } as never });
    expect((await refusal(bad)).code).toBe("invalid_input");
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("asks its function first, and notes why an answer was skipped [CRD-4]", async () => {
    const answers: unknown[] = [
      { decision: "retry", reason: "The function says so", delayMs: 0 },
      { decision: "shrug", reason: "?" },
      new Error("it broke"),
      undefined,
    ];
    const seen: string[] = [];
    const coordinate: NonNullable<HubOptions["coordinate"]> = async (failure) => {
      seen.push(failure.failure.type);
      const answer = answers.shift();
      if (answer instanceof Error) throw answer;
      return answer as undefined;
    };
    const { hub, ben, ada, sent } = await queued({ coordinate });
    await fails(ben);
    expect((await sent.status()).state).toBe("ready");
    await fails(ben);
    const [, second] = (await hub.failures.list({ task: "t" })).items;
    expect(second?.decision?.reason).toMatch(/skipped: function: .*decision/s);
    for (const task of ["u", "v"]) {
      await ada.tasks.add({ task, to: "ben", intent: "x" });
      await fails(ben);
    }
    expect((await hub.failures.list({ task: "u" })).items[0]?.decision?.reason).toContain(
      "it broke",
    );
    expect((await hub.failures.list({ task: "v" })).items[0]?.decision?.reason).not.toContain(
      "passed",
    );
    expect(seen).toHaveLength(4);
  });

  it("redrives a delivery only up to a limit [CRD-4]", async () => {
    const { hub, ben, sent } = await queued({ limits: { redrives: 2 } });
    await hub.failures.setRule("again", { then: { retry: {} } });
    for (let n = 0; n < 3; n++) await fails(ben);
    const decided = (await hub.failures.list({ task: "t" })).items;
    expect(decided.map(({ decision }) => decision?.decision)).toEqual(["retry", "retry", "abort"]);
    expect(decided[2]?.decision?.reason).toContain("maximum number of redrives");
    expect((await sent.status()).state).toBe("dead");
  });

  it("stops rerouting in a circle at the redrive limit [CRD-4]", async () => {
    const { hub, ben, sent } = await queued({ limits: { redrives: 3 } });
    const eve = await hub.agent("eve", { role: "tester" });
    await hub.failures.setRule("there", { when: { receiver: "ben" }, then: { reroute: "eve" } });
    await hub.failures.setRule("back", { when: { receiver: "eve" }, then: { reroute: "ben" } });
    for (const each of [ben, eve, ben, eve]) await fails(each);
    const decided = (await hub.failures.list({ task: "t" })).items;
    expect(decided.map(({ decision }) => [decision?.decision, decision?.to])).toEqual([
      ["reroute", "eve"],
      ["reroute", "ben"],
      ["reroute", "eve"],
      ["abort", undefined],
    ]);
    expect((await sent.status()).state).toBe("dead");
    expect(await hub.tasks.get("t")).toMatchObject({ state: "failed" });
  });

  it("fails a task that waits for a failed one [CRD-2 CRD-4]", async () => {
    const { hub, ada, ben } = await queued();
    await ada.tasks.add({ task: "later", to: "ben", intent: "y", after: ["t"] });
    await fails(ben);
    await hub.deliveries.runDue();
    expect(await hub.tasks.get("t")).toMatchObject({ state: "failed" });
    expect(await hub.tasks.get("later")).toMatchObject({ state: "failed" });
    expect((await hub.failures.list({ task: "later" })).items).toMatchObject([
      { failure: { type: "dependency", class: "permanent" }, decision: { decision: "abort" } },
    ]);
    expect(await ben.accept()).toBeUndefined();
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("keeps a join until the failure of its handoff is decided [CRD-4 DLV-16]", async () => {
    const { hub, ada, ben, carl } = await teamOn({ store });
    const part = await ada.handoff({ to: "ben", task: "part", intent: "x" });
    const join = await ada.handoffs.join([part], { to: "ada", task: "whole", intent: "y" });
    await fails(ben);
    expect((await join.status()).state).toBe("scheduled");
    await carl.failures.decide(part.id, { decision: "retry", reason: "Once more" });
    await fails(ben);
    await carl.failures.decide(part.id, { decision: "abort", reason: "Enough" });
    expect((await join.status()).state).toBe("dead");
    expect((await hub.failures.list({ undecided: true })).items).toMatchObject([
      { delivery: join.id, failure: { type: "join_impossible" } },
    ]);
    expect((await hub.verify()).problems).toEqual([]);
  });
});
