/** The ledger: what follows a task to its end, whatever a hop leaves out. */
import { describe, expect, it } from "vitest";
import { type Agent, type Envelope, FORMAT_LIMITS, type Hub, type Work } from "../../src/index.ts";
import { VirtualClock } from "../../src/testing/index.ts";
import { hubOn, sharedStore } from "../support/hub/shared-store.ts";
import {
  breakIn,
  freshAddress,
  open,
  openFresh,
  refusal,
  STORES,
  take,
} from "../support/hub/support.ts";

const INTENT = "Refactor auth without breaking mobile logins";
const FIXTURES = {
  id: "no-fixtures",
  rule: "Do not touch the test fixtures",
  level: "must" as const,
};
const CACHE = {
  id: "which-cache",
  question: "Which cache keeps the sessions?",
  options: ["Redis", "Memcached"],
};
const BEGIN = {
  to: "coder",
  task: "auth",
  intent: INTENT,
  constraints: [FIXTURES, { rule: "Keep functions short", level: "should" as const }],
  decisions: [CACHE],
};

const idsOf = (items: readonly { readonly id: string }[]): string[] => items.map(({ id }) => id);
const musts = ({ constraints }: Envelope): string[] =>
  constraints.filter(({ level }) => level === "must").map(({ rule }) => rule);
const envelopeOf = (work: Work<unknown>): Envelope => work.envelope as Envelope;

async function teamOn(hub: Hub) {
  const planner = await hub.agent("planner", { role: "planner" });
  const coder = await hub.agent("coder", { role: "coder" });
  const tester = await hub.agent("tester", { role: "tester" });
  const reviewer = await hub.agent("reviewer", { role: "reviewer" });
  return { hub, planner, coder, tester, reviewer };
}

/** Hands the work of one to another, and says what is sent. */
async function pass(
  from: Agent,
  to: Agent,
  draft: Omit<Parameters<Work["handoff"]>[0], "to"> = {},
): Promise<Envelope> {
  const sent = await (await take(from)).handoff({ to: to.id, ...draft });
  return sent.envelope as Envelope;
}

describe.each(STORES)("the ledger of a task on %s", (store) => {
  const team = async (options = {}) => teamOn(await openFresh(store, options));

  it("carries intent, musts and open decisions over hops that leave them out [ENV-10]", async () => {
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

  it("says no origin where the intent is the original, and writes only what changes [ENV-10]", async () => {
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

  it("is the same on all lines of a task: what one line adds, the others carry [ENV-10]", async () => {
    const { planner, coder, tester, reviewer } = await team();
    await planner.handoff(BEGIN);
    await planner.handoff({ to: "tester", task: "auth", intent: "Test it" });
    const added = { id: "keep-api", rule: "Keep the public API as it is" };
    await pass(coder, reviewer, { constraints: [added] });
    const next = await pass(tester, reviewer);
    expect(musts(next)).toEqual([FIXTURES.rule, added.rule]);
    expect(next.origin).toBe(INTENT);
  });

  it("both additions survive when lines add at once [ENV-10]", async () => {
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

  it("keeps what was set, word for word, where a hop says it in other words [ENV-10]", async () => {
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

  it("keeps a must where a hop repeats its rule with a weaker level, and flags it [ENV-10]", async () => {
    const { planner, coder, tester } = await team();
    await planner.handoff(BEGIN);
    const envelope = await pass(coder, tester, {
      constraints: [{ rule: FIXTURES.rule, level: "may" }],
    });
    expect(envelope.constraints).toContainEqual(FIXTURES);
    expect(musts(envelope)).toEqual([FIXTURES.rule]);
    expect(envelope.flags).toMatchObject([{ about: "no-fixtures", path: "constraints[0]" }]);
  });

  it("a release takes it off all lines, stays visible, and a stale copy does not undo it [ENV-10]", async () => {
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
    const edges = await planner.memories.relations(memory.id);
    expect(edges.map(({ target }) => target)).toEqual([sent.memory]);
    // Both hold an envelope from before: copied, it stays off; under another id it is a new one.
    const stale = await pass(coder, reviewer, { constraints: [FIXTURES] });
    expect(musts(stale)).toEqual([]);
    const anew = await pass(tester, reviewer, { constraints: [{ ...FIXTURES, id: "again" }] });
    expect(idsOf((await reviewer.tasks.ledger("auth"))?.constraints ?? [])).toEqual(["again"]);
    expect(anew.task).toBe("auth");
    expect((await hub.tasks.ledger("auth"))?.released).toHaveLength(1);
  });

  it("a hop releases with its handoff, and says so in its envelope [ENV-10]", async () => {
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
    // Released and set anew in one go: the new one counts.
    const again = await planner.handoff({
      ...BEGIN,
      releases: [{ id: "no-fixtures", reason: "Too wide" }],
      constraints: [{ id: "no-fixtures", rule: "Do not touch fixtures of other teams" }],
      decisions: [],
    });
    expect(musts(again.envelope as Envelope)).toEqual(["Do not touch fixtures of other teams"]);
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("refuses a release by who may not, and of what is not there [ENV-10]", async () => {
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
    // Who is to decide it, and who is on the line of one that is nobody's.
    await reviewer.tasks.releaseItem("auth", { id: "who-signs", reason, decided: "The lead" });
    await coder.tasks.releaseItem("auth", { id: "which-cache", reason, decided: "Redis" });
    const twice = await refusal(coder.tasks.releaseItem("auth", { id: "which-cache", reason }));
    expect(twice.message).toContain("coder released it before: Done with it");
    // Roles that may are shared by the workspace.
    expect((await hub.settings.get()).releasers).toEqual(["coordinator", "planner", "lead"]);
    expect((await hub.settings.update({ releasers: ["tester"] })).releasers).toEqual(["tester"]);
    await tester.tasks.releaseItem("auth", { id: "no-fixtures", reason });
    expect((await hub.tasks.ledger("auth"))?.constraints).toEqual([]);
    expect((await refusal(hub.settings.update({ releasers: [""] }))).code).toBe("invalid_input");
  });

  it("who has a releasing role no more may not release [ENV-10]", async () => {
    const { hub, planner, coder } = await team();
    const lead = await hub.agent("lena", { role: "lead" });
    await planner.handoff(BEGIN);
    await hub.agent("lena", { role: "coder" });
    const release = { id: "no-fixtures", reason: "Done with it" };
    expect((await refusal(lead.tasks.releaseItem("auth", release))).code).toBe("not_permitted");
    await hub.agent("coder", { role: "lead" });
    expect((await coder.tasks.releaseItem("auth", release)).constraints).toEqual([]);
  });

  it("the same key sends a release once [ENV-10 DLV-9]", async () => {
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

  it("a child task has what its parents have now, and releases for itself [ENV-10]", async () => {
    const { hub, planner, coder, tester, reviewer } = await team();
    await planner.handoff(BEGIN);
    const child = await pass(coder, tester, { task: "auth/tests", intent: "Write the tests" });
    expect(child.origin).toBe(INTENT);
    expect(musts(child)).toEqual([FIXTURES.rule]);
    expect(await hub.tasks.ledger("auth/tests")).toMatchObject({
      intent: "Write the tests",
      from: ["auth"],
      constraints: [{ id: "no-fixtures", by: "planner", task: "auth" }],
      origins: [{ task: "auth", intent: INTENT }],
    });
    // What the parent gets later, the child has too; a third wording carries both originals.
    await planner.handoff({ ...BEGIN, constraints: [{ id: "late", rule: "Ask before merging" }] });
    const next = await pass(tester, reviewer, { intent: "Review the tests" });
    expect(idsOf(next.constraints)).toEqual(["no-fixtures", "late"]);
    expect(next.origin).toBe(`${INTENT}\n\nWrite the tests`);
    await planner.tasks.releaseItem("auth/tests", { id: "no-fixtures", reason: "Tests own them" });
    expect(idsOf((await hub.tasks.ledger("auth/tests"))?.constraints ?? [])).toEqual(["late"]);
    expect(idsOf((await hub.tasks.ledger("auth"))?.constraints ?? [])).toEqual([
      "no-fixtures",
      "late",
    ]);
    await planner.tasks.releaseItem("auth", { id: "late", reason: "Merging is automatic" });
    expect((await hub.tasks.ledger("auth/tests"))?.constraints).toEqual([]);
    const [parent] = await hub.tasks.line("auth");
    const other = await planner.handoff({
      ...{ to: "coder", task: "docs", intent: "Write it down" },
      parents: [parent?.envelope.id ?? ""],
    });
    expect(other.envelope.origin).toBe(INTENT);
    expect((await hub.tasks.ledger("docs"))?.from).toEqual(["auth"]);
  });

  it("tasks that are each other's parents end somewhere [ENV-10]", async () => {
    const { hub, planner, coder, tester } = await team();
    await planner.handoff({ ...BEGIN, task: "one" });
    await pass(coder, tester, { task: "two", constraints: [{ id: "two", rule: "Of two" }] });
    await pass(tester, coder, { task: "one", constraints: [{ id: "one", rule: "Of one" }] });
    const both = ["no-fixtures", "one", "two"];
    expect(idsOf((await hub.tasks.ledger("one"))?.constraints ?? []).toSorted()).toEqual(both);
    expect(idsOf((await hub.tasks.ledger("two"))?.constraints ?? []).toSorted()).toEqual(both);
  });

  it("more than an envelope has room for is said, not cut [ENV-10]", async () => {
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

  it("two parents that mean different things by one id lose neither [ENV-10]", async () => {
    const { hub, planner } = await team();
    const of = (task: string, rule: string) =>
      planner.handoff({ to: "coder", task, intent: task, constraints: [{ id: "same", rule }] });
    const parts = [await of("a", "Do it by hand"), await of("b", "Use the generator")];
    const join = await planner.handoffs.join(parts, {
      to: "reviewer",
      task: "all",
      intent: "Join them",
    });
    expect(musts(join.envelope as Envelope)).toEqual(["Do it by hand", "Use the generator"]);
    const [, second] = idsOf(join.envelope.constraints);
    await planner.tasks.releaseItem("all", { id: second ?? "", reason: "By hand then" });
    expect((await hub.tasks.ledger("all"))?.constraints.map(({ rule }) => rule)).toEqual([
      "Do it by hand",
    ]);
  });

  it("a child and its parent that mean different things by one id lose neither [ENV-10]", async () => {
    const { hub, planner, coder, tester, reviewer } = await team();
    const of = (rule: string) => [{ id: "deps", rule }];
    await planner.handoff({ to: "coder", task: "p", intent: "Build it" });
    await pass(coder, tester, { task: "c", constraints: of("Only what is there") });
    await planner.handoff({ to: "coder", task: "p", intent: "x", constraints: of("Ask before") });
    const envelope = await pass(tester, reviewer);
    expect(musts(envelope)).toEqual(["Ask before", "Only what is there"]);
    const [inherited, own] = idsOf(envelope.constraints);
    expect(own).toBe("deps");
    // Who set the one may not take off the other.
    const release = { id: inherited ?? "", reason: "Done" };
    expect((await refusal(coder.tasks.releaseItem("c", release))).code).toBe("not_permitted");
    await planner.tasks.releaseItem("c", release);
    expect((await hub.tasks.ledger("c"))?.constraints).toMatchObject([{ id: "deps", by: "coder" }]);
    expect((await hub.tasks.ledger("p"))?.constraints).toMatchObject([{ rule: "Ask before" }]);
  });

  it("what it was released from on one way still comes down the other [ENV-10]", async () => {
    const { hub, planner } = await team();
    const begin = async (task: string, parents: string[] = []): Promise<string> =>
      (await planner.handoff({ to: "coder", task, intent: task, parents })).envelope.id;
    const top = await planner.handoff({ ...BEGIN, task: "top" });
    const [a, b] = [await begin("a", [top.envelope.id]), await begin("b", [top.envelope.id])];
    await planner.tasks.releaseItem("a", { id: "no-fixtures", reason: "Not here" });
    await begin("both", [a, b]);
    expect(idsOf((await hub.tasks.ledger("both"))?.constraints ?? [])).toEqual(["no-fixtures"]);
    expect((await hub.tasks.ledger("both"))?.origins).toEqual([{ task: "top", intent: INTENT }]);
    await planner.tasks.releaseItem("b", { id: "no-fixtures", reason: "Not here either" });
    expect((await hub.tasks.ledger("both"))?.constraints).toEqual([]);
    expect(idsOf((await hub.tasks.ledger("top"))?.constraints ?? [])).toEqual(["no-fixtures"]);
  });

  it("looks at each task of a family once, however many ways lead there [ENV-10]", async () => {
    const { hub, planner } = await team();
    let parents = [(await planner.handoff({ ...BEGIN, task: "top" })).envelope.id];
    for (let layer = 0; layer < 40; layer++) {
      const sent = ["a", "b"].map((name) =>
        planner.handoff({ to: "coder", task: `${name}${layer}`, intent: "On", parents }),
      );
      parents = (await Promise.all(sent)).map(({ envelope }) => envelope.id);
    }
    expect(await hub.tasks.ledger("a39")).toMatchObject({
      constraints: [{ id: "no-fixtures", task: "top" }],
      origins: [{ task: "top" }],
    });
  });

  it("what one hop calls by one id, or says twice, is all there [ENV-10]", async () => {
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

  it("who sets again what was released is told how [ENV-10]", async () => {
    const { planner } = await team();
    await planner.handoff(BEGIN);
    await planner.tasks.releaseItem("auth", { id: "no-fixtures", reason: "They are generated" });
    const { envelope } = await planner.handoff({ ...BEGIN, to: "tester" });
    expect(musts(envelope as Envelope)).toEqual([]);
    expect(envelope.flags).toMatchObject([{ about: "no-fixtures", path: "constraints[0]" }]);
    expect(envelope.flags?.[0]?.why).toMatch(/released.*new id.*They are generated/);
  });

  it("more original intents than there is room for are told of [ENV-10]", async () => {
    const { planner } = await team();
    const parts = Array.from({ length: 5 }, (_, i) =>
      planner.handoff({ to: "coder", task: `part ${i}`, intent: `${i}`.repeat(3_999) }),
    );
    const whole = { to: "reviewer", task: "whole", intent: "All of it" };
    const { envelope } = await planner.handoffs.join(await Promise.all(parts), whole);
    expect(envelope.origin?.length).toBeLessThanOrEqual(FORMAT_LIMITS.textLength);
    expect(envelope.origin).toContain("2".repeat(3_999));
    expect(envelope.origin).toMatch(/There are more: see `origins` of the task's ledger\.\)$/);
  });
});

describe.each(STORES)("whatever seals an envelope on %s", (store) => {
  const team = async (options = {}) => teamOn(await openFresh(store, options));
  const LATE = { id: "late", rule: "Ask before merging", level: "must" as const };

  /** Added on another line, after what is looked at was sent. */
  const addLate = (planner: Agent) =>
    planner.handoff({ ...BEGIN, to: "reviewer", constraints: [LATE] });

  it("an answer carries what was added since, and not what was released [ENV-10]", async () => {
    const { planner, coder } = await team();
    const sent = await planner.handoff(BEGIN);
    await (await take(coder)).clarify("Which validator?");
    await addLate(planner);
    await planner.tasks.releaseItem("auth", { id: "no-fixtures", reason: "Generated now" });
    await planner.questions.answer(sent.id, "The JWT one");
    const { envelope } = await take(coder);
    expect(idsOf(envelope.constraints)).toEqual([
      ...idsOf(sent.envelope.constraints).slice(1),
      "late",
    ]);
    expect(envelope.released).toEqual([
      { by: "planner", id: "no-fixtures", reason: "Generated now" },
    ]);
  });

  it("a join that opens carries what the joined lines have added [ENV-10]", async () => {
    const { planner, coder, tester, reviewer } = await team();
    const parts = [
      await planner.handoff({ to: "coder", task: "a", intent: "Part a" }),
      await planner.handoff({ to: "tester", task: "b", intent: "Part b" }),
    ];
    await planner.handoffs.join(parts, { to: "reviewer", task: "all", intent: "Join them" });
    await planner.handoff({ ...BEGIN, task: "a", to: "planner" });
    await pass(tester, coder, { task: "b2", constraints: [LATE] });
    for (const task of ["a", "b2"]) await (await take(coder, { task })).complete();
    const { envelope } = await take(reviewer);
    expect(idsOf(envelope.constraints).toSorted()).toEqual(
      ["late", ...idsOf(BEGIN_CONSTRAINTS)].toSorted(),
    );
    expect(idsOf(envelope.decisions)).toEqual(["which-cache"]);
  });

  const BEGIN_CONSTRAINTS = [FIXTURES];

  it("a dead letter that is tried again carries it, edited or not [ENV-10]", async () => {
    const { hub, planner, coder } = await team();
    const sent = await planner.handoff({ ...BEGIN, policy: { attempts: 1 } });
    await (await take(coder)).fail({ message: "It broke" });
    await addLate(planner);
    await planner.deadLetters.redrive(sent.id);
    const again = await take(coder);
    expect(musts(envelopeOf(again))).toEqual([FIXTURES.rule, LATE.rule]);
    await again.fail({ message: "It broke" });
    await planner.deadLetters.redrive(sent.id, {
      constraints: ["Log every step"],
      next: ["Touch the test fixtures"],
    });
    const edited = envelopeOf(await take(coder));
    expect(musts(edited)).toEqual(["Log every step", FIXTURES.rule, LATE.rule]);
    expect(edited.flags?.map(({ about, path }) => [about, path])).toEqual([
      ["no-fixtures", "next[0]"],
    ]);
    const ledger = await hub.tasks.ledger("auth");
    expect(ledger?.constraints.map(({ rule }) => rule)).toEqual([
      FIXTURES.rule,
      LATE.rule,
      "Log every step",
    ]);
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("what a silent holder leaves, a person's edit, a late subscriber's copy [ENV-10]", async () => {
    const clock = new VirtualClock();
    const { hub, planner, coder, tester } = await team({ clock, limits: { leaseMs: 1_000_000 } });
    await planner.handoff(BEGIN);
    const held = await take(coder);
    await held.note("Half of it is done");
    await addLate(planner);
    await clock.advance(2_000_000);
    await hub.deliveries.runDue();
    const reconstructed = envelopeOf(await take(coder));
    expect(reconstructed.reconstructed).toBeDefined();
    expect(musts(reconstructed)).toEqual([FIXTURES.rule, LATE.rule]);
    const [waiting] = await (await hub.agent("reviewer")).deliveries.waiting();
    const person = await hub.agent("reviewer");
    const edited = await person.approvals.edit(waiting?.delivery.id ?? "", {
      intent: "Just the validator",
      to: "tester",
    });
    expect(edited.envelope).toMatchObject({ intent: "Just the validator", origin: INTENT });
    expect(musts(edited.envelope as Envelope).toSorted()).toEqual(
      [FIXTURES.rule, LATE.rule].toSorted(),
    );
    await hub.channels.set("news");
    await tester.channels.subscribe("news");
    await planner.channels.publish("news", { task: "auth", intent: "It goes on" });
    await planner.handoff({ ...BEGIN, constraints: [{ id: "third", rule: "Measure it" }] });
    await coder.channels.subscribe("news", { from: "start" });
    const line = (await hub.tasks.line("auth")).map(({ envelope }) => envelope);
    const [, news] = line.filter(({ to }) => to.kind === "channel");
    expect(news && musts(news)).toEqual([FIXTURES.rule, LATE.rule, "Measure it"]);
  });

  it("what an envelope that is sealed again has no room for is told of [ENV-10]", async () => {
    const { hub, planner, coder } = await teamOn(await openFresh(store));
    await hub.agent("boss", { role: "coordinator" });
    const weak = Array.from({ length: 150 }, (_, i) => ({
      rule: `Nice ${i}`,
      level: "may" as const,
    }));
    const policy = { attempts: 1, exhausted: "escalate" as const };
    await planner.handoff({ ...BEGIN, policy, constraints: [FIXTURES, ...weak] });
    const strong = Array.from({ length: 100 }, (_, i) => `Rule ${i}`);
    await planner.handoff({ ...BEGIN, to: "tester", constraints: strong });
    await (await take(coder)).clarify("Which?");
    const [asked] = await planner.questions.list();
    await planner.questions.answer(asked?.delivery.id ?? "", "That one");
    const work = await take(coder);
    expect(work.envelope.constraints).toHaveLength(151);
    expect(work.envelope.flags?.[0]).toMatchObject({ path: "constraints" });
    expect(work.envelope.flags?.[0]?.why).toContain("no room for 100 that the line carries");
    await work.fail({ message: "No", class: "permanent" });
    // The coordinator gets every must, and hears of it whatever else was said.
    const news = await take(await hub.agent("boss"));
    expect(musts(envelopeOf(news))).toHaveLength(101);
    expect(idsOf(news.envelope.decisions)).toEqual(["which-cache"]);
  });

  it("an escalation carries what the line does [ENV-10]", async () => {
    const { hub, planner } = await team();
    const boss = await hub.agent("boss", { role: "coordinator" });
    await hub.agent("coder", {});
    await planner.handoff({ ...BEGIN, policy: { attempts: 1, exhausted: "escalate" } });
    await (await take(await hub.agent("coder"))).fail({ message: "It broke" });
    const { envelope } = await take(boss);
    expect(envelope).toMatchObject({ task: BEGIN.task, action: "failed" });
    expect(envelope.intent).toBe(INTENT);
    expect(musts(envelope as Envelope)).toEqual([FIXTURES.rule]);
    expect(idsOf(envelope.decisions)).toEqual(["which-cache"]);
  });
});

describe.each(STORES)("a brief that is too long to travel on %s", (store) => {
  const team = async () => teamOn(await openFresh(store));
  const LONG = `${"Move every login to the new validator. ".repeat(200)}And keep the mobile apps working.`;

  it("is kept whole as a record, and its beginning says so [ENV-10]", async () => {
    const { hub, planner, coder, tester } = await team();
    const sent = await planner.handoff({ ...BEGIN, intent: LONG });
    const { intent, brief = "", refs } = sent.envelope;
    expect(intent.length).toBeLessThanOrEqual(FORMAT_LIMITS.intentLength);
    expect(intent).toMatch(
      /validator\.\n\[The beginning of \d+ characters; the whole brief is mem_/,
    );
    expect(intent).toContain(brief);
    expect(LONG.startsWith(intent.slice(0, intent.indexOf("\n[")))).toBe(true);
    const record = await coder.memories.read(brief);
    expect(record).toMatchObject({ type: "brief", content: LONG, task: "auth", agent: "planner" });
    expect(refs).toEqual([{ id: brief, digest: record.digest }]);
    const next = await pass(coder, tester, { intent: "In short: auth" });
    expect(next).toMatchObject({ intent: "In short: auth", origin: intent, brief });
    expect(idsOf(next.refs)).toEqual([brief]);
    expect((await hub.tasks.ledger("auth"))?.brief).toBe(brief);
    // The same brief again, whole or as it travels, is the same record.
    const again = await planner.handoff({ ...BEGIN, to: "reviewer", intent: LONG });
    expect(again.envelope).toMatchObject({ intent, brief });
    const copied = await pass(tester, coder, { intent });
    expect(copied).toMatchObject({ intent, brief });
    expect(copied.origin).toBeUndefined();
    expect(await hub.memories.recent({ type: "brief" })).toHaveLength(1);
  });

  it("one that was refused is not stored twice, one without spaces is cut at a character [ENV-10]", async () => {
    const { hub, planner } = await team();
    await hub.agent("full", {});
    const draft = { to: "coder", task: "auth", intent: "𝒳".repeat(5_000) };
    const sent = await planner.handoff(draft);
    expect(sent.envelope.intent.isWellFormed()).toBe(true);
    expect(sent.envelope.intent.length).toBeLessThanOrEqual(FORMAT_LIMITS.intentLength);
    const missing = { ...draft, task: "b", parents: ["env_00000000-0000-7000-8000-000000000000"] };
    for (let i = 0; i < 2; i++) await refusal(planner.handoff(missing));
    expect(await hub.memories.recent({ type: "brief", task: "b" })).toHaveLength(1);
    const tooLong = "x".repeat(FORMAT_LIMITS.contentLength + 1);
    expect(await refusal(planner.handoff({ ...draft, intent: tooLong }))).toMatchObject({
      code: "invalid_envelope",
      path: "intent",
    });
  });

  it("a quarantined brief goes no further, and the work does [ENV-10]", async () => {
    const { planner, coder, tester } = await team();
    const { envelope } = await planner.handoff({ ...BEGIN, intent: LONG });
    await planner.memories.quarantine([envelope.brief ?? ""], "Of another customer");
    const next = await pass(coder, tester, { intent: "Go on" });
    expect(next.brief).toBeUndefined();
    expect(next.refs).toEqual([]);
  });
});

describe.each(STORES)("what speaks against the line on %s", (store) => {
  const team = async () => teamOn(await openFresh(store));

  it("is flagged, not refused, and the record says so [ENV-10]", async () => {
    const { hub, planner, coder, tester, reviewer } = await team();
    await planner.handoff(BEGIN);
    const first = await pass(coder, tester, {
      next: ["Touch the test fixtures", "Extract validateToken()"],
      history: [{ agent: "coder", did: "measured", decided: "Redis keeps the sessions" }],
    });
    expect(first.flags?.map(({ about, path }) => [about, path])).toEqual([
      ["no-fixtures", "next[0]"],
      ["which-cache", "history[0].decided"],
    ]);
    expect(await hub.memories.recent({ tag: "flagged" })).toHaveLength(1);
    await planner.tasks.releaseItem("auth", {
      ...{ id: "which-cache", reason: "Measured" },
      decided: "Use Redis for the sessions",
    });
    // What was handed on before is not this hop's; what a decision came to holds.
    const next = await pass(tester, reviewer, {
      next: first.next,
      state: "All is well. Use Memcached for the sessions.",
    });
    expect(next.flags?.map(({ about, path }) => [about, path])).toEqual([["which-cache", "state"]]);
    const { text } = (await (await reviewer.accept())?.view()) ?? { text: "" };
    expect(text).toMatch(/- flagged about which-cache, at «state»: «speaks against "Use Redis/);
    expect(text).not.toMatch(/speaks against.*speaks against/);
  });

  it("agreeing with it, or speaking of something else, is not [ENV-10]", async () => {
    const { hub, planner, coder, tester } = await team();
    await planner.handoff(BEGIN);
    const envelope = await pass(coder, tester, {
      constraints: [FIXTURES, "Keep functions short"],
      next: ["Extract validateToken()", "Do not touch the test fixtures"],
      state: "The validator is extracted. Two tests are red.",
      history: [{ agent: "coder", did: "extracted it", decided: "One class for all tokens" }],
    });
    expect(envelope.flags).toBeUndefined();
    expect(await hub.memories.recent({ tag: "flagged" })).toEqual([]);
  });
});

describe.each(STORES)("keeping a ledger on %s", (store) => {
  it("a text is redacted from it, and a handoff's own words go with it [ENV-10]", async () => {
    const { hub, planner, coder, tester } = await teamOn(await openFresh(store));
    const SECRET = "hunter2-hunter2";
    const sent = await planner.handoff({
      ...BEGIN,
      constraints: [{ id: "login", rule: `Log in with ${SECRET}` }],
    });
    await planner.memories.redact({ text: SECRET }, "A password");
    const masked = await hub.tasks.ledger("auth");
    expect(JSON.stringify(masked)).not.toContain(SECRET);
    expect(masked?.constraints).toMatchObject([{ id: "login", rule: "Log in with [redacted]" }]);
    const next = await pass(coder, tester, { intent: "Go on" });
    expect(musts(next)).toEqual(["Log in with [redacted]"]);
    await planner.memories.redact({ ids: [sent.envelope.id] }, "All of it");
    const ledger = await hub.tasks.ledger("auth");
    expect(ledger).toMatchObject({
      intent: "[redacted]",
      constraints: [{ id: "login", rule: "[redacted]" }],
      decisions: [{ id: "which-cache", question: "[redacted]", options: [] }],
    });
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("an export takes it along [ENV-10]", async () => {
    const { hub, planner } = await teamOn(await openFresh(store));
    await planner.handoff(BEGIN);
    const lines: string[] = [];
    for await (const line of hub.archive.export()) lines.push(line);
    const other = await openFresh(store);
    await other.archive.import(lines);
    expect(await other.tasks.ledger("auth")).toEqual(await hub.tasks.ledger("auth"));
  });
});

describe("a ledger that somebody changes behind the hub's back", () => {
  it("is found [ENV-10]", async () => {
    const address = freshAddress("sqlite");
    const hub = await open(address);
    const { planner } = await teamOn(hub);
    await planner.handoff(BEGIN);
    const db = breakIn(address);
    db.exec(
      `update entries set value = replace(value, 'Do not touch', 'Do touch') where kind = 'ledger'`,
    );
    const { problems } = await hub.verify();
    expect(problems).toMatchObject([{ record: "ledger auth" }]);
  });
});
