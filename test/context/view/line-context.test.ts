/** What a receiver gets from earlier agents: payloads, progress, attempts, answers, decisions. */
import { describe, expect, it } from "vitest";
import type { Agent, Hub, HubOptions, Work } from "../../../src/index.ts";
import { VirtualClock } from "../../../src/testing/index.ts";
import { withoutNumbers } from "../../support/fences.ts";
import { openFresh, refusal, STORES, type StoreName, take } from "../../support/hub/support.ts";

interface Team {
  readonly hub: Hub;
  readonly planner: Agent;
  readonly coder: Agent;
  readonly tester: Agent;
}

async function team(store: StoreName, options: HubOptions = {}): Promise<Team> {
  const hub = await openFresh(store, options);
  const planner = await hub.agent("planner", { role: "planner" });
  const coder = await hub.agent("coder", { role: "coder", model: "gpt-4o" });
  const tester = await hub.agent("tester", { role: "tester", model: "gpt-4o" });
  return { hub, planner, coder, tester };
}

const draft = { to: "coder", task: "auth", intent: "Refactor the login" };

describe.each(STORES)("payloads and outputs on %s", { timeout: 60_000 }, (store) => {
  const report = {
    summary: "Two of three suites pass",
    suites: [
      { name: "unit", passed: true, ms: 120 },
      { name: "mobile", passed: false, ms: 900 },
    ],
    patch: "--- a/auth.ts\n+++ b/auth.ts\n+validate()",
  };

  it("are rendered and fenced in the view, and named in the primer [CTX-12]", async () => {
    const { planner, coder } = await team(store);
    await planner.handoff({ ...draft, payload: { type: "report", data: report } });
    const work = await take(coder);
    const { text, omitted } = await work.view({ tokens: 4_000 });
    expect(withoutNumbers(text)).toContain("- payload «report»:\n««");
    expect(text).toContain("summary: Two of three suites pass");
    expect(text).toContain("| ms | name | passed |");
    expect(text).toContain("| 900 | mobile | false |");
    expect(text).toContain("  +validate()");
    expect(omitted.map(({ id }) => id)).not.toContain(`${work.envelope.id}#payload`);
    expect(withoutNumbers(work.primer)).toContain("payload («report»)");
    expect(work.primer).toContain(`read ${work.envelope.id}#payload`);
  });

  it("are outlined, listed in the manifest and readable by id if too large [CTX-12]", async () => {
    const { hub, planner, coder } = await team(store);
    const log = Array.from({ length: 400 }, (_, i) => `line ${i} of the log`).join("\n");
    const data = { verdict: "red", log, counts: { failed: 3, passed: 9 } };
    await planner.handoff({ ...draft, payload: { type: "log", data } });
    const work = await take(coder);
    const id = `${work.envelope.id}#payload`;
    for (const strategy of ["full", "priority", "summary", "lazy"] as const) {
      const view = await work.view({ tokens: 600, strategy });
      expect(view.tokens).toBeLessThanOrEqual(600);
      expect(view.text).toContain(`in full: read ${id}`);
      expect(view.text).toContain("verdict: red");
      expect(view.text).toContain(
        `log: text of ${log.length} characters, begins: line 0 of the log`,
      );
      expect(view.text).not.toContain("line 300 of the log");
      expect(view.omitted.find((each) => each.id === id)).toMatchObject({ shown: "summary" });
      const [kept] = (await hub.deliveries.views(work.id)).slice(-1);
      expect(kept).toMatchObject({ matches: true, text: view.text });
    }
    const whole = await work.read(id);
    expect(whole.value).toEqual({ type: "log", data });
    expect(whole.text).toContain("line 399 of the log");
    expect((await planner.memories.read(id)).value).toEqual({ type: "log", data });
  });

  it("of completed work are shown to the next receiver of the task [CTX-12]", async () => {
    const { planner, coder, tester } = await team(store);
    await planner.handoff(draft);
    const work = await take(coder);
    await work.complete({
      summary: "Extracted",
      outputs: { port: 8088, notes: "kept the cookie" },
    });
    await planner.handoff({ to: "tester", task: "auth", intent: "Test the login" });
    const { text } = await (await take(tester)).view({ tokens: 4_000 });
    expect(text).toContain("port: 8088");
    expect(text).toContain("kept the cookie");
  });

  it("are read as parts of an envelope by id; unknown parts are refused [CTX-12]", async () => {
    const { planner } = await team(store);
    const { envelope } = await planner.handoff({ ...draft, done: ["one"] });
    expect((await planner.memories.read(`${envelope.id}#done[0]`)).value).toBe("one");
    expect((await planner.memories.read(envelope.id)).value).toMatchObject({
      intent: draft.intent,
    });
    for (const part of ["paylod", "done[7]", "done[1-2]"]) {
      expect(await refusal(planner.memories.read(`${envelope.id}#${part}`))).toMatchObject({
        code: "invalid_input",
        path: "id",
      });
    }
    expect(await refusal(planner.memories.read("env_nothing#done"))).toMatchObject({
      code: "invalid_input",
    });
  });
});

describe.each(STORES)("a line on %s", { timeout: 60_000 }, (store) => {
  /** Sends a task over three hops; the second adds one item, the third nothing. */
  async function threeHops() {
    const all = await team(store);
    await all.planner.handoff({
      ...draft,
      done: ["Wrote the plan"],
      doNotRedo: ["Do not measure the cache again"],
      blocked: [{ what: "Staging is down", on: "the platform team" }],
      artifacts: [{ kind: "file", path: "docs/plan.md", note: "the plan itself" }],
      constraints: [{ rule: "Prefer small commits", level: "should", source: "team habit" }],
      history: [{ agent: "planner", did: "Compared", decided: "JWT", why: "mobile needs it" }],
      expects: [{ name: "patch", type: "text", criteria: ["all suites pass"] }],
    });
    const first = await take(all.coder);
    await first.handoff({ to: "tester", intent: "Test it", done: ["Wrote the validator"] });
    const second = await take(all.tester);
    await second.handoff({ to: "coder", intent: "Fix what is left" });
    return { ...all, first, second, third: await take(all.coder) };
  }

  it("accumulates what earlier hops reported, with author and id [CTX-13]", async () => {
    const { hub, third } = await threeHops();
    const view = await third.view({ tokens: 4_000 });
    const { text } = view;
    expect(withoutNumbers(text)).toContain("## Earlier on this task");
    for (const said of [
      "«Wrote the plan»",
      "«Wrote the validator»",
      "do not redo: «Do not measure the cache again»",
      "«Staging is down» on «the platform team»",
      "file «docs/plan.md», «the plan itself»",
      "«Prefer small commits» because of «team habit»",
      "«Compared» decided «JWT» because «mobile needs it»",
      "good when «all suites pass»",
    ]) {
      expect(withoutNumbers(text)).toContain(said);
    }
    expect(withoutNumbers(text)).toMatch(
      /- done-[0-9a-f]{6} by planner(?:, [\d-]{10})?: «Wrote the plan»/,
    );
    expect(withoutNumbers(text)).toMatch(
      /- blocked-[0-9a-f]{6} by planner(?:, [\d-]{10})?: «Staging is down»/,
    );
    expect(withoutNumbers(text)).toMatch(
      /- [0-9a-f]{6}#history\[0\] by planner(?:, [\d-]{10})?: «Compared»/,
    );
    expect(third.progress.map(({ kind, text: said, by }) => [kind, said, by])).toEqual([
      ["blocked", "Staging is down", "planner"],
      ["doNotRedo", "Do not measure the cache again", "planner"],
      ["done", "Wrote the plan", "planner"],
      ["done", "Wrote the validator", "coder"],
    ]);
    for (const said of [
      "Wrote the plan",
      "Wrote the validator",
      "measure the cache",
      "Staging is down",
    ]) {
      expect(third.primer).toContain(said);
    }
    const [kept] = (await hub.deliveries.views(third.id)).slice(-1);
    expect(kept).toMatchObject({ matches: true, text });
  });

  it("states the day of items reported on another day than the handoff [CTX-13]", async () => {
    const clock = new VirtualClock();
    const { hub, planner, coder, tester } = await team(store, { clock });
    await planner.handoff({ ...draft, done: ["Wrote the plan"] });
    const day = new Date(clock.now()).toISOString().slice(0, 10);
    await planner.remember({ type: "fact", content: "Tokens expire hourly", task: "auth" });
    clock.advance(3 * 24 * 3_600_000);
    const first = await take(coder);
    await first.handoff({ to: "tester", intent: "Test it", done: ["Wrote the validator"] });
    const second = await take(tester);
    await second.handoff({ to: "coder", intent: "Fix what is left" });
    const third = await take(coder);
    const { text } = await third.view({ tokens: 4_000 });
    expect(withoutNumbers(text)).toContain(` by planner, ${day}: «Wrote the plan»`);
    expect(withoutNumbers(text)).toContain(" by coder: «Wrote the validator»");
    expect(withoutNumbers(text)).toMatch(
      new RegExp(`\\[fact\\] by planner, ${day}:\\n- [0-9a-f]{6}: «Tokens expire hourly»`),
    );
    const [kept] = (await hub.deliveries.views(third.id)).slice(-1);
    expect(kept).toMatchObject({ matches: true, text });
  });

  it("shows old dead ends before newer remarks [CTX-13]", async () => {
    const { planner, coder, tester } = await team(store);
    await planner.handoff({ ...draft, doNotRedo: ["A cache per user ran out of memory"] });
    let work = await take(coder);
    for (let n = 0; n < 8; n++) {
      const [from, to] = n % 2 === 0 ? [coder, tester] : [tester, coder];
      const said = await from.remember({
        type: "fact",
        content: `Had another look at part ${n}, which took most of the afternoon`,
        task: "auth",
      });
      await work.handoff({ to: to.id, intent: `Go on with part ${n}`, refs: [said.id] });
      work = await take(to);
    }
    const { text } = await work.view({ tokens: 260 });
    expect(withoutNumbers(text)).toContain("do not redo: «A cache per user ran out of memory»");
  });

  it("shows what must not be redone to a role that prefers references [CTX-13 CTX-3]", async () => {
    const { hub, planner } = await team(store);
    const reader = await hub.agent("reader", { role: "researcher", model: "gpt-4o" });
    const facts = Array.from({ length: 12 }, (_, n) => ({
      type: "fact",
      content: `Part ${n} was looked at`,
    }));
    const refs = (await planner.remember(facts)).map(({ id }) => id);
    const doNotRedo = ["A cache for each user ran out of memory, on staging and again on the copy"];
    await planner.handoff({ ...draft, to: "reader", doNotRedo, refs });
    const { text } = await (await take(reader)).view({ tokens: 220 });
    expect(withoutNumbers(text)).toContain(`do not redo: «${doNotRedo[0]}»`);
    expect(text).toContain("was looked at");
  });

  it("shows once what several memories and the envelope repeat [CTX-13]", async () => {
    const { planner, coder } = await team(store);
    const twice = { type: "fact", content: "Tokens expire hourly", task: "auth" };
    const said = await planner.remember([
      twice,
      twice,
      { type: "checkpoint", content: "Wrote the plan", task: "auth" },
    ]);
    await planner.handoff({ ...draft, done: ["Wrote the plan"], refs: said.map(({ id }) => id) });
    const { text, omitted } = await (await take(coder)).view({ tokens: 4_000 });
    expect(text.split("Tokens expire hourly")).toHaveLength(2);
    expect(text.split("Wrote the plan")).toHaveLength(2);
    const repeated = omitted.filter(({ why }) => why === "said").map(({ id }) => id);
    expect(repeated.toSorted()).toEqual([said[1]?.id, said[2]?.id].toSorted());
  });

  it("lists in the manifest what does not fit, readable by id [CTX-13]", async () => {
    const { third, first, second } = await threeHops();
    const view = await third.view({ tokens: 260 });
    const listed = new Set(view.omitted.map(({ id }) => id));
    expect(listed).toContain(first.envelope.id);
    expect(listed).toContain(second.envelope.id);
    for (const id of listed) {
      if (id.startsWith("env_")) expect((await third.read(id)).text).not.toBe("");
    }
    const label = /([0-9a-f]{6}#history\[0\])/.exec(
      (await third.view({ tokens: 4_000 })).text,
    )?.[1];
    expect((await third.read(label ?? "")).value).toMatchObject({ decided: "JWT" });
  });

  it("keeps an item until it is released, then shows the reason [CTX-13]", async () => {
    const { hub, planner, coder, third } = await threeHops();
    const item = third.progress.find(({ text }) => text === "Staging is down");
    const id = item?.id ?? "";
    expect(
      await refusal(
        hub
          .agent("stranger", {})
          .then((other) => other.tasks.releaseItem("auth", { id, reason: "x" })),
      ),
    ).toMatchObject({ code: "not_permitted" });
    await third.handoff({
      to: "planner",
      intent: "Decide",
      releases: [{ id, reason: "it is up again" }],
    });
    const fourth = await take(planner);
    expect(fourth.progress.map(({ text }) => text)).not.toContain("Staging is down");
    const { text } = await fourth.view({ tokens: 4_000 });
    expect(withoutNumbers(text)).not.toContain("blocked: «Staging is down»");
    expect(text).toContain("it is up again");
    const { progress, released } = (await hub.tasks.ledger("auth")) ?? {};
    expect(progress?.map((each) => each.text)).not.toContain("Staging is down");
    expect(released).toMatchObject([{ id, kind: "blocked", said: "Staging is down", by: "coder" }]);
    const done = progress?.find((each) => each.text === "Wrote the plan");
    await coder.tasks.releaseItem("auth", { id: done?.id ?? "", reason: "the plan was dropped" });
    expect((await hub.tasks.ledger("auth"))?.progress.map((each) => each.text)).not.toContain(
      "Wrote the plan",
    );
  });

  it("shows once what several hops report [CTX-13]", async () => {
    const { planner, coder } = await team(store);
    await planner.handoff({ ...draft, done: ["Wrote the plan"], doNotRedo: ["Redo nothing"] });
    const first = await take(coder);
    await first.handoff({ to: "planner", intent: "Look", done: ["Wrote the plan", "Wrote code"] });
    const second = await take(planner);
    const { text } = await second.view({ tokens: 4_000 });
    expect(withoutNumbers(text).split("«Wrote the plan»")).toHaveLength(2);
    expect(withoutNumbers(text)).toContain("do not redo: «Redo nothing»");
  });

  it("is inherited by a child task, without quarantined items [CTX-13]", async () => {
    const { planner, coder, tester } = await team(store);
    const sent = await planner.handoff({ ...draft, doNotRedo: ["Do not ask legal again"] });
    const work = await take(coder);
    await work.handoff({ to: "tester", task: "auth-tests", intent: "Write the tests" });
    const child = await take(tester);
    expect(child.progress.map(({ text }) => text)).toContain("Do not ask legal again");
    const { text } = await child.view({ tokens: 4_000 });
    expect(withoutNumbers(text)).toContain("on «auth»: do not redo: «Do not ask legal again»");
    await planner.memories.quarantine([sent.memory], "made up");
    const { text: after } = await child.view({ tokens: 4_000, anew: true });
    expect(after).not.toContain("Do not ask legal again");
  });
});

describe.each(STORES)("an earlier attempt on %s", { timeout: 60_000 }, (store) => {
  async function again(coder: Agent): Promise<Work> {
    const work = await coder.accept({ wait: true, signal: AbortSignal.timeout(50_000) });
    if (work === undefined) throw new Error("nothing came back");
    return work;
  }

  it("is shown with its error, what was attempted, hints and notes [CTX-14]", async () => {
    const { hub, planner, coder } = await team(store);
    const policy = { attempts: 3, backoff: { firstMs: 1, longestMs: 1 } };
    await planner.handoff({ ...draft, policy });
    const work = await take(coder);
    await work.note({ content: "The mock server listens on 9099" });
    await work.fail({
      message: "The suite hangs",
      type: "timeout",
      attempted: "raised the timeout to 60 s",
      hints: ["start the mock server first"],
    });
    const second = await again(coder);
    expect(second.attempts).toMatchObject([
      {
        attempt: 1,
        by: "coder",
        outcome: "failed",
        type: "timeout",
        message: "The suite hangs",
        attempted: "raised the timeout to 60 s",
        hints: ["start the mock server first"],
        notes: [{ text: "The mock server listens on 9099" }],
      },
    ]);
    const view = await second.view({ tokens: 4_000 });
    for (const text of [view.text, second.primer]) {
      expect(text).toContain("attempt 1 by coder failed (timeout)");
      expect(text).toContain("The suite hangs");
      expect(text).toContain("raised the timeout to 60 s");
      expect(text).toContain("start the mock server first");
      expect(text).toContain("The mock server listens on 9099");
    }
    expect(withoutNumbers(view.text)).toMatch(
      / {2}note mem_\S+: «The mock server listens on 9099»/,
    );
    const [kept] = (await hub.deliveries.views(second.id)).slice(-1);
    expect(kept).toMatchObject({ matches: true, text: view.text });
    expect((await second.read(`${second.id}#attempts[0]`)).value).toMatchObject({ attempt: 1 });
    expect(JSON.parse(JSON.stringify(second)).attempts).toHaveLength(1);
  });

  it("is readable by the next receiver of the line [CTX-14]", async () => {
    const { planner, coder, tester } = await team(store);
    await planner.handoff({ ...draft, policy: { backoff: { firstMs: 1, longestMs: 1 } } });
    const work = await take(coder);
    await work.fail({ message: "The suite hangs" });
    const second = await again(coder);
    await second.handoff({ to: "tester", intent: "Test it" });
    const next = await take(tester);
    const { omitted } = await next.view({ tokens: 4_000 });
    const id = `${second.id}#attempts`;
    expect(omitted.find((each) => each.id === id)).toMatchObject({ why: "earlier" });
    expect((await next.read(id)).value).toMatchObject([{ message: "The suite hangs" }]);
  });

  it("is shown with its question and the answer [CTX-14]", async () => {
    const { planner, coder } = await team(store);
    const sent = await planner.handoff(draft);
    const work = await take(coder);
    await work.clarify("Which port does staging use?");
    await planner.questions.answer(sent.id, "Port 8080, behind the proxy");
    const second = await again(coder);
    expect(second.attempts).toMatchObject([
      {
        outcome: "asked",
        question: "Which port does staging use?",
        answer: { by: "planner", text: "Port 8080, behind the proxy" },
      },
    ]);
    for (const text of [(await second.view({ tokens: 4_000 })).text, second.primer]) {
      expect(text).toContain("Which port does staging use?");
      expect(text).toContain("Port 8080, behind the proxy");
    }
    const [entry] = second.envelope.history;
    expect((await second.read(entry?.ref ?? "")).data).toMatchObject({
      answer: "Port 8080, behind the proxy",
    });
  });

  it("is shown with the decision about its failure and the reason [CTX-14]", async () => {
    const { hub, planner, coder } = await team(store);
    const lead = await hub.agent("lead", { role: "coordinator" });
    await planner.handoff({ ...draft, policy: { attempts: 1 } });
    const work = await take(coder);
    await work.fail({ message: "No access to the registry", class: "permanent" });
    await hub.deliveries.runDue();
    const report = await again(lead);
    const decision = { decision: "retry", reason: "access was granted this morning" } as const;
    expect(await lead.failures.decide(report, decision)).toMatchObject({ kind: "decided" });
    const second = await again(coder);
    expect(second.attempts.at(-1)).toMatchObject({
      message: "No access to the registry",
      decision: { by: "lead", decision: "retry", reason: "access was granted this morning" },
    });
    for (const text of [(await second.view({ tokens: 4_000 })).text, second.primer]) {
      expect(text).toContain("No access to the registry");
      expect(text).toContain("access was granted this morning");
    }
  });

  it("is not shown if there is none [CTX-14]", async () => {
    const { planner, coder } = await team(store);
    await planner.handoff(draft);
    const work = await take(coder);
    expect(work.attempts).toEqual([]);
    expect(work.progress).toEqual([]);
    expect(work.primer).not.toContain("Earlier attempts");
  });
});
