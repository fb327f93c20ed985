/**
 * The operations on agents, memories, traces, branches, settings and archives: each has a JSON
 * Schema, is called on a real hub, and its output is validated against its schema.
 */

import { describe, expect, it, onTestFinished } from "vitest";
import * as z from "zod";
import type { DocumentReport } from "../../src/archive/markdown/import-document.ts";
import { DEFAULT_LINT_RULES } from "../../src/context/lint/lint-settings.ts";
import { httpHub } from "../../src/http/app.ts";
import { LocalHub } from "../../src/hub/hub.ts";
import {
  generateKey,
  type IssuedToken,
  isBatonError,
  type RecallResult,
  type RedactReport,
  type VerifyReport,
} from "../../src/index.ts";
import type { BranchDiff } from "../../src/memory/branches/compare.ts";
import type { SimilarMemory } from "../../src/memory/recall/similar-memories.ts";
import type { SqlResult } from "../../src/memory/sql.ts";
import { operationOf } from "../../src/operations/index.ts";
import type { OperationContext } from "../../src/operations/operation.ts";
import { runOperation } from "../../src/operations/run.ts";
import { HEADERS } from "../../src/operations/wire/headers.ts";
import { toRequest } from "../../src/operations/wire/request.ts";
import type { IndexState } from "../../src/store/search.ts";
import type { EmbedProgress } from "../../src/workspace/workspace.ts";
import { actingOn } from "../http/acting.ts";
import { openFresh, refusal, type StoreName } from "../support/hub/support.ts";
import type { Input } from "./samples/input.ts";
import {
  MEMORY_OPERATIONS,
  MEMORY_SAMPLES,
  type MemoryOperation,
  type MemoryWorld,
  memoryWorldOn,
  SETTINGS_UPDATE,
} from "./samples/memory.ts";

type Name = MemoryOperation;
const NAMES = MEMORY_OPERATIONS;

const asJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

/**
 * Calls an operation with its input as JSON, and validates the output against the operation's
 * schema.
 */
async function answerOf(acting: OperationContext, name: Name, input: unknown): Promise<unknown> {
  const operation = operationOf(name);
  const answer = asJson(await runOperation(operation, acting, asJson(input) as Input));
  expect(operation.output.parse(answer)).toEqual(answer); // The schema fills in no defaults.
  return answer;
}

/** Opens a hub with the data that the samples are about. */
async function world(store: StoreName = "memory"): Promise<MemoryWorld> {
  const hub = await openFresh(store);
  if (!(hub instanceof LocalHub)) throw new Error("expected a hub in this process");
  return memoryWorldOn(hub);
}

/** Checks the output of a sample call. */
type Check = (answer: unknown, world: MemoryWorld) => unknown;

const done = (answer: unknown): unknown => expect(answer).toEqual({ done: true });

/** Matches a list that contains an object with these fields. */
const having = (part: object): unknown => expect.arrayContaining([expect.objectContaining(part)]);

/** The settings as read after SETTINGS_UPDATE. */
const SETTINGS_READ: Readonly<Record<keyof typeof SETTINGS_UPDATE, unknown>> = {
  ...SETTINGS_UPDATE,
  lint: { ...DEFAULT_LINT_RULES, secret: "refuse" },
  profiles: expect.objectContaining({
    planner: expect.objectContaining({ changed: false }),
    coder: expect.objectContaining({
      changed: true,
      types: expect.objectContaining({ finding: 3 }),
    }),
  }),
};

const CHECKS: Readonly<Record<Name, Check>> = {
  "agents.me": (answer) =>
    expect(answer).toMatchObject({ agent: "ada", access: "admin", workspace: "default" }),
  agent: async (answer, { hub }) => {
    expect(answer).toMatchObject({ id: "cy", name: "Cy", policy: "direct", role: "critic" });
    expect((await hub.agent("cy")).info).toEqual(answer);
  },
  "agents.get": (answer) =>
    expect(answer).toMatchObject({ id: "bob", owner: "Kim", window: 8_000 }),
  "agents.list": (agents) =>
    expect(agents).toMatchObject([{ id: "ada" }, { id: "bob" }, { id: "kay" }]),
  "agents.pause": async (answer, { hub }) => {
    done(answer);
    expect((await hub.agent("bob")).info.status).toBe("paused");
  },
  "agents.unpause": done,
  "agents.keys": (keys) => expect(keys).toEqual([]),
  "agents.rotateKey": (keys, { newKey }) =>
    expect(keys).toMatchObject([
      { authorizedBy: "registration", until: expect.any(Number) },
      { authorizedBy: "admin", by: "ada", publicKey: newKey },
    ]),
  "agents.revokeKey": (keys) =>
    expect(keys).toMatchObject([{ revoked: { by: "ada", since: 1_000, reason: "It leaked." } }]),
  "archive.head": (head) =>
    expect(head).toMatchObject({ workspace: "default", chains: having({ branch: "main" }) }),
  "tokens.add": async (answer, { hub }) => {
    expect(answer).toMatchObject({ info: { agent: "bob", issuedBy: "ada", state: "good" } });
    const { token } = answer as IssuedToken;
    expect(await hub.authenticate(token)).toMatchObject({ kind: "bearer", access: "reader" });
  },
  "tokens.list": (tokens, { token }) =>
    expect(tokens).toMatchObject([{ id: token, label: "laptop", state: "good" }]),
  "tokens.revoke": (answer) =>
    expect(answer).toMatchObject({
      state: "revoked",
      revokedBy: "ada",
      reason: "It was lost.",
    }),
  remember: (remembered, { fact }) =>
    expect(remembered).toMatchObject([
      { known: [{ memory: { id: fact }, verdict: "same" }] },
      { secrets: [{ path: "content" }] },
    ]),
  "memories.similar": (known, { fact }) =>
    expect((known as SimilarMemory[])[0]?.memory.id).toBe(fact),
  "memories.read": (memory, { old, fact }) =>
    expect(memory).toMatchObject({ id: fact, insteadOf: old, level: "summary" }),
  "memories.recent": (memories, { old, fact }) =>
    expect(memories).toMatchObject({ items: [{ id: fact }, { id: old }] }),
  recall: (answer, { fact, old }) => {
    const { items: hits } = answer as RecallResult;
    expect(hits[0]?.memory.id).toBe(fact);
    expect(hits.find(({ memory }) => memory.id === old)?.supersededBy).toEqual([fact]);
  },
  "memories.relations": (edges, { fact, old }) =>
    expect(edges).toMatchObject({ items: [{ kind: "supersedes", source: fact, target: old }] }),
  "memories.impact": (answer, { fact }) =>
    expect(answer).toMatchObject({
      memory: { id: fact },
      downstream: having({ type: "handoff" }),
      deliveries: [{ receiver: "bob", open: true }],
    }),
  "memories.pin": async (answer, { acting, secret }) => {
    done(answer);
    expect(await answerOf(acting, "memories.pins", {})).toEqual(having({ id: secret }));
  },
  "memories.unpin": async (answer, { acting }) => {
    done(answer);
    expect(await answerOf(acting, "memories.pins", {})).toEqual([]);
  },
  "memories.allowText": async (answer, { acting }) => {
    done(answer);
    const memories = [{ content: "The token: Rel4821x77Qb90Zeu3", task: "api" }];
    expect(await answerOf(acting, "remember", { memories })).toMatchObject(memories);
  },
  "memories.pins": (pins, { fact }) => expect(pins).toMatchObject([{ id: fact }]),
  "memories.quarantine": (answer, { fact }) =>
    expect(answer).toMatchObject({
      memories: expect.arrayContaining([fact]),
      deliveries: [expect.anything()],
    }),
  "memories.lift": (answer, { wrong }) => expect(answer).toMatchObject({ memories: [wrong] }),
  "memories.quarantined": (marks, { wrong }) =>
    expect(marks).toMatchObject({
      items: [{ memory: wrong, by: "ada", reason: "Wrong port." }],
    }),
  "memories.redact": async (answer, { acting, fact }) => {
    const { erased, records } = answer as RedactReport;
    expect(erased).toContainEqual({ kind: "memory", id: fact });
    const left = await answerOf(acting, "memories.read", { id: fact });
    expect(left).toMatchObject({ content: "", redacted: { reason: "It names a customer." } });
    const record = await answerOf(acting, "memories.read", { id: records[0] });
    expect(record).toMatchObject({ redacts: having({ id: fact }) });
  },
  "memories.sql": (answer, { old }) => {
    const { columns, rows } = answer as SqlResult;
    expect(columns).toEqual(["id", "one", "bytes"]);
    expect(rows[0]).toEqual({ id: old, one: 1, bytes: { base64: "AP8=" } });
  },
  "memories.exportMarkdown": (answer) =>
    expect(answer).toMatchObject({
      text: expect.stringContaining("The API returns JSON, not XML."),
    }),
  "memories.importMarkdown": async (answer, { acting }) => {
    const { taken } = answer as DocumentReport;
    const read = await answerOf(acting, "memories.read", { id: taken[0]?.memory });
    expect(read).toMatchObject({ content: "The sky is blue." });
  },
  catchUp: (answer) =>
    expect(answer).toMatchObject({
      text: expect.stringContaining("The API returns JSON, not XML."),
    }),
  trace: (steps) => expect(steps).toMatchObject([{ type: "trace" }, { type: "trace" }]),
  "traces.list": (steps) =>
    expect(steps).toMatchObject({ items: [{ data: { kind: "tool", name: "curl" } }] }),
  "traces.sessions": (sessions) =>
    expect(sessions).toMatchObject({ items: [{ session: "s-1", agent: "ada", steps: 1 }] }),
  "traces.counts": (counts) => expect(counts).toEqual({ stored: 1, failed: 0, waiting: 0 }),
  "branches.list": (branches) =>
    expect(branches).toMatchObject({ items: [{ name: "run-1/ada", state: "open" }] }),
  "branches.create": async (answer, { hub }) => {
    expect(answer).toEqual({ name: "run-2" });
    expect((await hub.branches.diff("run-2")).base).toBe("run-1/ada");
  },
  "branches.use": (answer) => expect(answer).toEqual({ name: "run-1/ada" }),
  "branches.diff": (answer) => {
    const { into, records } = answer as BranchDiff;
    expect(into).toBe("main");
    expect(records.at(-1)?.content).toBe("On the branch it is YAML.");
  },
  "branches.merge": (answer) => expect(answer).toMatchObject({ kind: "merged", into: "main" }),
  "branches.abandon": (record) =>
    expect(record).toMatchObject({ type: "abandon", branch: "run-1/ada" }),
  "settings.get": (answer) => {
    expect(answer).toEqual({
      retention: {},
      secrets: "redact",
      lint: DEFAULT_LINT_RULES,
      handoffs: { actions: [], unregistered: "accept" },
      releasers: expect.arrayContaining(["planner"]),
      keepers: expect.arrayContaining(["memory-keeper"]),
      profiles: expect.objectContaining({ planner: expect.objectContaining({ changed: false }) }),
    });
    expect(DEFAULT_LINT_RULES.secret).toBe("warn");
  },
  "settings.update": async (answer, { hub }) => {
    expect(answer).toEqual(SETTINGS_READ);
    expect(asJson(await hub.settings.get())).toEqual(answer);
  },
  "payloadTypes.list": (types) => expect(types).toMatchObject([{ name: "patch", version: 1 }]),
  "payloadTypes.versions": (versions) =>
    expect(versions).toMatchObject([{ version: 1, schema: { type: "object" } }]),
  "payloadTypes.set": async (info, { hub }) => {
    expect(info).toMatchObject({ name: "patch", version: 2, by: "ada" });
    expect(await hub.payloadTypes.list()).toEqual([info]);
  },
  "payloadTypes.delete": async (answer, { hub }) => {
    done(answer);
    expect(await hub.payloadTypes.list()).toEqual([]);
  },
  "memories.prune": (report) => expect(report).toMatchObject({ dryRun: true, steps: 0, events: 0 }),
  verify: (answer) => {
    const { memories, problems } = answer as VerifyReport;
    expect(memories).toBeGreaterThan(5);
    expect(problems).toEqual([]);
  },
  "memories.secretsFound": (found) => expect(found).toEqual({ total: 0, byKind: {}, found: [] }),
  "index.state": (state) => expect((state as IndexState).records).toBeGreaterThan(5),
  "index.models": (models) => expect(Array.isArray(models)).toBe(true),
  "index.deleteModel": done,
  "index.embed": (answer) => {
    const { progress } = answer as { readonly progress: EmbedProgress | null };
    expect(progress?.done).toBe(progress?.total);
  },
  "events.audit": (records) =>
    expect(records).toMatchObject({ items: [{ kind: "change", action: "agent" }] }),
  "events.list": (events) =>
    expect(events).toMatchObject({ items: [{ kind: "sent", agent: "ada", task: "api" }] }),
  "agents.breakers": (breakers) => expect(breakers).toEqual([]),
  "agents.resetBreaker": done,
};

const inputOf = (name: Name, at: MemoryWorld): Input => MEMORY_SAMPLES[name].input?.(at) ?? {};

describe("operations on memories, settings and the hub", () => {
  it.each(NAMES)("%s has a JSON Schema and a summary [OPS-7]", (name) => {
    const { input, output, summary } = operationOf(name);
    for (const schema of [input, output]) {
      const described = z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });
      expect(described).toMatchObject({ $schema: expect.any(String) });
    }
    expect(summary).toMatch(/^[A-Z].+\.$/);
  });

  it.each(NAMES)("%s accepts and returns what its schemas describe [OPS-7]", async (name) => {
    const at = await world();
    const input = inputOf(name, at);
    expect(operationOf(name).input.safeParse(input).error).toBeUndefined();
    const answer = await answerOf(at.acting, name, input);
    await CHECKS[name](answer, at);
  });

  it.each(NAMES)("%s returns the same over HTTP [OPS-7]", async (name) => {
    const at = await world();
    const { method, path, body } = toRequest(operationOf(name), inputOf(name, at));
    const headers = {
      "content-type": "application/json",
      [HEADERS.agent]: "ada",
      [HEADERS.session]: "s-1",
    };
    const sent =
      body === undefined ? { method, headers } : { method, headers, body: JSON.stringify(body) };
    const http = httpHub(at.hub, { open: "admin" });
    onTestFinished(() => http.close());
    const response = await http.fetch(new Request(`http://127.0.0.1${path}`, sent));
    const answer = await response.json();
    expect(response.status, JSON.stringify(answer)).toBe(200);
    expect(operationOf(name).output.parse(answer)).toEqual(answer);
    await CHECKS[name](answer, at);
  });

  it.each(NAMES)(
    "%s answers unusual values by its schema or refuses them with a BatonError [OPS-7]",
    async (name) => {
      const at = await world();
      const { input, rest, output } = operationOf(name);
      const good = inputOf(name, at);
      const odd = [undefined, null, 0, -1, 1.5, true, "", "\0", "ghost", [], [null], {}, { a: 1 }];
      const fields = [...Object.keys(input.shape), ...(rest ? ["unknown-field"] : [])];
      for (const field of fields) {
        for (const value of odd) {
          const attempt = { ...good, [field]: value };
          const outcome = await answerOf(at.acting, name, attempt).catch((error: unknown) => error);
          const how = `${field}: ${JSON.stringify(value)}`;
          if (outcome instanceof Error)
            expect(isBatonError(outcome), `${how} ${outcome.stack}`).toBe(true);
          else expect(output.safeParse(outcome).error, how).toBeUndefined();
          if (field === "unknown-field" && value !== undefined) {
            expect(outcome, how).toMatchObject({ code: "invalid_input" });
          }
        }
      }
    },
  );
});

describe("the caller", () => {
  const QUERIES = {
    "memories.recent": {},
    recall: { question: "Kim Friday API JSON" },
    "memories.sql": { query: "SELECT content FROM memories" },
    "memories.exportMarkdown": {},
  } as const;

  it.each(Object.keys(QUERIES) as (keyof typeof QUERIES)[])(
    "sees its own private memories in %s; other agents and anonymous callers do not [OPS-7]",
    async (name) => {
      const { hub, acting } = await world();
      const answerTo = async (who: OperationContext) =>
        JSON.stringify(await answerOf(who, name, QUERIES[name]));
      expect(await answerTo(acting)).toContain("Ask Kim before Friday.");
      expect(await answerTo(actingOn(hub, { named: "bob" }))).not.toContain("Ask Kim");
      const anonymous = await answerTo(actingOn(hub));
      expect(anonymous).not.toContain("Ask Kim");
      expect(anonymous).toContain("The API returns JSON");
    },
  );

  it("reads the branch that the call names [OPS-7]", async () => {
    const { hub, acting } = await world();
    const there = actingOn(hub, { named: "ada", branch: "run-1/ada" });
    const recent = (who: OperationContext) => answerOf(who, "memories.recent", {});
    const written = { items: having({ content: "On the branch it is YAML." }) };
    expect(await recent(there)).toEqual(written);
    expect(await recent(acting)).not.toEqual(written);
  });

  it("has no agent in agents.me when the call names none [OPS-7]", async () => {
    const { hub } = await world();
    expect(await answerOf(actingOn(hub), "agents.me", {})).not.toHaveProperty("agent");
  });
});

describe("required input", () => {
  const SET = {
    "payloadTypes.set": ["schema", { name: "patch" }],
    remember: ["memories", {}],
    trace: ["steps", {}],
  } as const;

  it.each(Object.keys(SET) as (keyof typeof SET)[])(
    "of %s is refused when missing [OPS-7]",
    async (name) => {
      const { acting } = await world();
      const [path, rest] = SET[name];
      const error = await refusal(answerOf(acting, name, rest));
      expect(error).toMatchObject({ code: "invalid_input", path });
    },
  );
});

describe("workspace settings", () => {
  const PARTS = Object.keys(SETTINGS_UPDATE) as (keyof typeof SETTINGS_UPDATE)[];

  it.each(PARTS)("change %s without changing the others [OPS-7]", async (part) => {
    const { hub, acting } = await world();
    const before = await answerOf(acting, "settings.get", {});
    const change = { [part]: SETTINGS_UPDATE[part] };
    const answer = await answerOf(acting, "settings.update", change);
    expect(answer).toEqual({ ...(before as object), [part]: SETTINGS_READ[part] });
    expect(await answerOf(acting, "settings.get", {})).toEqual(answer);
    expect(asJson(await hub.settings.get())).toEqual(answer);
  });

  it.each(PARTS)("refuse null for %s and change nothing [OPS-7]", async (part) => {
    const { acting } = await world();
    const before = await answerOf(acting, "settings.get", {});
    for (const others of [{}, SETTINGS_UPDATE]) {
      const error = await refusal(answerOf(acting, "settings.update", { ...others, [part]: null }));
      expect(error).toMatchObject({ code: "invalid_input", path: part });
    }
    expect(await answerOf(acting, "settings.get", {})).toEqual(before);
  });

  it("stay the same when an update is empty [OPS-7]", async () => {
    const { acting } = await world();
    await answerOf(acting, "settings.update", SETTINGS_UPDATE);
    const before = await answerOf(acting, "settings.get", {});
    expect(await answerOf(acting, "settings.update", {})).toEqual(before);
  });

  it("reset the profile of one role when it is null [OPS-7]", async () => {
    const { acting } = await world();
    const profiles = { planner: { tokens: 900 }, scout: { tokens: 800 } };
    const said = await answerOf(acting, "settings.update", { profiles });
    expect(said).toMatchObject({ profiles: { planner: { tokens: 900, changed: true } } });
    const answer = await answerOf(acting, "settings.update", { profiles: { planner: null } });
    expect(answer).toMatchObject({
      profiles: { planner: { changed: false }, scout: { tokens: 800, changed: true } },
    });
    expect(answer).not.toHaveProperty("profiles.planner.tokens");
  });

  it("stay the same when one of several profiles is invalid [OPS-7]", async () => {
    const { acting } = await world();
    const before = await answerOf(acting, "settings.get", {});
    const profiles = { scout: { tokens: 800 }, writer: { reserve: { system: 0.6, work: 0.6 } } };
    const error = await refusal(answerOf(acting, "settings.update", { profiles }));
    expect(error.code).toBe("invalid_input");
    expect(await answerOf(acting, "settings.get", {})).toEqual(before);
  });

  it.each([
    ["retention", { traces: { days: 1 } }],
    ["secrets", "off"],
  ])(
    "allow changes of %s to admins only, alone and together with others [OPS-5]",
    async (part, value) => {
      const { hub } = await world();
      const before = asJson(await hub.settings.get());
      const coordinator = actingOn(hub, { named: "ada", access: "coordinator" });
      for (const others of [{}, { releasers: ["lead"] }]) {
        const change = { ...others, [part]: value };
        const error = await refusal(answerOf(coordinator, "settings.update", change));
        expect(error).toMatchObject({ code: "forbidden", details: { needs: "admin" } });
      }
      expect(asJson(await hub.settings.get())).toEqual(before);
      const changed = await answerOf(coordinator, "settings.update", { releasers: ["lead"] });
      expect(changed).toMatchObject({ releasers: ["lead"] });
    },
  );
});

describe("progress", () => {
  const LONG_OPERATIONS = {
    verify: {},
    "memories.redact": { target: { text: "The API" }, reason: "It is wrong." },
    "memories.prune": {},
    "index.embed": {},
  } as const;

  it.each(Object.keys(LONG_OPERATIONS) as (keyof typeof LONG_OPERATIONS)[])(
    "is reported by %s [OPS-7]",
    async (name) => {
      const { hub } = await world("sqlite");
      await hub.settings.update({ retention: { traces: { sessions: 0 } } });
      const reports: object[] = [];
      const acting = actingOn(hub, {
        named: "ada",
        onProgress: (progress) => reports.push(progress),
      });
      if (name === "verify") await rememberMany(acting);
      await answerOf(acting, name, LONG_OPERATIONS[name]);
      expect(reports.at(-1)).toMatchObject({ total: expect.any(Number) });
    },
  );

  /** Writes enough memories for `verify` to report progress. */
  async function rememberMany(acting: OperationContext): Promise<void> {
    for (let batch = 0; batch < 5; batch++) {
      const memories = Array.from({ length: 1_000 }, (_, i) => ({ content: `Fact ${batch}.${i}` }));
      await (await acting.agent()).remember(memories);
    }
  }
});

describe("an agent's private key", () => {
  it("is refused as input and not repeated in the error [OPS-7]", async () => {
    const { hub, acting } = await world();
    const key = generateKey();
    const error = await refusal(answerOf(acting, "agent", { name: "dan", profile: { key } }));
    expect(error).toMatchObject({ code: "invalid_input", path: "profile.key" });
    expect(JSON.stringify(error)).not.toContain("PRIVATE KEY");
    expect(await refusal(hub.agent("dan"))).toMatchObject({ code: "unknown_agent" });
  });

  it("is required for an agent that has one [OPS-7]", async () => {
    const { hub, acting } = await world();
    await hub.agent("dan", { key: generateKey() });
    const change = { name: "dan", profile: { role: "admin" } };
    const error = await refusal(answerOf(acting, "agent", change));
    expect(error.code).toBe("identity_mismatch");
    const dan = actingOn(hub, { named: "dan" });
    const written = await refusal(answerOf(dan, "remember", { memories: [{ content: "Hi." }] }));
    expect(written.code).toBe("identity_mismatch");
  });
});
