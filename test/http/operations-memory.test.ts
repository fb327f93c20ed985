/**
 * The operations of agents, memories, traces, branches, settings and keeping: each is described, called on
 * a real hub, and its answer held against its description.
 */
import { describe, expect, it, onTestFinished } from "vitest";
import * as z from "zod";
import { httpHub } from "../../src/http/app.ts";
import type { Acting, Operation } from "../../src/http/operation.ts";
import { agentsOperations } from "../../src/http/operations/agents.ts";
import { branchesOperations } from "../../src/http/operations/branches.ts";
import { keepingOperations } from "../../src/http/operations/keeping.ts";
import { memoriesOperations } from "../../src/http/operations/memories.ts";
import { settingsOperations } from "../../src/http/operations/settings.ts";
import { tracesOperations } from "../../src/http/operations/traces.ts";
import { LocalHub } from "../../src/hub/hub.ts";
import { generateKey, isBatonError } from "../../src/index.ts";
import { layOut } from "../../src/wire/address.ts";
import type { CallName, InputOf, OutputOf } from "../../src/wire/calls.ts";
import { HEADERS } from "../../src/wire/routes.ts";
import { openFresh, refusal, type StoreName } from "../behaviour/support.ts";
import { actingOn } from "./acting.ts";

const OPERATIONS = {
  ...agentsOperations,
  ...memoriesOperations,
  ...tracesOperations,
  ...branchesOperations,
  ...settingsOperations,
  ...keepingOperations,
};

type Name = keyof typeof OPERATIONS;
const NAMES = Object.keys(OPERATIONS) as Name[];

const operation = (name: Name): Operation<CallName> =>
  OPERATIONS[name] as unknown as Operation<CallName>;

const asJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

/** Calls an operation with what JSON can say, and reads its answer as its description has it. */
async function answerOf(acting: Acting, name: Name, input: unknown): Promise<unknown> {
  const { run, output } = operation(name);
  const answer = asJson(await run(acting, asJson(input) as never));
  expect(output.parse(answer)).toEqual(answer); // Nothing had to be filled in.
  return answer;
}

async function call<N extends Name>(
  acting: Acting,
  name: N,
  input: InputOf<N>,
): Promise<OutputOf<N>> {
  return (await answerOf(acting, name, input)) as OutputOf<N>;
}

interface World {
  readonly hub: LocalHub;
  readonly acting: Acting;
  /** Memories: one that was replaced, one that stands, a private one, one out of sight. */
  readonly old: string;
  readonly fact: string;
  readonly secret: string;
  readonly wrong: string;
  readonly token: string;
}

/** A hub with something of everything: agents, memories, a handoff, a branch, a trace, a token. */
async function world(store: StoreName = "memory"): Promise<World> {
  const hub = await openFresh(store);
  if (!(hub instanceof LocalHub)) throw new Error("a hub in this process was opened");
  await hub.agent("bob", { role: "executor", owner: "Kim", aliases: ["robert"], window: 8_000 });
  const ada = await hub.agent("ada", { role: "planner" }, { instance: "s-1", lease: "session" });
  const old = await ada.remember({ content: "The API returns XML.", task: "api" });
  const fact = await ada.remember({
    content: "The API returns JSON, not XML.",
    data: { port: 8080 },
    task: "api",
    tags: ["format"],
    relations: [{ kind: "supersedes", to: old.id }],
    importance: 0.8,
  });
  const secret = await ada.remember({ content: "Ask Kim before Friday.", scope: "agent" });
  const wrong = await ada.remember({ content: "The API runs on port 9." });
  await ada.quarantine(wrong.id, "It never did.");
  await ada.pin(fact.id);
  await ada.trace({ kind: "tool", name: "curl", input: "/", output: { status: 200 }, task: "api" });
  await ada.handoff({ to: "bob", task: "api", intent: "Read the API.", refs: [fact.id] });
  await hub.payloadType("patch", { type: "object" });
  const branch = await ada.branch("run-1/ada");
  await branch.remember({ content: "On the branch it is YAML.", task: "api" });
  const { info } = await hub.tokens.add({ agent: "bob", access: "agent", label: "laptop" }, "ada");
  return {
    ...{ hub, acting: actingOn(hub, { named: "ada" }) },
    ...{ old: old.id, fact: fact.id, secret: secret.id, wrong: wrong.id, token: info.id },
  };
}

/** How each is called, and what it must answer. */
interface Sample<N extends Name> {
  readonly input?: (world: World) => InputOf<N>;
  readonly says: (answer: OutputOf<N>, world: World) => unknown;
}

const done = (answer: { readonly done: true }): unknown => expect(answer).toEqual({ done: true });

const SAMPLES: { readonly [N in Name]: Sample<N> } = {
  whoAmI: {
    says: (answer) =>
      expect(answer).toMatchObject({ agent: "ada", access: "admin", workspace: "default" }),
  },
  registerAgent: {
    input: () => ({ name: "cy", profile: { role: "critic", name: "Cy", policy: "direct" } }),
    says: async (answer, { hub }) => {
      expect(answer).toMatchObject({ id: "cy", name: "Cy", policy: "direct", role: "critic" });
      expect((await hub.agent("cy")).info).toEqual(answer);
    },
  },
  getAgent: {
    input: () => ({ name: "robert" }),
    says: (answer) => expect(answer).toMatchObject({ id: "bob", owner: "Kim", window: 8_000 }),
  },
  listAgents: { says: (agents) => expect(agents.map(({ id }) => id)).toEqual(["ada", "bob"]) },
  pauseAgent: {
    input: () => ({ name: "bob" }),
    says: async (answer, { hub }) => {
      done(answer);
      expect((await hub.agent("bob")).info.status).toBe("paused");
    },
  },
  resumeAgent: { input: () => ({ name: "bob" }), says: done },
  addToken: {
    input: () => ({ agent: "bob", access: "reader", expiresInMs: 60_000 }),
    says: async ({ token, info }, { hub }) => {
      expect(info).toMatchObject({ agent: "bob", issuedBy: "ada", state: "good" });
      expect(await hub.authenticate(token)).toMatchObject({ kind: "bearer", access: "reader" });
    },
  },
  listTokens: {
    says: (tokens, { token }) =>
      expect(tokens).toMatchObject([{ id: token, label: "laptop", state: "good" }]),
  },
  revokeToken: {
    input: ({ token: id }) => ({ id, reason: "It was lost." }),
    says: (answer) =>
      expect(answer).toMatchObject({
        state: "revoked",
        revokedBy: "ada",
        reason: "It was lost.",
      }),
  },

  remember: {
    input: () => ({
      known: "report",
      memories: [
        { content: "The API returns JSON, not XML.", task: "api" },
        { content: "Log in with ghp_0123456789abcdefghijABCDEFGHIJ012345." },
      ],
    }),
    says: ([again, redacted], { fact }) => {
      expect(again?.known).toMatchObject([{ memory: { id: fact }, verdict: "same" }]);
      expect(redacted?.secrets).toMatchObject([{ path: "content" }]);
    },
  },
  known: {
    input: () => ({ memory: { content: "The API returns JSON, not XML.", task: "api" } }),
    says: ([known], { fact }) => expect(known?.memory.id).toBe(fact),
  },
  readMemory: {
    input: ({ old: id }) => ({ id, freshest: true, level: "summary" }),
    says: (memory, { old, fact }) =>
      expect(memory).toMatchObject({ id: fact, insteadOf: old, level: "summary" }),
  },
  recent: {
    input: () => ({ task: "api", type: "fact", limit: 5 }),
    says: (memories, { old, fact }) => expect(memories.map(({ id }) => id)).toEqual([fact, old]),
  },
  recall: {
    input: () => ({ question: "What does the API return?", superseded: "marked", traces: true }),
    says: ({ hits }, { fact, old }) => {
      expect(hits[0]?.memory.id).toBe(fact);
      expect(hits.find(({ memory }) => memory.id === old)?.supersededBy).toEqual([fact]);
    },
  },
  relations: {
    input: ({ old: id }) => ({ id, direction: "in" }),
    says: (edges, { fact, old }) =>
      expect(edges).toMatchObject([{ kind: "supersedes", source: fact, target: old }]),
  },
  impact: {
    input: ({ fact: id }) => ({ id }),
    says: ({ memory, downstream, deliveries }, { fact }) => {
      expect(memory.id).toBe(fact);
      expect(downstream.map(({ type }) => type)).toContain("handoff");
      expect(deliveries).toMatchObject([{ receiver: "bob", open: true }]);
    },
  },
  pin: {
    input: ({ secret: id }) => ({ id }),
    says: async (answer, { acting, secret }) => {
      done(answer);
      expect((await call(acting, "pins", {})).map(({ id }) => id)).toContain(secret);
    },
  },
  unpin: {
    input: ({ fact: id }) => ({ id }),
    says: async (answer, { acting }) => {
      done(answer);
      expect(await call(acting, "pins", {})).toEqual([]);
    },
  },
  pins: { says: (pins, { fact }) => expect(pins.map(({ id }) => id)).toEqual([fact]) },
  quarantine: {
    input: ({ fact }) => ({ what: [fact], reason: "It is wrong.", downstream: true }),
    says: ({ memories, deliveries }, { fact }) => {
      expect(memories).toContain(fact);
      expect(deliveries).toHaveLength(1);
    },
  },
  lift: {
    input: ({ wrong }) => ({ what: wrong, reason: "It does after all." }),
    says: ({ memories }, { wrong }) => expect(memories).toEqual([wrong]),
  },
  quarantined: {
    says: (marks, { wrong }) =>
      expect(marks).toMatchObject([{ memory: wrong, by: "ada", reason: "It never did." }]),
  },
  redact: {
    input: ({ fact }) => ({ target: { ids: [fact] }, reason: "It names a customer." }),
    says: async ({ erased, records }, { acting, fact }) => {
      expect(erased).toContainEqual({ kind: "memory", id: fact });
      const left = await call(acting, "readMemory", { id: fact });
      expect(left).toMatchObject({ content: "", redacted: { reason: "It names a customer." } });
      const record = await call(acting, "readMemory", { id: records[0] as string });
      expect(record.redacts?.map(({ id }) => id)).toContain(fact);
    },
  },
  sql: {
    input: () => ({
      query: "SELECT id, ? AS told, ? AS bytes FROM memories WHERE task = ? ORDER BY seq",
      params: [1, { base64: "AP8=" }, "api"],
    }),
    says: ({ columns, rows }, { old }) => {
      expect(columns).toEqual(["id", "told", "bytes"]);
      expect(rows[0]).toEqual({ id: old, told: 1, bytes: { base64: "AP8=" } });
    },
  },
  exportMarkdown: {
    input: () => ({ task: "api" }),
    says: ({ text }) => expect(text).toContain("The API returns JSON, not XML."),
  },
  importMarkdown: {
    input: () => ({ text: "## Facts\n\n- The sky is blue.\n", task: "api" }),
    says: async ({ taken }, { acting }) => {
      const { content } = await call(acting, "readMemory", { id: taken[0]?.memory as string });
      expect(content).toBe("The sky is blue.");
    },
  },
  catchUp: {
    input: () => ({ tokens: 4_000 }),
    says: ({ text }) => expect(text).toContain("The API returns JSON, not XML."),
  },

  trace: {
    input: () => ({
      steps: [
        { kind: "prompt", content: "Go." },
        { kind: "result", ok: true },
      ],
    }),
    says: (steps) => expect(steps.map(({ type }) => type)).toEqual(["trace", "trace"]),
  },
  traces: {
    input: () => ({ session: "s-1" }),
    says: (steps) => expect(steps).toMatchObject([{ data: { kind: "tool", name: "curl" } }]),
  },
  traceSessions: {
    says: (sessions) =>
      expect(sessions).toMatchObject([{ session: "s-1", agent: "ada", steps: 1 }]),
  },
  traceCounts: { says: (counts) => expect(counts).toEqual({ stored: 1, failed: 0, waiting: 0 }) },

  listBranches: {
    input: () => ({ prefix: "run-1/" }),
    says: (branches) => expect(branches).toMatchObject([{ name: "run-1/ada", state: "open" }]),
  },
  beginBranch: {
    input: () => ({ name: "run-2", from: "run-1/ada" }),
    says: async (answer, { hub }) => {
      expect(answer).toEqual({ name: "run-2" });
      expect((await hub.diff("run-2")).base).toBe("run-1/ada");
    },
  },
  findBranch: {
    input: () => ({ name: "run-1/ada" }),
    says: (answer) => expect(answer).toEqual({ name: "run-1/ada" }),
  },
  diffBranch: {
    input: () => ({ name: "run-1/ada" }),
    says: ({ into, records }) => {
      expect(into).toBe("main");
      expect(records.at(-1)?.content).toBe("On the branch it is YAML.");
    },
  },
  mergeBranch: {
    input: () => ({ name: "run-1/ada" }),
    says: (answer) => expect(answer).toMatchObject({ kind: "merged", into: "main" }),
  },
  abandonBranch: {
    input: () => ({ name: "run-1/ada", reason: "It led nowhere." }),
    says: (record) => expect(record).toMatchObject({ type: "abandon", branch: "run-1/ada" }),
  },

  releasers: { says: (roles) => expect(roles).toContain("planner") },
  setReleasers: {
    input: () => ({ roles: ["lead"] }),
    says: async (roles, { hub }) => expect(await hub.releasers()).toEqual(roles),
  },
  keepers: { says: (roles) => expect(roles).toContain("memory-keeper") },
  setKeepers: {
    input: () => ({ roles: ["lead"] }),
    says: async (roles, { hub }) => expect(await hub.context.keepers()).toEqual(roles),
  },
  lintRules: { says: (rules) => expect(rules.secret).toBe("warn") },
  setLintRules: {
    input: () => ({ rules: { secret: "refuse" } }),
    says: async (rules, { hub }) => {
      expect(rules.secret).toBe("refuse");
      expect(await hub.lintRules()).toEqual(rules);
    },
  },
  retention: { says: (rules) => expect(rules).toEqual({}) },
  setRetention: {
    input: () => ({ rules: { traces: { sessions: 10 } } }),
    says: async (rules, { hub }) => expect(await hub.retention()).toEqual(rules),
  },
  secretPolicy: { says: (answer) => expect(answer).toEqual({ mode: "redact" }) },
  setSecretPolicy: {
    input: () => ({ mode: "refuse" }),
    says: async (answer, { hub }) => {
      expect(answer).toEqual({ mode: "refuse" });
      expect(await hub.secretPolicy()).toBe("refuse");
    },
  },
  payloadTypes: { says: (types) => expect(types).toMatchObject([{ name: "patch", version: 1 }]) },
  payloadTypeVersions: {
    input: () => ({ name: "patch" }),
    says: (versions) =>
      expect(versions).toMatchObject([{ version: 1, schema: { type: "object" } }]),
  },
  setPayloadType: {
    input: () => ({ name: "patch", schema: { type: "object", required: ["files"] } }),
    says: async (info, { hub }) => {
      expect(info).toMatchObject({ name: "patch", version: 2, by: "ada" });
      expect(await hub.payloadTypes()).toEqual([info]);
    },
  },
  dropPayloadType: {
    input: () => ({ name: "patch" }),
    says: async (answer, { hub }) => {
      done(answer);
      expect(await hub.payloadTypes()).toEqual([]);
    },
  },
  handoffRules: {
    says: (rules) => expect(rules).toEqual({ actions: [], unregistered: "accept" }),
  },
  setHandoffRules: {
    input: () => ({ rules: { actions: ["delegated"], unregistered: "refuse" as const } }),
    says: async (rules, { hub }) => expect(await hub.handoffRules()).toEqual(rules),
  },
  profiles: { says: (roles) => expect(roles.map(({ role }) => role)).toContain("planner") },
  setProfile: {
    input: () => ({ role: "scout", profile: { types: { finding: 3 } } }),
    says: async (answer, { hub }) => {
      done(answer);
      expect(await hub.profiles()).toContainEqual(
        expect.objectContaining({ role: "scout", changed: true }),
      );
    },
  },
  dropProfile: { input: () => ({ role: "planner" }), says: done },

  prune: {
    input: () => ({ dryRun: true }),
    says: (report) => expect(report).toMatchObject({ dryRun: true, steps: 0, events: 0 }),
  },
  verify: {
    says: ({ memories, problems }) => {
      expect(memories).toBeGreaterThan(5);
      expect(problems).toEqual([]);
    },
  },
  secretsFound: {
    input: () => ({ limit: 10 }),
    says: (found) => expect(found).toEqual({ total: 0, byKind: {}, found: [] }),
  },
  indexState: { says: ({ records }) => expect(records).toBeGreaterThan(5) },
  models: { says: (models) => expect(Array.isArray(models)).toBe(true) },
  dropModel: { input: () => ({ model: "nobody-has-it" }), says: done },
  embed: { says: ({ progress }) => expect(progress?.done).toBe(progress?.total) },
  books: { says: ({ byState }) => expect(byState.ready).toBe(1) },
  carryOut: { says: done },
  listEvents: {
    input: () => ({ after: 0, limit: 1 }),
    says: (events) => expect(events).toMatchObject([{ kind: "sent", agent: "ada", task: "api" }]),
  },
  breakers: { says: (breakers) => expect(breakers).toEqual([]) },
  resetBreaker: { input: () => ({ receiver: "bob" }), says: done },
};

const inputOf = (name: Name, at: World): Record<string, unknown> =>
  ({ ...(SAMPLES[name].input?.(at) ?? {}) }) as Record<string, unknown>;

describe("operations on what is known and how it is kept", () => {
  it.each(NAMES)("%s can be described in JSON Schema [OPS-7]", (name) => {
    const { input, output, summary } = operation(name);
    for (const schema of [input, output]) {
      const described = z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });
      expect(described).toMatchObject({ $schema: expect.any(String) });
    }
    expect(summary).toMatch(/^[A-Z].+\.$/);
  });

  it.each(NAMES)(
    "%s takes what it describes, and answers as it describes [OPS-7]",
    async (name) => {
      const at = await world();
      const input = inputOf(name, at);
      expect(operation(name).input.safeParse(input).error).toBeUndefined();
      const answer = await answerOf(at.acting, name, input);
      await (SAMPLES[name] as Sample<Name>).says(answer as never, at);
    },
  );

  it.each(NAMES)("%s is the same call over HTTP [OPS-7]", async (name) => {
    const at = await world();
    const { method, path, body } = layOut(name, inputOf(name, at));
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
    expect(operation(name).output.parse(answer)).toEqual(answer);
    await (SAMPLES[name] as Sample<Name>).says(answer as never, at);
  });

  it.each(NAMES)("%s refuses every odd value with an error of the table [OPS-7]", async (name) => {
    const at = await world();
    const { input, rest, output } = operation(name);
    const good = inputOf(name, at);
    const odd = [undefined, null, 0, -1, 1.5, true, "", "\0", "ghost", [], [null], {}, { a: 1 }];
    const fields = [...Object.keys(input.shape), ...(rest ? ["nobody-knows-this"] : [])];
    for (const field of fields) {
      for (const value of odd) {
        const attempt = { ...good, [field]: value };
        const outcome = await answerOf(at.acting, name, attempt).catch((error: unknown) => error);
        const how = `${field}: ${JSON.stringify(value)}`;
        if (outcome instanceof Error)
          expect(isBatonError(outcome), `${how} ${outcome.stack}`).toBe(true);
        else expect(output.safeParse(outcome).error, how).toBeUndefined();
        if (field === "nobody-knows-this" && value !== undefined) {
          expect(outcome, how).toMatchObject({ code: "invalid_input" });
        }
      }
    }
  });
});

describe("who looks", () => {
  const LOOKS = {
    recent: {},
    recall: { question: "Kim Friday API JSON" },
    sql: { query: "SELECT content FROM memories" },
    exportMarkdown: {},
  } as const;

  it.each(Object.keys(LOOKS) as (keyof typeof LOOKS)[])(
    "%s shows an agent what is its own, and whoever names nobody what everybody sees [OPS-7]",
    async (name) => {
      const { hub, acting } = await world();
      const told = async (who: Acting) => JSON.stringify(await answerOf(who, name, LOOKS[name]));
      expect(await told(acting)).toContain("Ask Kim before Friday.");
      expect(await told(actingOn(hub, { named: "bob" }))).not.toContain("Ask Kim");
      const everybody = await told(actingOn(hub));
      expect(everybody).not.toContain("Ask Kim");
      expect(everybody).toContain("The API returns JSON");
    },
  );

  it("works on the branch the call names [OPS-7]", async () => {
    const { hub, acting } = await world();
    const there = actingOn(hub, { named: "ada", branch: "run-1/ada" });
    const contents = async (who: Acting) =>
      (await call(who, "recent", {})).map(({ content }) => content);
    expect(await contents(there)).toContain("On the branch it is YAML.");
    expect(await contents(acting)).not.toContain("On the branch it is YAML.");
  });

  it("names no agent where the caller named none [OPS-7]", async () => {
    const { hub } = await world();
    expect(await call(actingOn(hub), "whoAmI", {})).not.toHaveProperty("agent");
  });
});

describe("what must not be left out", () => {
  const SET = {
    setReleasers: ["roles", {}],
    setKeepers: ["roles", {}],
    setLintRules: ["rules", {}],
    setRetention: ["rules", {}],
    setSecretPolicy: ["mode", {}],
    setProfile: ["profile", { role: "planner" }],
    setPayloadType: ["schema", { name: "patch" }],
    setHandoffRules: ["rules", {}],
    remember: ["memories", {}],
    trace: ["steps", {}],
  } as const;

  it.each(Object.keys(SET) as (keyof typeof SET)[])(
    "%s without what it sets is refused, and is not taken for a look [OPS-7]",
    async (name) => {
      const { acting } = await world();
      const [path, rest] = SET[name];
      const error = await refusal(answerOf(acting, name, rest));
      expect(error).toMatchObject({ code: "invalid_input", path });
    },
  );
});

describe("what an operation says of itself on the way", () => {
  const toTell = {
    verify: {},
    redact: { target: { text: "The API" }, reason: "It is wrong." },
    prune: {},
    embed: {},
  } as const;

  it.each(Object.keys(toTell) as (keyof typeof toTell)[])(
    "%s tells how far it has come [OPS-7]",
    async (name) => {
      const { hub } = await world("sqlite");
      await hub.retention({ traces: { sessions: 0 } });
      const told: object[] = [];
      const acting = actingOn(hub, { named: "ada", tell: (progress) => told.push(progress) });
      if (name === "verify") await rememberMany(acting);
      await answerOf(acting, name, toTell[name]);
      expect(told.at(-1)).toMatchObject({ total: expect.any(Number) });
    },
  );

  /** So many that verifying has something to tell. */
  async function rememberMany(acting: Acting): Promise<void> {
    for (let batch = 0; batch < 5; batch++) {
      const memories = Array.from({ length: 1_000 }, (_, i) => ({ content: `Fact ${batch}.${i}` }));
      await (await acting.agent()).remember(memories);
    }
  }
});

describe("an agent's private key", () => {
  it("is refused, and repeated nowhere [OPS-7]", async () => {
    const { hub, acting } = await world();
    const key = generateKey();
    const error = await refusal(
      answerOf(acting, "registerAgent", { name: "dan", profile: { key } }),
    );
    expect(error).toMatchObject({ code: "invalid_input", path: "profile.key" });
    expect(JSON.stringify(error)).not.toContain("PRIVATE KEY");
    expect(await refusal(hub.agent("dan"))).toMatchObject({ code: "unknown_agent" });
  });

  it("cannot be done without where an agent has one [OPS-7]", async () => {
    const { hub, acting } = await world();
    await hub.agent("dan", { key: generateKey() });
    const change = { name: "dan", profile: { role: "admin" } };
    const error = await refusal(answerOf(acting, "registerAgent", change));
    expect(error.code).toBe("identity_mismatch");
    const dan = actingOn(hub, { named: "dan" });
    const written = await refusal(answerOf(dan, "remember", { memories: [{ content: "Hi." }] }));
    expect(written.code).toBe("identity_mismatch");
  });
});
