/** The task board, and how the state of a task is computed. */
import { describe, expect, it } from "vitest";
import {
  stateOf,
  TASK_DELIVERY_STATUSES,
  type TaskDeliveryStatus,
  taskDeliveryStatusOf,
} from "../../../src/coordination/tasks/state.ts";
import type { Hub } from "../../../src/index.ts";
import { DELIVERY_STATES, isOpen } from "../../../src/store/rows.ts";
import { refusal, STORES, take } from "../../support/hub/support.ts";
import { finish, names, onBoard, task, team } from "./task-team.ts";

describe.each(STORES)("the task queue on %s", (store) => {
  describe("the board", () => {
    it("lists open tasks by state, most urgent first, and can be filtered [CRD-2]", async () => {
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
      // The queue delivers the most urgent task first, too.
      expect((await take(coder)).delivery.task).toBe("first");
    });

    it("shows an agent what it holds or can claim, not what it handed on [CRD-2]", async () => {
      const { hub, lead, coder, tester } = await team(store);
      await lead.tasks.add(task("api"));
      await lead.tasks.add(task("docs", { to: "tester" }));
      await (await take(coder)).handoff({ to: "tester", state: "Written" });
      const of = async (agent: string) => (await onBoard(hub, { agent })).open.sort();
      expect([await of("coder"), await of("tester")]).toEqual([[], ["api", "docs"]]);
      await (await take(tester, { task: "docs" })).release();
      expect(await of("tester")).toEqual(["api", "docs"]);
    });

    it("explains a state by the delivery that determines it [CRD-2]", async () => {
      const { hub, lead, coder, tester } = await team(store);
      await lead.tasks.add(task("api"));
      await lead.handoff({ task: "api", to: "tester", intent: "Try it" });
      const work = await take(tester);
      await work.clarify("On which machine?");
      expect(await hub.tasks.get("api")).toMatchObject({
        state: "in_progress",
        why: "tester asked lead a question and waits for the answer",
      });
      await (await take(coder)).fail({ message: "No network" });
      await lead.questions.answer(work.id, "Any");
      await take(tester);
      expect((await hub.tasks.get("api")).why).toMatch(/^held by tester /);
    });

    it("is paged, and so is the list of closed tasks [CRD-2]", async () => {
      const { hub, lead, coder } = await team(store);
      const all = Array.from({ length: 7 }, (_, i) => `task-${i}`);
      for (const name of all) await lead.tasks.add(task(name));
      const seen: string[] = [];
      let after: string | undefined;
      do {
        const page = await hub.tasks.board({ limit: 3, ...(after && { after }) });
        seen.push(...names(page.items));
        after = page.next;
      } while (after !== undefined);
      expect(seen).toEqual(all);
      for (const name of all) await finish(coder, name);
      await lead.tasks.reopen("task-3", "Once more");
      const closed: string[] = [];
      do {
        const page = await hub.tasks.closed({ limit: 2, ...(after && { after }) });
        closed.push(...names(page.items));
        after = page.next;
      } while (after !== undefined);
      expect(closed).toEqual(all.filter((name) => name !== "task-3").reverse());
      expect((await hub.tasks.closed({ states: ["failed"] })).items).toEqual([]);
    });
  });
});

describe("the state of a task", () => {
  /** Every combination of delivery statuses. */
  const sets = Array.from({ length: 2 ** TASK_DELIVERY_STATUSES.length }, (_, bits) =>
    TASK_DELIVERY_STATUSES.filter((_stand, i) => (bits >> i) % 2 === 1),
  );

  it("follows from its closing, its deliveries and its parts, in every combination [CRD-2]", () => {
    let cases = 0;
    for (const stands of sets) {
      for (const closed of [undefined, "done", "failed", "cancelled"] as const) {
        for (const hasOpenParts of [false, true]) {
          const has = (...some: TaskDeliveryStatus[]): boolean =>
            some.some((each) => stands.includes(each));
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
    expect(cases).toBe(2 ** TASK_DELIVERY_STATUSES.length * 8);
  });

  it("derives a status from every delivery state [CRD-2]", () => {
    const failure = {} as NonNullable<Parameters<typeof taskDeliveryStatusOf>[1]["failure"]>;
    const means = (says: Parameters<typeof taskDeliveryStatusOf>[1], readyAt = 0) =>
      Object.fromEntries(
        DELIVERY_STATES.map((state) => [state, taskDeliveryStatusOf({ state, readyAt }, says)]),
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
    // Scheduled for never: kept until its failure was reported.
    expect(means({}, 2 ** 53)).toEqual({ ...usual, scheduled: "given_up" });
    for (const state of DELIVERY_STATES) {
      const stand = taskDeliveryStatusOf({ state, readyAt: 0 }, { failure });
      expect(stand).toBe(isOpen(state) ? "undecided" : "over");
    }
  });
});
