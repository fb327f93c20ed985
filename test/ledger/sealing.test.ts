/** The ledger in sealed envelopes, long briefs, conflicts, redaction, export and tampering. */
import { describe, expect, it } from "vitest";
import { type Agent, type Envelope, FORMAT_LIMITS, type Work } from "../../src/index.ts";
import { VirtualClock } from "../../src/testing/index.ts";
import { withoutNumbers } from "../support/fences.ts";
import {
  breakIn,
  freshAddress,
  open,
  openFresh,
  refusal,
  STORES,
  take,
} from "../support/hub/support.ts";
import { BEGIN, FIXTURES, INTENT, idsOf, musts, pass, teamOn } from "./ledger-team.ts";

const envelopeOf = (work: Work<unknown>): Envelope => work.envelope as Envelope;

describe.each(STORES)("the ledger in a sealed envelope on %s", (store) => {
  const team = async (options = {}) => teamOn(await openFresh(store, options));
  const LATE = { id: "late", rule: "Ask before merging", level: "must" as const };

  /** Adds a must on another line, after the envelope under test was sent. */
  const addLate = (planner: Agent) =>
    planner.handoff({ ...BEGIN, to: "reviewer", constraints: [LATE] });

  it("is updated when a question is answered [ENV-10]", async () => {
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

  it("includes what the joined lines added when a join opens [ENV-10]", async () => {
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

  it("is updated when a dead letter is redriven, edited or not [ENV-10]", async () => {
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

  it("is updated in reconstructed work, a person's edit and a late copy [ENV-10]", async () => {
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
    const [waiting] = (await (await hub.agent("reviewer")).deliveries.waiting()).items;
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

  it("is flagged as incomplete if it no longer fits [ENV-10]", async () => {
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
    expect(work.envelope.flags?.[0]?.why).toContain("100 more on the ledger of");
    await work.fail({ message: "No", class: "permanent" });
    // The coordinator gets every must, whatever else the envelope has.
    const news = await take(await hub.agent("boss"));
    expect(musts(envelopeOf(news))).toHaveLength(101);
    expect(idsOf(news.envelope.decisions)).toEqual(["which-cache"]);
  });

  it("is included in an escalation [ENV-10]", async () => {
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

describe.each(STORES)("a brief that is too long for an envelope on %s", (store) => {
  const team = async () => teamOn(await openFresh(store));
  const LONG = `${"Move every login to the new validator. ".repeat(200)}And keep the mobile apps working.`;

  it("is stored in full as a memory that the intent refers to [ENV-10]", async () => {
    const { hub, planner, coder, tester } = await team();
    const sent = await planner.handoff({ ...BEGIN, intent: LONG });
    const { intent, brief = "", refs } = sent.envelope;
    expect(intent.length).toBeLessThanOrEqual(FORMAT_LIMITS.intentLength);
    expect(intent).toMatch(
      /validator\.\n\[The first part of \d+ characters; the full brief is mem_/,
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
    // Sending the same brief again, in full or as it was cut, stores no second memory.
    const again = await planner.handoff({ ...BEGIN, to: "reviewer", intent: LONG });
    expect(again.envelope).toMatchObject({ intent, brief });
    const copied = await pass(tester, coder, { intent });
    expect(copied).toMatchObject({ intent, brief });
    expect(copied.origin).toBeUndefined();
    expect((await hub.memories.recent({ type: "brief" })).items).toHaveLength(1);
  });

  it("is stored once if its handoff is refused, and cut between characters [ENV-10]", async () => {
    const { hub, planner } = await team();
    await hub.agent("full", {});
    const draft = { to: "coder", task: "auth", intent: "𝒳".repeat(5_000) };
    const sent = await planner.handoff(draft);
    expect(sent.envelope.intent.isWellFormed()).toBe(true);
    expect(sent.envelope.intent.length).toBeLessThanOrEqual(FORMAT_LIMITS.intentLength);
    const missing = { ...draft, task: "b", parents: ["env_00000000-0000-7000-8000-000000000000"] };
    for (let i = 0; i < 2; i++) await refusal(planner.handoff(missing));
    expect((await hub.memories.recent({ type: "brief", task: "b" })).items).toHaveLength(1);
    const tooLong = "x".repeat(FORMAT_LIMITS.contentLength + 1);
    expect(await refusal(planner.handoff({ ...draft, intent: tooLong }))).toMatchObject({
      code: "invalid_envelope",
      path: "intent",
    });
  });

  it("is left out of later handoffs once it is quarantined [ENV-10]", async () => {
    const { planner, coder, tester } = await team();
    const { envelope } = await planner.handoff({ ...BEGIN, intent: LONG });
    await planner.memories.quarantine([envelope.brief ?? ""], "Of another customer");
    const next = await pass(coder, tester, { intent: "Go on" });
    expect(next.brief).toBeUndefined();
    expect(next.refs).toEqual([]);
  });
});

describe.each(STORES)("conflicts with the ledger on %s", (store) => {
  const team = async () => teamOn(await openFresh(store));

  it("are flagged, not refused, and the memory is tagged [ENV-10]", async () => {
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
    expect((await hub.memories.recent({ tag: "flagged" })).items).toHaveLength(1);
    await planner.tasks.releaseItem("auth", {
      ...{ id: "which-cache", reason: "Measured" },
      decided: "Use Redis for the sessions",
    });
    // Steps copied from the hop before are not flagged again; the decision that was made counts.
    const next = await pass(tester, reviewer, {
      next: first.next,
      state: "All is well. Use Memcached for the sessions.",
    });
    expect(next.flags?.map(({ about, path }) => [about, path])).toEqual([["which-cache", "state"]]);
    const { text } = (await (await reviewer.accept())?.view()) ?? { text: "" };
    expect(withoutNumbers(text)).toMatch(
      /- flagged about which-cache, at «state»: «conflicts with "Use Redis/,
    );
    expect(text).not.toMatch(/conflicts with.*conflicts with/);
  });

  it("are not found in statements that agree or are unrelated [ENV-10]", async () => {
    const { hub, planner, coder, tester } = await team();
    await planner.handoff(BEGIN);
    const envelope = await pass(coder, tester, {
      constraints: [FIXTURES, "Keep functions short"],
      next: ["Extract validateToken()", "Do not touch the test fixtures"],
      state: "The validator is extracted. Two tests are red.",
      history: [{ agent: "coder", did: "extracted it", decided: "One class for all tokens" }],
    });
    expect(envelope.flags).toBeUndefined();
    expect((await hub.memories.recent({ tag: "flagged" })).items).toEqual([]);
  });
});

describe.each(STORES)("a stored ledger on %s", (store) => {
  it("is redacted by text and by handoff [ENV-10]", async () => {
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

  it("is preserved by export and import [ENV-10]", async () => {
    const { hub, planner } = await teamOn(await openFresh(store));
    await planner.handoff(BEGIN);
    const lines: string[] = [];
    for await (const line of hub.archive.export()) lines.push(line);
    const other = await openFresh(store);
    await other.archive.import(lines);
    expect(await other.tasks.ledger("auth")).toEqual(await hub.tasks.ledger("auth"));
  });
});

describe("a ledger changed directly in the database", () => {
  it("is reported by verification [ENV-10]", async () => {
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
