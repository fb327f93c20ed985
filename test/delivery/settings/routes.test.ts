/** Routing: the next receiver by name, route or function; hop limits and cycles. */

import { describe, expect, it } from "vitest";
import type { Agent, DraftOf, HubOptions, Sent, Work } from "../../../src/index.ts";
import { VirtualClock } from "../../../src/testing/index.ts";
import type { RouteInput } from "../../../src/workspace/workspace.ts";
import {
  contents,
  openFresh,
  refusal,
  refusedAsExtended,
  STORES,
  take,
} from "../../support/hub/support.ts";

/** Hands work on, and fails when the sender has extended it. */
async function handOn(work: Work, draft: Parameters<Work["handoff"]>[0]): Promise<Sent<object>> {
  const sent = await work.handoff(draft);
  if (sent.kind !== "sent") throw new Error("the handoff was not sent as an extension");
  return sent;
}

const data = (n: number): Pick<DraftOf<object>, "payload"> => ({
  payload: { type: "draft", data: { version: n } },
});

describe.each(STORES)("a line on %s", (store) => {
  async function team(options: HubOptions = {}) {
    const hub = await openFresh(store, options);
    const planner = await hub.agent("planner", { role: "planner" });
    const coder = await hub.agent("coder", { role: "coder" });
    const reviewer = await hub.agent("reviewer", { role: "reviewer" });
    return { hub, planner, coder, reviewer };
  }

  it("is formed by agents that each name the next receiver [DLV-4]", async () => {
    const { hub, planner, coder, reviewer } = await team();
    const first = await planner.handoff({ to: "coder", task: "t", intent: "Go" });
    await handOn(await take(coder), { to: "role:reviewer", action: "needs_review" });
    const back = await handOn(await take(reviewer), { to: "planner", action: "completed" });
    const last = await take(planner);
    expect(last.envelope).toMatchObject({ hop: 2, intent: "Go", from: { agent: "reviewer" } });
    await last.complete();
    const line = await hub.tasks.line("t");
    expect(line.map(({ envelope }) => envelope.hop)).toEqual([0, 1, 2]);
    expect(line.map(({ envelope }) => envelope.parents)).toEqual([
      [],
      [first.envelope.id],
      [line[1]?.envelope.id],
    ]);
    expect(back.envelope.path).toMatchObject([
      { from: "planner", to: "coder" },
      { from: "coder", to: "role:reviewer" },
    ]);
    expect((await hub.deliveries.totals()).byState).toMatchObject({ completed: 3 });
  });

  it("follows the most specific route by action, payload, sender and task [DLV-4]", async () => {
    const { hub, planner, coder } = await team();
    for (const to of ["any", "action", "payload", "from", "task", "both", "all"]) {
      await hub.agent(to, {});
      const conditions: Record<string, object> = {
        any: {},
        action: { action: "needs_review" },
        payload: { payload: "patch" },
        from: { from: "coder" },
        task: { task: "special" },
        both: { action: "needs_review", payload: "patch" },
        all: { action: "needs_review", payload: "patch", from: "coder" },
      };
      await hub.routes.set(to, { to, when: conditions[to] ?? {} });
    }
    const patch = { payload: { type: "patch", data: {} } };
    const goes = async (agent: Agent, draft: object): Promise<readonly string[]> =>
      (await agent.handoff({ intent: "Go", ...draft })).receivers;
    expect(await goes(planner, {})).toEqual(["any"]);
    expect(await goes(planner, { action: "failed" })).toEqual(["any"]);
    expect(await goes(planner, { action: "needs_review" })).toEqual(["action"]);
    expect(await goes(planner, patch)).toEqual(["payload"]);
    expect(await goes(coder, {})).toEqual(["from"]);
    expect(await goes(planner, { task: "special" })).toEqual(["task"]);
    expect(await goes(planner, { action: "needs_review", ...patch })).toEqual(["both"]);
    expect(await goes(coder, { action: "needs_review", ...patch })).toEqual(["all"]);
    // A named receiver takes precedence over routes.
    expect(await goes(coder, { to: "planner", action: "needs_review" })).toEqual(["planner"]);
  });

  it("follows a route by the task of the work when it is handed on [DLV-4]", async () => {
    const { hub, planner, coder, reviewer } = await team();
    await hub.routes.set("review", { to: "role:reviewer", when: { task: "t", from: "coder" } });
    await planner.handoff({ to: "coder", task: "t", intent: "Go" });
    const sent = await handOn(await take(coder), { action: "needs_review" });
    expect(sent.receivers).toEqual(["role:reviewer"]);
    expect((await take(reviewer)).envelope).toMatchObject({ task: "t", action: "needs_review" });
  });

  it("follows routes in the store, which can be changed and deleted [DLV-4]", async () => {
    const { hub, planner } = await team();
    await hub.routes.set("go", { to: "coder" });
    expect(await hub.routes.list()).toEqual([{ name: "go", to: "coder", when: {} }]);
    await hub.routes.set("go", { to: "role:reviewer", when: { action: "delegated" } });
    expect(await hub.routes.list()).toEqual([
      { name: "go", to: "role:reviewer", when: { action: "delegated" } },
    ]);
    expect((await planner.handoff({ intent: "Go" })).receivers).toEqual(["role:reviewer"]);
    await hub.routes.delete("go");
    await hub.routes.delete("go");
    expect(await hub.routes.list()).toEqual([]);
    expect(await refusal(planner.handoff({ intent: "Go" }))).toMatchObject({ code: "no_route" });
  });

  it("follows the route function first, then the routes in the store [DLV-4]", async () => {
    const asked: RouteInput[] = [];
    const { hub, planner } = await team({
      route: async (leaving) => {
        asked.push(leaving);
        return leaving.action === "failed" ? "role:reviewer" : undefined;
      },
    });
    await hub.routes.set("rest", { to: "coder" });
    const payload = { type: "patch", data: {} };
    const computed = await planner.handoff({ action: "failed", intent: "Go", task: "t", payload });
    expect(computed.receivers).toEqual(["role:reviewer"]);
    expect((await planner.handoff({ intent: "Go" })).receivers).toEqual(["coder"]);
    expect((await planner.handoff({ to: "planner", intent: "Go" })).receivers).toEqual(["planner"]);
    expect(asked).toEqual([
      { from: "planner", task: "t", action: "failed", payload: "patch", result: undefined },
      {
        from: "planner",
        task: undefined,
        action: "delegated",
        payload: undefined,
        result: undefined,
      },
    ]);
  });

  it("is refused with a hint when there is neither a receiver nor a route [DLV-4]", async () => {
    const { hub, planner, coder } = await team();
    await hub.routes.set("other", { to: "coder", when: { action: "completed" } });
    await planner.handoff({ to: "coder", task: "t", intent: "Go" });
    const work = await take(coder);
    const before = await contents(hub);
    for (const act of [
      () => planner.handoff({ intent: "Go" }),
      () => work.handoff({ action: "needs_review" }),
    ]) {
      const refused = await refusal(act());
      expect(refused).toMatchObject({ code: "no_route", path: "to" });
      expect(refused.hint).toContain("hub.routes.set(");
    }
    expect(await contents(hub)).toEqual(before);
    expect(await work.complete()).toMatchObject({ kind: "settled" });
  });

  it("is refused when its route names an unknown receiver [DLV-4]", async () => {
    const { hub, planner } = await team();
    await hub.routes.set("gone", { to: "codr" });
    const refused = await refusal(planner.handoff({ intent: "Go" }));
    expect(refused).toMatchObject({ code: "unknown_agent", path: "to" });
    expect(refused.hint).toContain('"coder"');
  });

  it("continues from a result when a route matches its outcome [DLV-4 DLV-15]", async () => {
    const { hub, planner, coder, reviewer } = await team();
    await hub.routes.set("approved", { to: "planner", when: { result: "approved" } });
    await hub.routes.set("rejected", {
      to: "coder",
      when: { result: "rejected", from: "reviewer" },
    });
    await hub.routes.set("anything", { to: "coder" }); // Has no result condition.
    const first = await planner.handoff({
      to: "reviewer",
      task: "t",
      intent: "Look at it",
      constraints: ["Keep the API"],
    });
    const rejected = await (await take(reviewer)).complete({
      outcome: "rejected",
      summary: "Two tests fail",
      outputs: { tests: ["a", "b"] },
    });
    expect(rejected).toMatchObject({ kind: "settled", delivery: { state: "completed" } });
    const again = await take(coder);
    expect(again.envelope).toMatchObject({
      action: "completed",
      from: { agent: "reviewer" },
      hop: 1,
      intent: "Look at it",
      parents: [first.envelope.id],
      payload: { type: "result rejected", data: { tests: ["a", "b"] } },
      state: "Two tests fail",
      task: "t",
    });
    expect(again.envelope.constraints).toEqual(first.envelope.constraints);
    // No route matches this outcome, or a result without an outcome.
    await again.complete({ outcome: "postponed", summary: "Later" });
    await planner.handoff({ to: "reviewer", task: "u", intent: "Go" });
    await (await take(reviewer)).complete({ summary: "Fine" });
    expect((await hub.deliveries.totals()).byState).toMatchObject({ completed: 3, ready: 0 });
  });

  it("continues from a result only when it is valid [DLV-4 DLV-15]", async () => {
    const { hub, planner, reviewer } = await team();
    await hub.routes.set("approved", { to: "planner", when: { result: "approved" } });
    const expects = [{ name: "verdict", type: "text" }];
    await planner.handoff({ to: "reviewer", task: "t", intent: "Go", expects });
    const work = await take(reviewer);
    const before = await contents(hub);
    const refused = await refusal(work.complete({ outcome: "approved" }));
    expect(refused).toMatchObject({ code: "invalid_result", path: "result.outputs.verdict" });
    expect(await contents(hub)).toEqual(before);
    await work.complete({ outcome: "approved", outputs: { verdict: "Ship it" } });
    expect((await take(planner)).envelope.payload).toEqual({
      type: "result approved",
      data: { verdict: "Ship it" },
    });
  });

  it("returns a result to the requester even if a route uses it [DLV-4 DLV-15]", async () => {
    const { hub, planner, reviewer } = await team();
    await hub.routes.set("approved", { to: "coder", when: { result: "approved" } });
    const sent = await planner.handoff({ to: "reviewer", task: "t", intent: "Go" });
    const outputs = { verdict: "Ship it" };
    const result = { outcome: "approved", summary: "Looks good", outputs, confidence: 0.8 };
    await (await take(reviewer)).complete(result);
    const answer = await sent.completed({ timeoutMs: 60_000 });
    expect(answer).toMatchObject({ kind: "completed", result });
  });

  it("adds a hop per handoff, not per retry, redrive, fallback or extension [ENV-9]", async () => {
    const clock = new VirtualClock();
    const { hub, planner, coder, reviewer } = await team({ clock, random: () => 0 });
    const policy = { attempts: 2, fallback: ["reviewer"] };
    const sent = await planner.handoff({ to: "planner", task: "t", intent: "Begin" });
    const onward = await handOn(await take(planner), { to: "coder", policy });
    expect(onward.envelope.hop).toBe(1);
    const hop = (work: Work): number => work.envelope.hop;

    const extended = await take(coder);
    const parents = [sent.envelope.id];
    const more = { to: "coder", task: "t", intent: "And this", parents, policy };
    const added = await planner.handoff(more);
    await refusedAsExtended(extended, () => extended.fail({ message: "flaky" }), added);
    expect(hop(extended)).toBe(1);
    await extended.fail({ message: "flaky" });
    const retried = await take(coder);
    expect([retried.delivery.attempt, hop(retried)]).toEqual([2, 1]);
    await retried.fail({ message: "flaky" });
    const fallenBack = await take(reviewer);
    expect([fallenBack.id, hop(fallenBack)]).toEqual([onward.id, 1]);
    await fallenBack.fail({ message: "no", class: "permanent" });
    await planner.deadLetters.redrive(onward.id, { next: ["Try another way"] });
    const redriven = await take(reviewer);
    expect(redriven.envelope.next).toEqual(["Try another way"]);
    expect(hop(redriven)).toBe(1);
    expect((await handOn(redriven, { to: "planner" })).envelope.hop).toBe(2);
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("keeps its hop count when it is extended [ENV-9 ENV-11]", async () => {
    const { planner, coder, reviewer } = await team();
    await planner.handoff({ to: "coder", task: "t", intent: "Go" });
    const first = await handOn(await take(coder), { to: "reviewer" });
    await planner.handoff({ to: "coder", task: "t", intent: "Go", next: ["More"] });
    expect((await take(coder)).envelope.hop).toBe(0); // A new line: the first has ended.
    const again = await planner.handoff({
      to: "coder",
      task: "t",
      intent: "Go",
      next: ["Yet more"],
    });
    expect(again).toMatchObject({ joined: "extended", envelope: { hop: 0 } });
    expect((await take(reviewer)).envelope.hop).toBe(first.envelope.hop);
  });

  it("is dead-lettered at the hop limit with reason and path, and reported [ENV-9]", async () => {
    const { hub, planner, coder } = await team({ limits: { hops: 3 } });
    const lead = await hub.agent("lead", { role: "coordinator" });
    await planner.handoff({ to: "planner", task: "t", intent: "Begin" });
    let last: Sent<object> | undefined;
    for (const [from, to] of [
      [planner, "coder"],
      [coder, "planner"],
      [planner, "coder"],
    ] as const) {
      last = await handOn(await take(from), { to, constraints: ["Keep the API"], ...data(0) });
      expect(last.stopped).toBe(false);
    }
    expect(last?.envelope.hop).toBe(3);
    const work = await take(coder);
    const stopped = await handOn(work, { to: "planner", constraints: ["Keep the API"] });
    expect(stopped.stopped).toBe(true);
    expect(await stopped.status()).toMatchObject({ state: "dead" });
    expect(await planner.accept()).toBeUndefined();

    const [letter, ...others] = (await hub.deadLetters.list()).items;
    expect(others).toEqual([]);
    expect(letter?.delivery.id).toBe(stopped.id);
    expect(letter?.attempts).toMatchObject([{ outcome: "stopped" }]);
    expect(letter?.attempts[0]?.reason).toMatchObject({
      reason: "hop_limit",
      hop: 4,
      limit: 3,
    });
    const path = letter?.attempts[0]?.reason["path"] as readonly unknown[];
    expect(path.at(-1)).toMatchObject({ from: "planner", to: "coder" });
    expect(letter?.envelope.path).toEqual(path);

    const report = await take(lead);
    expect(report.envelope).toMatchObject({
      action: "failed",
      from: { agent: "baton" },
      intent: "Begin",
      parents: [stopped.envelope.id],
      task: stopped.task,
      to: { kind: "role", role: "coordinator" },
    });
    expect(report.envelope.state).toContain("limit of 3");
    expect(report.envelope.next[0]).toContain(stopped.id);
    expect(report.envelope.constraints).toEqual(stopped.envelope.constraints);
    expect(await lead.accept()).toBeUndefined();
    expect((await hub.verify()).problems).toEqual([]);

    // The coordinator can still redrive it, which adds no hop.
    await lead.deadLetters.redrive(stopped.id);
    expect((await take(planner)).envelope.hop).toBe(4);
  });

  it("is dead-lettered at the hop limit even without a coordinator [ENV-9]", async () => {
    const { hub, planner } = await team({ limits: { hops: 1 } });
    await planner.handoff({ to: "planner", task: "t", intent: "Begin" });
    await handOn(await take(planner), { to: "planner" });
    const stopped = await handOn(await take(planner), { to: "planner" });
    expect(await stopped.completed({ timeoutMs: 60_000 })).toMatchObject({ kind: "dead" });
    expect((await hub.deadLetters.list()).items.map(({ delivery }) => delivery.id)).toEqual([
      stopped.id,
    ]);
    expect(await hub.deliveries.totals()).toMatchObject({ deliveries: 3 });
  });

  it("is reported as a cycle when it returns with the same payload [ENV-9]", async () => {
    const { hub, planner, coder, reviewer } = await team();
    await planner.handoff({ to: "coder", task: "t", intent: "Go", ...data(1) });
    const first = await handOn(await take(coder), { to: "reviewer", ...data(1) });
    const back = await handOn(await take(reviewer), { to: "coder", ...data(1) });
    expect([first.cycle, back.cycle]).toEqual([[], []]);
    const again = await handOn(await take(coder), { to: "reviewer", ...data(1) });
    expect(again.cycle.map(({ from, to }) => [from, to])).toEqual([
      ["coder", "reviewer"],
      ["reviewer", "coder"],
      ["coder", "reviewer"],
    ]);
    expect(again.cycle[0]?.payload).toBe(again.cycle[2]?.payload);
    // Recorded in the memory of the handoff, which is delivered nevertheless.
    expect(await hub.memories.read(again.memory)).toMatchObject({
      tags: ["cycle"],
      data: { cycle: again.cycle },
    });
    expect((await hub.memories.read(back.memory)).tags).toBeUndefined();
    expect((await take(reviewer)).id).toBe(again.id);
  });

  it("is not a cycle when the payload changes on each round [ENV-9]", async () => {
    const { planner, coder, reviewer } = await team();
    await planner.handoff({ to: "coder", task: "t", intent: "Go" });
    for (let version = 1; version <= 4; version++) {
      const forth = await handOn(await take(coder), { to: "reviewer", ...data(version) });
      const back = await handOn(await take(reviewer), { to: "coder", ...data(version) });
      expect([forth.cycle, back.cycle]).toEqual([[], []]);
    }
  });

  it("is not a cycle when two tasks pass the same agents [ENV-9]", async () => {
    const { planner, coder } = await team();
    for (const task of ["one", "two"]) {
      await planner.handoff({ to: "coder", task, intent: "Go", ...data(1) });
      const sent = await handOn(await take(coder), { to: "reviewer", ...data(1) });
      expect(sent.cycle).toEqual([]);
    }
  });
});
