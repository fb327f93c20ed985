/**
 * Access control of the HTTP API: every operation, stream and page, with every access level, in the
 * caller's workspace and in another one, with tokens in every state. Expected outcomes come from
 * the table that defines the routes; the tests compare whether the hub admits a call.
 */
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { ACCESS_LEVELS, type Access, hasAccess } from "../../src/access/levels.ts";
import type { RequestLogEntry } from "../../src/http/app.ts";
import { PAGES } from "../../src/http/pages.ts";
import { operationOf } from "../../src/operations/index.ts";
import { STREAMS } from "../../src/operations/streams.ts";
import { VirtualClock } from "../../src/testing/index.ts";
import { askedBy, type Described, describedOperations, saidIn } from "./fuzz/described.ts";
import { ACTOR, factsOf, type Scene, sceneOn } from "./scene.ts";
import { as, bearing, type Served, served } from "./support.ts";

const OURS = "KESTREL";
const THEIRS = "HERON";

/** failures.decide comes first, because other calls settle the failure. */
const described = describedOperations().sort(
  (a, b) => Number(b.name === "failures.decide") - Number(a.name === "failures.decide"),
);

/**
 * Operations that require more than the reader level; all others require reader. The list
 * duplicates the table of operations on purpose, so that no level changes by mistake.
 */
const ABOVE_READER: Readonly<Record<Exclude<Access, "reader">, string>> = {
  agent:
    "accept agents.rotateKey approvals.approve approvals.edit approvals.reject approvals.reply branches.abandon branches.create branches.merge channels.subscribe channels.unsubscribe context.adopt context.project context.propose context.retire context.set deadLetters.discard deadLetters.redrive deliveries.cancel deliveries.note deliveries.runDue effects.begin effects.record effects.resolve failures.decide handoff handoffMany handoffs.join handoffs.lint handoffs.preview inbox inbox.stream memories.allowText memories.importMarkdown memories.lift memories.pin memories.quarantine memories.sql memories.unpin offer.accept offer.conflicts offer.decline offer.refresh offer.release questions.answer remember resume tasks.add tasks.cancel tasks.cancelHandoffs tasks.close tasks.releaseItem tasks.reopen trace traces.sessions work.clarify work.complete work.decline work.fail work.freshness work.handoff work.on work.read work.release work.renew work.reservations.clear work.reservations.set work.view",
  coordinator:
    "agent agents.pause agents.resetBreaker agents.unpause archive.head channels.set failures.deleteRule failures.setRule index.embed payloadTypes.delete payloadTypes.set routes.delete routes.set settings.update verify",
  admin:
    "agents.revokeKey archive.export archive.import events.audit events.exportAudit index.deleteModel memories.prune memories.redact tokens.add tokens.list tokens.revoke",
};

const neededBy = (name: string): Access => (STREAMS[name] ?? operationOf(name)).access;

/** Returns a call of the operation, built from its description and the ids of the scene. */
function callOf(operation: Described, scene: Scene): [path: string, init: RequestInit] {
  const facts = factsOf(scene)[operation.name] ?? {};
  const { method, path, body } = askedBy(operation, saidIn(operation, facts, { texts: scene.ids }));
  const type = body === undefined ? {} : { "content-type": "application/json" };
  return [path, { method, headers: type, ...(body === undefined ? {} : { body }) }];
}

type Outcome = "let in" | "unauthenticated" | "forbidden";

interface CallResult {
  readonly outcome: Outcome;
  readonly text: string;
}

/** Calls the hub and records everything it returns, to search it for what must not be there. */
class Stage {
  readonly said: string[] = [];
  readonly #served: Served;

  constructor(at: Served) {
    this.#served = at;
  }

  async call(
    [path, init]: [path: string, init: RequestInit],
    headers: Readonly<Record<string, string>>,
  ): Promise<CallResult> {
    const gone = new AbortController();
    const all = { ...(init.headers as Record<string, string>), ...headers };
    const response = await this.#served.fetch(path, { ...init, headers: all, signal: gone.signal });
    const text = await textOf(response);
    gone.abort(); // A stream would stay open.
    this.said.push(`${JSON.stringify([...response.headers])} ${text}`);
    return { outcome: outcomeOf(response.status, text), text };
  }
}

/** Returns the first chunk of a stream, or all of any other body. */
async function textOf(response: Response): Promise<string> {
  if (response.headers.get("content-type") !== "text/event-stream") return response.text();
  const reader = response.body?.getReader();
  const { value } = (await reader?.read()) ?? {};
  await reader?.cancel();
  return new TextDecoder().decode(value);
}

/**
 * Maps a response to its outcome. `not_permitted` is a rule of the team, not of access control.
 * After a hundred failed authentications the hub answers 429, which admits a caller no more than
 * 401.
 */
function outcomeOf(status: number, text: string): Outcome {
  if (status === 401 || status === 429) return "unauthenticated";
  return status === 403 && text.includes('"code":"forbidden"') ? "forbidden" : "let in";
}

interface World extends Served {
  readonly stage: Stage;
  readonly ours: Scene;
  readonly theirs: Scene;
  readonly answers: RequestLogEntry[];
  /** Tokens of our workspace by access level, all for the agent ada. */
  readonly tokens: Readonly<Record<Access, string>>;
  readonly foreign: Readonly<Record<Access, string>>;
  /** Invalid tokens. */
  readonly bad: Readonly<Record<string, string>>;
}

async function world(open: Access | false = false): Promise<World> {
  const clock = new VirtualClock();
  const answers: RequestLogEntry[] = [];
  const at = await served({ open, hub: { clock }, onAnswer: (answer) => answers.push(answer) });
  const { hub } = at;
  const beside = hub.beside("theirs");
  await hub.agent("dan", { role: "executor" });
  const dans = await hub.tokens.add({ agent: "dan", access: "agent" });
  const old = await hub.tokens.add({ agent: "dan", access: "agent", expiresInMs: 1_000 });
  clock.advance(2_000);
  const ours = await sceneOn(hub, OURS);
  const theirs = await sceneOn(beside, THEIRS);
  const issue = async (of: typeof hub): Promise<Record<Access, string>> => {
    const issued = ACCESS_LEVELS.map(async (access) => {
      const { token } = await of.tokens.add({ agent: ACTOR, access });
      return [access, token] as const;
    });
    return Object.fromEntries(await Promise.all(issued)) as Record<Access, string>;
  };
  const tokens = await issue(hub);
  const revoked = await hub.tokens.add({ agent: ACTOR, access: "admin" });
  await hub.tokens.revoke(revoked.info.id);
  await hub.agent("dan", { status: "disabled" });
  const last = tokens.admin.at(-1) === "A" ? "B" : "A";
  return {
    ...{ ...at, stage: new Stage(at), ours, theirs, answers, tokens, foreign: await issue(beside) },
    bad: {
      expired: old.token,
      revoked: revoked.token,
      "of a disabled agent": dans.token,
      malformed: `${tokens.admin.slice(0, -1)}${last}`,
      "cut short": tokens.admin.slice(0, 40),
      "made up": `baton_${"A".repeat(tokens.admin.length - 6)}`,
    },
  };
}

/** The outcome of each call by operation, for a readable diff. */
type Rows = Record<string, Outcome>;

async function outcomes(
  calls: readonly Described[],
  call: (operation: Described) => Promise<CallResult>,
): Promise<Rows> {
  const rows: Rows = {};
  for (const operation of calls) rows[operation.name] = (await call(operation)).outcome;
  return rows;
}

const expected = (has: Access | undefined): Rows =>
  Object.fromEntries(
    described.map(({ name }) => {
      if (has === undefined) return [name, "unauthenticated"];
      return [name, hasAccess(has, neededBy(name)) ? "let in" : "forbidden"];
    }),
  );

describe("access control", () => {
  it("matches the list of operations that require more than reader [OPS-5]", () => {
    const names = described.map(({ name }) => name).sort();
    for (const [access, list] of Object.entries(ABOVE_READER)) {
      expect(names.filter((name) => neededBy(name) === access).join(" ")).toBe(list);
    }
  });

  it.each(ACCESS_LEVELS)(
    "admits a token with %s exactly to the operations of that level [OPS-5]",
    async (has) => {
      const { stage, ours, tokens, bugs } = await world();
      const rows = await outcomes(described, (operation) =>
        stage.call(callOf(operation, ours), bearing(tokens[has])),
      );
      expect(rows).toEqual(expected(has));
      expect(bugs).toEqual([]);
    },
  );

  it("refuses every call without a token if tokens are required [OPS-5]", async () => {
    const { stage, ours } = await world();
    const rows = await outcomes(described, (operation) =>
      stage.call(callOf(operation, ours), as(ACTOR)),
    );
    expect(rows).toEqual(expected(undefined));
  });

  it("gives calls without a token the coordinator level on an open hub [OPS-5]", async () => {
    const { stage, ours } = await world("coordinator");
    const rows = await outcomes(described, (operation) =>
      stage.call(callOf(operation, ours), as(ACTOR)),
    );
    expect(rows).toEqual(expected("coordinator"));
  });

  it.each(["expired", "revoked", "of a disabled agent", "malformed", "cut short", "made up"])(
    "refuses an invalid token in every operation, even on an open hub: %s [OPS-5]",
    async (state) => {
      const { stage, ours, bad } = await world("coordinator");
      const rows = await outcomes(described, (operation) =>
        stage.call(callOf(operation, ours), bearing(bad[state] ?? "")),
      );
      expect(rows).toEqual(expected(undefined));
    },
  );

  it("refuses a token in every operation if the call names another agent [OPS-5]", async () => {
    const { stage, ours, tokens } = await world();
    const rows = await outcomes(described, (operation) =>
      stage.call(callOf(operation, ours), { ...bearing(tokens.admin), ...as("bob") }),
    );
    expect(new Set(Object.values(rows))).toEqual(new Set(["forbidden"]));
  });

  it.each([
    "deliveries.cancel",
    "tasks.cancelHandoffs",
    "questions.answer",
    "deadLetters.redrive",
    "deadLetters.discard",
    "failures.decide",
  ])("limits %s to an agent's own deliveries, except for coordinators [OPS-5]", async (name) => {
    const { stage, ours, hub } = await world();
    const call = callOf(described.find((each) => each.name === name) as Described, ours);
    const bobs = async (access: Access) => (await hub.tokens.add({ agent: "bob", access })).token;
    expect((await stage.call(call, bearing(await bobs("agent")))).outcome).toBe("forbidden");
    expect((await stage.call(call, bearing(await bobs("coordinator")))).outcome).toBe("let in");
  });

  /**
   * Settings that only an admin may change: retention deletes data, and the secret policy decides
   * what is stored for good.
   */
  const FOR_ADMINS = {
    retention: { traces: { days: 1 } },
    secrets: "refuse",
  } as const;

  it.each(Object.keys(FOR_ADMINS) as (keyof typeof FOR_ADMINS)[])(
    "lets only an admin change %s in the settings, alone or with other settings [OPS-5]",
    async (part) => {
      const { stage, ours, hub, tokens } = await world();
      const operation = described.find(({ name }) => name === "settings.update") as Described;
      const [path, init] = callOf(operation, ours);
      const before = await hub.settings.get();
      const others = JSON.parse(String(init.body)) as object;
      const changes = [FOR_ADMINS[part], null].flatMap((value) => [
        { [part]: value },
        { ...others, [part]: value },
      ]);
      for (const change of changes) {
        const call: [string, RequestInit] = [path, { ...init, body: JSON.stringify(change) }];
        for (const has of ["reader", "agent", "coordinator"] as const) {
          const { outcome } = await stage.call(call, bearing(tokens[has]));
          expect([has, change, outcome]).toEqual([has, change, "forbidden"]);
        }
        expect(await hub.settings.get()).toEqual(before);
      }
      const mine = { ...init, body: JSON.stringify({ [part]: FOR_ADMINS[part] }) };
      expect((await stage.call([path, mine], bearing(tokens.admin))).outcome).toBe("let in");
      expect(await hub.settings.get()).toEqual({ ...before, [part]: FOR_ADMINS[part] });
    },
  );

  it("refuses calls as baton, the name of the hub itself [OPS-5]", async () => {
    const { stage, ours, hub } = await world();
    const { token } = await hub.tokens.add({ agent: "*", access: "admin" });
    const result = await stage.call(
      callOf(described.find(({ name }) => name === "remember") as Described, ours),
      { ...bearing(token), ...as("baton") },
    );
    expect(result.outcome).toBe("forbidden");
  });
});

describe("a workspace", () => {
  it("is invisible to tokens of another workspace, also by its ids [OPS-5]", async () => {
    const { stage, ours, theirs, foreign } = await world();
    for (const operation of described) {
      for (const scene of [theirs, ours]) {
        const headers = { ...bearing(foreign.admin), "baton-workspace": "default" };
        const { text } = await stage.call(callOf(operation, scene), headers);
        expect([operation.name, text.includes(OURS)]).toEqual([operation.name, false]);
      }
    }
    // The answers did contain text: their own word was found.
    expect(stage.said.filter((text) => text.includes(THEIRS)).length).toBeGreaterThan(20);
  });

  it("is not changed by any call with a token of another workspace [OPS-5]", async () => {
    const { hub, stage, ours, foreign } = await world();
    const before = [
      await hub.deliveries.totals(),
      (await hub.events.list({ after: 0 })).items,
      (await hub.memories.recent({ limit: 100 })).items,
    ];
    for (const operation of described) {
      await stage.call(callOf(operation, ours), bearing(foreign.admin));
    }
    expect([
      await hub.deliveries.totals(),
      (await hub.events.list({ after: 0 })).items,
      (await hub.memories.recent({ limit: 100 })).items,
    ]).toEqual(before);
  });
});

describe("pages", () => {
  const paths = Object.entries(PAGES).map(
    ([path, needs]) => [path.replace(":name", "envelope.json"), needs] as const,
  );

  it.each(paths)("serve %s to %s [OPS-5]", async (path, needs) => {
    const { stage, tokens, bad } = await world();
    const isForAll = needs === "public";
    const outcomeWith = async (headers: Record<string, string>) =>
      (await stage.call([path, {}], headers)).outcome;
    expect(await outcomeWith({})).toBe(isForAll ? "let in" : "unauthenticated");
    expect(await outcomeWith(bearing(bad["revoked"] ?? ""))).toBe(
      isForAll ? "let in" : "unauthenticated",
    );
    expect(await outcomeWith(bearing(tokens.reader))).toBe("let in");
    for (const text of stage.said) expect(text).not.toMatch(new RegExp(`${OURS}|${THEIRS}`));
  });

  it("require the agent level for MCP [OPS-5]", async () => {
    const { stage, tokens, bad } = await world();
    const call: [string, RequestInit] = [
      "/mcp",
      {
        method: "POST",
        headers: {
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
        },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" }),
      },
    ];
    const outcome = async (headers: Record<string, string>, path = "/mcp") =>
      (await stage.call([path, call[1]], headers)).outcome;
    expect(await outcome({})).toBe("unauthenticated");
    expect(await outcome({}, "/mcp/ada")).toBe("unauthenticated");
    expect(await outcome(bearing(bad["expired"] ?? ""))).toBe("unauthenticated");
    expect(await outcome(bearing(tokens.reader))).toBe("forbidden");
    expect(await outcome(bearing(tokens.agent), "/mcp/bob")).toBe("forbidden");
    expect(await outcome(bearing(tokens.agent))).toBe("let in");
  });
});

describe("a token", () => {
  it("never appears in a body, header, error or log entry [OPS-5]", async () => {
    const { stage, ours, tokens, foreign, bad, answers, bugs } = await world();
    const all = [...Object.values(tokens), ...Object.values(foreign), ...Object.values(bad)];
    for (const token of all) {
      for (const operation of described.slice(0, 8)) {
        await stage.call(callOf(operation, ours), bearing(token));
      }
    }
    for (const operation of described) {
      await stage.call(callOf(operation, ours), bearing(tokens.admin));
    }
    const texts = [...stage.said, JSON.stringify(answers), JSON.stringify(bugs)];
    for (const token of all) {
      const secret = token.slice(30, 60);
      expect(texts.filter((text) => text.includes(token) || text.includes(secret))).toEqual([]);
    }
    expect(answers.length).toBeGreaterThan(described.length);
  });

  it("is not accepted in the query string [OPS-5]", async () => {
    const { stage, tokens } = await world();
    for (const name of ["token", "access_token", "authorization", "bearer"]) {
      const { outcome } = await stage.call([`/v1/agents?${name}=${tokens.admin}`, {}], {});
      expect(outcome).toBe("unauthenticated");
    }
  });

  it("is refused with 401 if invalid, and with 429 after 100 failures [OPS-5]", async () => {
    vi.useFakeTimers({ toFake: ["performance"] }); // Stops the clock of the rate limiter.
    onTestFinished(() => void vi.useRealTimers());
    const { fetch, bad } = await world();
    const attempt = () => fetch("/v1/totals", { headers: bearing(bad["made up"] ?? "") });
    for (let n = 0; n < 100; n++) expect((await attempt()).status).toBe(401);
    const refused = await attempt();
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    vi.advanceTimersByTime(1_000);
    expect((await attempt()).status).toBe(401);
  });
});
