/**
 * References of a received handoff: their freshness, gaps for records that are missing, and reading
 * them at each level of detail.
 */

import { describe, expect, it } from "vitest";
import {
  type Agent,
  BatonError,
  type Hub,
  LocalHub,
  type Store,
  type Work,
} from "../../../src/index.ts";
import { hubOn, sharedStore } from "../../support/hub/shared-store.ts";
import { openFresh, openTwo, refusal, STORES, take } from "../../support/hub/support.ts";
import { present } from "../../support/present.ts";
import { idsOf, team } from "./receiving-team.ts";

/** Returns the id of a record that is not written yet. */
const unwritten = (n: number): string =>
  `mem_00000000-0000-7000-8000-${String(n).padStart(12, "0")}`;

/** Wraps a store and collects the name of each call. */
function counting(store: Store): { store: Store; calls: string[] } {
  const calls: string[] = [];
  const counted = new Proxy(store, {
    get(target, name: keyof Store) {
      const value = target[name];
      if (typeof value !== "function") return value;
      return (...given: unknown[]) => {
        calls.push(name);
        return (value as (...args: unknown[]) => unknown).apply(target, given);
      };
    },
  });
  return { store: counted, calls };
}

describe.each(STORES)("freshness on %s", (store) => {
  it("is reported for each reference: fresh, stale or gone [CTX-10]", async () => {
    const { hub, ada, ben } = await team(await openFresh(store));
    const facts = await ada.remember(
      ["kept", "replaced", "redacted", "quarantined", "both"].map((content) => ({ content })),
    );
    const [kept, replaced, redacted, quarantined, both] = idsOf(facts) as [
      string,
      string,
      string,
      string,
      string,
    ];
    const missing = unwritten(1);
    await ada.handoff({
      to: "ben",
      task: "t",
      intent: "i",
      refs: [kept, replaced, redacted, quarantined, both, { id: missing, optional: true }],
    });
    const supersedes = (to: string) => [{ kind: "supersedes" as const, to }];
    const second = await ada.remember({ content: "2nd", relations: supersedes(replaced) });
    const third = await ada.remember({
      content: "third",
      relations: [{ kind: "corrects", to: second.id }],
    });
    await ada.memories.redact({ ids: [redacted] }, "secret");
    await ada.memories.quarantine(quarantined, "wrong");
    const instead = await ada.remember({ content: "right", relations: supersedes(both) });
    await ada.memories.quarantine(both, "wrong");
    const work = await take(ben);
    const ended = await ada.remember({ content: "ended" });
    const end = await ada.remember({ content: "the end", relations: supersedes(ended.id) });
    await ada.handoff({ to: "ben", task: "end", intent: "i", refs: [ended.id] });
    await ada.memories.redact({ ids: [end.id] }, "secret");
    expect((await (await take(ben, { task: "end" })).freshness()).references).toEqual([
      {
        id: ended.id,
        freshness: "gone",
        reason: "superseded, and the record that replaced it is gone",
      },
    ]);
    expect((await work.freshness()).references).toEqual([
      { id: kept, freshness: "fresh" },
      { id: replaced, freshness: "stale", now: third.id },
      { id: redacted, freshness: "gone", reason: "redacted by ada" },
      { id: quarantined, freshness: "gone", reason: "quarantined by ada" },
      { id: both, freshness: "stale", now: instead.id },
      { id: missing, freshness: "gone", reason: "missing: no record has this id" },
    ]);
    const view = await work.view();
    expect(view.completeness).toBe(0.5);
    expect(view.gaps.map(({ id }) => id)).toEqual([redacted, quarantined, missing]);
    expect(view.shown).toContainEqual(
      expect.objectContaining({ id: third.id, freshness: "stale", insteadOf: replaced }),
    );
    expect(view.text).not.toContain("2nd");
    // Quarantining the correction makes the corrected record current again.
    await ada.memories.quarantine(third.id, "wrong too");
    const { references } = await work.freshness();
    expect(references[1]).toEqual({ id: replaced, freshness: "stale", now: second.id });
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("is determined on the branch of the work [CTX-10]", async () => {
    const { ada, ben } = await team(await openFresh(store));
    const fact = await ada.remember({ content: "as it was" });
    const apart = await ada.branches.create("run-1");
    const [there] = [
      await apart.remember({
        content: "as it is there",
        relations: [{ kind: "supersedes", to: fact.id }],
      }),
    ];
    await ada.handoff({ to: "ben", task: "trunk", intent: "i", refs: [fact.id] });
    await ada.handoff({ to: "ben", task: "apart", intent: "i", refs: [fact.id], branch: "run-1" });
    const trunk = await take(ben, { task: "trunk" });
    const branch = await take(ben, { task: "apart" });
    expect((await trunk.freshness()).references).toEqual([{ id: fact.id, freshness: "fresh" }]);
    expect((await branch.freshness()).references).toEqual([
      { id: fact.id, freshness: "stale", now: there.id },
    ]);
    expect((await branch.read(fact.id)).id).toBe(there.id);
    expect((await trunk.read(fact.id)).id).toBe(fact.id);
  });

  it("is gone when the stored record is not the one that was sent [CTX-10]", async () => {
    const shared = await sharedStore(store)();
    let forged = false;
    const behind = new Proxy(shared, {
      get(target, name: keyof Store) {
        const value = target[name];
        if (typeof value !== "function") return value;
        if (name !== "readMemories") return value.bind(target);
        return async (...given: Parameters<Store["readMemories"]>) => {
          const rows = await target.readMemories(...given);
          const forge = (text: string) => (forged ? text.replace("a fact", "a lie") : text);
          return rows.map((row) => ({ ...row, text: forge(row.text) }));
        };
      },
    });
    const { ada, ben } = await team(await hubOn(store, behind));
    const fact = await ada.remember({ content: "a fact" });
    await ada.handoff({ to: "ben", task: "t", intent: "i", refs: [fact.id] });
    const work = await take(ben);
    forged = true;
    expect((await work.freshness()).references).toEqual([
      {
        id: fact.id,
        freshness: "gone",
        reason: "the record with this id is not the one that was sent",
      },
    ]);
    const view = await work.view();
    expect(view.gaps.map(({ id }) => id)).toEqual([fact.id]);
    expect(view.text).not.toContain("a lie");
  });

  it("takes fewer than 15 store calls for 100 references [CTX-10]", async () => {
    const { store: counted, calls } = counting(await sharedStore(store)());
    const { ada, ben } = await team(await hubOn(store, counted));
    const old = await ada.remember(Array.from({ length: 100 }, (_, i) => ({ content: `${i}` })));
    await ada.handoff({ to: "ben", task: "t", intent: "i", refs: idsOf(old) });
    await ada.remember(
      old.map(({ id }) => ({
        content: "new",
        relations: [{ kind: "supersedes" as const, to: id }],
      })),
    );
    const work = await take(ben);
    calls.length = 0;
    const { references } = await work.freshness();
    expect(references.filter(({ freshness }) => freshness === "stale")).toHaveLength(100);
    expect(calls.length).toBeLessThan(15);
  });

  it("is retried when the store is briefly unavailable [CTX-9]", async () => {
    const shared = await sharedStore(store)();
    let outages = 0;
    const shaky = new Proxy(shared, {
      get(target, name: keyof Store) {
        const value = target[name];
        if (typeof value !== "function") return value;
        return (...given: unknown[]) => {
          if (name === "findInbound" && outages-- > 0) {
            const message = "The store is away.";
            return Promise.reject(new BatonError("store_unavailable", { message, hint: "Wait." }));
          }
          return (value as (...args: unknown[]) => unknown).apply(target, given);
        };
      },
    });
    const { ada, ben } = await team(await hubOn(store, shaky));
    const fact = await ada.remember({ content: "a fact" });
    await ada.handoff({ to: "ben", task: "t", intent: "i", refs: [fact.id] });
    const work = await take(ben);
    outages = 2;
    expect((await work.freshness()).references).toEqual([{ id: fact.id, freshness: "fresh" }]);
    outages = 10;
    expect((await refusal(work.freshness())).code).toBe("store_unavailable");
  });
});

describe.each(STORES)("gaps on %s", (store) => {
  const optional = (id: string) => ({ id, optional: true as const });

  it("replace missing optional references; missing required ones are refused [CTX-9]", async () => {
    const { ada, eve, ben } = await team(await openFresh(store));
    const [there, bad, gone] = await ada.remember(
      ["there", "bad", "gone"].map((content) => ({ content })),
    );
    const own = await ada.remember({ content: "for me", scope: "agent" });
    if (!there || !bad || !gone) throw new Error("not remembered");
    await ada.memories.quarantine(bad.id, "wrong");
    await ada.memories.redact({ ids: [gone.id] }, "secret");
    const draft = { to: "ben", task: "t", intent: "i" };
    expect((await refusal(ada.handoff({ ...draft, refs: [unwritten(1)] }))).code).toBe(
      "dangling_reference",
    );
    expect((await refusal(ada.handoff({ ...draft, refs: [bad.id] }))).code).toBe("quarantined");
    expect((await refusal(ada.handoff({ ...draft, refs: [optional(own.id)] }))).code).toBe(
      "invisible_reference",
    );
    expect(
      (await refusal(eve.handoff({ ...draft, refs: [unwritten(1), optional(own.id)] }))).code,
    ).toBe("dangling_reference");
    const { envelope } = await ada.handoff({
      ...draft,
      refs: [optional(there.id), optional(bad.id), optional(gone.id), optional(unwritten(1))],
    });
    expect(envelope.refs).toEqual([{ id: there.id, digest: there.digest }]);
    expect(envelope.gaps).toEqual([
      { id: bad.id, reason: "quarantined by ada" },
      { id: gone.id, reason: "redacted by ada" },
      { id: unwritten(1), reason: "missing: no record has this id" },
    ]);
    const work = await take(ben);
    expect(work.primer).toContain("3 records it refers to could not be found");
    expect((await work.view()).text).toContain(`GONE ${unwritten(1)}`);
  });

  it("are looked up again for a new view, which shows records found since [CTX-9]", async () => {
    const { ada, ben } = await team(await openFresh(store));
    await ada.handoff({
      to: "ben",
      task: "t",
      intent: "i",
      refs: [optional(unwritten(1)), optional(unwritten(2))],
    });
    const work = await take(ben);
    const before = await work.view();
    expect(before).toMatchObject({
      completeness: 0,
      gaps: [{ id: unwritten(1) }, { id: unwritten(2) }],
    });
    await ada.remember({ id: unwritten(1), content: "Here it is at last." });
    const after = await work.view({ anew: true });
    expect(after).toMatchObject({ completeness: 0.5, gaps: [{ id: unwritten(2) }] });
    expect(after.text).toContain("Here it is at last.");
    expect(idsOf(after.shown)).toContain(unwritten(1));
  });

  it("stay in later handoffs and results until the records are found [CTX-9]", async () => {
    const { hub, ada, ben, eve } = await team(await openFresh(store));
    const refs = [optional(unwritten(1)), optional(unwritten(2)), optional(unwritten(3))];
    await ada.handoff({ to: "ben", task: "t", intent: "i", refs });
    const first = await take(ben);
    await ada.remember({ id: unwritten(1), content: "found" });
    const passed = await first.handoff({ to: "eve" });
    expect(idsOf(passed.envelope.gaps ?? [])).toEqual([unwritten(2), unwritten(3)]);
    const second = await take(eve);
    await ada.remember({ id: unwritten(2), content: "found" });
    await second.complete({ summary: "done without it" });
    expect(await passed.completed()).toMatchObject({
      kind: "completed",
      result: {
        summary: "done without it",
        gaps: [{ id: unwritten(3), reason: "missing: no record has this id" }],
      },
    });
    const { delivery } = await hub.deliveries.get(passed.id);
    expect((await hub.memories.read(present(delivery.settledBy))).data).toEqual({
      gaps: [{ id: unwritten(3), reason: "missing: no record has this id" }],
    });
  });

  it("are added to the result when a view found them, in any process [CTX-9]", async () => {
    const [hub, other] = await openTwo(store);
    const { ada, ben } = await team(hub);
    const fact = await ada.remember({ content: "wrong" });
    const handed = async (task: string): Promise<Work> => {
      await ada.handoff({ to: "ben", task, intent: "i", refs: [fact.id] });
      return take(ben, { task });
    };
    const [seen, unseen, elsewhere] = [await handed("a"), await handed("b"), await handed("c")];
    await ada.memories.quarantine(fact.id, "made up");
    await seen.view();
    await elsewhere.view();
    const resumed = await (await other.agent("ben")).resume(elsewhere.handle);
    await Promise.all([seen.complete(), unseen.complete(), resumed.complete()]);
    const gaps = await Promise.all(
      [seen, unseen, resumed].map(async ({ id }) => (await hub.deliveries.get(id)).result?.gaps),
    );
    const gap = [{ id: fact.id, reason: "quarantined by ada" }];
    expect(gaps).toEqual([gap, undefined, gap]);
  });

  it("cost no store call when there are none [CTX-9]", async () => {
    const { store: counted, calls } = counting(await sharedStore(store)());
    const { ada, ben } = await team(new LocalHub(counted));
    const fact = await ada.remember({ content: "a fact" });
    await ada.handoff({ to: "ben", task: "t", intent: "i", refs: [fact.id] });
    const work = await take(ben);
    calls.length = 0;
    await work.complete();
    expect(calls.filter((name) => name !== "settleDelivery")).toEqual([]);
  });
});

describe.each(STORES)("reading references on %s", (store) => {
  const long = Array.from(
    { length: 80 },
    (_, i) => `Sentence ${i} of the report says that the login failed in a way of its own.`,
  ).join(" ");

  async function reading(hub: Hub, ada: Agent, ben: Agent) {
    const [withSummary, withoutSummary] = await ada.remember([
      { content: long },
      { content: `${long} Twice.` },
    ]);
    if (!withSummary || !withoutSummary) throw new Error("not remembered");
    await ada.handoff({
      to: "ben",
      task: "t",
      intent: "i",
      refs: [{ id: withSummary.id, summary: "It is the cookie." }, withoutSummary.id],
    });
    return { hub, withSummary, withoutSummary, work: await take(ben) };
  }

  it("returns more text at each level from reference to full [CTX-6]", async () => {
    const { hub, ada, ben } = await team(await openFresh(store));
    const { withSummary, withoutSummary, work } = await reading(hub, ada, ben);
    expect(await work.read(withSummary.id)).toEqual(withSummary);
    expect(await work.read(withSummary.id, "summary")).toEqual({
      ...withSummary,
      level: "summary",
      text: "It is the cookie.",
      textBy: "sender",
    });
    const levels = ["reference", "summary", "detail", "full"] as const;
    const texts = await Promise.all(levels.map((level) => work.read(withoutSummary.id, level)));
    expect(texts.map(({ textBy }) => textBy)).toEqual(["extract", "extract", "extract", "record"]);
    const lengths = texts.map(({ text = "" }) => text.length);
    expect(lengths.toSorted((a, b) => a - b)).toEqual(lengths);
    expect(new Set(lengths).size).toBe(4);
    expect(texts[3]?.text).toBe(withoutSummary.content);
    expect((await ada.memories.read(withoutSummary.id, { level: "summary" })).text).toBe(
      texts[1]?.text,
    );
    expect(
      (await hub.memories.read(withSummary.id, { level: "detail" })).text?.length,
    ).toBeLessThan(long.length);
    expect((await refusal(work.read(withSummary.id, "all" as "full"))).code).toBe("invalid_input");
  });

  it("prefers the sender's summary to that of the hub's summarizer [CTX-6]", async () => {
    const asked: string[] = [];
    const summarizer = {
      model: "test",
      summarize: async (text: string) => {
        asked.push(text);
        return "A model says: cookie.";
      },
    };
    const { hub, ada, ben } = await team(await openFresh(store, { summarizer }));
    const { withSummary, withoutSummary, work } = await reading(hub, ada, ben);
    expect((await work.read(withSummary.id, "summary")).textBy).toBe("sender");
    expect(await work.read(withoutSummary.id, "summary")).toMatchObject({
      text: "A model says: cookie.",
      textBy: "model",
    });
    expect(asked).toEqual([withoutSummary.content]);
  });

  it("returns the record that replaced the reference, and names both [CTX-8]", async () => {
    const { hub, ada, ben } = await team(await openFresh(store));
    const { withSummary, work } = await reading(hub, ada, ben);
    const second = await ada.remember({
      content: "It is the header.",
      relations: [{ kind: "supersedes", to: withSummary.id }],
    });
    const third = await ada.remember({
      content: "It is the proxy.",
      relations: [{ kind: "corrects", to: second.id }],
    });
    expect(await work.read(withSummary.id)).toEqual({ ...third, insteadOf: withSummary.id });
    // The sender's summary is about the replaced record.
    expect(await work.read(withSummary.id, "summary")).toMatchObject({
      id: third.id,
      insteadOf: withSummary.id,
      text: "It is the proxy.",
    });
    expect((await ada.memories.read(withSummary.id)).id).toBe(withSummary.id);
    expect(await ada.memories.read(withSummary.id, { freshest: true })).toMatchObject({
      id: third.id,
      insteadOf: withSummary.id,
    });
    expect(
      await hub.memories.read(withSummary.id, { freshest: true, asOf: { delivery: work.id } }),
    ).toMatchObject({
      id: withSummary.id,
    });
    await ada.memories.quarantine(withSummary.id, "wrong");
    expect((await work.read(withSummary.id)).id).toBe(third.id);
    expect((await ada.memories.read(withSummary.id)).quarantined).toMatchObject({ by: "ada" });
  });
});
