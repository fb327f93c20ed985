/** Decisions in the shared context, contradictions between them, and proposals. */
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

  it("are refused before any write if they contradict an active decision [CRD-1]", async () => {
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

  it("are written despite a contradiction if that is accepted, and linked [CRD-1]", async () => {
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

  it("replace the decision they supersede in one write [CRD-1]", async () => {
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
    // A new version of the same decision: the superseded one is already retired.
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

  it("are checked against each other even if written concurrently [CRD-1]", async () => {
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

describe("contradiction detection", () => {
  const full = ({ rejected = [], ...said }: Said) => ({
    ...said,
    rejected: rejected.map((option) => ({ option, why: "Tried it" })),
  });

  function measure(pairs: readonly Pair[]) {
    const results = pairs.map(({ live, said, against }) => ({
      against,
      detected: contradictionReasonOf(full(live), full(said)) !== undefined,
    }));
    const right = results.filter((each) => each.detected && each.against).length;
    const precision = right / results.filter((each) => each.detected).length;
    const recall = right / results.filter((each) => each.against).length;
    return { pairs: pairs.length, precision, recall };
  }

  it("compares symbols, but ignores case and a final period [CRD-1]", () => {
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

  it("separates contradictions from compatible decisions [CRD-1]", () => {
    const lists = { "looked at": LOOKED_AT, "held out": HELD_OUT, hard: HARD };
    const figures = Object.entries(lists).map(([list, pairs]) => ({ list, ...measure(pairs) }));
    const all = measure([...LOOKED_AT, ...HELD_OUT, ...HARD]);
    console.table([...figures, { list: "all", ...all }]);
    const [, heldOut, hard] = figures;
    expect(all.pairs).toBeGreaterThanOrEqual(40);
    expect(heldOut?.precision).toBeGreaterThanOrEqual(0.9);
    expect(heldOut?.recall).toBeGreaterThanOrEqual(0.9);
    // Most paraphrased contradictions are missed; measured here to document the limit.
    expect(hard?.precision).toBeGreaterThanOrEqual(0.55);
    expect(all.precision).toBeGreaterThanOrEqual(0.9);
    expect(all.recall).toBeGreaterThanOrEqual(0.75);
  });
});

describe.each(STORES)("proposals on %s", (store) => {
  const REASON = "Two of us named files otherwise";

  it("are sent to a keeper, and adopting one writes and completes it [CRD-1]", async () => {
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

  it("are declined as stale, with the current item, if it has changed [CRD-1]", async () => {
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

  it("are not adopted before the keeper has the proposer's latest change [CRD-1]", async () => {
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

  it("are written once even if the adopter dies before completing them [CRD-1]", async () => {
    const clock = new VirtualClock();
    const reopen = sharedStore(store, { clock });
    const { hub, coder } = await teamOn(await hubOn(store, await reopen(), { clock }));
    await coder.context.propose(NAMES, { reason: REASON });
    const dying = new LocalHub(dyingAfter("appendMemories", await reopen()), { clock });
    const doomed = await dying.agent("lead");
    const held = await take(doomed);
    // The next holder gets a reconstructed envelope: a different one with the same proposal.
    await (await hub.agent("lead")).resume(held.handle).then((same) => same.note("Looks right"));
    expect((await refusal(doomed.context.adopt(held))).code).toBe("store_closed");
    expect(await hub.context.item("conventions", "names")).toMatchObject({ version: 1 });
    // Another agent has changed the item since; the proposal still counts as adopted.
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

  it("are not adopted by an agent that has lost the lease [CRD-1]", async () => {
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

  it("report contradictions, and are adopted only if those are accepted [CRD-1]", async () => {
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

  it("require a keeper to receive them, and permission to adopt them [CRD-1]", async () => {
    const hub = await openFresh(store);
    const coder = await hub.agent("coder", { role: "coder" });
    const noKeeper = await refusal(coder.context.propose(NAMES, { reason: REASON }));
    expect(noKeeper).toMatchObject({ code: "unknown_role" });
    expect(noKeeper.hint).toContain('role: "coordinator"');
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
