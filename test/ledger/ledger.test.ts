/** The ledger of one task: what it carries over hops, and releasing items from it. */
import { describe, expect, it } from "vitest";
import { type Envelope, FORMAT_LIMITS } from "../../src/index.ts";
import { VirtualClock } from "../../src/testing/index.ts";
import { hubOn, sharedStore } from "../support/hub/shared-store.ts";
import { openFresh, refusal, STORES, take } from "../support/hub/support.ts";
import { BEGIN, CACHE, FIXTURES, INTENT, idsOf, musts, pass, teamOn } from "./ledger-team.ts";

describe.each(STORES)("the ledger of a task on %s", (store) => {
  const team = async (options = {}) => teamOn(await openFresh(store, options));

  it("carries intent, musts and open decisions over hops that omit them [ENV-10]", async () => {
    const { hub, planner, coder, tester, reviewer } = await team();
    const sent = await planner.handoff(BEGIN);
    const first = await pass(coder, tester, { intent: "Test the validator", next: ["Run it"] });
    const last = await pass(tester, reviewer, { intent: "Look at it" });
    for (const envelope of [first, last]) {
      expect(envelope.constraints).toEqual([FIXTURES]);
      expect(envelope.decisions).toEqual([CACHE]);
      expect(envelope.origin).toBe(INTENT);
    }
    expect(last.intent).toBe("Look at it");
    const said = { by: "planner", at: sent.envelope.metadata.createdAt };
    const where = { envelope: sent.envelope.id, record: sent.memory, task: "auth" };
    const { level: _, ...fixtures } = FIXTURES;
    expect(await hub.tasks.ledger("auth")).toEqual({
      task: "auth",
      intent: INTENT,
      begun: { ...said, envelope: sent.envelope.id, record: sent.memory },
      constraints: [{ ...fixtures, ...said, ...where }],
      decisions: [{ ...CACHE, ...said, ...where }],
      progress: [],
      released: [],
      origins: [],
      from: [],
    });
    expect(await coder.tasks.ledger("auth")).toEqual(await hub.tasks.ledger("auth"));
    expect(await hub.tasks.ledger("nothing")).toBeUndefined();
  });

  it("omits an origin equal to the intent, and writes only changes [ENV-10]", async () => {
    const clock = new VirtualClock();
    const reopen = sharedStore(store, { clock });
    const { hub, planner, coder, tester, reviewer } = await teamOn(
      await hubOn(store, await reopen(), { clock }),
    );
    const raw = await reopen();
    const revision = async () => (await raw.findEntry(hub.workspace, "ledger", "auth"))?.revision;
    await planner.handoff(BEGIN);
    expect(await revision()).toBe(1);
    const kept = await pass(coder, tester);
    expect(kept.origin).toBeUndefined();
    expect(kept.released).toBeUndefined();
    await planner.handoff({ ...BEGIN, to: "reviewer", constraints: [FIXTURES.rule] });
    expect(await revision()).toBe(1);
    const added = await pass(tester, reviewer, { constraints: ["Log every login"] });
    expect(await revision()).toBe(2);
    expect(musts(added)).toEqual(["Log every login", FIXTURES.rule]);
  });

  it("is shared by all lines of a task [ENV-10]", async () => {
    const { planner, coder, tester, reviewer } = await team();
    await planner.handoff(BEGIN);
    await planner.handoff({ to: "tester", task: "auth", intent: "Test it" });
    const added = { id: "keep-api", rule: "Keep the public API as it is" };
    await pass(coder, reviewer, { constraints: [added] });
    const next = await pass(tester, reviewer);
    expect(musts(next)).toEqual([FIXTURES.rule, added.rule]);
    expect(next.origin).toBe(INTENT);
  });

  it("keeps all additions of concurrent lines [ENV-10]", async () => {
    const { hub, planner } = await team();
    const names = Array.from({ length: 24 }, (_, i) => `w${i}`);
    const workers = await Promise.all(names.map((name) => hub.agent(name, {})));
    await Promise.all(names.map((to) => planner.handoff({ ...BEGIN, to })));
    const works = await Promise.all(workers.map((worker) => take(worker)));
    await Promise.all(
      works.map((work, i) =>
        work.handoff({
          to: "planner",
          constraints: [{ id: `rule-${i}`, rule: `Rule number ${i} holds` }],
          decisions: [{ id: `open-${i}`, question: `What about part ${i}?` }],
        }),
      ),
    );
    const ledger = await hub.tasks.ledger("auth");
    expect(new Set(idsOf(ledger?.constraints ?? []))).toEqual(
      new Set(["no-fixtures", ...names.map((_, i) => `rule-${i}`)]),
    );
    expect(ledger?.decisions).toHaveLength(25);
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("keeps items as they were set if a hop rewords them, and flags that [ENV-10]", async () => {
    const { planner, coder, tester } = await team();
    await planner.handoff(BEGIN);
    const envelope = await pass(coder, tester, {
      constraints: [
        { id: "no-fixtures", rule: "No fixtures", level: "should" },
        { id: "twin", rule: "One" },
        { id: "twin", rule: "Another" },
      ],
      decisions: [{ id: "which-cache", question: "Cache?", options: ["Valkey"] }],
    });
    expect(envelope.constraints[0]).toEqual(FIXTURES);
    expect(musts(envelope)).toEqual([FIXTURES.rule, "One", "Another"]);
    expect(envelope.decisions).toEqual([{ ...CACHE, options: ["Redis", "Memcached", "Valkey"] }]);
    expect(envelope.flags?.map(({ about, path }) => [about, path])).toEqual([
      ["no-fixtures", "constraints[0]"],
      ["which-cache", "decisions[0]"],
    ]);
    expect(envelope.flags?.[0]?.why).toContain("No fixtures");
  });

  it("keeps a must if a hop repeats it with a weaker level, and flags that [ENV-10]", async () => {
    const { planner, coder, tester } = await team();
    await planner.handoff(BEGIN);
    const envelope = await pass(coder, tester, {
      constraints: [{ rule: FIXTURES.rule, level: "may" }],
    });
    expect(envelope.constraints).toContainEqual(FIXTURES);
    expect(musts(envelope)).toEqual([FIXTURES.rule]);
    expect(envelope.flags).toMatchObject([{ about: "no-fixtures", path: "constraints[0]" }]);
  });

  it("releases an item on all lines, even if a hop copies it back [ENV-10]", async () => {
    const { hub, planner, coder, tester, reviewer } = await team();
    const sent = await planner.handoff(BEGIN);
    await planner.handoff({ ...BEGIN, to: "tester" });
    const reason = "The fixtures are generated now";
    const ledger = await planner.tasks.releaseItem("auth", { id: "no-fixtures", reason });
    expect(ledger.constraints).toEqual([]);
    const [released] = ledger.released;
    expect(released).toMatchObject({
      ...{ id: "no-fixtures", kind: "constraint", said: FIXTURES.rule, setBy: "planner" },
      ...{ by: "planner", reason },
    });
    const memory = await planner.memories.read(released?.record ?? "");
    expect(memory).toMatchObject({ type: "decision", task: "auth", agent: "planner" });
    expect(memory.content).toContain(reason);
    const edges = (await planner.memories.relations(memory.id)).items;
    expect(edges.map(({ target }) => target)).toEqual([sent.memory]);
    // Both receivers hold an older envelope: a copy stays released, a new id is a new item.
    const stale = await pass(coder, reviewer, { constraints: [FIXTURES] });
    expect(musts(stale)).toEqual([]);
    const anew = await pass(tester, reviewer, { constraints: [{ ...FIXTURES, id: "again" }] });
    expect(idsOf((await reviewer.tasks.ledger("auth"))?.constraints ?? [])).toEqual(["again"]);
    expect(anew.task).toBe("auth");
    expect((await hub.tasks.ledger("auth"))?.released).toHaveLength(1);
  });

  it("releases an item with a handoff, and lists it in the envelope [ENV-10]", async () => {
    const { hub, planner, coder, tester } = await team();
    await planner.handoff(BEGIN);
    const decided = "Redis, since it is there";
    const envelope = await pass(coder, tester, {
      releases: [{ id: "which-cache", reason: "Measured both", decided }],
      history: [{ agent: "coder", did: "measured", decided: "Redis keeps the sessions" }],
    });
    expect(envelope.decisions).toEqual([]);
    expect(envelope.released).toEqual([
      { by: "coder", id: "which-cache", reason: "Measured both", decided },
    ]);
    const ledger = await hub.tasks.ledger("auth");
    expect(ledger?.decisions).toEqual([]);
    expect(ledger?.released).toMatchObject([{ by: "coder", decided, said: CACHE.question }]);
    // Released and set again in the same handoff: the new item counts.
    const again = await planner.handoff({
      ...BEGIN,
      releases: [{ id: "no-fixtures", reason: "Too wide" }],
      constraints: [{ id: "no-fixtures", rule: "Do not touch fixtures of other teams" }],
      decisions: [],
    });
    expect(musts(again.envelope as Envelope)).toEqual(["Do not touch fixtures of other teams"]);
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("refuses a release without permission or reason, or of an unknown item [ENV-10]", async () => {
    const { hub, planner, coder, tester, reviewer } = await team();
    const owned = { id: "who-signs", question: "Who signs the release?", owner: "reviewer" };
    await planner.handoff({ ...BEGIN, decisions: [CACHE, owned] });
    const reason = "Done with it";
    const denied = await refusal(coder.tasks.releaseItem("auth", { id: "no-fixtures", reason }));
    expect(denied.code).toBe("not_permitted");
    expect(denied.message).toContain("planner, role:coordinator");
    const work = await take(coder);
    const handing = work.handoff({ to: "tester", releases: [{ id: "who-signs", reason }] });
    expect(await refusal(handing)).toMatchObject({ code: "not_permitted", path: "releases[0]" });
    const outside = await refusal(tester.tasks.releaseItem("auth", { id: "which-cache", reason }));
    expect(outside.code).toBe("not_permitted");
    const typo = await refusal(planner.tasks.releaseItem("auth", { id: "no-fixture", reason }));
    expect(typo).toMatchObject({ code: "not_on_ledger", path: "release.id" });
    expect(typo.hint).toContain("no-fixtures");
    const none = await refusal(planner.tasks.releaseItem("nothing", { id: "no-fixtures", reason }));
    expect(none.code).toBe("not_on_ledger");
    for (const bad of [{ id: "no-fixtures" }, { id: "no-fixtures", reason: "" }, {}, null]) {
      const refused = await refusal(planner.tasks.releaseItem("auth", bad as never));
      expect(refused.code).toBe("invalid_input");
    }
    for (const releases of [{}, [{}], [{ id: "no-fixtures" }], ["no-fixtures"]]) {
      const draft = { ...BEGIN, to: "tester", releases } as never;
      expect((await refusal(planner.handoff(draft))).code).toBe("invalid_envelope");
    }
    const doubled = [
      { id: "no-fixtures", reason },
      { id: "no-fixtures", reason },
    ];
    const twofold = planner.handoff({ ...BEGIN, to: "tester", releases: doubled });
    expect(await refusal(twofold)).toMatchObject({ code: "not_on_ledger", path: "releases[1].id" });
    const choosing = planner.tasks.releaseItem("auth", {
      id: "no-fixtures",
      reason,
      decided: "yes",
    });
    expect((await refusal(choosing)).code).toBe("invalid_input");
    expect((await hub.tasks.ledger("auth"))?.released).toEqual([]);
    // The owner of a decision may release it, and any agent on the line if it has no owner.
    await reviewer.tasks.releaseItem("auth", { id: "who-signs", reason, decided: "The lead" });
    await coder.tasks.releaseItem("auth", { id: "which-cache", reason, decided: "Redis" });
    const twice = await refusal(coder.tasks.releaseItem("auth", { id: "which-cache", reason }));
    expect(twice.message).toContain("coder already released it: Done with it");
    // The releaser roles are a setting of the workspace.
    expect((await hub.settings.get()).releasers).toEqual(["coordinator", "planner", "lead"]);
    expect((await hub.settings.update({ releasers: ["tester"] })).releasers).toEqual(["tester"]);
    await tester.tasks.releaseItem("auth", { id: "no-fixtures", reason });
    expect((await hub.tasks.ledger("auth"))?.constraints).toEqual([]);
    expect((await refusal(hub.settings.update({ releasers: [""] }))).code).toBe("invalid_input");
  });

  it("permits releases by the role an agent has now [ENV-10]", async () => {
    const { hub, planner, coder } = await team();
    const lead = await hub.agent("lena", { role: "lead" });
    await planner.handoff(BEGIN);
    await hub.agent("lena", { role: "coder" });
    const release = { id: "no-fixtures", reason: "Done with it" };
    expect((await refusal(lead.tasks.releaseItem("auth", release))).code).toBe("not_permitted");
    await hub.agent("coder", { role: "lead" });
    expect((await coder.tasks.releaseItem("auth", release)).constraints).toEqual([]);
  });

  it("sends concurrent handoffs with the same key once [ENV-10 DLV-9]", async () => {
    const { planner, coder } = await team();
    await planner.handoff(BEGIN);
    const draft = {
      ...{ to: "tester", key: "once" },
      releases: [{ id: "which-cache", reason: "Measured", decided: "Redis" }],
    };
    const work = await take(coder);
    const first = await work.handoff(draft);
    expect(first.kind).toBe("sent");
    await planner.handoff({ ...BEGIN, to: "reviewer", task: "other", key: "k" });
    const [one, two] = await Promise.all(
      [0, 1].map(() => planner.handoff({ ...BEGIN, to: "reviewer", task: "third", key: "l" })),
    );
    expect(one?.id).toBe(two?.id);
  });

  it("refuses more items than fit an envelope instead of cutting them [ENV-10]", async () => {
    const { hub, planner, coder, tester } = await team();
    const rules = (name: string, count: number) =>
      Array.from({ length: count }, (_, i) => `Rule ${i} of ${name}`);
    await planner.handoff({ ...BEGIN, constraints: rules("planner", 200) });
    const work = await take(coder);
    const over = work.handoff({ to: "tester", constraints: ["One more"] });
    expect(await refusal(over)).toMatchObject({ code: "limit_exceeded", path: "constraints" });
    await work.handoff({ to: "tester" });
    expect((await take(tester)).envelope.constraints).toHaveLength(200);
    expect((await hub.tasks.ledger("auth"))?.constraints).toHaveLength(200);
  });

  it("keeps different items with the same id, and merges repeated ones [ENV-10]", async () => {
    const { hub, planner } = await team();
    const [taken] = idsOf(
      (await planner.handoff({ ...BEGIN, task: "x", constraints: ["B"] })).envelope.constraints,
    );
    const id = taken ?? "";
    const send = async (task: string, draft: object): Promise<Envelope> =>
      (await planner.handoff({ to: "coder", intent: "Go", task, ...draft })).envelope as Envelope;
    const named = await send("one", { constraints: [{ id, rule: "A" }, "B"] });
    expect(musts(named)).toEqual(["A", "B"]);
    const twins = [
      { id, rule: "A" },
      { id: "t", rule: "C" },
      { id: "t", rule: "B" },
    ];
    expect(musts(await send("two", { constraints: twins }))).toEqual(["A", "C", "B"]);
    await send("three", { constraints: [{ id, rule: "A" }] });
    expect(musts(await send("three", { to: "tester", constraints: ["B"] }))).toEqual(["B", "A"]);
    for (const [task, count] of [
      ["one", 2],
      ["two", 3],
      ["three", 2],
    ] as const) {
      const rules = (await hub.tasks.ledger(task))?.constraints ?? [];
      expect(new Set(idsOf(rules)).size).toBe(count);
    }
    const weak = { id: "w", rule: "Short lines", level: "should" };
    const again = await send("four", {
      constraints: [weak, { ...weak, level: "must" }],
      decisions: [CACHE, { ...CACHE, options: ["Valkey"] }],
    });
    expect(musts(again)).toEqual(["Short lines"]);
    expect(again.decisions).toEqual([{ ...CACHE, options: [...CACHE.options, "Valkey"] }]);
    expect(await hub.tasks.ledger("four")).toMatchObject({
      constraints: [{ id: "w" }],
      decisions: [{ options: [...CACHE.options, "Valkey"] }],
    });
  });

  it("flags a released item that is set again, and how to set it [ENV-10]", async () => {
    const { planner } = await team();
    await planner.handoff(BEGIN);
    await planner.tasks.releaseItem("auth", { id: "no-fixtures", reason: "They are generated" });
    const { envelope } = await planner.handoff({ ...BEGIN, to: "tester" });
    expect(musts(envelope as Envelope)).toEqual([]);
    expect(envelope.flags).toMatchObject([{ about: "no-fixtures", path: "constraints[0]" }]);
    expect(envelope.flags?.[0]?.why).toMatch(/released.*new id.*They are generated/);
  });

  it("notes in the origin that more original intents exist than fit [ENV-10]", async () => {
    const { planner } = await team();
    const parts = Array.from({ length: 5 }, (_, i) =>
      planner.handoff({ to: "coder", task: `part ${i}`, intent: `${i}`.repeat(3_999) }),
    );
    const whole = { to: "reviewer", task: "whole", intent: "All of it" };
    const { envelope } = await planner.handoffs.join(await Promise.all(parts), whole);
    expect(envelope.origin?.length).toBeLessThanOrEqual(FORMAT_LIMITS.textLength);
    expect(envelope.origin).toContain("2".repeat(3_999));
    expect(envelope.origin).toMatch(/There are more: see `origins` in the task's ledger\.\)$/);
  });
});
