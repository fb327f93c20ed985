/** The task queue: tasks with parts and dependencies, whose states follow from what was handed over. */
import { describe, expect, it } from "vitest";
import { STANDS, type Stand, standOf, stateOf } from "../../../src/coordination/tasks/state.ts";
import {
  type Agent,
  BatonError,
  type Hub,
  type HubOptions,
  LocalHub,
  type NewTask,
  type Store,
  type TaskInfo,
} from "../../../src/index.ts";
import { DELIVERY_STATES, isOpen } from "../../../src/store/rows.ts";
import { VirtualClock } from "../../../src/testing/index.ts";
import { dyingAfterWrites, hubOn, sharedStore } from "../../support/hub/shared-store.ts";
import {
  contents,
  openFresh,
  openTwo,
  refusal,
  STORES,
  type StoreName,
  take,
} from "../../support/hub/support.ts";

async function team(store: StoreName, options: HubOptions = {}) {
  const hub = await openFresh(store, options);
  return { hub, ...(await register(hub)) };
}

async function register(hub: Hub) {
  return {
    lead: await hub.agent("lead", { role: "lead" }),
    coder: await hub.agent("coder", { role: "coder" }),
    tester: await hub.agent("tester", { role: "tester" }),
  };
}

const task = (name: string, rest: Partial<NewTask> = {}): NewTask => ({
  task: name,
  to: "role:coder",
  intent: `Do ${name}`,
  ...rest,
});

const finish = async (agent: Agent, name: string, summary = `${name} is finished`) =>
  (await take(agent, { task: name })).complete({ summary });

/** The store, but for one operation that it does not take now. */
const failing = (store: Store, operation: keyof Store): Store =>
  new Proxy(store, {
    get(target, name: keyof Store) {
      const value = target[name];
      if (typeof value !== "function") return value;
      if (name !== operation) return value.bind(target);
      return async () => {
        throw new BatonError("store_busy", { message: "Not now.", hint: "Later." });
      };
    },
  });

const names = (tasks: readonly TaskInfo[]): string[] => tasks.map((each) => each.task);

/** Every task of a board, by state. */
async function onBoard(hub: Hub, query: Parameters<Hub["tasks"]["board"]>[0] = {}) {
  const { open, blocked, in_progress } = await hub.tasks.board(query);
  return { open: names(open), blocked: names(blocked), in_progress: names(in_progress) };
}

/** The records that closed a task: never more than one that stands. */
const closings = async (hub: Hub, name: string) =>
  (await hub.memories.recent({ task: name, tag: "task-closed" })).map(({ content }) => content);

describe.each(STORES)("the task queue on %s", (store) => {
  it("closes a task when its work completes, and begins what waited for it with the result [CRD-2]", async () => {
    const { hub, lead, coder } = await team(store);
    await lead.tasks.add(task("design"));
    const { task: build } = await lead.tasks.add(task("build", { after: ["design"] }));
    expect(build).toMatchObject({
      state: "blocked",
      why: "waits for design",
      waitsFor: ["design"],
      by: "lead",
      queued: true,
    });
    expect(await coder.accept({ task: "build" })).toBeUndefined();
    const work = await take(coder);
    expect(work.delivery.task).toBe("design");
    expect(await hub.tasks.get("design")).toMatchObject({ state: "in_progress", holder: "coder" });
    await work.complete({ summary: "Drawn", outputs: { file: "a.svg" } });
    expect(await hub.tasks.get("design")).toMatchObject({
      state: "done",
      why: "closed as done by coder: Drawn",
      closed: { as: "done", by: "coder", reason: "Drawn" },
    });
    expect(await hub.tasks.get("build")).toMatchObject({ state: "open", waitsFor: [] });
    const next = await take(coder);
    expect(next.delivery.task).toBe("build");
    expect(next.envelope.results).toMatchObject([
      { agent: "coder", task: "design", summary: "Drawn", outputs: { file: "a.svg" } },
    ]);
    expect(next.envelope.parents).toContain(work.envelope.id);
    await next.complete({ summary: "Built" });
    expect(await onBoard(hub)).toEqual({ open: [], blocked: [], in_progress: [] });
    expect(names((await hub.tasks.closed()).tasks)).toEqual(["build", "design"]);
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("opens a task only when all of its dependencies are done, in any order [CRD-2]", async () => {
    const clock = new VirtualClock();
    const { hub, lead, coder } = await team(store, { clock });
    for (const [build, ...order] of [
      ["build", "design", "survey"],
      ["ship", "tests", "docs"],
    ] as const) {
      const [first, second] = order;
      for (const name of order) await lead.tasks.add(task(name));
      await lead.tasks.add(task(build, { after: order.toSorted() }));
      await finish(coder, first);
      clock.advance(3_600_000); // The periodic check has run by then.
      await hub.deliveries.runDue();
      expect(await hub.tasks.get(build)).toMatchObject({ state: "blocked", waitsFor: [second] });
      expect(await coder.accept({ task: build })).toBeUndefined();
      await finish(coder, second);
      expect(await hub.tasks.get(build)).toMatchObject({ state: "open", waitsFor: [] });
      const { envelope } = await take(coder, { task: build });
      expect(envelope.results?.map((result) => result.task)).toEqual(order.toSorted());
    }
  });

  it("wakes who waits for work when what a task waited for is done [CRD-2]", async () => {
    const { lead, coder, tester } = await team(store);
    await lead.tasks.add(task("build"));
    await lead.tasks.add(task("test", { to: "tester", after: ["build"] }));
    const waiting = tester.accept({ wait: true, signal: AbortSignal.timeout(60_000) });
    await finish(coder, "build");
    expect((await waiting)?.delivery.task).toBe("test");
  });

  it("shows each state with why, as the work goes on [CRD-2]", async () => {
    const clock = new VirtualClock();
    const { hub, lead, coder } = await team(store, { clock, random: () => 0.5 });
    await lead.tasks.add(task("api", { deadlineMs: 3_600_000, priority: "high" }));
    const stands = async () => {
      const { state, why } = await hub.tasks.get("api");
      return [state, why];
    };
    expect(await stands()).toEqual(["open", "waits for role:coder to take it"]);
    const at = new Date(clock.now()).toISOString();
    const work = await take(coder);
    expect(await stands()).toEqual(["in_progress", `held by coder since ${at}`]);
    await work.clarify("REST or GraphQL?");
    expect(await stands()).toEqual([
      "in_progress",
      "coder asked lead about it, and waits for the answer",
    ]);
    await lead.questions.answer(work.id, "REST");
    expect((await stands())[0]).toBe("open");
    await (await take(coder)).fail({ message: "No network" });
    expect(await stands()).toEqual([
      "open",
      expect.stringMatching(/^waits until .* for role:coder$/),
    ]);
    clock.advance(60_000);
    await finish(coder, "api", "Answers in JSON");
    expect(await stands()).toEqual(["done", "closed as done by coder: Answers in JSON"]);
    expect(await hub.tasks.get("api")).toMatchObject({
      priority: "high",
      intent: "Do api",
      to: "role:coder",
      deadline: expect.any(Number),
      deliveries: [{ state: "completed", holder: "coder", receiver: "role:coder", failure: false }],
    });
  });

  it("goes on while a task is handed on, and closes it at the end of its line [CRD-2]", async () => {
    const { hub, lead, coder, tester } = await team(store);
    await lead.tasks.add(task("api"));
    await (await take(coder)).handoff({ to: "tester", state: "Written" });
    expect(await hub.tasks.get("api")).toMatchObject({ state: "open" });
    await (await take(tester)).handoff({ to: "role:coder", state: "One test fails" });
    await (await take(coder)).complete({ summary: "Mended" });
    expect(await hub.tasks.get("api")).toMatchObject({
      state: "done",
      closed: { by: "coder", reason: "Mended" },
    });
    expect(await closings(hub, "api")).toHaveLength(1);
  });

  it("closes a task whose work is handed on into another one [CRD-2]", async () => {
    const { hub, lead, coder } = await team(store);
    await lead.tasks.add(task("api"));
    await (await take(coder)).handoff({ to: "tester", task: "release", intent: "Ship it" });
    expect(await hub.tasks.get("api")).toMatchObject({ state: "done", closed: { by: "coder" } });
    expect(await hub.tasks.get("release")).toMatchObject({ state: "open", queued: false });
  });

  it("keeps a task open until all of several lines have ended [CRD-2]", async () => {
    const { hub, lead, coder, tester } = await team(store);
    await lead.tasks.add(task("api"));
    await lead.handoff({ task: "api", to: "tester", intent: "Test it" });
    await finish(coder, "api", "Written");
    expect(await hub.tasks.get("api")).toMatchObject({ state: "open" });
    await finish(tester, "api", "Tested");
    expect(await hub.tasks.get("api")).toMatchObject({ state: "done", closed: { by: "tester" } });
  });

  it("closes a task of three levels from below, each after its parts [CRD-2]", async () => {
    const { hub, lead, coder } = await team(store);
    await lead.tasks.add(task("feature", { to: "lead" }));
    const split = await take(lead);
    await lead.tasks.add(task("api", { parent: "feature" }));
    await lead.tasks.add(task("docs", { parent: "feature", after: ["api"] }));
    const api = await take(coder, { task: "api" });
    await coder.tasks.add(task("route", { parent: "api" }));
    await coder.tasks.add(task("schema", { parent: "api" }));
    await split.complete({ summary: "Split" });
    await api.complete({ summary: "Split further" });
    expect(await hub.tasks.get("api")).toMatchObject({
      state: "in_progress",
      why: "its own work has ended; waits for its parts route, schema",
      children: 2,
      openChildren: 2,
    });
    await finish(coder, "schema");
    expect((await hub.tasks.get("api")).state).toBe("in_progress");
    expect((await hub.tasks.get("docs")).state).toBe("blocked");
    await finish(coder, "route");
    expect(await hub.tasks.get("api")).toMatchObject({
      state: "done",
      closed: { reason: "Split further", by: "coder" },
    });
    expect((await hub.tasks.get("feature")).state).toBe("in_progress");
    expect((await take(coder)).delivery.task).toBe("docs"); // Its dependency was done with its last part.
    const tree = await hub.tasks.tree("feature");
    const shape = ({ task: name, state, parts }: typeof tree): unknown => [
      name,
      state,
      parts.map(shape),
    ];
    expect(shape(tree)).toEqual([
      "feature",
      "in_progress",
      [
        [
          "api",
          "done",
          [
            ["route", "done", []],
            ["schema", "done", []],
          ],
        ],
        ["docs", "in_progress", []],
      ],
    ]);
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("gives a part what its parent's ledger holds [CRD-2]", async () => {
    const { lead, coder } = await team(store);
    await lead.tasks.add(task("feature", { to: "lead", constraints: ["Keep the old API"] }));
    await lead.tasks.add(task("api", { parent: "feature" }));
    const { envelope } = await take(coder);
    expect(envelope.constraints.map(({ rule }) => rule)).toEqual(["Keep the old API"]);
  });

  it("bounds a tree by its limit [CRD-2]", async () => {
    const { hub, lead } = await team(store, { limits: { taskTree: 2 } });
    await lead.tasks.add(task("feature"));
    await lead.tasks.add(task("a", { parent: "feature" }));
    await hub.tasks.tree("feature");
    await lead.tasks.add(task("b", { parent: "feature" }));
    const { code, details } = await refusal(hub.tasks.tree("feature"));
    expect([code, details]).toMatchObject(["limit_exceeded", { limit: "taskTree" }]);
    expect((await refusal(hub.tasks.board({ limit: 3 }))).code).toBe("limit_exceeded");
  });

  describe("adding", () => {
    it("refuses a name that means something already, and writes nothing [CRD-2]", async () => {
      const { hub, lead, coder } = await team(store);
      await lead.tasks.add(task("queued"));
      await lead.handoff({ task: "plain", to: "coder", intent: "Do it" });
      await lead.tasks.add(task("closed"));
      await finish(coder, "closed");
      const before = await contents(hub);
      for (const [name, code] of [
        ["queued", "task_open"],
        ["plain", "task_open"],
        ["closed", "task_closed"],
      ] as const) {
        const error = await refusal(lead.tasks.add(task(name)));
        expect([name, error.code, error.path]).toEqual([name, code, "task"]);
        expect(error.hint).not.toBe("");
      }
      expect(await contents(hub)).toEqual(before);
    });

    it("adds once, however often it is tried with a key; also after it was closed [CRD-2]", async () => {
      const { hub, lead, coder } = await team(store);
      const wanted = task("api", { key: "k1" });
      const first = await lead.tasks.add(wanted);
      const again = await lead.tasks.add(wanted);
      expect([again.sent.id, again.sent.joined]).toEqual([first.sent.id, "repeated"]);
      await finish(coder, "api");
      expect((await lead.tasks.add(wanted)).task).toMatchObject({ state: "done" });
      expect(await coder.accept()).toBeUndefined();
      const other = await refusal(lead.tasks.add({ ...wanted, closing: "told" }));
      expect(other.code).toBe("idempotency_conflict");
      expect((await hub.deliveries.totals()).deliveries).toBe(1);
    });

    it("refuses what is not there, or not in the queue, naming what was meant [CRD-2]", async () => {
      const { hub, lead, coder } = await team(store);
      await lead.tasks.add(task("design"));
      await lead.handoff({ task: "plain", to: "coder", intent: "Do it" });
      await lead.tasks.add(task("over"));
      await finish(coder, "over");
      await lead.tasks.add(task("lost"));
      await lead.tasks.cancel("lost", "No longer wanted");
      const before = await contents(hub);
      const told = async (rest: Partial<NewTask>) => {
        const { code, path, hint } = await refusal(lead.tasks.add(task("new", rest)));
        return [code, path, hint];
      };
      expect(await told({ after: ["design", "desing"] })).toEqual([
        "unknown_task",
        "after[1]",
        'Did you mean "design"?',
      ]);
      expect((await told({ parent: "desing" })).slice(0, 2)).toEqual(["unknown_task", "parent"]);
      expect((await told({ parent: "plain" })).slice(0, 2)).toEqual(["invalid_input", "parent"]);
      expect((await told({ parent: "over" })).slice(0, 2)).toEqual(["task_closed", "task"]);
      expect((await told({ after: ["lost"] })).slice(0, 2)).toEqual(["task_closed", "after[0]"]);
      expect((await told({ after: ["design"], delayMs: 5 })).slice(0, 2)).toEqual([
        "invalid_input",
        "delayMs",
      ]);
      expect((await told({ closing: "never" as "told" }))[0]).toBe("invalid_input");
      expect((await refusal(hub.tasks.get("desing"))).hint).toBe('Did you mean "design"?');
      expect((await refusal(hub.tasks.get("nothing like it at all"))).code).toBe("unknown_task");
      expect(await contents(hub)).toEqual(before);
    });

    it("refuses a task that would wait for ever [CRD-2]", async () => {
      const { hub, lead } = await team(store);
      await lead.tasks.add(task("feature", { to: "lead" }));
      await lead.tasks.add(task("api", { parent: "feature" }));
      await lead.tasks.add(task("release", { after: ["feature"] }));
      await lead.tasks.add(task("party", { after: ["release"] }));
      const before = await contents(hub);
      for (const [parent, after] of [
        [undefined, "new"],
        ["feature", "feature"],
        ["api", "feature"], // Of which its parent is a part.
        ["api", "party"], // Which waits for the release, and that for the feature.
        ["feature", "release"],
      ] as const) {
        const wanted = task("new", { after: [after], ...(parent && { parent }) });
        const { code, path, message } = await refusal(lead.tasks.add(wanted));
        expect([parent, after, code, path]).toEqual([parent, after, "invalid_input", "after"]);
        expect(message).toContain("would wait for ever");
      }
      expect(await contents(hub)).toEqual(before);
      await lead.tasks.add(task("new", { parent: "feature", after: ["api"] })); // Its sister.
    });

    it("is added once its handoff is, whatever the store does then [CRD-2]", async () => {
      const reopen = sharedStore(store);
      const { lead, coder } = await register(await hubOn(store, await reopen()));
      await lead.tasks.add(task("design"));
      await finish(coder, "design");
      const mortal = await hubOn(store, failing(await reopen(), "moveDeliveries"));
      const added = await (await mortal.agent("lead")).tasks.add(
        task("build", { after: ["design"] }),
      );
      expect(added.task).toMatchObject({ task: "build", after: ["design"] });
    });

    it("begins at once when all that it waits for is done [CRD-2]", async () => {
      const { lead, coder } = await team(store);
      await lead.tasks.add(task("design"));
      await lead.tasks.add(task("survey", { closing: "told" }));
      await finish(coder, "design", "Drawn");
      const survey = await lead.handoff({ task: "idea", to: "coder", intent: "Think" });
      await survey.cancel("We know already");
      await lead.tasks.close("idea", { reason: "Decided in a talk" });
      await finish(coder, "survey", "Asked");
      await lead.tasks.close("survey", { reason: "Enough answers" });
      const { task: build, sent } = await lead.tasks.add(
        task("build", { after: ["design", "survey", "idea", "design"] }),
      );
      expect(build).toMatchObject({ state: "open", after: ["design", "survey", "idea"] });
      expect((await sent.status()).state).toBe("ready");
      const { results } = (await take(coder)).envelope;
      expect(results?.map(({ task: of, agent, summary }) => [of, agent, summary])).toEqual([
        ["design", "coder", "Drawn"],
        ["survey", "coder", "Asked"],
        ["idea", "lead", "Decided in a talk"], // Nobody completed it: what its closing says.
      ]);
    });

    it("goes to many at once through a channel, and is done with the last of them [CRD-2]", async () => {
      const { hub, lead, coder, tester } = await team(store);
      await hub.channels.set("all");
      for (const agent of [coder, tester]) await agent.channels.subscribe("all");
      await lead.tasks.add(task("design", { to: "lead" }));
      await lead.tasks.add(task("review", { to: "channel:all", after: ["design"] }));
      const late = await hub.agent("late", {});
      await late.channels.subscribe("all", { from: "start" });
      for (const agent of [coder, tester, late]) expect(await agent.accept()).toBeUndefined();
      await finish(lead, "design");
      await hub.deliveries.runDue();
      for (const agent of [coder, tester, late]) {
        expect((await hub.tasks.get("review")).state).toBe("open");
        const work = await take(agent, { task: "review" });
        expect(work.envelope.results).toHaveLength(1);
        await work.complete({ summary: `${agent.id} has seen it` });
      }
      expect(await hub.tasks.get("review")).toMatchObject({
        state: "done",
        closed: { by: "late" },
      });
    });
  });

  describe("closing", () => {
    it("is refused while anything is open, naming what and whose [CRD-2]", async () => {
      const { hub, lead, coder } = await team(store);
      await lead.tasks.add(task("feature", { to: "lead", closing: "told" }));
      await lead.tasks.add(task("api", { parent: "feature" }));
      const work = await take(coder);
      const held = await refusal(lead.tasks.close("api", { reason: "Enough" }));
      expect(held.code).toBe("task_open");
      expect(held.message).toContain(`${work.id} (accepted, coder)`);
      expect(held.details).toMatchObject({ deliveries: [{ id: work.id, holder: "coder" }] });
      await finish(lead, "feature");
      const below = await refusal(lead.tasks.close("feature", { reason: "Enough" }));
      expect(below).toMatchObject({ code: "task_open", details: { children: ["api"] } });
      await work.complete();
      expect(await hub.tasks.get("feature")).toMatchObject({
        state: "open",
        why: "everything handed over has ended; close it",
      });
      const closed = await lead.tasks.close("feature", { reason: "Shown to the customer" });
      expect(closed).toMatchObject({
        state: "done",
        closed: { as: "done", by: "lead", reason: "Shown to the customer" },
      });
      expect((await hub.verify()).problems).toEqual([]);
    });

    it("is done once: the second is told who did it, and why [CRD-2]", async () => {
      const { hub, lead, coder } = await team(store);
      await lead.tasks.add(task("api", { closing: "told" }));
      await finish(coder, "api");
      await coder.tasks.close("api", { as: "failed", reason: "It is too slow" });
      const told = await refusal(lead.tasks.close("api", { reason: "Fine" }));
      expect(told).toMatchObject({
        code: "task_closed",
        details: { as: "failed", by: "coder", reason: "It is too slow" },
      });
      expect(told.message).toContain("It is too slow");
      expect((await hub.tasks.get("api")).state).toBe("failed");
      expect(await closings(hub, "api")).toEqual(['coder closed "api" as failed: It is too slow']);
    });

    it("is for who has a part in the task, or a role that may [CRD-2]", async () => {
      const { hub, lead, coder, tester } = await team(store);
      const planner = await hub.agent("planner", { role: "planner" });
      await tester.tasks.add(task("api", { closing: "told" }));
      await finish(coder, "api");
      const stranger = await hub.agent("stranger", { role: "designer" });
      const refused = await refusal(stranger.tasks.close("api", { reason: "Done" }));
      expect(refused).toMatchObject({
        code: "not_permitted",
        details: { may: ["coder", "tester", "role:coordinator", "role:planner", "role:lead"] },
      });
      for (const agent of [tester, coder, planner, lead]) {
        await agent.tasks.close("api", { reason: `${agent.id} says so` });
        expect((await refusal(stranger.tasks.reopen("api", "No"))).code).toBe("not_permitted");
        await agent.tasks.reopen("api", "Once more");
      }
      expect((await refusal(stranger.tasks.cancel("api", "No"))).code).toBe("not_permitted");
    });

    it("stops everything: nothing more is handed over, nor tried again [CRD-2]", async () => {
      const { hub, lead, coder } = await team(store);
      await lead.tasks.add(task("api"));
      const work = await take(coder);
      await work.complete();
      const refused = await refusal(
        lead.handoff({ task: "api", to: "coder", intent: "One more thing" }),
      );
      expect(refused).toMatchObject({ code: "task_closed", path: "task" });
      const plain = await lead.handoff({ task: "plain", to: "coder", intent: "Do it" });
      await (await take(coder)).fail({ message: "Impossible", class: "permanent" });
      await lead.tasks.close("plain", { as: "failed", reason: "It cannot be done" });
      expect((await refusal(lead.deadLetters.redrive(plain.id))).code).toBe("task_closed");
      await lead.tasks.reopen("plain", "It can be done after all");
      expect((await lead.deadLetters.redrive(plain.id)).state).toBe("ready");
      expect((await hub.verify()).problems).toEqual([]);
    });

    it("works for tasks that were never in the queue [CRD-2]", async () => {
      const { hub, lead, coder } = await team(store);
      await lead.handoff({ task: "plain", to: "coder", intent: "Do it" });
      expect(await hub.tasks.get("plain")).toMatchObject({
        queued: false,
        state: "open",
        by: "lead",
      });
      await finish(coder, "plain");
      expect(await hub.tasks.get("plain")).toMatchObject({
        state: "open",
        why: "everything handed over has ended; close it",
      });
      expect(await onBoard(hub)).toEqual({ open: [], blocked: [], in_progress: [] });
      await coder.tasks.close("plain", { reason: "Done" });
      expect(names((await hub.tasks.closed()).tasks)).toEqual(["plain"]);
    });

    it("leaves a task that was taken back open, to be closed as cancelled [CRD-2]", async () => {
      const { hub, lead } = await team(store);
      await lead.tasks.add(task("api"));
      await lead.tasks.cancelHandoffs("api", "Not now");
      expect((await hub.tasks.get("api")).state).toBe("open");
      await lead.tasks.close("api", { as: "cancelled", reason: "Not this year" });
      expect((await hub.tasks.get("api")).state).toBe("cancelled");
    });
  });

  describe("reopening", () => {
    it("lets a task go on; only what comes then closes it again [CRD-2]", async () => {
      const { hub, lead, coder } = await team(store);
      await lead.tasks.add(task("api"));
      await finish(coder, "api", "Written");
      const again = await lead.tasks.reopen("api", "The customer found a fault");
      expect(again).toMatchObject({ state: "open" });
      expect(again.closed).toBeUndefined();
      expect((await onBoard(hub)).open).toEqual(["api"]); // Looking does not close it again.
      expect((await hub.tasks.closed()).tasks).toEqual([]);
      expect((await refusal(lead.tasks.reopen("api", "Twice"))).code).toBe("task_open");
      await lead.handoff({ task: "api", to: "coder", intent: "Mend it" });
      await finish(coder, "api", "Mended");
      expect(await hub.tasks.get("api")).toMatchObject({
        state: "done",
        closed: { reason: "Mended" },
      });
      expect(await closings(hub, "api")).toHaveLength(2); // Both stand on the chain, the last counts.
      expect(names((await hub.tasks.closed()).tasks)).toEqual(["api"]);
      expect((await hub.verify()).problems).toEqual([]);
    });

    it("leaves what has begun, and holds up what has not [CRD-2]", async () => {
      const { hub, lead, coder } = await team(store);
      await lead.tasks.add(task("design"));
      await lead.tasks.add(task("other"));
      await lead.tasks.add(task("begun", { after: ["design"] }));
      await lead.tasks.add(task("waiting", { after: ["design", "other"] }));
      await finish(coder, "design");
      await lead.tasks.reopen("design", "A mistake in it");
      await finish(coder, "other");
      expect((await hub.tasks.get("begun")).state).toBe("open");
      expect(await hub.tasks.get("waiting")).toMatchObject({
        state: "blocked",
        waitsFor: ["design"],
      });
      await lead.tasks.close("design", { reason: "No mistake after all" });
      expect((await hub.tasks.get("waiting")).state).toBe("open");
    });

    it("asks nobody again about what had failed by then [CRD-2]", async () => {
      const { hub, lead, coder } = await team(store);
      await lead.tasks.add(task("api"));
      await (await take(coder)).fail({ class: "permanent", message: "No such table" });
      await hub.deliveries.runDue();
      expect((await hub.tasks.get("api")).state).toBe("failed");
      const again = await lead.tasks.reopen("api", "There is one now");
      expect(again).toMatchObject({ state: "open", why: expect.stringContaining("close it") });
      await lead.handoff({ task: "api", to: "role:coder", intent: "Use the table" });
      await finish(coder, "api", "Written");
      expect(await hub.tasks.get("api")).toMatchObject({
        state: "done",
        closed: { reason: "Written" },
      });
    });

    it("minds what fails after it [CRD-2]", async () => {
      const { hub, lead, coder } = await team(store);
      await hub.agent("boss", { role: "coordinator" });
      await lead.tasks.add(task("api"));
      const first = await take(coder);
      await first.fail({ class: "permanent", message: "No such table" });
      await lead.tasks.cancel("api", "Not now");
      await lead.tasks.reopen("api", "There is one now");
      await lead.deadLetters.redrive(first.id);
      expect((await hub.tasks.get("api")).state).toBe("open");
      await (await take(coder)).fail({ class: "permanent", message: "It is empty" });
      expect(await hub.tasks.get("api")).toMatchObject({ state: "blocked" });
    });

    it("is refused below a task that is closed [CRD-2]", async () => {
      const { lead, coder } = await team(store);
      await lead.tasks.add(task("feature"));
      await lead.tasks.add(task("api", { parent: "feature" }));
      await finish(coder, "api");
      await finish(coder, "feature");
      const refused = await refusal(lead.tasks.reopen("api", "A fault"));
      expect(refused).toMatchObject({ code: "task_closed", hint: 'Reopen "feature" first.' });
      await lead.tasks.reopen("feature", "A fault below");
      await lead.tasks.reopen("api", "A fault");
      await lead.handoff({ task: "api", to: "coder", intent: "Mend it" });
      await finish(coder, "api");
      // Its own work had ended before it was reopened: somebody has to say that it is done.
      await lead.tasks.close("feature", { reason: "Mended" });
    });
  });

  describe("cancelling", () => {
    it("takes back a whole tree, tells the holders, and stops what waited for it [CRD-2]", async () => {
      const clock = new VirtualClock();
      const { hub, lead, coder, tester } = await team(store, { clock });
      await lead.tasks.add(task("feature", { to: "lead" }));
      await lead.tasks.add(task("api", { parent: "feature" }));
      await lead.tasks.add(task("route", { parent: "api", to: "tester" }));
      await lead.tasks.add(task("docs", { after: ["route"] }));
      await lead.tasks.add(task("release", { after: ["docs"] }));
      const [api, route] = [await take(coder), await take(tester)];
      const closed = await lead.tasks.cancel("feature", "The customer left");
      expect(closed).toMatchObject({ state: "cancelled", closed: { by: "lead" } });
      for (const [name, part] of [
        ["api", "feature"],
        ["route", "api"],
      ] as const) {
        const info = await hub.tasks.get(name);
        expect([name, info.state]).toEqual([name, "cancelled"]);
        expect(info.why).toContain(`"${part}", of which it is a part, was cancelled`);
      }
      for (const work of [api, route]) {
        expect((await refusal(work.complete())).code).toBe("cancelled");
      }
      for (let hour = 0; hour < 48; hour++) {
        await hub.deliveries.runDue();
        clock.advance(3_600_000);
      }
      for (const name of ["docs", "release"]) {
        const info = await hub.tasks.get(name);
        expect([name, info.state]).toEqual([name, "failed"]);
        expect(info.closed?.reason).not.toBe("");
      }
      expect(await onBoard(hub)).toEqual({ open: [], blocked: [], in_progress: [] });
      const told = await refusal(lead.tasks.cancel("feature", "Again"));
      expect(told).toMatchObject({ code: "task_closed", details: { as: "cancelled" } });
      expect((await hub.verify()).problems).toEqual([]);
    });
  });

  describe("a failure", () => {
    it("blocks a task until somebody decides; an abort ends its parts and what waited for it [CRD-2]", async () => {
      const clock = new VirtualClock();
      const { hub, lead, coder } = await team(store, { clock });
      const boss = await hub.agent("boss", { role: "coordinator" });
      await lead.tasks.add(task("api"));
      await lead.tasks.add(task("part", { parent: "api", to: "tester" }));
      await lead.tasks.add(task("docs", { after: ["api"] }));
      await (await take(coder)).fail({ message: "No such library", class: "permanent" });
      expect(await hub.tasks.get("api")).toMatchObject({
        state: "blocked",
        why: "waits for a decision about a failure, by role:coordinator",
        deliveries: [{ state: "dead" }, { state: "ready", failure: true }],
      });
      const refused = await refusal(lead.tasks.close("api", { reason: "Whatever" }));
      expect(refused.code).toBe("task_open");
      const asked = await take(boss);
      await boss.failures.decide(asked, { decision: "retry", reason: "There is one now" });
      expect(await hub.tasks.get("api")).toMatchObject({ state: "open" });
      clock.advance(600_000);
      await (await take(coder)).fail({ message: "It does not work", class: "permanent" });
      await boss.failures.decide(await take(boss), { decision: "abort", reason: "Given up" });
      expect(await hub.tasks.get("api")).toMatchObject({
        state: "failed",
        closed: { as: "failed", by: "boss", reason: "Given up" },
      });
      expect(await hub.tasks.get("part")).toMatchObject({ state: "cancelled" });
      expect(await hub.tasks.get("docs")).toMatchObject({ state: "blocked" });
      expect(await coder.accept()).toBeUndefined();
      await boss.failures.decide(await take(boss), { decision: "abort", reason: "No use" });
      expect(await hub.tasks.get("docs")).toMatchObject({ state: "failed" });
      expect(await onBoard(hub)).toEqual({ open: [], blocked: [], in_progress: [] });
      expect((await hub.verify()).problems).toEqual([]);
    });
  });

  describe("a task that waits", () => {
    it("is claimed by nobody before, whatever else is handed over for it [CRD-2]", async () => {
      const { hub, lead, coder, tester } = await team(store);
      await lead.tasks.add(task("design", { to: "lead" }));
      const { sent } = await lead.tasks.add(task("build", { after: ["design"] }));
      const more = await lead.handoff({ task: "build", to: "tester", intent: "Test it" });
      const other = await (async () => {
        await coder.handoff({ task: "side", to: "tester", intent: "Look around" });
        return (await take(tester)).handoff({ task: "build", to: "coder" });
      })();
      for (const agent of [coder, tester]) {
        expect(await agent.accept()).toBeUndefined();
        expect(await agent.accept({ delivery: sent.id })).toBeUndefined();
      }
      expect((await more.status()).state).toBe("scheduled");
      expect((await hub.tasks.get("build")).state).toBe("blocked");
      const joined = await refusal(
        lead.handoffs.join([sent], { task: "build", to: "lead", intent: "Join" }),
      );
      expect(joined.code).toBe("task_open");
      await finish(lead, "design");
      const opened = [sent.id, more.id, other.kind === "sent" ? other.id : ""];
      const found = [
        await take(coder, { delivery: opened[0] ?? "" }),
        await take(tester, { delivery: opened[1] ?? "" }),
        await take(coder, { delivery: opened[2] ?? "" }),
      ];
      for (const { envelope } of found) expect(envelope.results).toHaveLength(1);
      // Once it has begun, its line goes on as any other.
      await found[0]?.handoff({ to: "lead" });
      expect((await take(lead)).delivery.task).toBe("build");
    });

    it("costs what it waits for little while others of them are open [CRD-2]", async () => {
      const reopen = sharedStore(store);
      const lasting = await reopen();
      const lines: string[] = [];
      const hub = await hubOn(
        store,
        new Proxy(lasting, {
          get(target, name: keyof Store) {
            const value = target[name];
            if (typeof value !== "function") return value;
            return (...given: unknown[]) => {
              if (name === "readLine") lines.push(String(given[1]));
              return (value as (...args: unknown[]) => unknown).apply(target, given);
            };
          },
        }),
      );
      const { lead, coder } = await register(hub);
      const first = Array.from({ length: 20 }, (_, i) => `task-${i}`);
      for (const name of first) await lead.tasks.add(task(name));
      await lead.tasks.add(task("last", { after: first }));
      const work = await take(coder, { task: "task-0" });
      lines.length = 0;
      await work.complete({});
      expect([...new Set(lines)].sort()).toEqual(["last", "task-0"]); // None of the other nineteen.
    });

    it("opens only when the last of several is done [CRD-2]", async () => {
      const { hub, lead, coder } = await team(store);
      for (const name of ["a", "b", "c"]) await lead.tasks.add(task(name));
      await lead.tasks.add(task("all", { after: ["a", "b", "c"] }));
      for (const name of ["b", "c", "a"]) {
        expect(await coder.accept({ task: "all" })).toBeUndefined();
        await finish(coder, name);
      }
      const { envelope } = await take(coder, { task: "all" });
      expect(envelope.results?.map((each) => each.task)).toEqual(["a", "b", "c"]);
      expect((await hub.verify()).problems).toEqual([]);
    });

    it("stays shut when it is tried again before its time [CRD-2]", async () => {
      const clock = new VirtualClock();
      const { hub, lead, coder } = await team(store, { clock });
      await lead.tasks.add(task("design", { to: "lead" }));
      const policy = { deadlineMs: 1_000, exhausted: "park" as const };
      const { sent } = await lead.tasks.add(task("build", { after: ["design"], policy }));
      clock.advance(2_000);
      await hub.deliveries.runDue();
      if ((await sent.status()).state === "expired") await lead.deadLetters.redrive(sent.id);
      for (let minute = 0; minute < 90; minute++) {
        clock.advance(60_000);
        await hub.deliveries.runDue();
        expect(await coder.accept({ task: "build" })).toBeUndefined();
      }
    });
  });

  describe("the board", () => {
    it("shows what is open by state, the most urgent first, and is filtered [CRD-2]", async () => {
      const { hub, lead, coder } = await team(store);
      await lead.tasks.add(task("feature", { to: "lead" }));
      await lead.tasks.add(task("slow", { priority: "low", parent: "feature" }));
      await lead.tasks.add(task("later", { deadlineMs: 9_000_000 }));
      await lead.tasks.add(task("sooner", { deadlineMs: 5_000_000 }));
      await lead.tasks.add(task("first", { priority: "urgent" }));
      await lead.tasks.add(task("blocked", { after: ["slow"], to: "tester" }));
      await lead.tasks.add(task("over"));
      await finish(coder, "over");
      await take(coder, { task: "later" });
      expect(await onBoard(hub)).toEqual({
        open: ["first", "sooner", "feature", "slow"],
        blocked: ["blocked"],
        in_progress: ["later"],
      });
      const open = async (query: Parameters<Hub["tasks"]["board"]>[0]) => {
        const { open: found, blocked, in_progress } = await onBoard(hub, query);
        return [...found, ...blocked, ...in_progress];
      };
      expect(await open({ states: ["blocked"] })).toEqual(["blocked"]);
      expect(await open({ role: "coder" })).toEqual(["first", "sooner", "slow", "later"]);
      expect(await open({ to: "tester" })).toEqual(["blocked"]);
      expect(await open({ parent: "feature" })).toEqual(["slow"]);
      expect(await open({ agent: "coder" })).toEqual(["later"]);
      expect((await refusal(hub.tasks.board({ states: ["done" as "open"] }))).code).toBe(
        "invalid_input",
      );
      // The queue gives the most urgent first, too.
      expect((await take(coder)).delivery.task).toBe("first");
    });

    it("shows an agent what it has and could take, not what it had [CRD-2]", async () => {
      const { hub, lead, coder, tester } = await team(store);
      await lead.tasks.add(task("api"));
      await lead.tasks.add(task("docs", { to: "tester" }));
      await (await take(coder)).handoff({ to: "tester", state: "Written" });
      const of = async (agent: string) => (await onBoard(hub, { agent })).open.sort();
      expect([await of("coder"), await of("tester")]).toEqual([[], ["api", "docs"]]);
      await (await take(tester, { task: "docs" })).release();
      expect(await of("tester")).toEqual(["api", "docs"]);
    });

    it("says why by the line that counts, whatever else was sent before it [CRD-2]", async () => {
      const { hub, lead, coder, tester } = await team(store);
      await lead.tasks.add(task("api"));
      await lead.handoff({ task: "api", to: "tester", intent: "Try it" });
      const work = await take(tester);
      await work.clarify("On which machine?");
      expect(await hub.tasks.get("api")).toMatchObject({
        state: "in_progress",
        why: "tester asked lead about it, and waits for the answer",
      });
      await (await take(coder)).fail({ message: "No network" });
      await lead.questions.answer(work.id, "Any");
      await take(tester);
      expect((await hub.tasks.get("api")).why).toMatch(/^held by tester /);
    });

    it("comes in pages, as closed tasks do [CRD-2]", async () => {
      const { hub, lead, coder } = await team(store);
      const all = Array.from({ length: 7 }, (_, i) => `task-${i}`);
      for (const name of all) await lead.tasks.add(task(name));
      const seen: string[] = [];
      let after: string | undefined;
      do {
        const page = await hub.tasks.board({ limit: 3, ...(after && { after }) });
        seen.push(...names(page.open));
        after = page.next;
      } while (after !== undefined);
      expect(seen).toEqual(all);
      for (const name of all) await finish(coder, name);
      await lead.tasks.reopen("task-3", "Once more");
      const closed: string[] = [];
      let before: string | undefined;
      do {
        const page = await hub.tasks.closed({ limit: 2, ...(before && { before }) });
        closed.push(...names(page.tasks));
        before = page.next;
      } while (before !== undefined);
      expect(closed).toEqual(all.filter((name) => name !== "task-3").reverse());
      expect((await hub.tasks.closed({ states: ["failed"] })).tasks).toEqual([]);
    });
  });

  describe("with several processes", () => {
    it("gives each task to one, however many want it [CRD-2]", async () => {
      const hubs = await openTwo(store);
      const { lead } = await register(hubs[0]);
      const coders = await Promise.all(
        Array.from({ length: 6 }, (_, i) =>
          (hubs[i % 2] as Hub).agent(`coder-${i}`, { role: "coder" }),
        ),
      );
      for (let i = 0; i < 4; i++) await lead.tasks.add(task(`task-${i}`));
      const taken = await Promise.all(coders.map((coder) => coder.accept()));
      const works = taken.filter((work) => work !== undefined);
      expect(works.map((work) => work.delivery.task).sort()).toEqual([
        "task-0",
        "task-1",
        "task-2",
        "task-3",
      ]);
      await Promise.all(works.map((work) => work.complete()));
      expect(await onBoard(hubs[1])).toEqual({ open: [], blocked: [], in_progress: [] });
    });

    it("adds one of two tasks of the same name [CRD-2]", async () => {
      const hubs = await openTwo(store);
      const { lead, coder } = await register(hubs[0]);
      const other = await hubs[1].agent("tester");
      for (let round = 0; round < 5; round++) {
        const name = `task-${round}`;
        const outcomes = await Promise.allSettled([
          lead.tasks.add(task(name)),
          other.tasks.add(task(name)),
          ...(round % 2 === 0 ? [] : [coder.handoff({ task: name, to: "lead", intent: "Mine" })]),
        ]);
        const added = outcomes.slice(0, 2).filter(({ status }) => status === "fulfilled");
        const refused = outcomes.flatMap((each) => (each.status === "rejected" ? each.reason : []));
        for (const { code } of refused) expect(code).toBe("task_open");
        if (round % 2 === 0) expect(added).toHaveLength(1);
        else expect(added.length).toBeLessThan(2); // A handoff of that name may have come first.
      }
      expect((await hubs[0].verify()).problems).toEqual([]);
    });

    it("lets two parts that wait for each other's parents come to be only one [CRD-2]", async () => {
      const hubs = await openTwo(store);
      const { lead } = await register(hubs[0]);
      const other = await hubs[1].agent("tester");
      for (let round = 0; round < 5; round++) {
        const name = (of: string): string => `${of}-${round}`;
        for (const of of ["a", "b"]) {
          await lead.tasks.add(task(name(of)));
          await lead.tasks.add(task(name(`${of}-next`), { after: [name(of)] }));
        }
        const outcomes = await Promise.allSettled([
          lead.tasks.add(task(name("x"), { parent: name("a"), after: [name("b-next")] })),
          other.tasks.add(task(name("y"), { parent: name("b"), after: [name("a-next")] })),
        ]);
        expect(outcomes.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
        const refused = outcomes.flatMap((each) => (each.status === "rejected" ? each.reason : []));
        expect(refused[0]).toMatchObject({ code: "invalid_input", path: "after" });
      }
    });

    it("closes a task once, whoever of two is first [CRD-2]", async () => {
      const hubs = await openTwo(store);
      const { lead, coder } = await register(hubs[0]);
      const others = [await hubs[1].agent("lead"), await hubs[1].agent("coder"), lead, coder];
      for (let round = 0; round < 5; round++) {
        const name = `task-${round}`;
        await lead.tasks.add(task(name, { closing: "told" }));
        await lead.tasks.add(task(`after ${name}`, { after: [name] }));
        await finish(coder, name);
        const outcomes = await Promise.allSettled(
          others.map((agent, i) => agent.tasks.close(name, { as: "done", reason: `reason ${i}` })),
        );
        const refused = outcomes.flatMap((each) => (each.status === "rejected" ? each.reason : []));
        expect(refused.map(({ code }) => code)).toEqual(Array(3).fill("task_closed"));
        const { closed } = await hubs[1].tasks.get(name);
        for (const { details } of refused) expect(details.reason).toBe(closed?.reason);
        expect(await closings(hubs[0], name)).toHaveLength(1);
        expect((await hubs[0].tasks.get(`after ${name}`)).state).toBe("open");
        await finish(coder, `after ${name}`);
      }
      expect((await hubs[0].verify()).problems).toEqual([]);
    });

    it("lets closing or handing over come first, never both [CRD-2]", async () => {
      const hubs = await openTwo(store);
      const { lead, coder } = await register(hubs[0]);
      const other = await hubs[1].agent("tester");
      for (let round = 0; round < 20; round++) {
        const name = `task-${round}`;
        await lead.tasks.add(task(name, { closing: round % 2 === 0 ? "told" : "itself" }));
        const work = await take(coder);
        const end = async () => {
          await work.complete();
          if (round % 2 === 0) await coder.tasks.close(name, { reason: "Over" });
        };
        const [closing, sending] = await Promise.allSettled([
          end(),
          other.handoff({ task: name, to: "tester", intent: "One more" }),
        ]);
        const info = await hubs[1].tasks.get(name);
        if (sending.status === "fulfilled") {
          expect([round, info.state, info.closed]).toEqual([round, "open", undefined]);
          await finish(await hubs[0].agent("tester"), name);
        } else {
          expect(sending.reason.code).toBe("task_closed");
          expect([round, closing.status, info.state]).toEqual([round, "fulfilled", "done"]);
        }
      }
      expect((await hubs[0].verify()).problems).toEqual([]);
    });

    it("lets closing a task or adding a part come first, never both [CRD-2]", async () => {
      const hubs = await openTwo(store);
      const { lead, coder } = await register(hubs[0]);
      const other = await hubs[1].agent("lead");
      for (let round = 0; round < 10; round++) {
        const name = `task-${round}`;
        await lead.tasks.add(task(name));
        const work = await take(coder, { task: name });
        const [, adding] = await Promise.allSettled([
          work.complete(),
          other.tasks.add(task(`part of ${name}`, { parent: name })),
        ]);
        const { closed, state } = await hubs[1].tasks.get(name);
        if (adding.status === "fulfilled")
          expect([state, closed]).toEqual(["in_progress", undefined]);
        else expect([state, adding.reason.code]).toEqual(["done", "task_closed"]);
      }
    });
  });

  describe("when another is quicker by a moment", () => {
    /** Two hubs on one store; what the first does is interrupted by the second, right before a write. */
    async function interrupted(operation: keyof Store) {
      const reopen = sharedStore(store);
      const other = await hubOn(store, await reopen());
      await register(other);
      let interrupt: (() => Promise<unknown>) | undefined;
      const lasting = await reopen();
      const hub = await hubOn(
        store,
        new Proxy(lasting, {
          get(target, name: keyof Store) {
            const value = target[name];
            if (typeof value !== "function") return value;
            if (name !== operation) return value.bind(target);
            return async (...given: unknown[]) => {
              const now = interrupt;
              interrupt = undefined;
              await now?.();
              return (value as (...args: unknown[]) => Promise<unknown>).apply(target, given);
            };
          },
        }),
      );
      return {
        other,
        mine: { lead: await hub.agent("lead"), coder: await hub.agent("coder") },
        theirs: { lead: await other.agent("lead"), coder: await other.agent("coder") },
        meanwhile: (run: () => Promise<unknown>) => {
          interrupt = run;
        },
      };
    }

    it("a task that is handed over meanwhile is not closed [CRD-2]", async () => {
      const { other, mine, theirs, meanwhile } = await interrupted("appendMemories");
      await theirs.lead.tasks.add(task("told", { closing: "told" }));
      await finish(theirs.coder, "told");
      meanwhile(() => theirs.lead.handoff({ task: "told", to: "tester", intent: "One more" }));
      expect((await refusal(mine.lead.tasks.close("told", { reason: "Over" }))).code).toBe(
        "task_open",
      );
      await theirs.lead.tasks.add(task("itself"));
      const work = await take(mine.coder, { task: "itself" });
      meanwhile(() => theirs.lead.handoff({ task: "itself", to: "tester", intent: "One more" }));
      await work.complete();
      expect(await other.tasks.get("itself")).toMatchObject({ state: "open" });
    });

    it("a task that gets a part meanwhile is not closed [CRD-2]", async () => {
      const { other, mine, theirs, meanwhile } = await interrupted("appendMemories");
      await theirs.lead.tasks.add(task("feature"));
      const work = await take(mine.coder);
      meanwhile(() => theirs.lead.tasks.add(task("part", { parent: "feature" })));
      await work.complete();
      expect(await other.tasks.get("feature")).toMatchObject({ state: "in_progress" });
      await finish(theirs.coder, "part");
      expect(await other.tasks.get("feature")).toMatchObject({ state: "done" });
      await theirs.lead.tasks.reopen("feature", "A fault");
      meanwhile(() => theirs.lead.tasks.reopen("part", "A fault in it"));
      const refused = await refusal(mine.lead.tasks.close("feature", { reason: "Over" }));
      expect(refused).toMatchObject({ code: "task_open", details: { children: ["part"] } });
    });

    it("nothing is handed over, added or tried again once it is closed [CRD-2]", async () => {
      const { other, mine, theirs, meanwhile } = await interrupted("sendHandoff");
      await theirs.lead.tasks.add(task("api", { closing: "told" }));
      await finish(theirs.coder, "api");
      meanwhile(() => theirs.lead.tasks.close("api", { reason: "Over" }));
      const handed = await refusal(mine.lead.handoff({ task: "api", to: "coder", intent: "More" }));
      expect(handed).toMatchObject({ code: "task_closed", details: { reason: "Over" } });
      await theirs.lead.tasks.reopen("api", "Not yet");
      meanwhile(() => theirs.lead.tasks.close("api", { reason: "Over again" }));
      const part = await refusal(mine.lead.tasks.add(task("part", { parent: "api" })));
      expect(part).toMatchObject({ code: "task_closed", details: { reason: "Over again" } });
      expect((await refusal(other.tasks.get("part"))).code).toBe("unknown_task");
      expect((await other.verify()).problems).toEqual([]);
    });

    it("a part of a task that is closed meanwhile is not reopened [CRD-2]", async () => {
      const { mine, theirs, meanwhile } = await interrupted("appendMemories");
      await theirs.lead.tasks.add(task("feature", { closing: "told" }));
      await theirs.lead.tasks.add(task("part", { parent: "feature" }));
      for (const name of ["feature", "part"]) await finish(theirs.coder, name);
      meanwhile(() => theirs.lead.tasks.close("feature", { reason: "Over" }));
      expect((await refusal(mine.lead.tasks.reopen("part", "A fault"))).code).toBe("task_closed");
    });

    it("a task does not begin when what it waits for is reopened meanwhile [CRD-2]", async () => {
      const { other, mine, theirs, meanwhile } = await interrupted("moveDeliveries");
      await theirs.lead.tasks.add(task("design"));
      await theirs.lead.tasks.add(task("build", { after: ["design"] }));
      const work = await take(mine.coder);
      meanwhile(() => theirs.lead.tasks.reopen("design", "A fault"));
      await work.complete();
      expect(await other.tasks.get("design")).toMatchObject({ state: "open" });
      expect(await other.tasks.get("build")).toMatchObject({ state: "blocked" });
      expect(await theirs.coder.accept({ task: "build" })).toBeUndefined();
      await theirs.lead.tasks.close("design", { reason: "No fault" });
      expect((await take(theirs.coder, { task: "build" })).envelope.results).toHaveLength(1);
    });

    it("a task that is being cancelled gets no parts, and none of them is reopened [CRD-2]", async () => {
      const { other, mine, theirs, meanwhile } = await interrupted("moveDeliveries");
      await theirs.lead.tasks.add(task("feature"));
      await theirs.lead.tasks.add(task("api", { parent: "feature" }));
      await finish(theirs.coder, "api");
      const codes: string[] = [];
      meanwhile(async () => {
        const part = theirs.lead.tasks.add(task("docs", { parent: "feature" }));
        codes.push((await refusal(part)).code);
        codes.push((await refusal(theirs.lead.tasks.reopen("api", "Not good"))).code);
      });
      await mine.lead.tasks.cancel("feature", "No more");
      expect(codes).toEqual(["task_closed", "task_closed"]);
      expect((await other.tasks.tree("feature")).parts).toMatchObject([{ state: "done" }]);
    });

    it("a task that is cancelled meanwhile is not closed as done [CRD-2]", async () => {
      const { other, mine, theirs, meanwhile } = await interrupted("appendMemories");
      await theirs.lead.tasks.add(task("api", { closing: "told" }));
      await finish(theirs.coder, "api");
      meanwhile(() => theirs.lead.tasks.cancel("api", "No more"));
      const told = await refusal(mine.lead.tasks.close("api", { reason: "Over" }));
      expect(told).toMatchObject({ code: "task_closed", details: { as: "cancelled" } });
      expect(await closings(other, "api")).toHaveLength(1);
    });
  });

  describe("when a process dies", () => {
    /**
     * Runs it in a process that dies after its first write, its second, and so on, until one lives to the
     * end; each in a workspace of its own. Then others look after the rest. Answers how many died.
     */
    async function dying(
      act: (hub: Hub) => Promise<unknown>,
      { before, after }: Record<"before" | "after", (hub: Hub, clock: VirtualClock) => unknown>,
    ): Promise<number> {
      const clock = new VirtualClock();
      const reopen = sharedStore(store, { clock });
      const [lasting, doomed] = [await reopen(), await reopen()];
      for (let writes = 1; ; writes++) {
        const options = { clock, workspace: `writes-${writes}` };
        const hub = await hubOn(store, lasting, options);
        await register(hub);
        await before(hub, clock);
        const mortal = dyingAfterWrites(writes, doomed);
        await act(new LocalHub(mortal.store, options)).catch((error: unknown) => {
          expect(error).toMatchObject({ code: "store_closed" });
        });
        await after(hub, clock);
        expect([writes, (await hub.verify()).problems]).toEqual([writes, []]);
        if (!mortal.isDead) return writes - 1;
      }
    }

    /** A parent with a part; one task waits for each of them. Only the part is still to be done. */
    async function scene(hub: Hub): Promise<void> {
      const lead = await hub.agent("lead");
      await lead.tasks.add(task("feature", { to: "lead" }));
      await lead.tasks.add(task("api", { parent: "feature" }));
      await lead.tasks.add(task("release", { after: ["feature"] }));
      await lead.tasks.add(task("docs", { after: ["api"] }));
      await finish(lead, "feature");
    }

    const complete = async (hub: Hub): Promise<unknown> =>
      (await take(await hub.agent("coder"))).complete({ summary: "Written" });

    it("after any of its steps, others finish them, each once [CRD-2]", async () => {
      const died = await dying(complete, {
        before: scene,
        async after(hub, clock) {
          const coder = await hub.agent("coder");
          clock.advance(60_000); // What it held and did not complete goes to the next.
          await hub.deliveries.runDue();
          const again = await coder.accept({ task: "api" });
          await again?.complete({ summary: "Written" });
          for (let second = 0; second < 60; second += 5) {
            clock.advance(5_000);
            await hub.deliveries.runDue();
          }
          for (const name of ["docs", "release"]) {
            const work = await take(coder, { task: name });
            expect(work.envelope.results?.map(({ summary }) => summary)).toEqual([
              name === "docs" ? "Written" : "feature is finished",
            ]);
          }
          for (const name of ["api", "feature"]) {
            expect(await hub.tasks.get(name)).toMatchObject({ state: "done" });
            expect(await closings(hub, name)).toHaveLength(1);
          }
        },
      });
      // Accepting, completing, closing both, opening both: it can die after each but the last.
      expect(died).toBeGreaterThan(4);
    });

    it.each(["a task that waits for its parent", "somebody looks at the tree", "nobody asks"])(
      "a part that is over does not hold up its parent: %s [CRD-2]",
      async (found) => {
        await dying(complete, {
          async before(hub) {
            const lead = await hub.agent("lead");
            await lead.tasks.add(task("feature", { to: "lead" }));
            await lead.tasks.add(task("backend", { to: "lead", parent: "feature" }));
            await lead.tasks.add(task("api", { parent: "backend" }));
            for (const name of ["feature", "backend"]) await finish(lead, name);
            if (found.includes("waits")) {
              await lead.tasks.add(task("release", { to: "tester", after: ["feature"] }));
            }
          },
          async after(hub, clock) {
            await hub.deliveries.runDue();
            clock.advance(60_000); // What it held and did not complete goes to the next.
            await (await hub.agent("coder")).accept().then((work) => work?.complete({}));
            if (found.includes("waits")) {
              expect((await take(await hub.agent("tester"))).delivery.task).toBe("release");
            } else if (found.includes("tree")) {
              expect((await hub.tasks.tree("feature")).state).toBe("done");
            } else {
              for (let round = 0; round < 3; round++) {
                clock.advance(60_000);
                await hub.deliveries.runDue();
              }
            }
            for (const name of ["api", "backend", "feature"]) {
              expect(await closings(hub, name)).toHaveLength(1);
            }
          },
        });
      },
    );

    it("a board finds what is over and not closed [CRD-2]", async () => {
      await dying(complete, {
        before: scene,
        async after(hub) {
          const { deliveries } = await hub.tasks.get("api");
          if (deliveries[0]?.state !== "completed") return;
          await hub.tasks.board();
          const { open, ...none } = await onBoard(hub);
          expect([open.sort(), none]).toEqual([
            ["docs", "release"],
            { blocked: [], in_progress: [] },
          ]);
          expect(await closings(hub, "feature")).toHaveLength(1);
        },
      });
    });

    it("while it adds a task, all of it is there or nothing [CRD-2]", async () => {
      const wanted = task("part", { parent: "feature", after: ["design"], key: "once" });
      await dying(async (hub) => (await hub.agent("lead")).tasks.add(wanted), {
        async before(hub) {
          const lead = await hub.agent("lead");
          await lead.tasks.add(task("feature", { to: "lead" }));
          await lead.tasks.add(task("design"));
          await finish(await hub.agent("coder"), "design");
        },
        async after(hub, clock) {
          const again = await (await hub.agent("lead")).tasks.add(wanted);
          expect(again.task).toMatchObject({ parent: "feature", after: ["design"] });
          clock.advance(5_000);
          await hub.deliveries.runDue();
          expect((await again.sent.status()).state).toBe("ready");
          expect((await hub.tasks.tree("feature")).parts).toHaveLength(1);
        },
      });
    });

    it.each([true, false])(
      "while it cancels a tree, whoever looks finishes it (a board: %s) [CRD-2]",
      async (board) => {
        const died = await dying(
          async (hub) => (await hub.agent("lead")).tasks.cancel("feature", "No more"),
          {
            before: scene,
            async after(hub) {
              if (board) await hub.tasks.board();
              const { closed } = await hub.tasks.get("feature");
              expect(closed).toMatchObject({ as: "cancelled", by: "lead", reason: "No more" });
              expect((await hub.tasks.get("api")).state).toBe("cancelled");
              for (const name of ["feature", "api"])
                expect(await closings(hub, name)).toHaveLength(1);
            },
          },
        );
        expect(died).toBeGreaterThan(4);
      },
    );
  });

  it("is all there after an export and an import [CRD-2]", async () => {
    const { hub, lead, coder } = await team(store);
    await lead.tasks.add(task("feature", { to: "lead" }));
    await lead.tasks.add(task("api", { parent: "feature" }));
    await lead.tasks.add(task("docs", { parent: "feature", after: ["api"] }));
    await lead.tasks.add(task("over"));
    await finish(coder, "over");
    const copy = await openFresh(store);
    await copy.archive.import(hub.archive.export());
    expect(await copy.tasks.tree("feature")).toEqual(await hub.tasks.tree("feature"));
    expect(await copy.tasks.board()).toEqual(await hub.tasks.board());
    await finish(await copy.agent("coder"), "api");
    expect((await copy.tasks.get("docs")).state).toBe("open");
    expect((await copy.verify()).problems).toEqual([]);
  });

  it("says nothing of a reason that was redacted [CRD-2]", async () => {
    const { hub, lead, coder } = await team(store);
    await lead.tasks.add(task("api"));
    await finish(coder, "api", "The password is hunter2");
    await lead.memories.redact({ text: "hunter2" }, "A secret");
    const { closed, why } = await hub.tasks.get("api");
    expect(closed?.reason).toBe("The password is [redacted]");
    expect(why).not.toContain("hunter2");
    const record = closed?.record ?? "";
    await lead.memories.redact({ ids: [record] }, "All of it");
    expect((await hub.tasks.get("api")).closed?.reason).toBe("[redacted]");
    expect((await hub.tasks.get("api")).state).toBe("done");
    expect((await hub.verify()).problems).toEqual([]);
  });
});

describe.each(STORES)("redacting on %s", (store) => {
  it("how work ended takes what its closing repeats of it along [CRD-2]", async () => {
    const { hub, lead, coder } = await team(store);
    await lead.tasks.add(task("api"));
    const settled = await finish(coder, "api", "The password is hunter2");
    await lead.memories.redact({ ids: [settled.delivery.settledBy] }, "A secret");
    expect(await hub.tasks.get("api")).toMatchObject({
      state: "done",
      closed: { reason: "[redacted]" },
    });
    expect(JSON.stringify(await hub.memories.recent({ task: "api" }))).not.toContain("hunter2");
    expect((await hub.verify()).problems).toEqual([]);
  });
});

describe("the state of a task", () => {
  /** Every set of what its deliveries can be. */
  const sets = Array.from({ length: 2 ** STANDS.length }, (_, bits) =>
    STANDS.filter((_stand, i) => (bits >> i) % 2 === 1),
  );

  it("follows from its closing, its deliveries and its parts, in every case [CRD-2]", () => {
    let cases = 0;
    for (const stands of sets) {
      for (const closed of [undefined, "done", "failed", "cancelled"] as const) {
        for (const hasOpenParts of [false, true]) {
          const has = (...some: Stand[]): boolean => some.some((each) => stands.includes(each));
          const { state } = stateOf({ closed, stands, hasOpenParts });
          const isAtWork = has("held", "asked", "offered", "waits");
          if (closed !== undefined && !isAtWork) expect(state).toBe(closed);
          else if (has("held", "asked")) expect(state).toBe("in_progress");
          else if (has("offered")) expect(state).toBe("open");
          else if (has("waits", "undecided", "given_up")) expect(state).toBe("blocked");
          else expect(state).toBe(hasOpenParts ? "in_progress" : "open");
          cases++;
        }
      }
    }
    expect(cases).toBe(2 ** STANDS.length * 8);
  });

  it("knows what a delivery in any state means for it [CRD-2]", () => {
    const failure = {} as NonNullable<Parameters<typeof standOf>[1]["failure"]>;
    const means = (says: Parameters<typeof standOf>[1], readyAt = 0) =>
      Object.fromEntries(
        DELIVERY_STATES.map((state) => [state, standOf({ state, readyAt }, says)]),
      );
    const usual = {
      scheduled: "offered",
      ready: "offered",
      claimed: "held",
      accepted: "held",
      waiting: "asked",
      completed: "over",
      declined: "given_up",
      dead: "given_up",
      cancelled: "over",
      expired: "given_up",
      superseded: "over",
    };
    expect(means({})).toEqual(usual);
    expect(means({ after: ["design"], results: [] })).toEqual(usual);
    expect(means({ after: ["design"] })).toEqual({ ...usual, scheduled: "waits" });
    expect(means({ joins: { deliveries: [], need: 1 } })).toEqual({ ...usual, scheduled: "waits" });
    // Kept until somebody has been told of it.
    expect(means({}, 2 ** 53)).toEqual({ ...usual, scheduled: "given_up" });
    for (const state of DELIVERY_STATES) {
      const stand = standOf({ state, readyAt: 0 }, { failure });
      expect(stand).toBe(isOpen(state) ? "undecided" : "over");
    }
  });
});
