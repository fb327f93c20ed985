/** Closing, reopening and cancelling tasks, and tasks blocked by a failure. */
import { describe, expect, it } from "vitest";
import { VirtualClock } from "../../../src/testing/index.ts";
import { refusal, STORES, take } from "../../support/hub/support.ts";
import { closings, finish, names, onBoard, task, team } from "./task-team.ts";

describe.each(STORES)("the task queue on %s", (store) => {
  describe("closing a task", () => {
    it("is refused while anything is open, naming delivery and holder [CRD-2]", async () => {
      const { hub, lead, coder } = await team(store);
      await lead.tasks.add(task("feature", { to: "lead", closing: "manual" }));
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
        why: "all deliveries have ended; close the task",
      });
      const closed = await lead.tasks.close("feature", { reason: "Shown to the customer" });
      expect(closed).toMatchObject({
        state: "done",
        closed: { as: "done", by: "lead", reason: "Shown to the customer" },
      });
      expect((await hub.verify()).problems).toEqual([]);
    });

    it("happens once: a second call gets who closed it, and why [CRD-2]", async () => {
      const { hub, lead, coder } = await team(store);
      await lead.tasks.add(task("api", { closing: "manual" }));
      await finish(coder, "api");
      await coder.tasks.close("api", { as: "failed", reason: "It is too slow" });
      const second = await refusal(lead.tasks.close("api", { reason: "Fine" }));
      expect(second).toMatchObject({
        code: "task_closed",
        details: { as: "failed", by: "coder", reason: "It is too slow" },
      });
      expect(second.message).toContain("It is too slow");
      expect((await hub.tasks.get("api")).state).toBe("failed");
      expect(await closings(hub, "api")).toEqual(['coder closed "api" as failed: It is too slow']);
    });

    it("is permitted to participants of the task and to some roles [CRD-2]", async () => {
      const { hub, lead, coder, tester } = await team(store);
      const planner = await hub.agent("planner", { role: "planner" });
      await tester.tasks.add(task("api", { closing: "manual" }));
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

    it("refuses later handoffs and redrives [CRD-2]", async () => {
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

    it("works for tasks that were never queued [CRD-2]", async () => {
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
        why: "all deliveries have ended; close the task",
      });
      expect(await onBoard(hub)).toEqual({ open: [], blocked: [], in_progress: [] });
      await coder.tasks.close("plain", { reason: "Done" });
      expect(names((await hub.tasks.closed()).items)).toEqual(["plain"]);
    });

    it("as cancelled is possible after all of its handoffs were cancelled [CRD-2]", async () => {
      const { hub, lead } = await team(store);
      await lead.tasks.add(task("api"));
      await lead.tasks.cancelHandoffs("api", "Not now");
      expect((await hub.tasks.get("api")).state).toBe("open");
      await lead.tasks.close("api", { as: "cancelled", reason: "Not this year" });
      expect((await hub.tasks.get("api")).state).toBe("cancelled");
    });
  });

  describe("reopening a task", () => {
    it("lets it continue; only later work closes it again [CRD-2]", async () => {
      const { hub, lead, coder } = await team(store);
      await lead.tasks.add(task("api"));
      await finish(coder, "api", "Written");
      const again = await lead.tasks.reopen("api", "The customer found a fault");
      expect(again).toMatchObject({ state: "open" });
      expect(again.closed).toBeUndefined();
      expect((await onBoard(hub)).open).toEqual(["api"]); // Reading does not close it again.
      expect((await hub.tasks.closed()).items).toEqual([]);
      expect((await refusal(lead.tasks.reopen("api", "Twice"))).code).toBe("task_open");
      await lead.handoff({ task: "api", to: "coder", intent: "Mend it" });
      await finish(coder, "api", "Mended");
      expect(await hub.tasks.get("api")).toMatchObject({
        state: "done",
        closed: { reason: "Mended" },
      });
      expect(await closings(hub, "api")).toHaveLength(2); // Both are on the chain; the last counts.
      expect(names((await hub.tasks.closed()).items)).toEqual(["api"]);
      expect((await hub.verify()).problems).toEqual([]);
    });

    it("blocks dependents that have not opened yet, but not those that have [CRD-2]", async () => {
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

    it("does not ask again about earlier failures [CRD-2]", async () => {
      const { hub, lead, coder } = await team(store);
      await lead.tasks.add(task("api"));
      await (await take(coder)).fail({ class: "permanent", message: "No such table" });
      await hub.deliveries.runDue();
      expect((await hub.tasks.get("api")).state).toBe("failed");
      const again = await lead.tasks.reopen("api", "There is one now");
      expect(again).toMatchObject({
        state: "open",
        why: expect.stringContaining("close the task"),
      });
      await lead.handoff({ task: "api", to: "role:coder", intent: "Use the table" });
      await finish(coder, "api", "Written");
      expect(await hub.tasks.get("api")).toMatchObject({
        state: "done",
        closed: { reason: "Written" },
      });
    });

    it("blocks it again if later work fails [CRD-2]", async () => {
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

    it("is refused while its parent is closed [CRD-2]", async () => {
      const { lead, coder } = await team(store);
      await lead.tasks.add(task("feature"));
      await lead.tasks.add(task("api", { parent: "feature" }));
      await finish(coder, "api");
      await finish(coder, "feature");
      const refused = await refusal(lead.tasks.reopen("api", "A fault"));
      expect(refused).toMatchObject({
        code: "task_closed",
        hint: 'Reopen "feature" first with agent.tasks.reopen().',
      });
      await lead.tasks.reopen("feature", "A fault below");
      await lead.tasks.reopen("api", "A fault");
      await lead.handoff({ task: "api", to: "coder", intent: "Mend it" });
      await finish(coder, "api");
      // Its own work ended before it was reopened, so it has to be closed explicitly.
      await lead.tasks.close("feature", { reason: "Mended" });
    });
  });

  describe("cancelling a task", () => {
    it("cancels its whole tree and held work, and fails its dependents [CRD-2]", async () => {
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
        expect(info.why).toContain(`Its parent task "${part}" was cancelled`);
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
      const again = await refusal(lead.tasks.cancel("feature", "Again"));
      expect(again).toMatchObject({ code: "task_closed", details: { as: "cancelled" } });
      expect((await hub.verify()).problems).toEqual([]);
    });
  });

  describe("a failure", () => {
    it("blocks a task until decided; an abort ends parts and dependents [CRD-2]", async () => {
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
});
