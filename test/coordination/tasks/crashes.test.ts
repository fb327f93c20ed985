/** Processes that die while they change the task queue. */
import { describe, expect, it } from "vitest";
import { type Hub, LocalHub } from "../../../src/index.ts";
import { VirtualClock } from "../../../src/testing/index.ts";
import { dyingAfterWrites, hubOn, sharedStore } from "../../support/hub/shared-store.ts";
import { STORES, take } from "../../support/hub/support.ts";
import { closings, finish, onBoard, register, task } from "./task-team.ts";

describe.each(STORES)("the task queue on %s", (store) => {
  describe("when a process dies", () => {
    /**
     * Runs an action in a process that dies after its first write, its second, and so on, until one
     * survives; each in its own workspace. Other processes then continue. Returns how many died.
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

    /** Creates a parent with a part, and a dependent of each; only the part is not done yet. */
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

    it("completes its remaining steps in other processes, each once [CRD-2]", async () => {
      const died = await dying(complete, {
        before: scene,
        async after(hub, clock) {
          const coder = await hub.agent("coder");
          clock.advance(60_000); // Work that it held is redelivered.
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
      // Accept, complete, close both, open both: it can die after each step but the last.
      expect(died).toBeGreaterThan(4);
    });

    it.each(["a task waits for the parent", "the tree is read", "only time passes"])(
      "closes the parents of a part that has ended, when %s [CRD-2]",
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
            clock.advance(60_000); // Work that it held is redelivered.
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

    it("closes ended tasks when the board is read [CRD-2]", async () => {
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

    it("adds a task completely or not at all [CRD-2]", async () => {
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
      "completes the cancelling of a tree on the next read (board: %s) [CRD-2]",
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
});
