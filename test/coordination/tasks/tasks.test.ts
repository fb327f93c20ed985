/** The task queue: tasks with parts and dependencies, and states that follow from deliveries. */

import { describe, expect, it } from "vitest";
import { VirtualClock } from "../../../src/testing/index.ts";
import { openFresh, refusal, STORES, take } from "../../support/hub/support.ts";
import { present } from "../../support/present.ts";
import { closings, finish, names, onBoard, task, team } from "./task-team.ts";

describe.each(STORES)("the task queue on %s", (store) => {
  it("closes a task when its work completes, and starts its dependents [CRD-2]", async () => {
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
    expect(names((await hub.tasks.closed()).items)).toEqual(["build", "design"]);
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

  it("wakes a waiting agent when a dependency is done [CRD-2]", async () => {
    const { lead, coder, tester } = await team(store);
    await lead.tasks.add(task("build"));
    await lead.tasks.add(task("test", { to: "tester", after: ["build"] }));
    const waiting = tester.accept({ wait: true, signal: AbortSignal.timeout(60_000) });
    await finish(coder, "build");
    expect((await waiting)?.delivery.task).toBe("test");
  });

  it("explains each state as the work proceeds [CRD-2]", async () => {
    const clock = new VirtualClock();
    const { hub, lead, coder } = await team(store, { clock, random: () => 0.5 });
    await lead.tasks.add(task("api", { deadlineMs: 3_600_000, priority: "high" }));
    const stands = async () => {
      const { state, why } = await hub.tasks.get("api");
      return [state, why];
    };
    expect(await stands()).toEqual(["open", "waits for role:coder to accept it"]);
    const at = new Date(clock.now()).toISOString();
    const work = await take(coder);
    expect(await stands()).toEqual(["in_progress", `held by coder since ${at}`]);
    await work.clarify("REST or GraphQL?");
    expect(await stands()).toEqual([
      "in_progress",
      "coder asked lead a question and waits for the answer",
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

  it("closes a task that is handed on at the end of its line [CRD-2]", async () => {
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

  it("closes a task whose work is handed on to another task [CRD-2]", async () => {
    const { hub, lead, coder } = await team(store);
    await lead.tasks.add(task("api"));
    await (await take(coder)).handoff({ to: "tester", task: "release", intent: "Ship it" });
    expect(await hub.tasks.get("api")).toMatchObject({ state: "done", closed: { by: "coder" } });
    expect(await hub.tasks.get("release")).toMatchObject({ state: "open", queued: false });
  });

  it("keeps a task open until all of its lines have ended [CRD-2]", async () => {
    const { hub, lead, coder, tester } = await team(store);
    await lead.tasks.add(task("api"));
    await lead.handoff({ task: "api", to: "tester", intent: "Test it" });
    await finish(coder, "api", "Written");
    expect(await hub.tasks.get("api")).toMatchObject({ state: "open" });
    await finish(tester, "api", "Tested");
    expect(await hub.tasks.get("api")).toMatchObject({ state: "done", closed: { by: "tester" } });
  });

  it("closes a tree of three levels from below, each task after its parts [CRD-2]", async () => {
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
      why: "its deliveries have ended; waits for its parts route, schema",
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
    expect((await take(coder)).delivery.task).toBe("docs"); // Both parts of api are done.
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

  it("includes the parent's ledger in a part [CRD-2]", async () => {
    const { lead, coder } = await team(store);
    await lead.tasks.add(task("feature", { to: "lead", constraints: ["Keep the old API"] }));
    await lead.tasks.add(task("api", { parent: "feature" }));
    const { envelope } = await take(coder);
    expect(envelope.constraints.map(({ rule }) => rule)).toEqual(["Keep the old API"]);
  });

  it("limits the size of a tree [CRD-2]", async () => {
    const { hub, lead } = await team(store, { limits: { taskTree: 2 } });
    await lead.tasks.add(task("feature"));
    await lead.tasks.add(task("a", { parent: "feature" }));
    await hub.tasks.tree("feature");
    await lead.tasks.add(task("b", { parent: "feature" }));
    const { code, details } = await refusal(hub.tasks.tree("feature"));
    expect([code, details]).toMatchObject(["limit_exceeded", { limit: "taskTree" }]);
    expect((await refusal(hub.tasks.board({ limit: 3 }))).code).toBe("limit_exceeded");
  });

  it("is preserved by export and import [CRD-2]", async () => {
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

  it("hides a redacted reason [CRD-2]", async () => {
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

describe.each(STORES)("redaction on %s", (store) => {
  it("of a result also erases it from the closing of its task [CRD-2]", async () => {
    const { hub, lead, coder } = await team(store);
    await lead.tasks.add(task("api"));
    const settled = await finish(coder, "api", "The password is hunter2");
    await lead.memories.redact({ ids: [present(settled.delivery.settledBy)] }, "A secret");
    expect(await hub.tasks.get("api")).toMatchObject({
      state: "done",
      closed: { reason: "[redacted]" },
    });
    expect(JSON.stringify((await hub.memories.recent({ task: "api" })).items)).not.toContain(
      "hunter2",
    );
    expect((await hub.verify()).problems).toEqual([]);
  });
});
