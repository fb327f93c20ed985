/** Adding tasks to the queue, and tasks that wait for others. */
import { describe, expect, it } from "vitest";
import { BatonError, type NewTask, type Store } from "../../../src/index.ts";
import { VirtualClock } from "../../../src/testing/index.ts";
import { hubOn, sharedStore } from "../../support/hub/shared-store.ts";
import { contents, refusal, STORES, take } from "../../support/hub/support.ts";
import { finish, register, task, team } from "./task-team.ts";

/** Returns the store with one operation that fails because the store is busy. */
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

describe.each(STORES)("the task queue on %s", (store) => {
  describe("adding a task", () => {
    it("refuses a name that is in use, and writes nothing [CRD-2]", async () => {
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

    it("adds it once per key, even after it was closed [CRD-2]", async () => {
      const { hub, lead, coder } = await team(store);
      const wanted = task("api", { key: "k1" });
      const first = await lead.tasks.add(wanted);
      const again = await lead.tasks.add(wanted);
      expect([again.sent.id, again.sent.joined]).toEqual([first.sent.id, "repeated"]);
      await finish(coder, "api");
      expect((await lead.tasks.add(wanted)).task).toMatchObject({ state: "done" });
      expect(await coder.accept()).toBeUndefined();
      const other = await refusal(lead.tasks.add({ ...wanted, closing: "manual" }));
      expect(other.code).toBe("idempotency_conflict");
      expect((await hub.deliveries.totals()).deliveries).toBe(1);
    });

    it("refuses an unknown, closed or unqueued parent or dependency [CRD-2]", async () => {
      const { hub, lead, coder } = await team(store);
      await lead.tasks.add(task("design"));
      await lead.handoff({ task: "plain", to: "coder", intent: "Do it" });
      await lead.tasks.add(task("over"));
      await finish(coder, "over");
      await lead.tasks.add(task("lost"));
      await lead.tasks.cancel("lost", "No longer wanted");
      const before = await contents(hub);
      const refusedWith = async (rest: Partial<NewTask>) => {
        const { code, path, hint } = await refusal(lead.tasks.add(task("new", rest)));
        return [code, path, hint];
      };
      expect(await refusedWith({ after: ["design", "desing"] })).toEqual([
        "unknown_task",
        "after[1]",
        'Did you mean "design"?',
      ]);
      expect((await refusedWith({ parent: "desing" })).slice(0, 2)).toEqual([
        "unknown_task",
        "parent",
      ]);
      expect((await refusedWith({ parent: "plain" })).slice(0, 2)).toEqual([
        "invalid_input",
        "parent",
      ]);
      expect((await refusedWith({ parent: "over" })).slice(0, 2)).toEqual(["task_closed", "task"]);
      expect((await refusedWith({ after: ["lost"] })).slice(0, 2)).toEqual([
        "task_closed",
        "after[0]",
      ]);
      expect((await refusedWith({ after: ["design"], delayMs: 5 })).slice(0, 2)).toEqual([
        "invalid_input",
        "delayMs",
      ]);
      expect((await refusedWith({ closing: "never" as "manual" }))[0]).toBe("invalid_input");
      expect((await refusal(hub.tasks.get("desing"))).hint).toBe('Did you mean "design"?');
      expect((await refusal(hub.tasks.get("nothing like it at all"))).code).toBe("unknown_task");
      expect(await contents(hub)).toEqual(before);
    });

    it("refuses a dependency cycle [CRD-2]", async () => {
      const { hub, lead } = await team(store);
      await lead.tasks.add(task("feature", { to: "lead" }));
      await lead.tasks.add(task("api", { parent: "feature" }));
      await lead.tasks.add(task("release", { after: ["feature"] }));
      await lead.tasks.add(task("party", { after: ["release"] }));
      const before = await contents(hub);
      for (const [parent, after] of [
        [undefined, "new"],
        ["feature", "feature"],
        ["api", "feature"], // The parent of its parent.
        ["api", "party"], // Waits for release, which waits for feature.
        ["feature", "release"],
      ] as const) {
        const wanted = task("new", { after: [after], ...(parent && { parent }) });
        const { code, path, message } = await refusal(lead.tasks.add(wanted));
        expect([parent, after, code, path]).toEqual([parent, after, "invalid_input", "after"]);
        expect(message).toContain("would wait for itself");
      }
      expect(await contents(hub)).toEqual(before);
      await lead.tasks.add(task("new", { parent: "feature", after: ["api"] })); // A sibling.
    });

    it("succeeds once the handoff is stored, even if a later step fails [CRD-2]", async () => {
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

    it("starts it at once if all of its dependencies are done [CRD-2]", async () => {
      const { lead, coder } = await team(store);
      await lead.tasks.add(task("design"));
      await lead.tasks.add(task("survey", { closing: "manual" }));
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
        ["idea", "lead", "Decided in a talk"], // Not completed: the reason of its closing.
      ]);
    });

    it("sends it through a channel, and closes it after the last delivery [CRD-2]", async () => {
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

  describe("a waiting task", () => {
    it("cannot be claimed, whatever else is handed over for it [CRD-2]", async () => {
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
      // Once it has started, its line continues like any other.
      await found[0]?.handoff({ to: "lead" });
      expect((await take(lead)).delivery.task).toBe("build");
    });

    it("does not read its other dependencies when one of them is done [CRD-2]", async () => {
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
      expect([...new Set(lines)].sort()).toEqual(["last", "task-0"]); // None of the other 19.
    });

    it("opens when the last of its dependencies is done [CRD-2]", async () => {
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

    it("stays blocked when it expires and is redriven [CRD-2]", async () => {
      const clock = new VirtualClock();
      const { hub, lead, coder } = await team(store, { clock });
      await lead.tasks.add(task("design", { to: "lead" }));
      const policy = { deadlineMs: 1_000, exhausted: "park" as const };
      const { sent } = await lead.tasks.add(task("build", { after: ["design"], policy }));
      clock.advance(2_000);
      await hub.deliveries.runDue();
      const { items: events } = await hub.events.list();
      const kinds = events.filter(({ delivery }) => delivery === sent.id).map(({ kind }) => kind);
      expect(kinds).toEqual(["sent", "postponed", "deadline_passed", "redriven"]);
      for (let minute = 0; minute < 90; minute++) {
        clock.advance(60_000);
        await hub.deliveries.runDue();
        expect(await coder.accept({ task: "build" })).toBeUndefined();
      }
    });
  });
});
