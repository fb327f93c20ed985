/** Decisions in the shared context, contradictions between them, and proposals from agents that cannot write. */
import { describe, expect, it } from "vitest";
import { type ContextInput, LocalHub } from "../../src/index.ts";
import { contradictionReasonOf } from "../../src/shared-context/contradictions.ts";
import { VirtualClock } from "../../src/testing/index.ts";
import { dyingAfter, hubOn, sharedStore, twoHubs } from "../support/hub/shared-store.ts";
import { openFresh, refusal, refusedAsExtended, STORES, take } from "../support/hub/support.ts";
import { HARD, HELD_OUT, LOOKED_AT, type Pair, type Said } from "./decision-pairs.ts";
import { DATABASE, NAMES, namesIn, teamOn } from "./team-and-items.ts";

describe.each(STORES)("decisions on %s", (store) => {
  const MYSQL = {
    ...DATABASE,
    key: "store",
    question: "What database should we go with?",
    choice: "MySQL",
    rejected: [],
  };

  it("that speak against one that holds are told before anything is written [CRD-1]", async () => {
    const { hub, lead, keeper } = await teamOn(await openFresh(store));
    await lead.context.set(DATABASE);
    const refused = await refusal(keeper.context.decide(MYSQL));
    expect(refused).toMatchObject({ code: "contradiction" });
    expect(refused.message).toContain(
      'database: "Which database do we use?" "PostgreSQL" (by lead;',
    );
    expect(refused.hint).toContain('despite: ["database"]');
    expect(refused.details).toMatchObject({
      contradictions: [{ key: "database", version: 1, by: "lead" }],
    });
    const rejected = {
      ...MYSQL,
      key: "orders",
      question: "Where do orders live?",
      choice: "MongoDB",
    };
    expect((await refusal(keeper.context.decide(rejected))).message).toContain(
      "which that decision rejected",
    );
    expect(await hub.context.changes()).toMatchObject({ version: 1 });
    expect((await hub.memories.recent({ tag: "shared-context" })).items.length).toBe(1);
  });

  it("are written all the same when that is said, linked to what they contradict [CRD-1]", async () => {
    const { hub, lead } = await teamOn(await openFresh(store));
    const first = await lead.context.decide(DATABASE);
    const second = await lead.context.decide(MYSQL, { despite: ["database"] });
    expect((await lead.memories.relations(second.memory)).items).toMatchObject([
      { kind: "contradicts", target: first.memory },
    ]);
    expect(await hub.context.changes({ after: 1 })).toMatchObject({
      items: [{ key: "store", despite: ["database"] }],
    });
    expect((await hub.context.text()).items).toHaveLength(2);
  });

  it("take the place of what they supersede, in one write [CRD-1]", async () => {
    const { hub, lead } = await teamOn(await openFresh(store));
    const first = await lead.context.decide(DATABASE);
    const second = await lead.context.decide({ ...MYSQL, supersedes: "database" });
    expect(namesIn((await hub.context.text()).items)).toEqual(["decisions/store"]);
    expect((await lead.memories.relations(second.memory)).items).toMatchObject([
      { kind: "supersedes", target: first.memory },
    ]);
    expect((await hub.context.history("decisions", "database")).items).toMatchObject([
      { kind: "retired", version: 2, was: 1, reason: "superseded by store" },
      { kind: "set", version: 1 },
    ]);
    expect(await hub.context.changes({ after: 1 })).toMatchObject({
      items: [{ key: "store", replaced: "database" }],
    });
    // Said again over its own last version, what it superseded is gone already.
    const third = await lead.context.decide(
      { ...MYSQL, choice: "MySQL 9", supersedes: "database" },
      { basedOn: second.version },
    );
    expect(third.version).toBe(3);
    const never = lead.context.decide({
      ...MYSQL,
      key: "cache",
      question: "Which cache?",
      choice: "Redis",
      supersedes: "databse",
    });
    expect((await refusal(never)).code).toBe("not_in_context");
    await lead.memories.quarantine([second.memory], "Nobody agreed to it");
    expect(await hub.context.changes({ after: 1, limit: 1 })).toMatchObject({
      items: [{ key: "store", hidden: "quarantined", replaced: "database" }],
    });
  });

  it("are held against each other also when both are made at once [CRD-1]", async () => {
    const [one, two] = await twoHubs(store);
    await teamOn(one);
    const [lead, keeper] = [await one.agent("lead"), await two.agent("keeper")];
    const both = await Promise.allSettled([
      lead.context.decide(DATABASE),
      keeper.context.decide(MYSQL),
    ]);
    const refused = both.flatMap((each) => (each.status === "rejected" ? [each.reason] : []));
    expect(refused).toMatchObject([{ code: "contradiction" }]);
    expect(await two.context.changes()).toMatchObject({ version: 1 });
  });
});

describe("the judge of decisions", () => {
  const full = ({ rejected = [], ...said }: Said) => ({
    ...said,
    rejected: rejected.map((option) => ({ option, why: "Tried it" })),
  });

  function measured(pairs: readonly Pair[]) {
    const told = pairs.map(({ live, said, against }) => ({
      against,
      told: contradictionReasonOf(full(live), full(said)) !== undefined,
    }));
    const right = told.filter((each) => each.told && each.against).length;
    const precision = right / told.filter((each) => each.told).length;
    const recall = right / told.filter((each) => each.against).length;
    return { pairs: pairs.length, precision, recall };
  }

  it("sees signs, and no difference in case or a full stop [CRD-1]", () => {
    const said = (question: string, choice: string) => ({ question, choice, rejected: [] });
    const judged = (a: ReturnType<typeof said>, b: typeof a) => [
      contradictionReasonOf(a, b),
      contradictionReasonOf(b, a),
    ];
    const against = "answers the same question differently";
    const languages = judged(said("Which language?", "C#"), said("Which language?", "C++"));
    expect(languages).toEqual([against, against]);
    expect(judged(said("🎨?", "🔴"), said("🎨?", "🔵"))).toEqual([against, against]);
    const [named, small] = [
      said("Which database?", "PostgreSQL."),
      said("Database?", "postgresql"),
    ];
    expect(judged(named, small)).toEqual([undefined, undefined]);
  });

  it("tells contradictions from decisions that stand beside each other [CRD-1]", () => {
    const lists = { "looked at": LOOKED_AT, "held out": HELD_OUT, hard: HARD };
    const figures = Object.entries(lists).map(([list, pairs]) => ({ list, ...measured(pairs) }));
    const all = measured([...LOOKED_AT, ...HELD_OUT, ...HARD]);
    console.table([...figures, { list: "all", ...all }]);
    const [, heldOut, hard] = figures;
    expect(all.pairs).toBeGreaterThanOrEqual(40);
    expect(heldOut?.precision).toBeGreaterThanOrEqual(0.9);
    expect(heldOut?.recall).toBeGreaterThanOrEqual(0.9);
    // In quite other words most are missed: measured, so that nobody believes more.
    expect(hard?.precision).toBeGreaterThanOrEqual(0.55);
    expect(all.precision).toBeGreaterThanOrEqual(0.9);
    expect(all.recall).toBeGreaterThanOrEqual(0.75);
  });
});

describe.each(STORES)("proposals on %s", (store) => {
  const REASON = "Two of us named files otherwise";

  it("are handoffs to who may write, and adopting one writes it and completes it [CRD-1]", async () => {
    const { hub, lead, coder } = await teamOn(await openFresh(store));
    const { sent, contradictions } = await coder.context.propose(NAMES, { reason: REASON });
    expect(contradictions).toEqual([]);
    expect(sent.envelope).toMatchObject({
      action: "proposed",
      to: { kind: "role", role: "coordinator" },
      state: REASON,
      payload: { type: "context-change", data: { change: NAMES, reason: REASON } },
    });
    const work = await take(lead);
    const adopted = await lead.context.adopt(work);
    expect(adopted).toMatchObject({
      kind: "adopted",
      version: 1,
      delivery: { state: "completed" },
    });
    expect(await hub.context.item("conventions", "names")).toMatchObject({
      by: "lead",
      version: 1,
    });
    expect(await hub.context.changes()).toMatchObject({
      items: [{ reason: `Proposed by coder: ${REASON}` }],
    });
    const retire = { section: "conventions", key: "names", retire: true } as const;
    expect((await refusal(coder.context.propose(retire, { reason: REASON }))).code).toBe(
      "context_conflict",
    );
    await coder.context.propose(retire, { reason: REASON, basedOn: 1 });
    expect(await lead.context.adopt(await take(lead))).toMatchObject({
      kind: "adopted",
      version: 2,
    });
    expect((await hub.context.text()).items).toEqual([]);
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("that are stale are declined with what is there now [CRD-1]", async () => {
    const { hub, lead, coder, tester } = await teamOn(await openFresh(store));
    const { sent } = await coder.context.propose(NAMES, { reason: REASON });
    await tester.context.propose({ ...NAMES, rule: "Another" }, { reason: REASON });
    expect(await lead.context.adopt(await take(lead))).toMatchObject({ kind: "adopted" });
    const stale = await lead.context.adopt(await take(lead));
    expect(stale).toMatchObject({
      kind: "stale",
      conflict: { code: "context_conflict", details: { now: { rule: NAMES.rule } } },
    });
    expect(stale.kind === "stale" && stale.delivery.state).toBe("declined");
    expect(await hub.context.item("conventions", "names")).toMatchObject({ rule: NAMES.rule });
    expect((await sent.completed()).kind).toBe("completed");
    const supersedes = "databse";
    const never = await refusal(
      coder.context.propose({ ...DATABASE, supersedes }, { reason: REASON }),
    );
    expect(never).toMatchObject({ code: "not_in_context", details: { key: supersedes } });
    const none = coder.context.propose(null as unknown as ContextInput, { reason: REASON });
    expect((await refusal(none)).code).toBe("invalid_input");
  });

  it("that their proposer has changed meanwhile are looked at again before anything is written [CRD-1]", async () => {
    const { hub, lead, coder } = await teamOn(await openFresh(store));
    await coder.context.propose(NAMES, { reason: REASON });
    const work = await take(lead);
    const better = { ...NAMES, rule: "Better" };
    const { sent } = await coder.context.propose(better, { reason: REASON });
    await refusedAsExtended(work, () => lead.context.adopt(work), sent);
    expect(work.envelope.payload?.data).toMatchObject({ change: { rule: "Better" } });
    expect(await hub.context.changes()).toMatchObject({ version: 0 });
    expect(await lead.context.adopt(work)).toMatchObject({ kind: "adopted", version: 1 });
    expect(await hub.context.item("conventions", "names")).toMatchObject({ rule: "Better" });
  });

  it("are written once, though whoever adopted one died before completing it [CRD-1]", async () => {
    const clock = new VirtualClock();
    const reopen = sharedStore(store, { clock });
    const { hub, coder } = await teamOn(await hubOn(store, await reopen(), { clock }));
    await coder.context.propose(NAMES, { reason: REASON });
    const dying = new LocalHub(dyingAfter("appendMemories", await reopen()), { clock });
    const doomed = await dying.agent("lead");
    const held = await take(doomed);
    // Its next holder gets an envelope that was reconstructed: another one with the same proposal.
    await (await hub.agent("lead")).resume(held.handle).then((same) => same.note("Looks right"));
    expect((await refusal(doomed.context.adopt(held))).code).toBe("store_closed");
    expect(await hub.context.item("conventions", "names")).toMatchObject({ version: 1 });
    // Somebody else has gone on meanwhile: it was adopted all the same.
    const keeper = await hub.agent("keeper");
    await keeper.context.set({ ...NAMES, rule: "Newer" }, { basedOn: 1 });
    clock.advance(120_000);
    const lead = await hub.agent("lead");
    const again = await take(lead);
    expect(again.envelope).toMatchObject({ reconstructed: { notes: 1 } });
    expect(await lead.context.adopt(again)).toMatchObject({ kind: "adopted", version: 1 });
    expect(await hub.context.changes()).toMatchObject({ version: 2 });
    expect((await refusal(doomed.context.adopt(held))).code).toBe("store_closed");
  });

  it("are not adopted by who has lost the work meanwhile [CRD-1]", async () => {
    const clock = new VirtualClock();
    const reopen = sharedStore(store, { clock });
    const { hub, coder } = await teamOn(await hubOn(store, await reopen(), { clock }));
    await coder.context.propose(NAMES, { reason: REASON });
    const away = await hubOn(store, await reopen(), { clock });
    const first = await away.agent("lead", undefined, { lease: "session" });
    const lost = await take(first);
    clock.advance(120_000);
    const second = await hub.agent("lead");
    const held = await take(second);
    expect((await refusal(first.context.adopt(lost))).code).toBe("lease_lost");
    expect(await hub.context.changes()).toMatchObject({ version: 0 });
    expect(await second.context.adopt(held)).toMatchObject({ kind: "adopted", version: 1 });
  });

  it("of a contradicting decision say so, and are adopted only in spite of it [CRD-1]", async () => {
    const { hub, lead, coder } = await teamOn(await openFresh(store));
    await lead.context.set(DATABASE);
    const mysql = { ...DATABASE, key: "store", choice: "MySQL" };
    const { sent, contradictions } = await coder.context.propose(mysql, { reason: REASON });
    expect(contradictions).toMatchObject([{ key: "database" }]);
    expect(sent.envelope.state).toContain(
      'Contradicts the decision database ("PostgreSQL", by lead)',
    );
    const work = await take(lead);
    expect((await refusal(lead.context.adopt(work))).code).toBe("contradiction");
    expect(await hub.context.changes()).toMatchObject({ version: 1 });
    expect(await lead.context.adopt(work, { despite: ["database"] })).toMatchObject({
      kind: "adopted",
      version: 2,
    });
  });

  it("need somebody who keeps the context, and adopting needs the right to [CRD-1]", async () => {
    const hub = await openFresh(store);
    const coder = await hub.agent("coder", { role: "coder" });
    const nobody = await refusal(coder.context.propose(NAMES, { reason: REASON }));
    expect(nobody).toMatchObject({ code: "unknown_role" });
    expect(nobody.hint).toContain('role: "coordinator"');
    const keeper = await hub.agent("keeper", { role: "memory-keeper" });
    const { sent } = await coder.context.propose(NAMES, { reason: REASON });
    expect(sent.envelope.to).toEqual({ kind: "role", role: "memory-keeper" });
    const work = await take(keeper);
    await hub.settings.update({ keepers: ["lead"] });
    expect((await refusal(keeper.context.adopt(work))).code).toBe("not_permitted");
    await hub.settings.update({ keepers: ["memory-keeper"] });
    expect((await keeper.context.adopt(work)).kind).toBe("adopted");
    await coder.handoff({ to: "keeper", intent: "Something else" });
    const other = await refusal(keeper.context.adopt(await take(keeper)));
    expect(other.message).toContain("is not a proposal");
  });
});
