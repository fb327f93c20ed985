/** Several processes that change the task queue at the same time. */
import { describe, expect, it } from "vitest";
import type { Hub, Store } from "../../../src/index.ts";
import { hubOn, sharedStore } from "../../support/hub/shared-store.ts";
import { openTwo, refusal, STORES, take } from "../../support/hub/support.ts";
import { closings, finish, onBoard, register, task } from "./task-team.ts";

describe.each(STORES)("the task queue on %s", (store) => {
  describe("with several processes", () => {
    it("delivers each task to one agent [CRD-2]", async () => {
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

    it("adds one of two tasks with the same name [CRD-2]", async () => {
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
        else expect(added.length).toBeLessThan(2); // The handoff of that name may be first.
      }
      expect((await hubs[0].verify()).problems).toEqual([]);
    });

    it("refuses one of two parts that would wait for each other's parents [CRD-2]", async () => {
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

    it("closes a task once, whichever process is first [CRD-2]", async () => {
      const hubs = await openTwo(store);
      const { lead, coder } = await register(hubs[0]);
      const others = [await hubs[1].agent("lead"), await hubs[1].agent("coder"), lead, coder];
      for (let round = 0; round < 5; round++) {
        const name = `task-${round}`;
        await lead.tasks.add(task(name, { closing: "manual" }));
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

    it("either closes a task or accepts a new handoff, never both [CRD-2]", async () => {
      const hubs = await openTwo(store);
      const { lead, coder } = await register(hubs[0]);
      const other = await hubs[1].agent("tester");
      for (let round = 0; round < 20; round++) {
        const name = `task-${round}`;
        await lead.tasks.add(task(name, { closing: round % 2 === 0 ? "manual" : "automatic" }));
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

    it("either closes a task or adds a part, never both [CRD-2]", async () => {
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

  describe("when another process writes first", () => {
    /** Opens two hubs on one store; the second interrupts the first right before a write. */
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

    it("does not close a task that was handed over meanwhile [CRD-2]", async () => {
      const { other, mine, theirs, meanwhile } = await interrupted("appendMemories");
      await theirs.lead.tasks.add(task("told", { closing: "manual" }));
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

    it("does not close a task that got a part meanwhile [CRD-2]", async () => {
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

    it("refuses handoffs and parts of a task that was closed meanwhile [CRD-2]", async () => {
      const { other, mine, theirs, meanwhile } = await interrupted("sendHandoff");
      await theirs.lead.tasks.add(task("api", { closing: "manual" }));
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

    it("does not reopen a part whose parent was closed meanwhile [CRD-2]", async () => {
      const { mine, theirs, meanwhile } = await interrupted("appendMemories");
      await theirs.lead.tasks.add(task("feature", { closing: "manual" }));
      await theirs.lead.tasks.add(task("part", { parent: "feature" }));
      for (const name of ["feature", "part"]) await finish(theirs.coder, name);
      meanwhile(() => theirs.lead.tasks.close("feature", { reason: "Over" }));
      expect((await refusal(mine.lead.tasks.reopen("part", "A fault"))).code).toBe("task_closed");
    });

    it("does not start a task whose dependency was reopened meanwhile [CRD-2]", async () => {
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

    it("refuses to add or reopen parts of a task that is being cancelled [CRD-2]", async () => {
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

    it("does not close a task as done that was cancelled meanwhile [CRD-2]", async () => {
      const { other, mine, theirs, meanwhile } = await interrupted("appendMemories");
      await theirs.lead.tasks.add(task("api", { closing: "manual" }));
      await finish(theirs.coder, "api");
      meanwhile(() => theirs.lead.tasks.cancel("api", "No more"));
      const refused = await refusal(mine.lead.tasks.close("api", { reason: "Over" }));
      expect(refused).toMatchObject({ code: "task_closed", details: { as: "cancelled" } });
      expect(await closings(other, "api")).toHaveLength(1);
    });
  });
});
