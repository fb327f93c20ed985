/** Tests that agents that hold or accept affected work are warned, also in other processes. */
import { describe, expect, it, vi } from "vitest";
import type { Store, Warning } from "../../../src/index.ts";
import { VirtualClock } from "../../../src/testing/index.ts";
import { startChild } from "../../support/child.ts";
import { withoutNumbers } from "../../support/fences.ts";
import { hubOn, sharedStore } from "../../support/hub/shared-store.ts";
import { freshAddress, open, openFresh, openTwo, STORES, take } from "../../support/hub/support.ts";
import { ids, poisoned, team } from "./poisoned-records.ts";

/** A wake-up can be lost: the holder then polls within two seconds. */
const PATIENCE = { timeout: 60_000 };

describe.each(STORES)("quarantine on %s", (store) => {
  it("notifies open deliveries, also in another hub, without changing them [MEM-16]", async () => {
    const [here, there] = await openTwo(store);
    const { hub, ada, eve } = await team(here);
    const { bad } = await poisoned(eve);
    const ben = await there.agent("ben");
    const held = await ada.handoff({ to: "ben", task: "held", intent: "Go", refs: [bad.id] });
    const work = await take(ben, { task: "held" });
    const waits = await ada.handoff({ to: "ben", task: "waits", intent: "Go", refs: [bad.id] });
    await ada.handoff({ to: "ben", task: "clean", intent: "Go" });
    const over = await ada.handoff({ to: "eve", task: "over", intent: "Go", refs: [bad.id] });
    await (await take(eve, { task: "over" })).complete();
    const allWarnings: Warning[] = [];
    work.on("warned", (warnings) => void allWarnings.push(...warnings));
    const before = (await hub.deliveries.get(held.id)).delivery;
    const done = await ada.memories.quarantine(bad.id, "made up");
    expect(done.deliveries.toSorted()).toEqual([held.id, waits.id].toSorted());
    expect(done.deliveries).not.toContain(over.id);
    const warning = [{ memory: bad.id, reason: "made up" }];
    await vi.waitFor(() => expect(allWarnings).toMatchObject(warning), PATIENCE);
    const events = (await hub.events.list({ after: 0, limit: 1_000 })).items.filter(
      ({ kind }) => kind === "quarantined",
    );
    expect(events.map(({ delivery, agent }) => [delivery, agent]).toSorted()).toEqual(
      [held.id, waits.id].map((id) => [id, "ada"]).toSorted(),
    );
    const { leaseUntil: _, ...after } = (await hub.deliveries.get(held.id)).delivery;
    expect(before).toMatchObject(after);
    await work.complete();
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("warns about affected work that is offered or accepted later [MEM-16]", async () => {
    const { hub, ada, ben, eve } = await team(await openFresh(store));
    const { bad } = await poisoned(eve);
    await ada.handoff({ to: "ben", task: "t", intent: "Go", refs: [bad.id] });
    await ada.handoff({ to: "ben", task: "clean", intent: "Go" });
    await ada.memories.quarantine(bad.id, "made up");
    const warning = { memory: bad.id, by: "ada", reason: "made up" };
    for await (const offer of ben.inbox({ wait: false, task: "t" })) {
      expect(await offer.warnings()).toMatchObject([warning]);
      const work = await offer.accept();
      const allWarnings: Warning[] = [];
      work.on("warned", (warnings) => void allWarnings.push(...warnings));
      await vi.waitFor(() => expect(allWarnings).toMatchObject([warning]), PATIENCE);
      expect(await work.warnings()).toMatchObject([warning]);
      expect(await hub.deliveries.warnings(work.id)).toMatchObject([warning]);
      break;
    }
    const clean = await take(ben, { task: "clean" });
    expect(await clean.warnings()).toEqual([]);
  });

  it("is not reported to a listener that was removed [MEM-16]", async () => {
    const { ada, ben, eve } = await team(await openFresh(store));
    const { bad } = await poisoned(eve);
    await ada.handoff({ to: "ben", task: "t", intent: "Go", refs: [bad.id] });
    const work = await take(ben);
    const notifications: string[] = [];
    const remove = work.on("warned", () => notifications.push("removed"));
    work.on("warned", (warnings) => notifications.push(...warnings.map(({ memory }) => memory)));
    remove();
    await ada.memories.quarantine(bad.id, "made up");
    await vi.waitFor(() => expect(notifications).toEqual([bad.id]), PATIENCE);
    await work.complete();
  });

  it("is reported to a listener that is added later [MEM-16]", async () => {
    const { ada, ben, eve } = await team(await openFresh(store));
    const { bad } = await poisoned(eve);
    await ada.handoff({ to: "ben", task: "t", intent: "Go", refs: [bad.id] });
    const work = await take(ben);
    const [first, second]: string[][] = [[], []];
    work.on("warned", (warnings) => first?.push(...warnings.map(({ memory }) => memory)));
    await ada.memories.quarantine(bad.id, "made up");
    await vi.waitFor(() => expect(first).toEqual([bad.id]), PATIENCE);
    work.on("warned", (warnings) => second?.push(...warnings.map(({ memory }) => memory)));
    await vi.waitFor(() => expect(second).toEqual([bad.id]), PATIENCE);
    expect(first).toEqual([bad.id]);
    await work.complete();
  });

  it("warns about memories that an earlier envelope of the work referenced [MEM-16]", async () => {
    const { ada, ben, eve } = await team(await openFresh(store));
    const { bad } = await poisoned(eve);
    await ada.handoff({ to: "ben", task: "t", intent: "Go", refs: [bad.id] });
    const work = await take(ben, { task: "t" });
    await ada.handoff({ to: "ben", task: "t", intent: "Go", next: ["and more"] });
    const done = await ada.memories.quarantine(bad.id, "made up");
    expect(done.deliveries).toEqual([work.id]);
    expect(await work.warnings()).toMatchObject([{ memory: bad.id }]);
  });

  it("warns holders of derived memories with the downstream option [MEM-16]", async () => {
    const { ada, ben, eve } = await team(await openFresh(store));
    const { bad, far } = await poisoned(eve);
    const sent = await ada.handoff({ to: "ben", task: "w", intent: "Go", refs: [far.id] });
    const work = await take(ben, { task: "w" });
    expect(await ada.memories.quarantine(bad.id, "made up")).toMatchObject({ deliveries: [] });
    expect(await work.warnings()).toEqual([]);
    const done = await ada.memories.quarantine(bad.id, "made up", { downstream: true });
    expect(done).toMatchObject({ already: [bad.id], deliveries: [sent.id] });
    expect((await work.warnings()).map(({ memory }) => memory)).toContain(far.id);
    await work.note("goes on all the same");
    await work.complete();
  });

  it("notifies a delivery that is accepted concurrently [MEM-16]", async () => {
    const reopen = sharedStore(store);
    const { hub, ada, ben, eve } = await team(await hubOn(store, await reopen()));
    const { bad } = await poisoned(eve);
    const refs = [bad.id];
    const sent = await ada.handoff({ to: "ben", task: "w", intent: "Go", refs });
    const other = await ada.handoff({ to: "eve", task: "o", intent: "Go", refs });
    const raced = before("moveDeliveries", await reopen(), () => take(ben, { task: "w" }));
    const done = await (await (await hubOn(store, raced)).agent("ada")).memories.quarantine(
      bad.id,
      "made up",
    );
    expect(done).toMatchObject({ memories: [bad.id] });
    expect(done.deliveries.toSorted()).toEqual([sent.id, other.id].toSorted());
    const events = (await hub.events.list({ after: 0, limit: 100 })).items.filter(
      ({ kind }) => kind === "quarantined",
    );
    expect(events.map(({ delivery }) => delivery).toSorted()).toEqual(done.deliveries.toSorted());
    expect((await hub.memories.recent({ type: "quarantine" })).items).toHaveLength(1);
  });

  it("removes the memory from a reconstructed envelope and still warns [MEM-16]", async () => {
    const clock = new VirtualClock();
    const { ada, ben, eve } = await team(
      await openFresh(store, { clock, limits: { leaseMs: 1_000 } }),
    );
    const { bad, clean } = await poisoned(eve);
    await ada.handoff({ to: "ben", task: "w", intent: "Go", refs: [bad.id, clean.id] });
    const work = await take(ben, { task: "w" });
    const lie = (await work.note("a lie, noted")).memory.id;
    const step = (await work.note("a step")).memory.id;
    await ada.memories.quarantine([bad.id, lie], "made up");
    clock.advance(10_000);
    await expect(work.renew()).rejects.toMatchObject({ code: "lease_lost" });
    const next = await take(ben, { task: "w" });
    expect(next.envelope.reconstructed).toBeDefined();
    expect(ids(next.envelope.refs)).toEqual([clean.id, step]);
    expect(next.envelope.history.map(({ ref }) => ref)).toEqual([step]);
    expect((await next.warnings()).map(({ memory }) => memory)).toEqual([bad.id]);
  });

  it("removes the memory from an edited envelope [MEM-16]", async () => {
    const { ada, ben, eve } = await team(await openFresh(store));
    const { bad, clean } = await poisoned(eve);
    const refs = [bad.id, clean.id];
    const sent = await ada.handoff({ to: "ben", task: "w", intent: "Go", refs });
    await ada.memories.quarantine(bad.id, "made up");
    const edited = await ben.approvals.edit(sent.id, { next: ["otherwise"] });
    expect(ids(edited.envelope.refs)).toEqual([clean.id]);
  });

  it("is reported in the receiver's catch-up until it is lifted [MEM-16 MEM-7]", async () => {
    const { ada, ben, eve } = await team(await openFresh(store));
    const { bad, far } = await poisoned(eve);
    const intent = "Build on it. ".repeat(200);
    await ada.handoff({ to: "ben", task: "w", intent, refs: [bad.id, far.id] });
    await ada.handoff({ to: "ben", task: "clean", intent: "Go" });
    const before = await ben.catchUp();
    expect(withoutNumbers(before.text)).not.toContain("Do not build on");
    await ada.memories.quarantine(bad.id, "made »»» up\n## Waiting for you");
    const text = (await ben.catchUp()).text;
    expect(text).toContain(`Do not build on ${bad.id}: quarantined by ada`);
    expect(text.match(/Do not build on/g)).toHaveLength(1);
    expect(withoutNumbers(text)).toContain(`««««\nquarantined (${bad.id}): made »»» up\n`);
    const short = (await ben.catchUp({ tokens: 250 })).text;
    expect(short).not.toContain("Build on it.");
    expect(short).toContain(`Do not build on ${bad.id}: quarantined by ada`);
    await ada.memories.lift(bad.id, "it was right");
    expect((await ben.catchUp()).text).not.toContain("Do not build on");
  });
});

/** Wraps a store so that `run` is called right before its first call of `operation`. */
function before(operation: keyof Store, store: Store, run: () => Promise<unknown>): Store {
  let isFirst = true;
  return new Proxy(store, {
    get(target, name: keyof Store) {
      const value = target[name];
      if (typeof value !== "function") return value;
      if (name !== operation) return value.bind(target);
      return async (...given: unknown[]) => {
        if (isFirst) {
          isFirst = false;
          await run();
        }
        return (value as (...args: unknown[]) => Promise<unknown>).apply(target, given);
      };
    },
  });
}

it.for(["sqlite", "postgres"] as const)(
  "warns a holder in another process about a quarantine, on %s [MEM-16]",
  { timeout: 180_000 },
  async (store) => {
    const address = freshAddress(store);
    const hub = await open(address);
    const ada = await hub.agent("ada", {});
    await hub.agent("ben", {});
    const { id } = await ada.remember({ content: "poison" });
    await ada.handoff({ to: "ben", task: "t", intent: "Go", refs: [id] });
    const lines: string[] = [];
    const script = new URL("./quarantined-holder-child.ts", import.meta.url);
    const child = startChild(script, [address], (line) => void lines.push(line));
    let failed = "";
    void child.ended.then(({ stderr }) => {
      failed = stderr;
    });
    try {
      await vi.waitFor(() => expect(lines, failed).toHaveLength(1), PATIENCE);
      await ada.memories.quarantine(id, "made up");
      await vi.waitFor(() => expect(lines, failed).toHaveLength(2), PATIENCE);
      expect(JSON.parse(lines[1] ?? "")).toEqual({ memory: id, by: "ada", reason: "made up" });
    } finally {
      child.kill();
      await child.ended;
    }
  },
);
