/**
 * Invalid handoffs: every violation is reported at once with path, rule and hint, and nothing is
 * stored or sent.
 */
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { ENVELOPE_VERSION } from "../../src/index.ts";
import { brokenTexts, unjsonable, wrongTypes } from "../support/bad-values.ts";
import { refused } from "../support/refusal.ts";
import { openTeam, refusedWithoutTrace } from "../support/team.ts";

const NO_MEMORY = "mem_01900000-0000-7000-8000-000000000000";
const NO_ENVELOPE = "env_01900000-0000-7000-8000-000000000000";
const GOOD = { to: "coder", intent: "Refactor auth" };

/** Returns a draft with every field that a sender can write. */
async function fullDraft({ planner }: Awaited<ReturnType<typeof openTeam>>) {
  const { id } = await planner.remember({ content: "to refer to" });
  const parent = await planner.handoff({ to: "planner", task: "before", intent: "Begin" });
  return {
    action: "needs_review",
    artifacts: [{ kind: "file", path: "src/auth.ts", digest: "0".repeat(64), note: "the file" }],
    blocked: [{ what: "release", on: "review" }],
    constraints: [
      "Keep the API",
      { rule: "No fixtures", level: "must", source: "owner", id: "fix" },
    ],
    decisions: [
      "Which one?",
      { question: "RS256?", options: ["yes", "no"], owner: "planner", id: "alg" },
    ],
    doNotRedo: ["the survey"],
    done: ["survey"],
    expects: [
      { name: "patch", type: "code", format: "diff", criteria: ["tests pass"], maxLength: 9 },
    ],
    history: [{ agent: "planner", did: "survey", decided: "go", why: "time", at: 7, ref: id }],
    intent: "Refactor auth without breaking logins",
    metadata: {
      confidence: 0.5,
      model: "m-1",
      tokens: { input: 1, output: 2 },
      own: { note: "x" },
    },
    next: ["Extract validateToken()"],
    parents: [parent.envelope.id],
    payload: { type: "patch-request", data: { file: "src/auth.ts", nested: { note: "deep" } } },
    refs: [id, { id, summary: "exp is not checked" }],
    run: "run-1",
    state: "Half of it is done",
    task: "auth-refactor",
    to: "coder",
  };
}

describe("handoff validation", () => {
  it("accepts a draft with every field, which the tests below depend on", async () => {
    const team = await openTeam();
    const draft = await fullDraft(team);
    expect((await team.planner.handoff(draft as never)).joined).toBe("new");
  });

  it("refuses a field of the wrong type and names the field [ENV-5]", async () => {
    const team = await openTeam();
    const draft = await fullDraft(team);
    // Metadata accepts any field; the tests below cover values in it that JSON cannot represent.
    for (const { title, path, input } of wrongTypes(draft, { metadata: ["a Date"] })) {
      const expected = { code: "invalid_envelope", path: new RegExp(`^${path}\\b`) } as const;
      await refusedWithoutTrace(
        team.file,
        () => team.planner.handoff(input as never),
        expected,
      ).catch((error: Error) => expect.fail(`${title}: ${error.message}`));
    }
  });

  it("refuses NUL or half a surrogate pair in any text and names the field [ENV-5]", async () => {
    const team = await openTeam();
    for (const { title, path, input } of brokenTexts(await fullDraft(team))) {
      // A constraint or decision in its short form is reported at the path of the long form.
      const at = new RegExp(`^${RegExp.escape(path)}(\\.rule|\\.question)?$`);
      const expected = { code: "invalid_envelope", path: at } as const;
      await refusedWithoutTrace(
        team.file,
        () => team.planner.handoff(input as never),
        expected,
      ).catch((error: Error) => expect.fail(`${title}: ${error.message}`));
    }
  });

  it.each(unjsonable())("refuses %s in the payload, with rule and path", async (_, value, rule) => {
    const { file, planner } = await openTeam();
    const draft = { ...GOOD, payload: { type: "t", data: { list: ["ok", value] } } };
    const expected = {
      code: "invalid_envelope",
      path: /^payload\.data\.list\[1\]/,
      rule,
    } as const;
    await refusedWithoutTrace(file, () => planner.handoff(draft as never), expected);
  });

  it.each(unjsonable())(
    "refuses %s in the metadata, with rule and path",
    async (_, value, rule) => {
      const { file, planner } = await openTeam();
      const draft = { ...GOOD, metadata: { own: ["ok", value] } };
      const expected = { code: "invalid_envelope", path: /^metadata\.own\[1\]/, rule } as const;
      await refusedWithoutTrace(file, () => planner.handoff(draft as never), expected);
    },
  );

  it.each([
    undefined,
    null,
    42,
    "text",
    true,
    [],
    () => 1,
    Symbol("s"),
    10n,
    new Date(0),
    new Map(),
  ])("refuses a draft that is not an object: %s", async (draft) => {
    const { file, planner } = await openTeam();
    const expected = { code: "invalid_envelope" } as const;
    await refusedWithoutTrace(file, () => planner.handoff(draft as never), expected);
  });

  it("reports every violation at once, with path, rule, message and hint [ENV-5]", async () => {
    const { file, planner } = await openTeam();
    const draft = {
      action: "Not A Slug",
      artifacts: [{ kind: "file" }, { kind: "file", path: "x", digest: "nope" }],
      constraints: [{ rule: "", level: "perhaps" }, 42],
      done: "everything",
      expects: [{ name: "x", type: "text", maxLength: -1 }],
      history: [{ did: "things" }],
      metadata: { confidence: 1.5 },
      next: ["x".repeat(2_001)],
      parents: ["env_1"],
      payload: "bare",
      refs: ["mem_1"],
      task: " spaces around ",
      to: 42,
      tpyo: true,
    };
    const expected = { code: "invalid_envelope" } as const;
    const act = () => planner.handoff(draft as never);
    const error = await refusedWithoutTrace(file, act, expected);
    expect(error.violations.map(({ path, rule }) => `${path} ${rule}`).sort()).toEqual([
      "action format",
      "artifacts[0].path required",
      "artifacts[1].digest format",
      "constraints[0].level one_of",
      "constraints[0].rule min_length",
      "constraints[1] one_of",
      "done type",
      "expects[0].maxLength min_value",
      "history[0].agent required",
      "intent required",
      "metadata.confidence max_value",
      "next[0] max_length",
      "parents[0] format",
      "payload type",
      "refs[0] format",
      "task format",
      "to one_of",
      "tpyo unknown_field",
    ]);
    for (const { message, hint } of error.violations) {
      expect(message).not.toBe("");
      expect(hint).not.toBe("");
    }
    expect(error.path).toBe(error.violations[0]?.path);
    expect(JSON.parse(JSON.stringify(error))).toMatchObject({ violations: error.violations });
  });

  it.each([
    ["next", { next: Array(201).fill("x") }],
    ["constraints", { constraints: Array(201).fill("x") }],
    ["history", { history: Array(201).fill({ agent: "a", did: "x" }) }],
    ["refs", { refs: Array(501).fill(NO_MEMORY) }],
    ["parents", { parents: Array(65).fill(NO_ENVELOPE) }],
  ])("refuses too many %s", async (path, more) => {
    const { file, planner } = await openTeam();
    const expected = { code: "invalid_envelope", path, rule: "max_items" } as const;
    await refusedWithoutTrace(file, () => planner.handoff({ ...GOOD, ...more }), expected);
  });

  it.each([
    ["intent", { intent: "x".repeat(64_001) }],
    ["state", { state: "x".repeat(16_001) }],
    ["task", { task: "x".repeat(129) }],
    ["done[0]", { done: ["x".repeat(2_001)] }],
  ])("refuses a text over the length limit at %s", async (path, more) => {
    const { file, planner } = await openTeam();
    const expected = { code: "invalid_envelope", path, rule: "max_length" } as const;
    await refusedWithoutTrace(file, () => planner.handoff({ ...GOOD, ...more }), expected);
  });

  it("refuses an envelope over the size limit, naming the limit and its option", async () => {
    const { file, planner } = await openTeam();
    const payload = { type: "archive", data: { all: "x".repeat(256 * 1024) } };
    const expected = { code: "limit_exceeded", hint: /envelopeBytes/ } as const;
    const act = () => planner.handoff({ ...GOOD, payload });
    const error = await refusedWithoutTrace(file, act, expected);
    expect(error.details).toMatchObject({ limit: "envelopeBytes", max: 256 * 1024 });
  });

  it("refuses a reference to an unknown memory or parent, and names it", async () => {
    const { file, planner } = await openTeam();
    const { id } = await planner.remember({ content: "exists" });
    const memory = await refusedWithoutTrace(
      file,
      () => planner.handoff({ ...GOOD, refs: [id, { id: NO_MEMORY }] }),
      { code: "dangling_reference", path: "refs[1]" },
    );
    expect(memory.details).toMatchObject({ reference: NO_MEMORY });
    const parent = await refusedWithoutTrace(
      file,
      () => planner.handoff({ ...GOOD, parents: [NO_ENVELOPE] }),
      { code: "dangling_reference", path: "parents" },
    );
    expect(parent.details).toMatchObject({ reference: NO_ENVELOPE });
  });

  it.each([
    ["role:reviewer", "unknown_role"],
    ["channel:news", "unknown_channel"],
    ["robot:x", "invalid_envelope"],
    ["agent:", "invalid_envelope"],
    [":", "invalid_envelope"],
    ["no spaces allowed", "invalid_envelope"],
    ["x".repeat(200), "invalid_envelope"],
    ["", "invalid_envelope"],
  ] as const)("refuses the receiver %j at `to`", async (to, code) => {
    const { file, planner } = await openTeam();
    await refusedWithoutTrace(file, () => planner.handoff({ ...GOOD, to }), { code, path: "to" });
  });

  it("refuses a payload that violates the schema of its type, with every violation [ENV-5]", async () => {
    const { file, hub, planner } = await openTeam();
    await hub.payloadTypes.define(
      "patch",
      z.object({ files: z.array(z.string()), lines: z.number() }),
    );
    await hub.payloadTypes.set("report", {
      type: "object",
      required: ["verdict"],
      properties: { verdict: { enum: ["ship", "hold"] }, score: { type: "number" } },
    });
    const zod = await refusedWithoutTrace(
      file,
      () =>
        planner.handoff({ ...GOOD, payload: { type: "patch", data: { files: [1], lines: "x" } } }),
      { code: "invalid_payload" },
    );
    expect(zod.violations.map(({ path }) => path).sort()).toEqual([
      "payload.data.files[0]",
      "payload.data.lines",
    ]);
    const json = await refusedWithoutTrace(
      file,
      () =>
        planner.handoff({
          ...GOOD,
          payload: { type: "report", data: { verdict: "?", score: "x" } },
        }),
      { code: "invalid_payload" },
    );
    expect(json.violations.map(({ path, rule }) => `${path} ${rule}`).sort()).toEqual([
      "payload.data.score type",
      "payload.data.verdict enum",
    ]);
  });

  it("refuses fields that only the hub sets", async () => {
    const { file, planner } = await openTeam();
    for (const [field, value] of Object.entries({
      id: NO_ENVELOPE,
      version: ENVELOPE_VERSION,
      from: { agent: "coder", instance: "x" },
      hop: 7,
      workspace: "default",
    })) {
      const expected = { code: "invalid_envelope", path: field, rule: "unknown_field" } as const;
      const act = () => planner.handoff({ ...GOOD, [field]: value } as never);
      await refusedWithoutTrace(file, act, expected);
    }
  });
});

describe("payload types", () => {
  it.each([[42], [""], ["\0"], [null], ["x".repeat(129)]])("refuses the name %j", async (name) => {
    const { hub } = await openTeam();
    await refused(() => hub.payloadTypes.define(name as never, z.object({})), {
      code: "invalid_input",
      path: "type",
    });
  });

  it("refuses an invalid JSON Schema on registration", async () => {
    const { file, hub } = await openTeam();
    const act = () => hub.payloadTypes.set("broken", { type: "no-such-type" });
    await refusedWithoutTrace(file, act, { code: "invalid_input", path: "schema.type" });
  });
});
