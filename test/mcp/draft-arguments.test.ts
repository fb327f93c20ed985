/** The arguments of `hand_off`: every field of a draft, except those excluded with a reason. */
import { describe, expect, it, onTestFinished } from "vitest";
import * as z from "zod";
import { DraftSchema } from "../../src/envelope/schema.ts";
import type { Envelope } from "../../src/index.ts";
import { argumentPath } from "../../src/mcp/argument-names.ts";
import { DRAFT_ARGUMENTS } from "../../src/mcp/tools/draft-arguments.ts";
import { throughHub } from "./listen.ts";
import { call, overHttp } from "./support.ts";

const IDS_ONLY = "A list of ids: not every client can read a schema with alternatives.";
const ONE_WORD = "An address in one word says the same.";

/** Fields of a draft that are not arguments, with the reason. */
const EXCLUDED: Readonly<Record<string, string>> = {
  "artifacts.digest": "Computed from the content, which a model does not do.",
  "constraints.id": "Made by the hub from the rule.",
  "decisions.id": "Made by the hub from the question.",
  parents: "A handle names the work that the handoff continues; the hub sets its envelope.",
  "policy.deadline": "policy.deadline_ms says the same from now; a model has no clock.",
  "refs.id": IDS_ONLY,
  "refs.level": IDS_ONLY,
  "refs.optional": IDS_ONLY,
  "refs.summary": IDS_ONLY,
  "to.agent": ONE_WORD,
  "to.channel": ONE_WORD,
  "to.kind": ONE_WORD,
  "to.role": ONE_WORD,
};

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
}

/** Returns the path of every field, through lists and alternatives. */
function pathsOf(schema: Schema, path = ""): string[] {
  const { properties = {}, items = {}, anyOf = [], oneOf = [] } = schema;
  return [
    ...Object.entries(properties).flatMap(([name, field]) => {
      const at = path === "" ? name : `${path}.${name}`;
      return [at, ...pathsOf(field, at)];
    }),
    ...[items, ...anyOf, ...oneOf].flatMap((each) =>
      Object.keys(each).length === 0 ? [] : pathsOf(each, path),
    ),
  ];
}

const pathsIn = (schema: z.ZodType): string[] =>
  pathsOf(z.toJSONSchema(schema, { io: "input" }) as Schema);

describe("the arguments of hand_off", () => {
  const known = new Set(pathsIn(z.strictObject(DRAFT_ARGUMENTS)));

  it("cover every field of a draft except those excluded with a reason [OPS-7]", () => {
    const fields = pathsIn(DraftSchema).map(argumentPath);
    expect(fields.length).toBeGreaterThan(60);
    const missing = new Set(fields.filter((path) => !known.has(path)));
    expect([...missing].toSorted()).toEqual(Object.keys(EXCLUDED).toSorted());
    for (const reason of Object.values(EXCLUDED)) expect(reason).toMatch(/\w+ \w+.*\.$/);
    expect([...known].filter((path) => !fields.includes(path))).toEqual([]);
  });

  it("all reach the envelope [OPS-7]", async () => {
    const { hub, url, close } = await throughHub();
    onTestFinished(close);
    const lead = await hub.agent("lead", { role: "coordinator" });
    await lead.branches.create("run-7/ben");
    const ada = await overHttp(url, "ada", "2026-07-28");
    const ben = await overHttp(url, "ben", "2026-07-28");
    const { id } = await call(ada, "remember", { content: "Old phones use the v1 token." });
    const args = {
      to: "ben",
      task: "auth",
      run: "run-7",
      intent: "Refactor auth",
      state: "Half of it is done.",
      done: ["Split the module"],
      next: ["Extract validateToken()"],
      do_not_redo: ["Choosing a library"],
      blocked: [{ what: "The release", on: "Legal" }],
      constraints: [{ rule: "Keep v1 tokens", level: "should", source: "Support" }],
      decisions: [{ question: "Which cache?", options: ["memory", "redis"], owner: "ben" }],
      history: [
        { agent: "ada", did: "Split it", decided: "Two files", why: "Size", ref: id, at: 1 },
      ],
      refs: [id],
      artifacts: [{ kind: "pr", path: "42", note: "The draft" }],
      expects: [
        {
          name: "patch",
          type: "diff",
          criteria: ["Tests pass"],
          format: "unified",
          max_length: 99,
        },
      ],
      payload: { type: "ticket", data: { userName: "kim", open_since: 3 } },
      action: "needs_review",
      touches: ["src/auth/**"],
      metadata: { confidence: 0.5, model: "m-1", tokens: { input: 1, output: 2 }, myKey: "own" },
      budget: { tokens: 900 },
      strategy: "lazy",
      recent: 3,
      priority: "high",
      policy: {
        accept_ms: 60_000,
        attempts: 2,
        backoff: { first_ms: 10, longest_ms: 20 },
        deadline_ms: 3_600_000,
        exhausted: "escalate",
        fallback: ["role:coordinator"],
        remind_ms: 30_000,
      },
      branch: "run-7/ben",
      merge_on_complete: true,
      receipt: false,
      key: "auth-1",
    };
    const { handoff } = await call(ada, "hand_off", args);
    expect((await call(ada, "hand_off", args))["handoff"]).toBe(handoff);
    const { envelope, delivery } = await hub.deliveries.get(`${handoff}`);
    const { to: _, key: __, receipt: ___, do_not_redo, merge_on_complete, ...same } = args;
    expect(envelope).toMatchObject({
      ...same,
      to: { kind: "agent", agent: "ben" },
      doNotRedo: do_not_redo,
      mergeOnComplete: merge_on_complete,
      expects: [{ name: "patch", criteria: ["Tests pass"], format: "unified", maxLength: 99 }],
      refs: [{ id }],
      policy: {
        acceptMs: 60_000,
        attempts: 2,
        backoff: { firstMs: 10, longestMs: 20 },
        deadline: expect.closeTo(delivery.sentAt + 3_600_000, -5),
        exhausted: "escalate",
        fallback: ["role:coordinator"],
        remindMs: 30_000,
      },
    } as unknown as Envelope);
    expect(envelope).not.toHaveProperty("receipt");

    const { handle } = await call(ben, "accept");
    const [decision] = envelope.decisions;
    const released = { id: decision?.id ?? "", reason: "Measured", decided: "memory" };
    const on = { handle, to: "ada", releases: [released], receipt: true, delay_ms: 60_000 };
    const { handoff: next } = await call(ben, "hand_off", on);
    const second = await hub.deliveries.get(`${next}`);
    expect(second.envelope.released).toEqual([{ ...released, by: "ben" }]);
    expect(second.envelope.receipt).toBe(true);
    expect(second.delivery.state).toBe("scheduled");
    const sent = new Set([...Object.keys(args), ...Object.keys(on)]);
    expect(Object.keys(DRAFT_ARGUMENTS).filter((name) => !sent.has(name))).toEqual([]);
  });
});

describe("the path of an error", () => {
  it.each([
    ["doNotRedo[0]", "do_not_redo[0]"],
    ["policy.backoff.firstMs", "policy.backoff.first_ms"],
    ["payload.data.userName", "payload.data.userName"],
    ["metadata.myKey", "metadata.myKey"],
    ["budget.tokens", "budget.tokens"],
    ["relations[1].to", "related[1].to"],
    ["delivery", "handoff"],
    ["", ""],
  ])("uses the name of the argument: %j becomes %j", (path, argument) => {
    expect(argumentPath(path)).toBe(argument);
  });
});
