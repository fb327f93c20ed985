/** Tests quarantine and its lifting: what is hidden, what stays readable, what is refused. */
import { describe, expect, it } from "vitest";
import { LocalHub } from "../../../src/index.ts";
import { dyingAfter, hubOn, sharedStore } from "../../support/hub/shared-store.ts";
import { openFresh, openTwo, refusal, STORES, take } from "../../support/hub/support.ts";
import { until } from "../../support/until.ts";
import { ids, poisoned, team } from "./poisoned-records.ts";

describe.each(STORES)("quarantine on %s", (store) => {
  it("hides a record from every query; reading it by id shows the mark [MEM-16]", async () => {
    const { hub, ada, eve } = await team(await openFresh(store));
    const { bad, near, far, clean } = await poisoned(eve);
    await ada.memories.pin(bad.id);
    await ada.memories.pin(clean.id);
    const done = await ada.memories.quarantine(bad.id, "made up");
    expect(done).toMatchObject({ memories: [bad.id], already: [], deliveries: [] });
    expect(ids((await ada.memories.recent({ task: "t" })).items)).toEqual([
      clean.id,
      far.id,
      near.id,
    ]);
    expect(ids((await hub.memories.recent({ task: "t" })).items)).not.toContain(bad.id);
    expect(ids(await ada.memories.pins())).toEqual([clean.id]);
    expect((await ada.catchUp({ task: "t" })).text).not.toContain("the poison");
    const edges = (await ada.memories.relations(near.id)).items;
    expect(edges.map(({ target }) => target)).not.toContain(bad.id);
    const [record = ""] = done.records;
    const mark = { by: "ada", reason: "made up", record };
    expect(await hub.memories.read(bad.id)).toMatchObject({
      content: "the poison",
      quarantined: mark,
    });
    expect((await hub.memories.read(near.id)).quarantined).toBeUndefined();
    expect((await hub.memories.quarantined()).items).toMatchObject([{ memory: bad.id, ...mark }]);
    expect(await hub.memories.read(record)).toMatchObject({
      type: "quarantine",
      agent: "ada",
      data: { memories: [bad.id], reason: "made up" },
    });
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("hides derived records as well with the downstream option [MEM-16]", async () => {
    const { hub, ada, eve } = await team(await openFresh(store));
    const { bad, near, far, clean } = await poisoned(eve);
    const planned = await ada.memories.quarantine(bad.id, "made up", {
      downstream: true,
      dryRun: true,
    });
    expect(planned).toMatchObject({ memories: [bad.id, near.id, far.id], records: [] });
    expect((await hub.memories.quarantined()).items).toEqual([]);
    const done = await ada.memories.quarantine(bad.id, "made up", { downstream: true });
    expect(done.memories).toEqual([bad.id, near.id, far.id]);
    expect(ids((await ada.memories.recent({ task: "t" })).items)).toEqual([clean.id]);
    expect((await hub.memories.impact(bad.id)).downstream.map((each) => each.quarantined)).toEqual([
      true,
      true,
    ]);
  });

  it("is refused as a whole when the derived records exceed a limit [MEM-16]", async () => {
    const { hub, ada, eve } = await team(await openFresh(store, { limits: { impactDepth: 1 } }));
    const { bad } = await poisoned(eve);
    const error = await refusal(ada.memories.quarantine(bad.id, "made up", { downstream: true }));
    expect(error).toMatchObject({ code: "limit_exceeded", details: { limit: "impactDepth" } });
    expect((await hub.memories.quarantined()).items).toEqual([]);
    expect((await hub.memories.recent({ type: "quarantine" })).items).toEqual([]);
  });

  it("refuses new references to the record, except corrections [MEM-16]", async () => {
    const { hub, ada, ben, eve } = await team(await openFresh(store));
    const { bad, clean } = await poisoned(eve);
    await ada.handoff({ to: "ben", task: "w", intent: "Go" });
    const work = await take(ben, { task: "w" });
    await ada.memories.quarantine(bad.id, "made up");
    const { length } = (await hub.memories.recent({ limit: 100 })).items;
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
    expect((await hub.memories.recent({ limit: 100 })).items).toHaveLength(length);
    const relations = [{ kind: "corrects" as const, to: bad.id }];
    await ada.remember({ content: "it is otherwise", relations });
    await work.complete();
  });

  it("marks each record once under repeated and concurrent calls [MEM-16]", async () => {
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
    expect((await hub.memories.recent({ type: "quarantine" })).items).toHaveLength(1);
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("restores the record everywhere when lifted, and records who lifted it [MEM-16]", async () => {
    const { hub, ada, ben, eve } = await team(await openFresh(store));
    const { bad } = await poisoned(eve);
    await ada.memories.pin(bad.id);
    const sent = await ada.handoff({ to: "ben", task: "w", intent: "Go", refs: [bad.id] });
    const before = ids((await ada.memories.recent({ task: "t" })).items);
    await ada.memories.quarantine(bad.id, "made up");
    const work = await take(ben, { task: "w" });
    expect(await work.warnings()).toHaveLength(1);
    const done = await ben.memories.lift(bad.id, "it was right");
    expect(done).toMatchObject({ memories: [bad.id], deliveries: [sent.id] });
    expect(await hub.memories.read(done.records[0] ?? "")).toMatchObject({
      type: "lift",
      agent: "ben",
    });
    expect(ids((await ada.memories.recent({ task: "t" })).items)).toEqual(before);
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

  it("allows unpinning while the record is hidden [MEM-16]", async () => {
    const { ada, eve } = await team(await openFresh(store));
    const { bad } = await poisoned(eve);
    await ada.memories.pin(bad.id);
    await ada.memories.quarantine(bad.id, "made up");
    await ada.memories.unpin(bad.id);
    await ada.memories.lift(bad.id, "it was right");
    expect(await ada.memories.pins()).toEqual([]);
  });

  it("hides everything an agent or session wrote since a time, even private [MEM-16]", async () => {
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
    expect(ids((await hub.memories.recent({})).items)).toEqual(
      expect.arrayContaining([old.id, kept.id]),
    );
    expect((await ada.memories.quarantine({ agent: "eve" }, "all")).memories).toEqual([old.id]);
    expect(
      (await ada.memories.quarantine({ agent: "eve", since: Date.now() + 9e9 }, "x")).memories,
    ).toEqual([]);
    expect(await refusal(ada.memories.quarantine({ agent: "nobody" }, "x"))).toMatchObject({
      code: "unknown_agent",
    });
  });

  it("hides the traces of an agent or a session [MEM-16]", async () => {
    const { hub, ada, eve } = await team(await openFresh(store));
    const again = await hub.agent("eve");
    const one = await eve.trace({ kind: "tool", name: "one" });
    const two = await again.trace({ kind: "tool", name: "two" });
    const kept = await ada.trace({ kind: "tool", name: "hers" });
    const session = await ada.memories.quarantine({ session: again.instance }, "poisoned");
    expect(session.memories).toEqual([two.id]);
    const agent = await ada.memories.quarantine({ agent: "eve" }, "poisoned");
    expect(agent).toMatchObject({ memories: [one.id], already: [two.id] });
    expect(ids((await hub.traces.list()).items)).toEqual([kept.id]);
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("reports private records only to their readers, and lifts them as well [MEM-16]", async () => {
    const { hub, ada, ben, eve } = await team(await openFresh(store));
    const open = await eve.remember({ content: "a lie" });
    const own = await eve.remember({ content: "her own", scope: "agent", refs: [open.id] });
    const said = async (...answers: unknown[]) =>
      JSON.stringify([
        answers,
        (await hub.memories.recent({ limit: 100 })).items,
        (await hub.memories.quarantined()).items,
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
    expect(await said(planned, done, (await ada.memories.quarantined()).items)).not.toContain(
      own.id,
    );
    expect(await hub.memories.read(done.records[0] ?? "")).toMatchObject({
      data: { memories: [open.id], hidden: 1, reason: "poisoned" },
    });
    expect((await eve.memories.quarantined()).items.map(({ memory }) => memory)).toEqual([
      open.id,
      own.id,
    ]);
    expect((await eve.memories.read(own.id)).quarantined).toMatchObject({ by: "ada" });

    const planToLift = await ben.memories.lift(what, "x", { dryRun: true });
    expect(planToLift).toMatchObject({ memories: [open.id], hidden: 1, records: [] });
    expect((await hub.memories.quarantined()).items).toHaveLength(1);
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

  it("is lifted by quarantine record, agent, session or marked id [MEM-16]", async () => {
    const { hub, ada, ben, eve } = await team(await openFresh(store));
    const [open, other] = await eve.remember([{ content: "a lie" }, { content: "another" }]);
    const own = await eve.remember({ content: "her own", scope: "agent" });
    if (!open || !other) throw new Error("nothing was remembered");
    const unknown = "mem_00000000-0000-7000-8000-000000000000";
    const marked = async () => (await eve.memories.quarantined()).items.map(({ memory }) => memory);

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

  it("lists full pages of what the reader may see [MEM-16]", async () => {
    const { hub, ada, eve } = await team(await openFresh(store));
    const lies = Array.from({ length: 9 }, (_, n) => ({
      content: `lie ${n}`,
      scope: n % 3 === 2 ? ("team" as const) : ("agent" as const),
    }));
    const written = await eve.remember(lies);
    await ada.memories.quarantine({ agent: "eve" }, "poisoned");
    const open = ids(written.filter((_, n) => n % 3 === 2));
    const first = (await hub.memories.quarantined({ limit: 2 })).items;
    const rest = (await hub.memories.quarantined({ limit: 2, after: first.at(-1)?.memory ?? "" }))
      .items;
    expect([first.length, rest.length]).toEqual([2, 1]);
    expect([...first, ...rest].map(({ memory }) => memory)).toEqual(open.toSorted());
  });

  it("does not name a private record when a limit is exceeded [MEM-16]", async () => {
    const { ada, eve } = await team(await openFresh(store, { limits: { impactDepth: 1 } }));
    const open = await eve.remember({ content: "a lie" });
    const own = await eve.remember({ content: "her own", scope: "agent", refs: [open.id] });
    await eve.remember({ content: "of that", scope: "agent", refs: [own.id] });
    const error = await refusal(ada.memories.quarantine(open.id, "made up", { downstream: true }));
    expect(error.code).toBe("limit_exceeded");
    expect(JSON.stringify(error)).not.toContain(own.id);
  });

  it("splits a large quarantine into several records, listed in pages [MEM-16]", async () => {
    const { hub, ada, eve } = await team(await openFresh(store));
    const many = Array.from({ length: 520 }, (_, n) => ({ content: `lie ${n}` }));
    const written = ids(await eve.remember(many));
    const done = await ada.memories.quarantine({ agent: "eve" }, "poisoned");
    expect(done.memories.toSorted()).toEqual(written.toSorted());
    expect(done.records).toHaveLength(2);
    const first = (await hub.memories.quarantined({ limit: 500 })).items;
    const rest = (await hub.memories.quarantined({ limit: 500, after: first.at(-1)?.memory ?? "" }))
      .items;
    const listed = [...first, ...rest].map(({ memory }) => memory);
    expect(listed).toEqual(written.toSorted());
    expect(ids((await hub.memories.recent({ agent: "eve", limit: 1_000 })).items)).toEqual([]);
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("hides records from recall and views beyond the first page of marks [MEM-16]", async () => {
    const pageSize = 5;
    const { hub, ada, ben, eve } = await team(await openFresh(store, { limits: { pageSize } }));
    const lies = Array.from({ length: 2 * pageSize + 1 }, (_, n) => ({
      content: `The login lie number ${n}`,
      task: "t",
    }));
    const written = ids(await eve.remember(lies));
    const clean = await ben.remember({ content: "The login truth", task: "t" });
    await ada.memories.quarantine({ agent: "eve" }, "poisoned");
    expect(ids((await hub.memories.recent({ limit: pageSize, agent: "eve" })).items)).toEqual([]);
    const { items: hits } = await hub.recall("login lie", { limit: pageSize });
    expect(hits.map(({ memory }) => memory.id)).toEqual([clean.id]);
    const { view } = await ada.handoffs.preview({
      to: "ben",
      task: "t",
      intent: "Repair the login lie",
    });
    expect(view.shown.map(({ id }) => id)).toEqual([clean.id]);
    for (const id of written) expect((await hub.memories.read(id)).quarantined).toBeDefined();
  });

  it("is complete when the process dies after writing it [MEM-16]", async () => {
    const reopen = sharedStore(store);
    const { ada, ben, eve } = await team(await hubOn(store, await reopen()));
    const { bad } = await poisoned(eve);
    const sent = await ada.handoff({ to: "ben", task: "w", intent: "Go", refs: [bad.id] });
    const work = await take(ben, { task: "w" });
    const dying = new LocalHub(dyingAfter("moveDeliveries", await reopen()));
    const warden = await dying.agent("ada");
    await warden.memories.quarantine(bad.id, "made up").catch(() => {});
    const hub = await hubOn(store, await reopen());
    const [mark] = (await hub.memories.quarantined()).items;
    expect(mark).toMatchObject({ memory: bad.id });
    expect(await hub.memories.read(mark?.record ?? "")).toMatchObject({ type: "quarantine" });
    const events = (await hub.events.list({ after: 0, limit: 100 })).items.filter(
      ({ kind }) => kind === "quarantined",
    );
    expect(events.map(({ delivery }) => delivery)).toEqual([sent.id]);
    expect(await work.warnings()).toMatchObject([{ memory: bad.id }]);
  });

  it("refuses unknown memories, invalid targets and empty reasons [MEM-16]", async () => {
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
    expect((await hub.memories.quarantined()).items).toEqual([]);
    expect((await hub.memories.recent({ type: "quarantine" })).items).toEqual([]);
  });
});
