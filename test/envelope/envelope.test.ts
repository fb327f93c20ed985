/** Envelopes: what they carry, when they are refused, and that they never change once sent. */
import { describe, expect, it } from "vitest";
import { type Agent, type DraftOf, ENVELOPE_VERSION, type Envelope } from "../../src/index.ts";
import { VirtualClock } from "../../src/testing/index.ts";
import {
  breakIn,
  canonical,
  contents,
  freshAddress,
  open,
  openFresh,
  refusal,
  STORES,
  type StoreName,
  sha256,
  take,
} from "../support/hub/support.ts";

type Draft = DraftOf<Record<string, unknown>>;

/** Returns a draft with every field that a sender can set, each with a distinct value. */
function fullDraft(reference: string) {
  return {
    to: "coder",
    task: "auth-refactor",
    run: "run-42",
    action: "needs_review",
    intent: "Refactor auth without breaking mobile logins",
    state: "The validator is extracted; rate limits are missing.",
    done: ["Extracted validateToken()"],
    next: ["Rate-limit /login", "Ask for a review"],
    blocked: [{ what: "Deploy", on: "the release freeze" }],
    doNotRedo: ["The token format stays"],
    constraints: [{ id: "fixtures", rule: "Do not touch fixtures", level: "must", source: "QA" }],
    decisions: [{ id: "store", question: "Redis or memory?", options: ["Redis"], owner: "lead" }],
    artifacts: [{ kind: "pr", path: "#17", note: "draft", digest: "ab".repeat(32) }],
    history: [
      {
        agent: "planner",
        did: "Compared three validators",
        decided: "Keep ours",
        why: "No new dependency",
        at: 1_700_000_000_000,
        ref: reference,
      },
    ],
    refs: [{ id: reference, summary: "The plan in one line" }],
    expects: [
      {
        name: "patch",
        type: "code",
        format: "unified diff",
        maxLength: 20_000,
        criteria: ["Tests pass"],
      },
    ],
    payload: { type: "review-request", data: { files: ["src/auth.ts"], risk: 0.25 } },
    metadata: {
      confidence: 0.8,
      model: "some-model",
      tokens: { input: 1200, output: 340 },
      ticket: "AUTH-7",
    },
  } satisfies Draft;
}

const data = (value: unknown) => ({ payload: { type: "x", data: value } });

const FLAWS = [
  { flaw: data("text"), path: "payload.data", rule: "type" },
  { flaw: { payload: { data: {} } }, path: "payload.type", rule: "required" },
  { flaw: data({ n: 2 ** 60 }), path: "payload.data.n", rule: "safe_integer" },
  { flaw: data({ at: new Date(0) }), path: "payload.data.at", rule: "json" },
  { flaw: { state: "\ud83d" }, path: "state", rule: "well_formed" },
  { flaw: { done: ["ok", "a\0b"] }, path: "done[1]", rule: "no_nul" },
  { flaw: { to: "team:all" }, path: "to", rule: "receiver" },
  { flaw: { parents: ["mem_x"] }, path: "parents[0]", rule: "format" },
];

async function team(store: StoreName) {
  const clock = new VirtualClock();
  const hub = await openFresh(store, { clock, workspace: "acme", random: () => 0 });
  const planner = await hub.agent("planner", { role: "architect" }, { instance: "monday" });
  const coder = await hub.agent("coder", { role: "coder" });
  return { hub, clock, planner, coder };
}

describe.each(STORES)("an envelope on %s", (store) => {
  it("carries every field of the draft to the receiver unchanged [ENV-1 ENV-3]", async () => {
    const { planner, coder } = await team(store);
    const plan = await planner.remember({ type: "plan", content: "First the validator." });
    const draft = fullDraft(plan.id);
    const sent = await planner.handoff(draft);
    const { envelope } = await take(coder);
    expect(envelope).toEqual(sent.envelope);
    const { to: _to, metadata: _metadata, refs: _refs, ...said } = draft;
    expect(envelope).toMatchObject(said);
    expect(envelope.refs).toEqual([
      { id: plan.id, digest: plan.digest, summary: "The plan in one line" },
    ]);
  });

  it("names its sender, receiver, workspace, run, task and creation time [ENV-2]", async () => {
    const { hub, clock, planner, coder } = await team(store);
    const plan = await planner.remember({ content: "First the validator." });
    const draft = fullDraft(plan.id);
    await planner.handoff(draft);
    const { envelope } = await take(coder);
    expect(envelope).toMatchObject({
      version: ENVELOPE_VERSION,
      workspace: hub.workspace,
      run: "run-42",
      task: "auth-refactor",
      from: { agent: "planner", instance: "monday", role: "architect" },
      to: { kind: "agent", agent: "coder" },
      action: "needs_review",
      payload: draft.payload,
      hop: 0,
      parents: [],
    });
    expect(envelope.metadata).toEqual({ ...draft.metadata, createdAt: clock.now() });
  });

  it("stays the same on every attempt, while its delivery counts attempts [ENV-2]", async () => {
    const { planner, coder } = await team(store);
    const sent = await planner.handoff({ to: "coder", intent: "Try" });
    const first = await take(coder);
    await first.fail({ message: "no network" });
    const second = await take(coder);
    expect([first.delivery.attempt, second.delivery.attempt]).toEqual([1, 2]);
    expect(sha256(canonical(second.envelope))).toBe(sent.digest);
    expect(second.envelope).toEqual(first.envelope);
  });

  it("has a standard or a custom action [ENV-2]", async () => {
    const { planner, coder } = await team(store);
    const usual = ["delegated", "completed", "needs_review", "needs_input", "escalated", "failed"];
    for (const action of [...usual, "parked"]) {
      await planner.handoff({ to: "coder", task: action, intent: "Act", action });
      expect((await take(coder)).envelope.action).toBe(action);
    }
  });

  it("expands short forms and gives them stable ids [ENV-1]", async () => {
    const { planner } = await team(store);
    const { id } = await planner.remember({ content: "The plan." });
    const brief: Draft = {
      to: "coder",
      intent: "Go",
      constraints: ["No new dependencies"],
      decisions: ["Which cache?"],
      refs: [id],
    };
    const first = (await planner.handoff({ ...brief, task: "one" })).envelope;
    const second = (await planner.handoff({ ...brief, task: "two" })).envelope;
    const word = expect.stringMatching(/^[a-z][a-z0-9_-]*$/);
    expect(first.constraints).toEqual([{ id: word, level: "must", rule: "No new dependencies" }]);
    expect(first.decisions).toEqual([{ id: word, options: [], question: "Which cache?" }]);
    expect(first.refs[0]?.id).toBe(id);
    expect(second.constraints).toEqual(first.constraints);
    expect(second.decisions).toEqual(first.decisions);
    expect(first).toMatchObject({ action: "delegated", done: [], next: [], history: [] });
  });

  it("accepts paths, URLs, sentences and ISO times as shorthand [ENV-1]", async () => {
    const hub = await openFresh(store);
    const planner = await hub.agent("planner", {});
    await hub.agent("coder", {});
    const draft = { to: "coder", intent: "Go" };
    const { envelope } = await planner.handoff({
      ...draft,
      artifacts: ["src/auth.ts", "https://ci.example/17", { kind: "pr", path: "#17" }],
      blocked: ["The release freeze", { what: "Deploy", on: "Ops" }],
      policy: { deadline: "2099-01-02T03:04:05Z" },
    });
    expect(envelope).toMatchObject({
      artifacts: [
        { kind: "file", path: "src/auth.ts" },
        { kind: "url", path: "https://ci.example/17" },
        { kind: "pr", path: "#17" },
      ],
      blocked: [{ what: "The release freeze" }, { what: "Deploy", on: "Ops" }],
      policy: { deadline: Date.UTC(2099, 0, 2, 3, 4, 5) },
    });
    const added = await planner.tasks.add({ ...draft, task: "t", deadline: "2099-01-02" });
    expect(added.task.deadline).toBe(Date.UTC(2099, 0, 2));
    const refused = await refusal(planner.handoff({ ...draft, policy: { deadline: "tomorrow" } }));
    expect(refused).toMatchObject({ code: "invalid_envelope", path: "policy.deadline" });
  });

  it("is refused with every violation at once, and nothing is stored [ENV-5]", async () => {
    const { hub, planner, coder } = await team(store);
    await planner.handoff({ to: "coder", intent: "Something else" });
    const before = await contents(hub);
    const circle: Record<string, unknown> = {};
    circle["self"] = circle;
    const malformed = {
      to: 5,
      intent: "",
      state: "cut \ud83d",
      done: ["fine", "a\0b"],
      next: ["fine", 1],
      constraints: [{ rule: "x", level: "perhaps" }],
      artifacts: [{ kind: "file" }],
      expects: [{ name: "a", type: "text", maxLength: -1 }],
      doNotRedo: ["y".repeat(2_001)],
      payload: "a bare string",
      metadata: {
        confidence: 2,
        ours: {
          circle,
          "ke\0y": 1,
          at: new Date(0),
          count: 2 ** 60,
          rate: Number.NaN,
          act: () => 1,
        },
      },
      refs: ["mem_1"],
      run: "one\0two",
      colour: "red",
    };
    const error = await refusal(planner.handoff(malformed as unknown as Draft));
    expect(error.code).toBe("invalid_envelope");
    const found = Object.fromEntries(error.violations.map(({ path, rule }) => [path, rule]));
    expect(found).toEqual({
      to: "one_of",
      intent: "min_length",
      state: "well_formed",
      "done[1]": "no_nul",
      "next[1]": "type",
      "constraints[0].level": "one_of",
      "artifacts[0].path": "required",
      "expects[0].maxLength": "min_value",
      "doNotRedo[0]": "max_length",
      payload: "type",
      "metadata.confidence": "max_value",
      "metadata.ours.circle.self": "circular",
      "metadata.ours.ke\0y": "no_nul",
      "metadata.ours.at": "json",
      "metadata.ours.count": "safe_integer",
      "metadata.ours.rate": "finite",
      "metadata.ours.act": "json",
      "refs[0]": "format",
      run: "format",
      colour: "unknown_field",
    });
    expect(error.violations, "each place once").toHaveLength(Object.keys(found).length);
    for (const violation of error.violations) {
      expect(violation.message).toContain(violation.path);
      expect(violation.hint.length).toBeGreaterThan(5);
    }
    expect(await contents(hub)).toEqual(before);
    expect((await coder.deliveries.waiting()).items).toHaveLength(1);
  });

  it("is refused with every invalid value at once when its structure is valid [ENV-5]", async () => {
    const { hub, planner } = await team(store);
    const before = await contents(hub);
    const data = { list: ["ok", "a\0b", 2 ** 60], half: "\udc00" };
    const draft = { to: "coder", intent: "G\0", state: "\ud83d", payload: { type: "x", data } };
    const error = await refusal(planner.handoff(draft));
    expect(error.code).toBe("invalid_envelope");
    expect(error.violations.map(({ path, rule }) => `${path} ${rule}`)).toEqual([
      "intent no_nul",
      "payload.data.half well_formed",
      "payload.data.list[1] no_nul",
      "payload.data.list[2] safe_integer",
      "state well_formed",
    ]);
    expect(await contents(hub)).toEqual(before);
  });

  it("is refused for a single violation with path and rule, and nothing is stored [ENV-5]", async () => {
    const { hub, planner } = await team(store);
    const before = await contents(hub);
    for (const { flaw, path, rule } of FLAWS) {
      const error = await refusal(planner.handoff({ to: "coder", intent: "Go", ...flaw } as Draft));
      expect(error, path).toMatchObject({ code: "invalid_envelope", violations: [{ path, rule }] });
      expect(error.violations[0]?.hint).toBeTruthy();
    }
    expect(await contents(hub)).toEqual(before);
  });

  it("has a digest that any receiver can recompute [ENV-6]", async () => {
    const { hub, planner, coder } = await team(store);
    const plan = await planner.remember({ content: "First the validator." });
    const sent = await planner.handoff(fullDraft(plan.id));
    const { envelope } = await take(coder);
    expect(sha256(canonical(envelope))).toBe(sent.digest);
    const [step] = await hub.tasks.line("auth-refactor");
    expect(step).toMatchObject({ envelope, digest: sent.digest, memory: sent.memory });
    // The chain covers it too: the handoff record contains the same digest.
    const record = await coder.memories.read(sent.memory);
    expect(record.envelope).toEqual({ id: envelope.id, digest: sent.digest });
  });

  it("does not change when the draft or a returned copy is modified [ENV-6]", async () => {
    const { hub, planner, coder } = await team(store);
    const draft = { to: "coder", task: "fixed", intent: "As sent", next: ["one"] };
    const sent = await planner.handoff(draft);
    const original = structuredClone(sent.envelope);
    draft.next.push("smuggled");
    const work = await take(coder);
    for (const copy of [sent.envelope, work.envelope] as Envelope[]) {
      copy.intent = "Something else";
      copy.next.push("smuggled");
    }
    expect((await hub.tasks.line("fixed"))[0]?.envelope).toEqual(original);
  });

  it("names its parents, also where lines join, and one query returns the line of a task [ENV-6]", async () => {
    const { hub, planner, coder } = await team(store);
    const start = { to: "coder", intent: "Start" };
    const root = await planner.handoff({ ...start, task: "line" });
    const side = await planner.handoff({ ...start, task: "side" });
    const parents = [root.envelope.id, side.envelope.id];
    const join = { to: "planner", task: "line", intent: "Both are done" };
    const joined = await coder.handoff({ ...join, parents });
    const last = await planner.handoff({
      to: "coder",
      task: "line",
      intent: "Ship",
      parents: [joined.envelope.id],
    });
    const line = await hub.tasks.line("line");
    expect(line.map(({ envelope }) => [envelope.id, envelope.parents])).toEqual([
      [root.envelope.id, []],
      [joined.envelope.id, parents],
      [last.envelope.id, [joined.envelope.id]],
    ]);
    expect(line.map(({ deliveries }) => deliveries.map(({ state }) => state))).toEqual([
      ["ready"],
      ["ready"],
      ["ready"],
    ]);
  });

  it("has the previous envelope as its parent and one more hop when work is handed on [ENV-6]", async () => {
    const { planner, coder } = await team(store);
    const root = await planner.handoff({ to: "coder", intent: "Start" });
    const onward = await (await take(coder)).handoff({ to: "planner", state: "Coded" });
    if (onward.kind !== "sent") throw new Error("the handoff was not sent as an extension");
    expect(onward.envelope).toMatchObject({ parents: [root.envelope.id], hop: 1 });
    expect((await onward.status()).parent).toBe(root.envelope.id);
  });

  it("has the original as its parent when it is an extension, an answer or an edit [ENV-6]", async () => {
    const { hub, planner, coder } = await team(store);
    const draft = { to: "coder", intent: "Start" };
    const parentsOf = async (task: string) =>
      (await hub.tasks.line(task)).map(({ envelope }) => envelope.parents);
    const held = await planner.handoff({ ...draft, task: "added" });
    await take(coder, { task: "added" });
    await planner.handoff({ ...draft, task: "added", next: ["And this"] });
    expect(await parentsOf("added")).toEqual([[], [held.envelope.id]]);
    const asked = await planner.handoff({ ...draft, task: "answered" });
    await (await take(coder, { task: "answered" })).clarify("How?");
    await planner.questions.answer(asked.id, "Well.");
    expect(await parentsOf("answered")).toEqual([[], [asked.envelope.id]]);
    const read = await planner.handoff({ ...draft, task: "edited" });
    await coder.approvals.edit(read.id, { next: ["Another way"] });
    expect(await parentsOf("edited")).toEqual([[], [read.envelope.id]]);
  });

  it("is refused when a parent does not exist, and nothing is stored [ENV-6]", async () => {
    const { hub, planner } = await team(store);
    const before = await contents(hub);
    const parents = ["env_01900000-0000-7000-8000-000000000000"];
    const error = await refusal(planner.handoff({ to: "coder", intent: "Go", parents }));
    expect(error).toMatchObject({ code: "dangling_reference", path: "parents" });
    expect(await contents(hub)).toEqual(before);
  });
});

describe("a stored envelope", () => {
  it("cannot be changed in any field without verify reporting it [ENV-6]", async () => {
    const address = freshAddress();
    const hub = await open(address);
    const planner = await hub.agent("planner", { role: "architect" });
    await hub.agent("coder", {});
    const sent = await sendFull(planner);
    const file = breakIn(address);
    const write = file.prepare("update envelopes set text = ? where id = ?");
    const text = canonical(sent.envelope);
    const fields = Object.keys(sent.envelope);
    expect(fields.length).toBeGreaterThan(20);
    for (const field of fields) {
      const changed = { ...sent.envelope, [field]: { tampered: true } };
      write.run(canonical(changed), sent.envelope.id);
      const { problems } = await hub.verify();
      const found = problems.filter(({ record }) => record === sent.envelope.id);
      expect(found, `a change of ${field}`).not.toEqual([]);
    }
    write.run(text, sent.envelope.id);
    expect((await hub.verify()).problems).toEqual([]);
  });
});

async function sendFull(planner: Agent) {
  const plan = await planner.remember({ content: "First the validator." });
  return planner.handoff(fullDraft(plan.id));
}
