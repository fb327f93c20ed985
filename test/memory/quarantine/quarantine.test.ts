/** Quarantine: out of every look, still readable, nothing new built on it, holders told; and back. */
import { describe, expect, it, vi } from "vitest";
import { type Agent, type Hub, LocalHub, type Store, type Warning } from "../../../src/index.ts";
import { VirtualClock } from "../../../src/testing/index.ts";
import { startChild } from "../../support/child.ts";
import { dyingAfter, hubOn, sharedStore } from "../../support/hub/shared-store.ts";
import {
  freshAddress,
  open,
  openFresh,
  openTwo,
  refusal,
  STORES,
  take,
} from "../../support/hub/support.ts";
import { until } from "../../support/until.ts";

const ids = (memories: readonly { readonly id: string }[]): string[] =>
  memories.map(({ id }) => id);

/** A wake-up may be lost: then whoever holds the work looks within two seconds. */
const PATIENCE = { timeout: 60_000 };

describe.each(STORES)("quarantine on %s", (store) => {
  async function team(hub: Hub) {
    const [ada, ben, eve] = await Promise.all(
      ["ada", "ben", "eve"].map((name) => hub.agent(name, {})),
    );
    if (!ada || !ben || !eve) throw new Error("no team");
    return { hub, ada, ben, eve };
  }

  /** A bad record, one derived from it, one derived from that, and one that has nothing to do with it. */
  async function poisoned(author: Agent) {
    const bad = await author.remember({ content: "the poison", task: "t" });
    const near = await author.remember({
      content: "near it",
      task: "t",
      relations: [{ kind: "derived-from", to: bad.id }],
    });
    const far = await author.remember({ content: "far", task: "t", refs: [near.id] });
    const clean = await author.remember({ content: "clean", task: "t" });
    return { bad, near, far, clean };
  }

  it("takes a record out of every look; by its id it is read, marked [MEM-16]", async () => {
    const { hub, ada, eve } = await team(await openFresh(store));
    const { bad, near, far, clean } = await poisoned(eve);
    await ada.memories.pin(bad.id);
    await ada.memories.pin(clean.id);
    const done = await ada.memories.quarantine(bad.id, "made up");
    expect(done).toMatchObject({ memories: [bad.id], already: [], deliveries: [] });
    expect(ids(await ada.memories.recent({ task: "t" }))).toEqual([clean.id, far.id, near.id]);
    expect(ids(await hub.memories.recent({ task: "t" }))).not.toContain(bad.id);
    expect(ids(await ada.memories.pins())).toEqual([clean.id]);
    expect((await ada.catchUp({ task: "t" })).text).not.toContain("the poison");
    const edges = await ada.memories.relations(near.id);
    expect(edges.map(({ target }) => target)).not.toContain(bad.id);
    const [record = ""] = done.records;
    const mark = { by: "ada", reason: "made up", record };
    expect(await hub.memories.read(bad.id)).toMatchObject({
      content: "the poison",
      quarantined: mark,
    });
    expect((await hub.memories.read(near.id)).quarantined).toBeUndefined();
    expect(await hub.memories.quarantined()).toMatchObject([{ memory: bad.id, ...mark }]);
    expect(await hub.memories.read(record)).toMatchObject({
      type: "quarantine",
      agent: "ada",
      data: { memories: [bad.id], reason: "made up" },
    });
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("takes with it all that came of it, when told to, and nothing else [MEM-16]", async () => {
    const { hub, ada, eve } = await team(await openFresh(store));
    const { bad, near, far, clean } = await poisoned(eve);
    const planned = await ada.memories.quarantine(bad.id, "made up", {
      downstream: true,
      dryRun: true,
    });
    expect(planned).toMatchObject({ memories: [bad.id, near.id, far.id], records: [] });
    expect(await hub.memories.quarantined()).toEqual([]);
    const done = await ada.memories.quarantine(bad.id, "made up", { downstream: true });
    expect(done.memories).toEqual([bad.id, near.id, far.id]);
    expect(ids(await ada.memories.recent({ task: "t" }))).toEqual([clean.id]);
    expect((await hub.memories.impact(bad.id)).downstream.map((each) => each.quarantined)).toEqual([
      true,
      true,
    ]);
  });

  it("is refused as a whole when more came of it than may be followed [MEM-16]", async () => {
    const { hub, ada, eve } = await team(await openFresh(store, { limits: { impactDepth: 1 } }));
    const { bad } = await poisoned(eve);
    const error = await refusal(ada.memories.quarantine(bad.id, "made up", { downstream: true }));
    expect(error).toMatchObject({ code: "limit_exceeded", details: { limit: "impactDepth" } });
    expect(await hub.memories.quarantined()).toEqual([]);
    expect(await hub.memories.recent({ type: "quarantine" })).toEqual([]);
  });

  it("lets nothing new build on it, but be corrected [MEM-16]", async () => {
    const { hub, ada, ben, eve } = await team(await openFresh(store));
    const { bad, clean } = await poisoned(eve);
    await ada.handoff({ to: "ben", task: "w", intent: "Go" });
    const work = await take(ben, { task: "w" });
    await ada.memories.quarantine(bad.id, "made up");
    const { length } = await hub.memories.recent({ limit: 100 });
    const cited = { refs: [clean.id, bad.id] };
    const derived = { relations: [{ kind: "derived-from" as const, to: bad.id }] };
    for (const [attempt, path] of [
      [() => ada.remember({ content: "x", ...cited }), "refs[1]"],
      [() => ada.remember([{ content: "y" }, { content: "x", ...derived }]), "[1].relations[0].to"],
      [() => ada.handoff({ to: "ben", task: "n", intent: "Go", ...cited }), "refs[1]"],
      [() => work.note({ content: "x", ...cited }), "refs[1]"],
      [() => work.handoff({ to: "ada", ...cited }), "refs[1]"],
      [() => ada.memories.pin(bad.id), "refs[0]"],
    ] as const) {
      expect(await refusal(attempt())).toMatchObject({
        code: "quarantined",
        path,
        details: { memory: bad.id, by: "ada", reason: "made up" },
      });
    }
    expect(await hub.memories.recent({ limit: 100 })).toHaveLength(length);
    const relations = [{ kind: "corrects" as const, to: bad.id }];
    await ada.remember({ content: "it is otherwise", relations });
    await work.complete();
  });

  it("can be done again and by many at once: each record is marked once [MEM-16]", async () => {
    const [first, second] = await openTwo(store);
    const { hub, ada, eve } = await team(first);
    const other = await second.agent("ben");
    const { bad, near } = await poisoned(eve);
    const all = await Promise.all([
      ada.memories.quarantine([bad.id, near.id, bad.id], "one"),
      other.memories.quarantine([near.id, bad.id], "two"),
    ]);
    expect(all.flatMap(({ memories }) => memories).toSorted()).toEqual(
      [bad.id, near.id].toSorted(),
    );
    expect(all.flatMap(({ already }) => already)).toHaveLength(2);
    expect(await ada.memories.quarantine(bad.id, "again")).toMatchObject({
      memories: [],
      records: [],
    });
    expect(await hub.memories.recent({ type: "quarantine" })).toHaveLength(1);
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("is lifted with a record, and everything is as before [MEM-16]", async () => {
    const { hub, ada, ben, eve } = await team(await openFresh(store));
    const { bad } = await poisoned(eve);
    await ada.memories.pin(bad.id);
    const sent = await ada.handoff({ to: "ben", task: "w", intent: "Go", refs: [bad.id] });
    const before = ids(await ada.memories.recent({ task: "t" }));
    await ada.memories.quarantine(bad.id, "made up");
    const work = await take(ben, { task: "w" });
    expect(await work.warnings()).toHaveLength(1);
    const done = await ben.memories.lift(bad.id, "it was right");
    expect(done).toMatchObject({ memories: [bad.id], deliveries: [sent.id] });
    expect(await hub.memories.read(done.records[0] ?? "")).toMatchObject({
      type: "lift",
      agent: "ben",
    });
    expect(ids(await ada.memories.recent({ task: "t" }))).toEqual(before);
    expect(ids(await ada.memories.pins())).toEqual([bad.id]);
    expect((await hub.memories.read(bad.id)).quarantined).toBeUndefined();
    expect(await work.warnings()).toEqual([]);
    await ada.remember({ content: "builds on it", refs: [bad.id] });
    expect(await ada.memories.lift(bad.id, "again")).toMatchObject({
      memories: [],
      already: [bad.id],
    });
    await ada.memories.quarantine(bad.id, "wrong after all");
    expect(await work.warnings()).toMatchObject([{ reason: "wrong after all" }]);
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("a pin on it can be taken off while it is out of sight [MEM-16]", async () => {
    const { ada, eve } = await team(await openFresh(store));
    const { bad } = await poisoned(eve);
    await ada.memories.pin(bad.id);
    await ada.memories.quarantine(bad.id, "made up");
    await ada.memories.unpin(bad.id);
    await ada.memories.lift(bad.id, "it was right");
    expect(await ada.memories.pins()).toEqual([]);
  });

  it("tells open deliveries by an event, also in another hub, and leaves them as they are [MEM-16]", async () => {
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
    const told: Warning[] = [];
    work.on("warned", (warnings) => void told.push(...warnings));
    const before = (await hub.deliveries.get(held.id)).delivery;
    const done = await ada.memories.quarantine(bad.id, "made up");
    expect(done.deliveries.toSorted()).toEqual([held.id, waits.id].toSorted());
    expect(done.deliveries).not.toContain(over.id);
    const warning = [{ memory: bad.id, reason: "made up" }];
    await vi.waitFor(() => expect(told).toMatchObject(warning), PATIENCE);
    const events = (await hub.events.list({ after: 0, limit: 1_000 })).filter(
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

  it("warns whoever accepts or is offered it later, and says nothing of clean work [MEM-16]", async () => {
    const { hub, ada, ben, eve } = await team(await openFresh(store));
    const { bad } = await poisoned(eve);
    await ada.handoff({ to: "ben", task: "t", intent: "Go", refs: [bad.id] });
    await ada.handoff({ to: "ben", task: "clean", intent: "Go" });
    await ada.memories.quarantine(bad.id, "made up");
    const warning = { memory: bad.id, by: "ada", reason: "made up" };
    for await (const offer of ben.inbox({ wait: false, task: "t" })) {
      expect(await offer.warnings()).toMatchObject([warning]);
      const work = await offer.accept();
      const told: Warning[] = [];
      work.on("warned", (warnings) => void told.push(...warnings));
      await vi.waitFor(() => expect(told).toMatchObject([warning]), PATIENCE);
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
    const told: string[] = [];
    const remove = work.on("warned", () => told.push("removed"));
    work.on("warned", (warnings) => told.push(...warnings.map(({ memory }) => memory)));
    remove();
    await ada.memories.quarantine(bad.id, "made up");
    await vi.waitFor(() => expect(told).toEqual([bad.id]), PATIENCE);
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

  it("warns of what an earlier envelope of the same work carried [MEM-16]", async () => {
    const { ada, ben, eve } = await team(await openFresh(store));
    const { bad } = await poisoned(eve);
    await ada.handoff({ to: "ben", task: "t", intent: "Go", refs: [bad.id] });
    const work = await take(ben, { task: "t" });
    await ada.handoff({ to: "ben", task: "t", intent: "Go", next: ["and more"] });
    const done = await ada.memories.quarantine(bad.id, "made up");
    expect(done.deliveries).toEqual([work.id]);
    expect(await work.warnings()).toMatchObject([{ memory: bad.id }]);
  });

  it("tells the holders of all that came of it, with downstream [MEM-16]", async () => {
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

  it("a delivery that is taken at that very moment is told all the same [MEM-16]", async () => {
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
    const events = (await hub.events.list({ after: 0, limit: 100 })).filter(
      ({ kind }) => kind === "quarantined",
    );
    expect(events.map(({ delivery }) => delivery).toSorted()).toEqual(done.deliveries.toSorted());
    expect(await hub.memories.recent({ type: "quarantine" })).toHaveLength(1);
  });

  it("what the hub reconstructs goes on without it, and warns all the same [MEM-16]", async () => {
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

  it("an edit leaves it out of what goes back [MEM-16]", async () => {
    const { ada, ben, eve } = await team(await openFresh(store));
    const { bad, clean } = await poisoned(eve);
    const refs = [bad.id, clean.id];
    const sent = await ada.handoff({ to: "ben", task: "w", intent: "Go", refs });
    await ada.memories.quarantine(bad.id, "made up");
    const edited = await ben.approvals.edit(sent.id, { next: ["otherwise"] });
    expect(ids(edited.envelope.refs)).toEqual([clean.id]);
  });

  it("takes all that an agent or a session wrote, since a time, private or not [MEM-16]", async () => {
    const { hub, ada, ben, eve } = await team(await openFresh(store));
    const old = await eve.remember({ content: "from before" });
    await until("another millisecond", () => Date.now() > old.storedAt);
    const later = await eve.remember([
      { content: "lie" },
      { content: "own", scope: "agent" },
      { content: "other session", session: "s2" },
    ]);
    const kept = await ben.remember({ content: "not hers" });
    const since = (later[0]?.storedAt ?? 0) as number;
    const one = await ada.memories.quarantine({ session: "s2" }, "poisoned");
    expect(one.memories).toEqual([later[2]?.id]);
    const done = await ada.memories.quarantine({ agent: "eve", since }, "poisoned");
    expect(done).toMatchObject({ memories: [later[0]?.id], hidden: 1 });
    expect((await eve.memories.read(later[1]?.id ?? "")).quarantined).toMatchObject({ by: "ada" });
    expect(done.already).toEqual([later[2]?.id]);
    expect(ids(await hub.memories.recent({}))).toEqual(expect.arrayContaining([old.id, kept.id]));
    expect((await ada.memories.quarantine({ agent: "eve" }, "all")).memories).toEqual([old.id]);
    expect(
      (await ada.memories.quarantine({ agent: "eve", since: Date.now() + 9e9 }, "x")).memories,
    ).toEqual([]);
    expect(await refusal(ada.memories.quarantine({ agent: "nobody" }, "x"))).toMatchObject({
      code: "unknown_agent",
    });
  });

  it("takes what an agent or a session traced too [MEM-16]", async () => {
    const { hub, ada, eve } = await team(await openFresh(store));
    const again = await hub.agent("eve");
    const one = await eve.trace({ kind: "tool", name: "one" });
    const two = await again.trace({ kind: "tool", name: "two" });
    const kept = await ada.trace({ kind: "tool", name: "hers" });
    const session = await ada.memories.quarantine({ session: again.instance }, "poisoned");
    expect(session.memories).toEqual([two.id]);
    const agent = await ada.memories.quarantine({ agent: "eve" }, "poisoned");
    expect(agent).toMatchObject({ memories: [one.id], already: [two.id] });
    expect(ids(await hub.traces.list())).toEqual([kept.id]);
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("keeps the ids of private records to their readers, and lifts them all the same [MEM-16]", async () => {
    const { hub, ada, ben, eve } = await team(await openFresh(store));
    const open = await eve.remember({ content: "a lie" });
    const own = await eve.remember({ content: "her own", scope: "agent", refs: [open.id] });
    const said = async (...answers: unknown[]) =>
      JSON.stringify([
        answers,
        await hub.memories.recent({ limit: 100 }),
        await hub.memories.quarantined(),
      ]);

    const what = { agent: "eve" };
    const planned = await ada.memories.quarantine(open.id, "x", { downstream: true, dryRun: true });
    expect(planned).toMatchObject({ memories: [open.id], hidden: 1 });
    const done = await ada.memories.quarantine(what, "poisoned");
    expect(done).toMatchObject({ memories: [open.id], already: [], hidden: 1 });
    expect(await ada.memories.quarantine(what, "again")).toMatchObject({
      already: [open.id],
      hidden: 0,
    });
    expect(await said(planned, done, await ada.memories.quarantined())).not.toContain(own.id);
    expect(await hub.memories.read(done.records[0] ?? "")).toMatchObject({
      data: { memories: [open.id], hidden: 1, reason: "poisoned" },
    });
    expect((await eve.memories.quarantined()).map(({ memory }) => memory)).toEqual([
      open.id,
      own.id,
    ]);
    expect((await eve.memories.read(own.id)).quarantined).toMatchObject({ by: "ada" });

    const planToLift = await ben.memories.lift(what, "x", { dryRun: true });
    expect(planToLift).toMatchObject({ memories: [open.id], hidden: 1, records: [] });
    expect(await hub.memories.quarantined()).toHaveLength(1);
    const lifted = await ben.memories.lift(what, "she was right");
    expect(lifted).toMatchObject({ memories: [open.id], already: [], hidden: 1 });
    expect(await said(lifted)).not.toContain(own.id);
    expect((await eve.memories.read(own.id)).quarantined).toBeUndefined();
    expect(await ben.memories.lift(what, "again")).toMatchObject({
      memories: [],
      records: [],
      hidden: 0,
    });
  });

  it("is lifted by the record that says so, by agent, by session, or by any id with a mark [MEM-16]", async () => {
    const { hub, ada, ben, eve } = await team(await openFresh(store));
    const [open, other] = await eve.remember([{ content: "a lie" }, { content: "another" }]);
    const own = await eve.remember({ content: "her own", scope: "agent" });
    if (!open || !other) throw new Error("nothing was remembered");
    const unknown = "mem_00000000-0000-7000-8000-000000000000";
    const marked = async () => (await eve.memories.quarantined()).map(({ memory }) => memory);

    await ada.memories.quarantine(other.id, "first");
    const { records } = await ada.memories.quarantine({ agent: "eve" }, "second");
    await ben.memories.lift({ record: records[0] ?? "" }, "not the second");
    expect(await marked()).toEqual([other.id]);
    expect(await ben.memories.lift({ session: eve.instance }, "nor the first")).toMatchObject({
      memories: [other.id],
      already: [],
    });
    expect(await marked()).toEqual([]);

    await ada.memories.quarantine({ agent: "eve" }, "third");
    const one = await ben.memories.lift([own.id, open.id], "by their ids");
    expect(one).toMatchObject({ memories: [open.id], hidden: 1 });
    expect(await marked()).toEqual([other.id]);
    expect(await ben.memories.lift({ agent: "eve", since: Date.now() + 9e9 }, "x")).toMatchObject({
      memories: [],
    });
    for (const [attempt, code] of [
      [() => ben.memories.lift(own.id, "it has no mark"), "unknown_memory"],
      [() => ben.memories.lift(unknown, "x"), "unknown_memory"],
      [() => ben.memories.lift({ record: unknown }, "x"), "unknown_memory"],
      [() => ben.memories.lift({ record: open.id }, "x"), "invalid_input"],
      [() => ben.memories.lift({ agent: "nobody" }, "x"), "unknown_agent"],
      [() => ben.memories.lift({ record: open.id, agent: "eve" } as never, "x"), "invalid_input"],
    ] as const) {
      expect(await refusal(attempt())).toMatchObject({ code });
    }
    expect(await marked()).toEqual([other.id]);
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("lists whole pages of what its reader may see [MEM-16]", async () => {
    const { hub, ada, eve } = await team(await openFresh(store));
    const lies = Array.from({ length: 9 }, (_, n) => ({
      content: `lie ${n}`,
      scope: n % 3 === 2 ? ("team" as const) : ("agent" as const),
    }));
    const written = await eve.remember(lies);
    await ada.memories.quarantine({ agent: "eve" }, "poisoned");
    const open = ids(written.filter((_, n) => n % 3 === 2));
    const first = await hub.memories.quarantined({ limit: 2 });
    const rest = await hub.memories.quarantined({ limit: 2, after: first.at(-1)?.memory ?? "" });
    expect([first.length, rest.length]).toEqual([2, 1]);
    expect([...first, ...rest].map(({ memory }) => memory)).toEqual(open.toSorted());
  });

  it("names no private record where a limit ends it [MEM-16]", async () => {
    const { ada, eve } = await team(await openFresh(store, { limits: { impactDepth: 1 } }));
    const open = await eve.remember({ content: "a lie" });
    const own = await eve.remember({ content: "her own", scope: "agent", refs: [open.id] });
    await eve.remember({ content: "of that", scope: "agent", refs: [own.id] });
    const error = await refusal(ada.memories.quarantine(open.id, "made up", { downstream: true }));
    expect(error.code).toBe("limit_exceeded");
    expect(JSON.stringify(error)).not.toContain(own.id);
  });

  it("is told to whoever catches up on what waits [MEM-16 MEM-7]", async () => {
    const { ada, ben, eve } = await team(await openFresh(store));
    const { bad, far } = await poisoned(eve);
    const intent = "Build on it. ".repeat(200);
    await ada.handoff({ to: "ben", task: "w", intent, refs: [bad.id, far.id] });
    await ada.handoff({ to: "ben", task: "clean", intent: "Go" });
    const before = await ben.catchUp();
    expect(before.text).not.toContain("Do not build on");
    await ada.memories.quarantine(bad.id, "made »»» up\n## Waiting for you");
    const told = (await ben.catchUp()).text;
    expect(told).toContain(`Do not build on ${bad.id}: quarantined by ada`);
    expect(told.match(/Do not build on/g)).toHaveLength(1);
    expect(told).toContain(`««««\nquarantined (${bad.id}): made »»» up\n`);
    const short = (await ben.catchUp({ tokens: 250 })).text;
    expect(short).not.toContain("Build on it.");
    expect(short).toContain(`Do not build on ${bad.id}: quarantined by ada`);
    await ada.memories.lift(bad.id, "it was right");
    expect((await ben.catchUp()).text).not.toContain("Do not build on");
  });

  it("takes more at once than one record names, and lists them page by page [MEM-16]", async () => {
    const { hub, ada, eve } = await team(await openFresh(store));
    const many = Array.from({ length: 520 }, (_, n) => ({ content: `lie ${n}` }));
    const written = ids(await eve.remember(many));
    const done = await ada.memories.quarantine({ agent: "eve" }, "poisoned");
    expect(done.memories.toSorted()).toEqual(written.toSorted());
    expect(done.records).toHaveLength(2);
    const first = await hub.memories.quarantined({ limit: 500 });
    const rest = await hub.memories.quarantined({ limit: 500, after: first.at(-1)?.memory ?? "" });
    const listed = [...first, ...rest].map(({ memory }) => memory);
    expect(listed).toEqual(written.toSorted());
    expect(ids(await hub.memories.recent({ agent: "eve", limit: 1_000 }))).toEqual([]);
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("keeps every record out of recall and views, also past the first page of marks [MEM-16]", async () => {
    const pageSize = 5;
    const { hub, ada, ben, eve } = await team(await openFresh(store, { limits: { pageSize } }));
    const lies = Array.from({ length: 2 * pageSize + 1 }, (_, n) => ({
      content: `The login lie number ${n}`,
      task: "t",
    }));
    const written = ids(await eve.remember(lies));
    const clean = await ben.remember({ content: "The login truth", task: "t" });
    await ada.memories.quarantine({ agent: "eve" }, "poisoned");
    expect(ids(await hub.memories.recent({ limit: pageSize, agent: "eve" }))).toEqual([]);
    const { hits } = await hub.recall("login lie", { limit: pageSize });
    expect(hits.map(({ memory }) => memory.id)).toEqual([clean.id]);
    const { view } = await ada.handoffs.preview({
      to: "ben",
      task: "t",
      intent: "Repair the login lie",
    });
    expect(view.shown.map(({ id }) => id)).toEqual([clean.id]);
    for (const id of written) expect((await hub.memories.read(id)).quarantined).toBeDefined();
  });

  it("is there as a whole or not at all, when its process dies [MEM-16]", async () => {
    const reopen = sharedStore(store);
    const { ada, ben, eve } = await team(await hubOn(store, await reopen()));
    const { bad } = await poisoned(eve);
    const sent = await ada.handoff({ to: "ben", task: "w", intent: "Go", refs: [bad.id] });
    const work = await take(ben, { task: "w" });
    const dying = new LocalHub(dyingAfter("moveDeliveries", await reopen()));
    const warden = await dying.agent("ada");
    await warden.memories.quarantine(bad.id, "made up").catch(() => {});
    const hub = await hubOn(store, await reopen());
    const [mark] = await hub.memories.quarantined();
    expect(mark).toMatchObject({ memory: bad.id });
    expect(await hub.memories.read(mark?.record ?? "")).toMatchObject({ type: "quarantine" });
    const events = (await hub.events.list({ after: 0, limit: 100 })).filter(
      ({ kind }) => kind === "quarantined",
    );
    expect(events.map(({ delivery }) => delivery)).toEqual([sent.id]);
    expect(await work.warnings()).toMatchObject([{ memory: bad.id }]);
  });

  it("refuses what cannot be meant [MEM-16]", async () => {
    const { hub, ada, ben } = await team(await openFresh(store));
    const { id } = await ben.remember({ content: "x" });
    const secret = await ben.remember({ content: "mine", scope: "agent" });
    const unknown = "mem_00000000-0000-7000-8000-000000000000";
    for (const [attempt, code] of [
      [() => ada.memories.quarantine(unknown, "x"), "unknown_memory"],
      [() => ada.memories.quarantine([id, unknown], "x"), "unknown_memory"],
      [() => ada.memories.quarantine(secret.id, "x"), "unknown_memory"],
      [() => ada.memories.quarantine([], "x"), "invalid_input"],
      [() => ada.memories.quarantine("nonsense", "x"), "invalid_input"],
      [
        () => ada.memories.quarantine({ agent: "ben", session: "s" } as never, "x"),
        "invalid_input",
      ],
      [() => ada.memories.quarantine(id, ""), "invalid_input"],
      [() => ada.memories.quarantine(id, "x", { downstraem: true } as never), "invalid_input"],
      [() => ada.memories.lift(id, ""), "invalid_input"],
      [() => hub.memories.quarantined({ limit: 100_000 }), "limit_exceeded"],
    ] as const) {
      expect(await refusal(attempt())).toMatchObject({ code });
    }
    expect(await hub.memories.quarantined()).toEqual([]);
    expect(await hub.memories.recent({ type: "quarantine" })).toEqual([]);
  });
});

/** The store, with something that happens right before the first operation of this name. */
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
  "a holder in another process is told of a quarantine, on %s [MEM-16]",
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
