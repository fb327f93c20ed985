/** Processes that die while they report a failure or carry out a decision. */
import { describe, expect, it } from "vitest";
import { LocalHub, type Work } from "../../../src/index.ts";
import { VirtualClock } from "../../../src/testing/index.ts";
import {
  dyingAfter,
  dyingAfterWrites,
  hubOn,
  sharedStore,
} from "../../support/hub/shared-store.ts";
import { STORES, take } from "../../support/hub/support.ts";
import {
  BROKEN,
  COORDINATOR_MS,
  decisionsIn,
  fails,
  people,
  random,
  reports,
} from "./failing-team.ts";

describe.each(STORES)("a process that dies on %s", (store) => {
  /** Ends the last attempt in a process that dies after 1, 2, … writes; returns the last number. */
  async function crashes(
    end: (work: Work) => Promise<unknown>,
    { coordinator }: { readonly coordinator: boolean },
  ): Promise<number> {
    const clock = new VirtualClock();
    const reopen = sharedStore(store, { clock });
    const [lasting, mortal] = [await reopen(), await reopen()];
    for (let most = 1; ; most++) {
      const options = { clock, random, workspace: `writes-${most}` };
      const hub = await hubOn(store, lasting, options);
      const { ada, ben, pass } = await people(hub, clock, coordinator);
      await ada.tasks.add({ task: "t", to: "ben", intent: "x" });
      await ada.tasks.add({ task: "later", to: "ben", intent: "y", after: ["t"] });
      const { handle } = await take(ben);
      const dying = dyingAfterWrites(most, mortal);
      const doomed = new LocalHub(dying.store, options).agent("ben");
      await doomed
        .then((agent) => agent.resume(handle))
        .then(end)
        .catch(() => {});
      for (let n = 0; n < 4; n++) await pass(COORDINATOR_MS);
      const reported = await reports(hub, "t");
      expect(reported, `after ${most} writes`).toHaveLength(1);
      expect((await hub.failures.list({ undecided: true })).items).toEqual([]);
      expect(await decisionsIn(hub, "t")).toHaveLength(1);
      expect(await hub.tasks.get("t")).toMatchObject({ state: "failed" });
      expect(await hub.tasks.get("later")).toMatchObject({ state: "failed" });
      expect((await hub.verify()).problems).toEqual([]);
      if (!dying.isDead) return most;
    }
  }

  it("leaves a failure that is reported once and decided once [CRD-3 CRD-4]", async () => {
    const writes = await crashes((work) => work.fail(BROKEN), { coordinator: false });
    expect(writes).toBeGreaterThan(5);
    expect(await crashes((work) => work.decline("Not me"), { coordinator: true })).toBeGreaterThan(
      2,
    );
  }, 120_000);

  it("leaves a wrong report that is settled; a later failure is reported [CRD-4]", async () => {
    const clock = new VirtualClock();
    const reopen = sharedStore(store, { clock });
    const options = { clock, random, processes: { self: "p", isGone: () => false } };
    const hub = new LocalHub(await reopen(), options);
    const { ada, ben, carl } = await people(hub, clock);
    const policy = { attempts: 1 };
    const sent = await ada.handoff({ to: "ben", task: "t", intent: "x", policy });
    const work = await take(ben);
    const mistaken = { clock, random, processes: { self: "q", isGone: () => true } };
    const doomed = new LocalHub(dyingAfter("sendHandoff", await reopen()), mistaken);
    await (await doomed.agent("ada")).accept({ wait: true }); // Dies right after its report.
    const report = await take(carl);
    expect(report.envelope.failure).toMatchObject({ delivery: sent.id, type: "silent" });
    const retry = { decision: "retry", reason: "Once more" } as const;
    expect(await carl.failures.decide(report, retry)).toMatchObject({
      kind: "settled",
      delivery: { state: "accepted", holder: "ben" },
    });
    await work.fail(BROKEN);
    const anew = await take(carl);
    expect(anew.envelope.failure).toMatchObject({
      delivery: sent.id,
      type: BROKEN.type,
      attempt: 1,
    });
    expect(await carl.failures.decide(anew, retry)).toMatchObject({ kind: "decided" });
    expect(await carl.accept()).toBeUndefined();
    expect((await hub.failures.list({ undecided: true })).items).toEqual([]);
    expect((await hub.failures.list({ task: "t" })).items).toMatchObject([{ report: anew.id }]);
    await (await take(ben)).complete();
    expect((await hub.verify()).problems).toEqual([]);
  });

  it.each([
    ["a queued task", false],
    ["a task with a coordinator", true],
  ])(
    "leaves a hop limit failure that is reported and decided: %s [CRD-4]",
    async (_, coordinator) => {
      const clock = new VirtualClock();
      const options = { clock, random, limits: { hops: 1 } };
      const reopen = sharedStore(store, { clock });
      const hub = await hubOn(store, await reopen(), options);
      const { ada, ben, pass } = await people(hub, clock, coordinator);
      const first = { task: "t", to: "ben", intent: "x" };
      await (coordinator ? ada.handoff(first) : ada.tasks.add(first));
      await (await take(ben)).handoff({ to: "ada" });
      const { handle } = await take(ada);
      const dying = dyingAfterWrites(1, await reopen());
      const doomed = await new LocalHub(dying.store, options).agent("ada");
      await (await doomed.resume(handle)).handoff({ to: "ben" }).catch(() => {});
      expect(dying.isDead).toBe(true);
      await pass(1);
      if (coordinator) await pass(COORDINATOR_MS);
      expect((await hub.failures.list()).items).toMatchObject([
        {
          failure: { type: "hop_limit", attempt: 1 },
          decision: { decision: "abort", by: "baton" },
        },
      ]);
      expect(await hub.tasks.get("t")).toMatchObject({ state: "failed" });
      expect(await ben.accept()).toBeUndefined();
      expect((await hub.verify()).problems).toEqual([]);
    },
  );

  it("leaves a decision that other processes carry out [CRD-4]", async () => {
    const clock = new VirtualClock();
    const reopen = sharedStore(store, { clock });
    const [lasting, mortal] = [await reopen(), await reopen()];
    for (let most = 1, died = true; died; most++) {
      const options = { clock, random, workspace: `writes-${most}` };
      const hub = await hubOn(store, lasting, options);
      const { ada, ben, pass } = await people(hub, clock);
      const { sent } = await ada.tasks.add({ task: "t", to: "ben", intent: "x" });
      const child = await ada.tasks.add({ task: "t/part", parent: "t", to: "ada", intent: "z" });
      await fails(ben);
      const dying = dyingAfterWrites(most, mortal);
      const carl = new LocalHub(dying.store, options).agent("carl");
      const abort = { decision: "abort", reason: "Enough" } as const;
      await carl.then(({ failures }) => failures.decide(sent.id, abort)).catch(() => {});
      died = dying.isDead;
      for (let n = 0; n < 4; n++) await pass(COORDINATOR_MS);
      expect((await hub.failures.list({ task: "t" })).items, `after ${most} writes`).toMatchObject([
        { decision: { by: "carl", decision: "abort" } },
      ]);
      expect(await decisionsIn(hub, "t")).toHaveLength(1);
      expect(await hub.tasks.get("t")).toMatchObject({ state: "failed" });
      expect(await child.sent.completed()).toMatchObject({ kind: "cancelled" });
      expect((await hub.verify()).problems).toEqual([]);
    }
  }, 120_000);
});
