/** Lint: findings with their path and hint, and rules that refuse a handoff. */
import { describe, expect, it } from "vitest";
import { EnvelopeVersions } from "../../../src/envelope/versions.ts";
import type { Agent, Draft, Finding, Hub } from "../../../src/index.ts";
import { contents, openFresh, openTwo, refusal, STORES, take } from "../../support/hub/support.ts";
import { until } from "../../support/until.ts";

/** A handoff without findings. */
const GOOD = {
  to: "ben",
  task: "login",
  intent: "Fix the login form: it accepts an empty password",
  state: "The form posts to /session without looking at its fields.",
  next: ["Write a test that posts an empty password"],
  expects: [{ name: "patch", type: "diff", criteria: ["The new test passes"] }],
} satisfies Draft;

async function team(hub: Hub): Promise<{ ada: Agent; ben: Agent }> {
  const ada = await hub.agent("ada", { role: "planner" });
  const ben = await hub.agent("ben", { role: "coder", model: "gpt-4o", window: 8_000 });
  return { ada, ben };
}

const rulesOf = (findings: readonly Finding[]) => findings.map(({ rule }) => rule);
const token = `gh${"p_"}aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY1zA2`;

describe("linting a handoff", () => {
  it("finds nothing in a complete handoff, and sends and stores nothing [ENV-12]", async () => {
    const hub = await openFresh("memory");
    const { ada } = await team(hub);
    const before = (await hub.events.list({ after: 0 })).items;
    expect(await ada.handoffs.lint(GOOD)).toEqual({ ok: true, findings: [] });
    expect((await hub.events.list({ after: 0 })).items).toEqual(before);
    expect(await hub.tasks.line("login")).toEqual([]);
  });

  const flawed: readonly (readonly [what: string, rule: string, path: string, Partial<Draft>])[] = [
    ["no next step", "no_next_step", "next", { next: [] }],
    ["no expected output", "no_criteria", "expects", { expects: [] }],
    [
      "an output without criteria",
      "no_criteria",
      "expects[0].criteria",
      { expects: [{ name: "patch", type: "diff" }] },
    ],
    ["an intent without an object", "vague_intent", "intent", { intent: "Fix it" }],
    [
      "a generic intent",
      "vague_intent",
      "intent",
      { intent: "Please continue with the next task" },
    ],
    ["a one-word intent", "vague_intent", "intent", { intent: "Login" }],
    [
      "a transcript",
      "transcript",
      "state",
      { state: "User: it fails\nAssistant: how?\nUser: on login\nAssistant: I see" },
    ],
    [
      "a list of messages",
      "transcript",
      "payload.data.log",
      {
        payload: {
          type: "chat",
          data: { log: ["user", "assistant", "user"].map((role) => ({ role, content: "hello" })) },
        },
      },
    ],
    [
      "a state that fills half the window",
      "oversize",
      "",
      { state: "A long story of what went before. ".repeat(400) },
    ],
    [
      "a large payload",
      "oversize",
      "payload",
      { payload: { type: "dump", data: { rows: "0 ".repeat(10_000) } } },
    ],
    ["a token in the state", "secret", "state", { state: `The token is ${token}.` }],
    ["a token in a constraint", "secret", "constraints[0].rule", { constraints: [`Use ${token}`] }],
    [
      "a password in the payload",
      "secret",
      "payload.data.db.password",
      { payload: { type: "config", data: { db: { password: "pX7!mQ2#vR" } } } },
    ],
  ];

  it.each(flawed)("reports %s as %s, with its path and a hint [ENV-12]", async (...flaw) => {
    const [, rule, path, changes] = flaw;
    const hub = await openFresh("memory");
    const { ada } = await team(hub);
    const { findings } = await ada.handoffs.lint({ ...GOOD, ...changes });
    const found = findings.find((each) => each.rule === rule && each.path === path);
    expect(found, JSON.stringify(findings)).toBeDefined();
    expect(found?.hint).not.toBe("");
    expect(found?.message.startsWith(path)).toBe(true);
  });

  it("reports deprecated fields and their replacements [ENV-12 ENV-7]", async () => {
    const deprecated = [{ path: "constraints[].source", since: "1.1", use: "history" }];
    const hub = await openFresh("memory", { versions: new EnvelopeVersions({ deprecated }) });
    const { ada } = await team(hub);
    const constraints = ["Stay small", { rule: "Keep the fixtures", source: "QA" }];
    expect((await ada.handoffs.lint({ ...GOOD, constraints })).findings).toMatchObject([
      { rule: "deprecated_field", path: "constraints[1].source", hint: "Use history instead." },
    ]);
  });

  it("never repeats a secret, even if it is a field name [ENV-12]", async () => {
    const hub = await openFresh("memory");
    const { ada } = await team(hub);
    const report = await ada.handoffs.lint({
      ...GOOD,
      state: `It is ${token}`,
      payload: { type: "map", data: { [token]: { note: `and ${token}` } } },
    });
    expect(report.ok).toBe(false);
    expect(report.findings.filter(({ rule }) => rule === "secret")).toHaveLength(3);
    expect(JSON.stringify(report)).not.toContain(token);
  });

  it("requires no steps in news or reports, and no criteria in approvals [ENV-12]", async () => {
    const hub = await openFresh("memory");
    const { ada, ben } = await team(hub);
    await hub.channels.set("news");
    await ben.channels.subscribe("news");
    const bare = { intent: "Login accepts no empty password any more" };
    expect((await ada.handoffs.lint({ ...bare, to: "channel:news" })).findings).toEqual([]);
    expect((await ada.handoffs.lint({ ...bare, to: "ben", action: "completed" })).findings).toEqual(
      [],
    );
    const approval = { ...GOOD, expects: [{ name: "verdict", type: "approval" }] };
    expect((await ada.handoffs.lint(approval)).findings).toEqual([]);
  });

  it("accepts intents that name an object, in any language [ENV-12]", async () => {
    const hub = await openFresh("memory");
    const { ada } = await team(hub);
    for (const intent of ["Refactor auth", "Fix login", "修复登录表单", "Anmeldung prüfen"]) {
      expect(rulesOf((await ada.handoffs.lint({ ...GOOD, intent })).findings), intent).toEqual([]);
    }
  });

  it("refuses an invalid draft with the path of the error [ENV-12 ENV-5]", async () => {
    const hub = await openFresh("memory");
    const { ada } = await team(hub);
    const error = await refusal(ada.handoffs.lint({ ...GOOD, nextt: [] } as unknown as Draft));
    expect(error.code).toBe("invalid_envelope");
    expect(error.path).toBe("nextt");
  });
});

describe.each(STORES)("lint on a %s store", (store) => {
  it("reports statements that repeat or contradict an active decision [ENV-12]", async () => {
    const hub = await openFresh(store);
    const { ada } = await team(hub);
    const sessions = await ada.remember({
      type: "decision",
      content: "Sessions are stored in Redis, not in the database.",
    });
    const cookies = await ada.remember({
      type: "constraint",
      content: "Session cookies must be valid for 30 minutes.",
    });
    await ada.remember({ type: "finding", content: "The login page loads in 400 ms." });
    const repeats = await ada.handoffs.lint({
      ...GOOD,
      constraints: ["Sessions are stored in Redis, not in the database"],
    });
    expect(repeats.findings).toEqual([
      expect.objectContaining({
        rule: "repeats_decision",
        level: "warn",
        path: "constraints[0].rule",
        message: expect.stringContaining(sessions.id),
      }),
    ]);
    // A referenced decision may be repeated.
    const referred = await ada.handoffs.lint({
      ...GOOD,
      refs: [sessions.id],
      constraints: ["Sessions are stored in Redis, not in the database"],
    });
    expect(referred.findings).toEqual([]);
    const against = await ada.handoffs.lint({
      ...GOOD,
      state: "Work has begun. Session cookies must be valid for 60 minutes.",
      history: [{ agent: "ada", did: "looked", decided: "The login page loads in 900 ms." }],
    });
    expect(against).toMatchObject({ ok: false });
    expect(against.findings).toEqual([
      expect.objectContaining({
        rule: "contradicts_decision",
        level: "error",
        path: "state",
        message: expect.stringContaining(cookies.id),
        hint: expect.stringContaining("supersedes"),
      }),
    ]);
  });

  it("reports statements that contradict an unreleased must [ENV-12 ENV-10]", async () => {
    const hub = await openFresh(store);
    const { ada, ben } = await team(hub);
    const constraints = [{ id: "cookies", rule: "Session cookies must be valid for 30 minutes." }];
    await ada.handoff({ ...GOOD, constraints });
    const draft = {
      ...GOOD,
      to: "ada",
      state: "Work has begun. Session cookies must be valid for 60 minutes.",
    };
    const against = await ben.handoffs.lint(draft);
    expect(against.findings).toMatchObject([
      { rule: "contradicts_decision", path: "state", message: expect.stringContaining("cookies") },
    ]);
    const releases = [{ id: "cookies", reason: "The client asked for an hour" }];
    expect((await ben.handoffs.lint({ ...draft, releases })).findings).toEqual([]);
    expect((await ben.handoffs.lint({ ...draft, task: "other" })).findings).toEqual([]);
  });

  it("ignores superseded and private decisions [ENV-12]", async () => {
    const hub = await openFresh(store);
    const { ada } = await team(hub);
    const old = await ada.remember({
      type: "decision",
      content: "The API speaks REST to clients.",
    });
    await ada.remember({
      type: "decision",
      content: "Clients talk gRPC from now on.",
      relations: [{ kind: "supersedes", to: old.id }],
    });
    await ada.remember({
      type: "decision",
      scope: "agent",
      content: "Releases are cut every second Tuesday.",
    });
    const { findings } = await ada.handoffs.lint({
      ...GOOD,
      state: "The API speaks REST to clients. Releases are cut every second Tuesday.",
    });
    expect(findings).toEqual([]);
  });

  it("checks a sent handoff against the current decisions [ENV-12]", async () => {
    const hub = await openFresh(store);
    const { ada, ben } = await team(hub);
    const sent = await ada.handoff({ to: "ben", task: "login", intent: "Fix it" });
    const report = await hub.handoffs.lintSent(sent.envelope.id);
    expect(rulesOf(report.findings)).toEqual(["no_next_step", "no_criteria", "vague_intent"]);
    await ben.remember({
      type: "decision",
      content: "Login is fixed in the gateway, not the form.",
    });
    const work = await take(ben);
    const next = await work.handoff({
      ...GOOD,
      to: "ada",
      state: "Login is fixed in the gateway, not the form.",
    });
    expect(rulesOf((await hub.handoffs.lintSent(next.envelope.id)).findings)).toEqual([
      "repeats_decision",
    ]);
    const unknown = await refusal(
      hub.handoffs.lintSent("env_00000000-0000-7000-8000-000000000000"),
    );
    expect(unknown.code).toBe("unknown_envelope");
    expect((await refusal(hub.handoffs.lintSent("login"))).code).toBe("invalid_input");
  });

  it("refuses a violation of a rule set to refuse, and stores nothing [ENV-12]", async () => {
    const hub = await openFresh(store);
    const { ada, ben } = await team(hub);
    expect((await hub.settings.get()).lint).toMatchObject({ no_next_step: "warn", secret: "warn" });
    await hub.settings.update({ lint: { no_next_step: "refuse", secret: "refuse" } });
    const rules = (await hub.settings.update({ lint: { no_criteria: "off" } })).lint;
    expect(rules).toMatchObject({ no_next_step: "refuse", secret: "refuse", no_criteria: "off" });
    const before = [(await hub.events.list({ after: 0 })).items, await hub.deliveries.totals()];
    const draft = { ...GOOD, next: [], state: `Use ${token}`, done: [`Tried ${token}`] };
    const error = await refusal(ada.handoff(draft));
    expect(error.code).toBe("lint_refused");
    expect(error.violations.map(({ rule, path }) => [rule, path])).toEqual([
      ["no_next_step", "next"],
      ["secret", "done[0]"],
      ["secret", "state"],
    ]);
    expect(error.violations.every(({ hint }) => hint !== "")).toBe(true);
    expect(JSON.stringify(error)).not.toContain(token);
    expect([(await hub.events.list({ after: 0 })).items, await hub.deliveries.totals()]).toEqual(
      before,
    );
    // Rules set to warn refuse nothing; rules that are off report nothing.
    const sent = await ada.handoff({ ...GOOD, intent: "Fix it", expects: [] });
    expect(rulesOf((await hub.handoffs.lintSent(sent.envelope.id)).findings)).toEqual([
      "vague_intent",
    ]);
    expect((await ada.handoffs.lint({ ...GOOD, next: [] })).findings).toMatchObject([
      { level: "error" },
    ]);
    expect((await take(ben)).delivery.task).toBe("login");
  });

  it("applies to every sender, but not to the hub's own reports [ENV-12]", async () => {
    const hub = await openFresh(store, { limits: { hops: 1 } });
    const { ada, ben } = await team(hub);
    const carl = await hub.agent("carl", { role: "coordinator" });
    await hub.settings.update({ lint: { no_next_step: "refuse", vague_intent: "refuse" } });
    await hub.channels.set("news");
    await ben.channels.subscribe("news");
    const sent = await ada.handoff(GOOD);
    const refused = [
      ada.channels.publish("news", { intent: "Done" }),
      ada.handoffs.join([sent], { to: "ben", intent: "Merge both patches of login" }),
    ];
    for (const { code } of await Promise.all(refused.map(refusal)))
      expect(code).toBe("lint_refused");
    const work = await take(ben);
    expect((await refusal(work.handoff({ to: "ada" }))).code).toBe("lint_refused");
    // The work is still held and can be handed on; past the hop limit the hub reports a failure.
    const next = await work.handoff({ to: "ada", next: ["Review the patch"] });
    expect(next.kind).toBe("sent");
    const review = await take(ada);
    await review.handoff({ to: "ben", next: ["Merge the patch"] });
    expect((await take(carl)).envelope.action).toBe("failed");
  });

  it("applies to changes of a redriven dead letter, not to its old content [ENV-12]", async () => {
    const hub = await openFresh(store, { limits: { attempts: 1 } });
    const { ada, ben } = await team(hub);
    const { id } = await ada.handoff({ to: "ben", intent: "Fix it", task: "login" });
    await (await take(ben)).fail({ message: "cannot" });
    await hub.settings.update({
      lint: { secret: "refuse", vague_intent: "refuse", no_next_step: "refuse" },
    });
    const before = await contents(hub);
    for (const changes of [{ state: "password=Zx9!kfj2LLq" }, { next: [] }]) {
      const error = await refusal(ada.deadLetters.redrive(id, changes));
      expect(error).toMatchObject({ code: "lint_refused", path: Object.keys(changes)[0] });
    }
    expect(await contents(hub)).toEqual(before);
    expect((await ada.deadLetters.redrive(id, { state: "It is in the vault." })).state).toBe(
      "ready",
    );
  });

  it("applies rules that another hub sets, except to a retried handoff [ENV-12]", async () => {
    const [one, two] = await openTwo(store);
    const { ada } = await team(one);
    await ada.handoff({ ...GOOD, next: [] });
    await two.settings.update({ lint: { no_next_step: "refuse" } });
    const outcome = () =>
      ada.handoff({ ...GOOD, task: "other", next: [] }).then(
        () => undefined,
        (error) => error.code,
      );
    expect(await until("a refusal", outcome)).toBe("lint_refused");
    // A retry with the same key returns the original handoff, whatever the rules are now.
    await two.settings.update({ lint: { no_next_step: "warn" } });
    await one.settings.update({ lint: { no_next_step: "warn" } });
    const keyed = { ...GOOD, task: "keyed", next: [], key: "k-1" };
    const first = await ada.handoff(keyed);
    await one.settings.update({ lint: { no_next_step: "refuse" } });
    expect((await ada.handoff(keyed)).envelope.id).toBe(first.envelope.id);
  });

  it("refuses unknown rules and values, and changes nothing [ENV-12]", async () => {
    const hub = await openFresh(store);
    const wrong = { no_nonsense: "refuse" } as never;
    expect((await refusal(hub.settings.update({ lint: wrong }))).code).toBe("invalid_input");
    const value = { secret: "maybe" } as never;
    expect((await refusal(hub.settings.update({ lint: value }))).path).toBe("lint.secret");
    const { transcript, ...others } = (await hub.settings.get()).lint;
    expect(transcript).toBe("refuse");
    expect(new Set(Object.values(others))).toEqual(new Set(["warn"]));
  });
});
