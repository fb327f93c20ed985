/** Tests of listing, events, totals, verification, wake-ups and closing. */
import { setImmediate as turn } from "node:timers/promises";
import { describe, expect } from "vitest";
import { DELIVERY_STATES, OPEN_STATES } from "../../../src/store/rows.ts";
import type { InboxCursor, Store } from "../../../src/store/store.ts";
import { publicVisibility } from "../../../src/store/visibility.ts";
import { expectSingle } from "../expectations.ts";
import { FAILED, failedWithDelay, LEASE_MS, RELEASED } from "../handoff-input.ts";
import { searchOf } from "../records/search.ts";
import type { Scene, SceneTest } from "../scene.ts";

const ELSEWHERE = "elsewhere";

export function lifecycle(it: SceneTest): void {
  describe("listing and counting", () => {
    it("lists open work in inbox order, by state and task, without consuming it [DLV-12]", async ({
      scene,
    }) => {
      const { store, workspace } = scene;
      for (const task of ["one", "two", "three", "four"]) await scene.send({ task });
      await scene.send({ to: "cyd" });
      await scene.claimOne("ben", { task: "two" });
      await scene.settle(await scene.acceptOne("ben", { task: "three" }), { kind: "completed" });
      const listed = async (states: typeof OPEN_STATES, limit = 10, task?: string) => {
        const which = { receivers: ["ben"], states, limit, ...(task && { task }) };
        const found = await store.listDeliveries({ workspace, ...which });
        for (const { delivery, envelope } of found) expect(envelope.id).toBe(delivery.envelope);
        return found.map(({ delivery }) => delivery.task);
      };
      await scene.unchanged(async () => {
        expect(await listed(OPEN_STATES)).toEqual(["one", "two", "four"]);
        expect(await listed(OPEN_STATES, 2)).toEqual(["one", "two"]);
        expect(await listed(["ready"])).toEqual(["one", "four"]);
        expect(await listed(["claimed", "accepted"])).toEqual(["two"]);
        expect(await listed(["scheduled"])).toEqual([]);
        expect(await listed([])).toEqual([]);
        expect(await listed(OPEN_STATES, 10, "four")).toEqual(["four"]);
        expect(await listed(["ready"], 10, "two")).toEqual([]);
      });
    });

    it("lists open work page by page, each page after the last item [DLV-13]", async ({
      scene,
    }) => {
      const { store, workspace } = scene;
      for (const task of ["one", "two", "three", "four", "five"]) await scene.send({ task });
      for (const from of ["ada", "cyd", "ben"]) await scene.send({ from, task: "same" });
      await scene.claimOne("ben", { task: "two" });
      const pages = async (which: { task?: string; states?: typeof OPEN_STATES }) => {
        const read: string[][] = [];
        let after: InboxCursor | undefined;
        do {
          const page = await store.listDeliveries({
            workspace,
            receivers: ["ben"],
            states: OPEN_STATES,
            limit: 2,
            ...which,
            ...(after === undefined ? {} : { after }),
          });
          read.push(page.map(({ delivery }) => `${delivery.task} ${delivery.sender}`));
          after = page.at(-1)?.delivery;
        } while (after !== undefined);
        return read;
      };
      expect(await pages({})).toEqual([
        ["one ada", "two ada"],
        ["three ada", "four ada"],
        ["five ada", "same ada"],
        ["same cyd", "same ben"],
        [],
      ]);
      expect(await pages({ task: "same" })).toEqual([["same ada", "same cyd"], ["same ben"], []]);
      expect(await pages({ states: ["claimed"] })).toEqual([["two ada"], []]);
    });

    it("returns nothing from another workspace", async ({ scene }) => {
      const { store } = scene;
      const held = await scene.underWay();
      await scene.settle(held, FAILED);
      const { id } = held.delivery;
      const at = { workspace: ELSEWHERE, receivers: ["ben"], states: OPEN_STATES, limit: 5 };
      expect(await store.findDelivery(ELSEWHERE, id)).toBeUndefined();
      expect(await store.findDelivery(scene.workspace, "dlv_unknown")).toBeUndefined();
      expect(await store.listDeliveries(at)).toEqual([]);
      expect(await store.readAttempts(ELSEWHERE, id)).toEqual([]);
      expect(await store.readEvents(ELSEWHERE, 0, 10)).toEqual([]);
      expect(await store.countDeliveries(ELSEWHERE)).toMatchObject({ envelopes: 0, deliveries: 0 });
    });

    it("reads every event once with a cursor [DLV-12]", async ({ scene }) => {
      const { store, workspace } = scene;
      await createSampleData(scene);
      const all = await store.readEvents(workspace, 0, 1_000);
      const read: typeof all = [];
      let pages = 0;
      for (let page = all; page.length > 0; pages++) {
        page = (await store.readEvents(workspace, read.at(-1)?.number ?? 0, 3)).slice();
        (read as (typeof all)[number][]).push(...page);
      }
      expect(read).toEqual(all);
      expect(pages).toBe(Math.ceil(all.length / 3) + 1);
      expect(all.every((event, i) => event.number > (all[i - 1]?.number ?? 0))).toBe(true);
    });

    it("keeps the events of two workspaces apart", async ({ scene }) => {
      for (const id of ["ada", "ben"]) await scene.register(id, {}, ELSEWHERE);
      const here = await scene.send();
      const there = await scene.send({ where: { workspace: ELSEWHERE } });
      const again = await scene.send({ task: "again" });
      const seen = async (workspace: string, after = 0) =>
        (await scene.store.readEvents(workspace, after, 10)).map((event) => event.delivery);
      expect(await seen(scene.workspace)).toEqual([here.delivery.id, again.delivery.id]);
      expect(await seen(ELSEWHERE)).toEqual([there.delivery.id]);
    });

    it("counts every delivery in one state, and every envelope that was sent [DLV-12]", async ({
      scene,
    }) => {
      const { store, workspace } = scene;
      await createSampleData(scene);
      const totals = await store.countDeliveries(workspace);
      const events = await scene.history();
      const count = (kind: string) => events.filter((each) => each === kind).length;
      expect(Object.keys(totals.byState).sort()).toEqual([...DELIVERY_STATES].sort());
      const sum = Object.values(totals.byState).reduce((total, each) => total + each, 0);
      expect(totals.deliveries).toBe(sum);
      expect(totals.deliveries).toBe(count("sent"));
      expect(totals.envelopes).toBe(count("sent") + count("extended"));
      expect(await scene.totals()).toEqual(SAMPLE_TOTALS);
    });

    it("treats an unknown workspace as empty", async ({ scene }) => {
      const { store } = scene;
      expect(await store.countDeliveries("nowhere")).toMatchObject({ envelopes: 0, deliveries: 0 });
      expect(await store.verify("nowhere")).toEqual({
        memories: 0,
        relations: 0,
        envelopes: 0,
        deliveries: 0,
        agents: 0,
        problems: [],
      });
    });
  });

  describe("verification", () => {
    it("finds no problems in sample data, and reports how much it checked [MEM-1]", async ({
      scene,
    }) => {
      await createSampleData(scene);
      await scene.reopen();
      const totals = await scene.store.countDeliveries(scene.workspace);
      const { length: records } = await scene.everything();
      const report = await scene.store.verify(scene.workspace);
      expect(report.problems).toEqual([]);
      expect(report).toMatchObject({
        memories: records,
        envelopes: totals.envelopes,
        deliveries: totals.deliveries,
        agents: 3,
      });
      expect(report.relations).toBeGreaterThan(0);
    });
  });

  describe("wake-ups", () => {
    it.for<[string, string, (scene: Scene) => Promise<unknown>]>([
      ["the receiver of a handoff", "cyd", (scene) => scene.send({ to: "cyd" })],
      [
        "the holder of extended work",
        "ben",
        async (scene) => scene.send({ extend: scene.extending(await findHeldWork(scene)) }),
      ],
      [
        "the sender of an accepted offer",
        "ada",
        async (scene) => {
          await scene.send({ task: "other" });
          const claimed = await scene.claimOne("ben", { task: "other" });
          const { workspace, branch } = scene;
          const memory = scene.continuing(claimed);
          const lease = scene.lease(claimed);
          return scene.store.acceptDelivery({ workspace, branch, lease, memory });
        },
      ],
      [
        "the sender of settled work",
        "ada",
        async (scene) => scene.settle(await findHeldWork(scene), { kind: "completed" }),
      ],
      [
        "the receiver of released work",
        "ben",
        async (scene) => scene.settle(await findHeldWork(scene), RELEASED),
      ],
      [
        "the receiver of expired work",
        "ben",
        async (scene) => {
          scene.clock.advance(LEASE_MS);
          await scene.takeBack();
        },
      ],
    ])(
      "calls the listener of %s (%s) after the commit [DLV-13]",
      async ([_case, agent, act], { scene }) => {
        await scene.underWay();
        const calls = countWakes(scene.store, scene.workspace, agent);
        await act(scene);
        await turn();
        expect(calls.count).toBeGreaterThan(0);
      },
    );

    it("calls the listener when the work can be claimed [DLV-13]", async ({ scene }) => {
      const { store, workspace } = scene;
      const found = new Promise<number>((resolve, reject) => {
        store.onWake({ workspace, agent: "ben" }, () => {
          scene.claim("ben").then(({ claimed }) => resolve(claimed.length), reject);
        });
      });
      await scene.send();
      expect(await found).toBe(1);
    });

    it("calls no listener of other agents or workspaces, and none after a refusal", async ({
      scene,
    }) => {
      const { store, workspace } = scene;
      const others = [
        countWakes(store, workspace, "cyd"),
        countWakes(store, ELSEWHERE, "ben"),
        countWakes(store, workspace, "nobody"),
      ];
      await scene.send({ to: "ben" });
      await store.sendHandoff(scene.handoff({ to: "nobody" }));
      await turn();
      expect(others.map((calls) => calls.count)).toEqual([0, 0, 0]);
    });

    it("calls every listener until it is removed", async ({ scene }) => {
      const first = countWakes(scene.store, scene.workspace, "ben");
      const second = countWakes(scene.store, scene.workspace, "ben");
      first.stop();
      await scene.send();
      await turn();
      expect([first.count, second.count > 0]).toEqual([0, true]);
    });

    it("keeps a later listener when an earlier one is removed twice", async ({ scene }) => {
      const first = countWakes(scene.store, scene.workspace, "ben");
      first.stop();
      const second = countWakes(scene.store, scene.workspace, "ben");
      first.stop();
      await scene.send();
      await turn();
      expect(second.count).toBeGreaterThan(0);
    });
  });

  describe("closing", () => {
    it("can be called twice, also concurrently", async ({ scene }) => {
      await Promise.all([scene.close(), scene.close()]);
      await scene.close();
    });

    it("finishes submitted operations [DLV-1]", async ({ scene }) => {
      const writes = [1, 2, 3].map((n) => scene.remember([scene.record("ada", `${n}`)]));
      const report = scene.store.verify(scene.workspace);
      const reopened = scene.reopen();
      await Promise.all([...writes, report, reopened]);
      expect(await scene.everything()).toHaveLength(3);
    });

    it.for(Object.entries(OPERATIONS))(
      "refuses %s afterwards with store_closed",
      async ([, operation], { scene }) => {
        const held = await scene.underWay();
        const call = operation(scene, held);
        await scene.close();
        await expect((async () => call())()).rejects.toMatchObject({
          name: "BatonError",
          code: "store_closed",
        });
      },
    );
  });
}

type HeldDelivery = Awaited<ReturnType<Scene["underWay"]>>;

/** Every operation of a store, as a function that calls it. */
const OPERATIONS: Readonly<
  Record<
    Exclude<keyof Store, "name" | "onWake" | "close">,
    (scene: Scene, held: HeldDelivery) => () => Promise<unknown>
  >
> = {
  registerAgent: (scene) => {
    const { store, workspace } = scene;
    const agent = scene.registration("dot");
    return () => store.registerAgent({ workspace, agent, basedOn: 0 });
  },
  findAgent:
    ({ store, workspace }) =>
    () =>
      store.findAgent(workspace, "ada"),
  listAgents:
    ({ store, workspace }) =>
    () =>
      store.listAgents(workspace),
  appendMemories: (scene) => {
    const memories = [scene.record("ada")];
    return () => scene.append(memories);
  },
  readMemories:
    ({ store, workspace }) =>
    () =>
      store.readMemories(workspace, []),
  recentMemories: (scene) => () => scene.everything(),
  findRelations:
    ({ store, workspace, branch }, { envelope: { memory } }) =>
    () => {
      const sight = publicVisibility(branch);
      return store.findRelations({ workspace, memory, direction: "in", sight, limit: 1 });
    },
  listTraces:
    ({ store, workspace }) =>
    () =>
      store.listTraces({ workspace, limit: 1 }),
  surveyTrace:
    ({ store, workspace }) =>
    () =>
      store.surveyTrace({ workspace, branch: "trace/s", upTo: 1 }),
  pruneTrace:
    ({ store, workspace }) =>
    () =>
      store.pruneTrace({ workspace, branch: "trace/s", upTo: 1, limit: 1 }),
  surveyEvents:
    ({ store, workspace }) =>
    () =>
      store.surveyEvents({ workspace, keep: 1 }),
  pruneEvents:
    ({ store, workspace }) =>
    () =>
      store.pruneEvents(workspace, 1, 1),
  findTips:
    ({ store, workspace, branch }) =>
    () =>
      store.findTips({ workspace, branches: [branch] }),
  findEnvelope:
    ({ store, workspace }, { envelope }) =>
    () =>
      store.findEnvelope(workspace, envelope.id),
  findInbound:
    ({ store, workspace }, { envelope: { memory } }) =>
    () =>
      store.findInbound({ workspace, memories: [memory], kinds: [], limit: 1 }),
  search: (scene) => () => scene.store.search(searchOf(scene, "x")),
  findUnembedded:
    ({ store, workspace }) =>
    () =>
      store.findUnembedded({ workspace, model: "x", limit: 1 }),
  putVectors:
    ({ store, workspace }) =>
    () =>
      store.putVectors({ workspace, model: "x", dimensions: 1, vectors: [], upTo: 0 }),
  listModels:
    ({ store, workspace }) =>
    () =>
      store.listModels(workspace),
  dropModel:
    ({ store, workspace }) =>
    () =>
      store.dropModel(workspace, "x"),
  query:
    ({ store, workspace }) =>
    () =>
      store.query({
        ...{ workspace, text: "select 1", params: [] },
        sight: publicVisibility("main"),
        vectors: { attached: true, model: "" },
        bounds: { rows: 1, bytes: 1, ms: 1 },
      }),
  exportWorkspace:
    ({ store, workspace }) =>
    () =>
      store.exportWorkspace(workspace).next(),
  importWorkspace: ({ store, workspace }) => {
    const counts = {
      agent: 0,
      memory: 0,
      envelope: 0,
      delivery: 0,
      attempt: 0,
      entry: 0,
      event: 0,
    };
    const rows = (async function* () {})();
    const summary = { counts, heads: [], lastPlace: 0 };
    return () => store.importWorkspace(workspace, { summary, rows });
  },
  backup:
    ({ store }) =>
    () =>
      store.backup("/nowhere/hub.backup"),
  redactBodies: (scene) => {
    const { store, workspace, branch } = scene;
    const memory = scene.record("ada");
    return () => store.redactBodies({ workspace, branch, memory, erasures: [] });
  },
  seekText:
    ({ store, workspace }) =>
    () =>
      store.seekText({ workspace, forms: ["x"], after: "" }),
  scrub:
    ({ store, workspace }) =>
    () =>
      store.scrub(workspace, []),
  sendHandoff: (scene) => {
    const handoff = scene.handoff({ task: "other" });
    return () => scene.store.sendHandoff(handoff);
  },
  sendHandoffs: (scene) => {
    const handoffs = [scene.handoff({ task: "third" }), scene.handoff({ task: "fourth" })];
    return () => scene.store.sendHandoffs(handoffs);
  },
  claimDeliveries: (scene) => () => scene.store.claimDeliveries(scene.claimOf("ben")),
  acceptDelivery: (scene, held) => {
    const { store, workspace, branch } = scene;
    const memory = scene.continuing(held);
    return () => store.acceptDelivery({ workspace, branch, lease: scene.lease(held), memory });
  },
  settleDelivery: (scene, held) => {
    const operation = scene.settlement(held, { kind: "completed" });
    return () => scene.store.settleDelivery(operation);
  },
  renewLease: (scene, held) => () => scene.store.renewLease(scene.workspace, scene.lease(held)),
  renewSession:
    ({ store, workspace }) =>
    () =>
      store.renewSession({ workspace, agent: "ben", instance: "ben-1" }, LEASE_MS),
  listProcesses:
    ({ store, workspace }) =>
    () =>
      store.listProcesses(workspace),
  putEntry:
    ({ store, workspace }) =>
    () =>
      store.putEntry(workspace, { kind: "key", name: "k", value: "1", basedOn: 0 }),
  findEntry:
    ({ store, workspace }) =>
    () =>
      store.findEntry(workspace, "key", "k"),
  listEntries:
    ({ store, workspace }) =>
    () =>
      store.listEntries({ workspace, kind: "key", limit: 1 }),
  moveDeliveries: (scene, { delivery }) => {
    const move = scene.moveOf(delivery, { to: delivery.state, event: "reminded" });
    return () => scene.store.moveDeliveries(scene.moving([move]));
  },
  listDue: (scene) => () => scene.due(),
  nextDue:
    ({ store }) =>
    () =>
      store.nextDue(),
  makeRetriesReady:
    ({ store, workspace }) =>
    () =>
      store.makeRetriesReady(workspace),
  listParked:
    ({ store, workspace }) =>
    () =>
      store.listParked({ workspace, state: "dead", limit: 1 }),
  browseDeliveries:
    ({ store, workspace }) =>
    () =>
      store.browseDeliveries({ workspace, limit: 1, visits: 1 }),
  countOpen:
    ({ store, workspace }) =>
    () =>
      store.countOpen(workspace, "ben", 1),
  findDelivery:
    ({ store, workspace }, { delivery }) =>
    () =>
      store.findDelivery(workspace, delivery.id),
  listDeliveries:
    ({ store, workspace }) =>
    () =>
      store.listDeliveries({ workspace, receivers: ["ben"], states: OPEN_STATES, limit: 1 }),
  readLine:
    ({ store, workspace }) =>
    () =>
      store.readLine(workspace, "task"),
  readAttempts:
    ({ store, workspace }, { delivery }) =>
    () =>
      store.readAttempts(workspace, delivery.id),
  readEvents:
    ({ store, workspace }) =>
    () =>
      store.readEvents(workspace, 0, 1),
  countDeliveries:
    ({ store, workspace }) =>
    () =>
      store.countDeliveries(workspace),
  listHeads:
    ({ store, workspace }) =>
    () =>
      store.listHeads(workspace),
  verify:
    ({ store, workspace }) =>
    () =>
      store.verify(workspace),
  indexState:
    ({ store }) =>
    () =>
      store.indexState(),
};

/** The totals after `createSampleData()`. */
const SAMPLE_TOTALS = {
  ready: 1,
  scheduled: 1,
  claimed: 1,
  accepted: 1,
  completed: 2,
  declined: 1,
  dead: 1,
  superseded: 1,
};

/** Stores deliveries in many states, to be counted and verified. */
async function createSampleData(scene: Scene): Promise<void> {
  const known = expectSingle(await scene.remember([scene.record("ada", "known")]));
  const first = await scene.underWay({ task: "a", refs: [known.id] });
  await scene.append(scene.record("ben", "a step"), { lease: scene.lease(first) });
  await scene.send({ from: "ben", to: "cyd", task: "a", settles: first });
  await scene.settle(await scene.acceptOne("cyd"), { kind: "completed" });
  const waiting = await scene.send({ task: "b" });
  await scene.send({ task: "b", extend: scene.extending(waiting) });
  await scene.settle(await scene.claimOne("ben"), { kind: "declined" });
  await scene.settle(await scene.underWay({ task: "c" }), { kind: "failed", becomes: "dead" });
  scene.clock.advance(5);
  await scene.settle(await scene.underWay({ task: "d" }), failedWithDelay(1_000));
  const extended = await scene.underWay({ task: "e" });
  await scene.send({ task: "e", extend: scene.extending(extended) });
  await scene.send({ task: "f" });
  await scene.claimOne("ben");
  await scene.send({ task: "g" });
}

/** Returns the accepted work as its holder has it. */
async function findHeldWork({ store, workspace }: Scene): Promise<HeldDelivery> {
  const states = ["accepted"] as const;
  return expectSingle(
    await store.listDeliveries({ workspace, receivers: ["ben"], states, limit: 5 }),
  );
}

function countWakes(store: Store, workspace: string, agent: string) {
  const calls = {
    count: 0,
    stop: store.onWake({ workspace, agent }, () => {
      calls.count++;
    }),
  };
  return calls;
}
