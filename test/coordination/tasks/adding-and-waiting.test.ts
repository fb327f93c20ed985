/** Adding tasks to the queue, and tasks that wait for others. */
import { describe, expect, it } from "vitest";
import { BatonError, type NewTask, type Store } from "../../../src/index.ts";
import { VirtualClock } from "../../../src/testing/index.ts";
import { hubOn, sharedStore } from "../../support/hub/shared-store.ts";
import { contents, refusal, STORES, take } from "../../support/hub/support.ts";
import { finish, register, task, team } from "./task-team.ts";

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

describe.each(STORES)("the task queue on %s", (store) => {
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
        expect(message).toContain("would wait for itself");
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
});
