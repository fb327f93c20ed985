/** Callers cannot act as another agent: by session name, key, handle, header or address. */
import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { Access } from "../../src/access/levels.ts";
import { openHub } from "../../src/index.ts";
import { as, bearing, json, posting, type Served, served } from "./support.ts";

interface Team extends Served {
  tokenOf(agent: string, access?: Access): Promise<Record<string, string>>;
}

async function team(): Promise<Team> {
  const hub = await served();
  for (const name of ["ada", "ben"]) await hub.hub.agent(name, { role: "coder" });
  const tokenOf = async (agent: string, access: Access = "agent") =>
    bearing((await hub.hub.tokens.add({ agent, access })).token);
  return { ...hub, tokenOf };
}

const remembering = (scope: string, headers: Record<string, string>) =>
  posting({ memories: [{ content: "The staging box is called heron.", scope }] }, headers);

const codeOf = async (response: Response): Promise<string> =>
  ((await response.json()) as { code: string }).code;

describe("a session", () => {
  it.each([
    ["with the same name", { "baton-session": "s-1" }],
    ["without a name", {}],
    ["with its stored name", { "baton-session": "ada s-1" }],
  ])("hides its memories from another agent's session %s [OPS-5 MEM-11]", async (_, named) => {
    const { fetch, tokenOf } = await team();
    const [ada, ben] = [await tokenOf("ada"), await tokenOf("ben")];
    const own = { ...ada, ...("baton-session" in named ? { "baton-session": "s-1" } : {}) };
    const remembered = await fetch("/v1/memories", remembering("session", own));
    const [{ id }] = (await remembered.json()) as [{ id: string }];
    const read = (headers: Record<string, string>) => fetch(`/v1/memories/${id}`, { headers });
    expect((await read(own)).status).toBe(200);
    const others = { ...ben, ...named };
    expect(await codeOf(await read(others))).toBe("unknown_memory");
    const recent = await fetch("/v1/memories", { headers: others });
    expect(JSON.stringify(await recent.json())).not.toContain("heron");
    const recalled = await fetch("/v1/recall", posting({ question: "staging box" }, others));
    expect(JSON.stringify(await recalled.json())).not.toContain("heron");
    const asked = posting({ query: "select content from memories" }, others);
    expect(JSON.stringify(await (await fetch("/v1/sql", asked)).json())).not.toContain("heron");
  });

  it("has the same name in the client and in the hub [OPS-5 MEM-11]", async () => {
    const { http, hub, tokenOf } = await team();
    const { authorization = "" } = await tokenOf("ada");
    const token = authorization.slice("Bearer ".length);
    await using remote = await openHub("http://127.0.0.1", { token, fetch: http.fetch });
    const ada = await remote.agent("ada", undefined, { instance: "s-1" });
    const { id, instance } = await ada.remember({ content: "Mine.", scope: "session" });
    expect(instance).toBe(ada.instance);
    expect(
      (await ada.memories.recent({ session: ada.instance })).items.map((memory) => memory.id),
    ).toEqual([id]);
    await (await hub.agent("ben")).handoff({ to: "ada", intent: "Look at it" });
    const work = await ada.accept();
    expect((await hub.deliveries.get(work?.id ?? "")).delivery.instance).toBe(ada.instance);
    expect(await work?.complete({ summary: "Looked" })).toMatchObject({ kind: "settled" });
  });
});

describe("an effect that must not happen twice", () => {
  it("is recorded only by the agent that began it [OPS-5]", async () => {
    const { fetch, tokenOf } = await team();
    const [ada, ben] = [await tokenOf("ada"), await tokenOf("ben")];
    const say = (what: string, body: object, who: Record<string, string>) =>
      fetch(`/v1/effects/${what}`, posting({ key: "pay", ...body }, who));
    expect(await (await say("begin", {}, ada)).json()).toEqual({ kind: "begun" });
    expect(await codeOf(await say("record", { result: "forged" }, ben))).toBe("not_permitted");
    expect((await say("record", { result: "paid" }, ada)).status).toBe(200);
    const again = await (await say("begin", {}, ben)).json();
    expect(again).toEqual({ kind: "done", result: "paid", again: true });
  });

  it("cannot be recorded before it was begun", async () => {
    const { fetch, tokenOf } = await team();
    const record = posting({ key: "pay", result: 1 }, await tokenOf("ada"));
    expect(await codeOf(await fetch("/v1/effects/record", record))).toBe("not_permitted");
  });
});

describe("MCP", () => {
  const initialize = {
    jsonrpc: "2.0",
    id: 1,
    method: "initialize",
    params: {
      protocolVersion: "2025-06-18",
      capabilities: {},
      clientInfo: { name: "test", version: "1" },
    },
  };
  const accept = "application/json, text/event-stream";
  const names = async ({ hub }: Served) => (await hub.agents.list()).map(({ id }) => id);

  it("does not register an agent that the token cannot act as [OPS-5]", async () => {
    const hub = await team();
    const ada = await hub.tokenOf("ada", "coordinator");
    const response = await hub.fetch("/mcp/zoe", posting(initialize, { ...ada, accept }));
    expect(response.status).toBe(404);
    expect(await names(hub)).not.toContain("zoe");
  });

  it("does not register an agent for an invalid request [OPS-5]", async () => {
    const hub = await served({ open: "coordinator" });
    await hub.fetch("/mcp/zoe", { headers: { accept } });
    await hub.fetch("/mcp/zoe", { method: "POST", headers: { ...json, accept }, body: "{" });
    await hub.fetch("/mcp/zoe", { method: "POST", headers: { accept }, body: "a=b" });
    expect(await names(hub)).not.toContain("zoe");
    const response = await hub.fetch("/mcp/zoe", posting(initialize, { accept }));
    expect(response.status).toBe(200);
    expect(await names(hub)).toContain("zoe");
    expect(hub.bugs).toEqual([]);
  });
});

describe("a hub that is open to local callers", () => {
  it.each(["x-forwarded-for", "forwarded", "via", "x-real-ip", "x-forwarded-host"])(
    "requires a token for requests with a proxy header: %s [OPS-5]",
    async (header) => {
      const { fetch, hub } = await served({ open: "coordinator" });
      await hub.agent("ada", {});
      const headers = { [header]: "203.0.113.7" };
      const response = await fetch("/v1/agents", { headers });
      expect(response.status).toBe(401);
      expect(await response.json()).toMatchObject({ details: { why: "forwarded" } });
      const { token } = await hub.tokens.add({ agent: "ada", access: "reader" });
      const withToken = await fetch("/v1/agents", { headers: { ...headers, ...bearing(token) } });
      expect(withToken.status).toBe(200);
    },
  );
});

describe("the branch header", () => {
  it("is refused without an agent", async () => {
    const { fetch, hub } = await served({ open: "coordinator" });
    const ada = await hub.agent("ada", {});
    await ada.remember({ content: "On the trunk." });
    await ada.branches.create("try");
    const named = { "baton-branch": "try" };
    const response = await fetch("/v1/memories", { headers: named });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ code: "invalid_input", path: "baton-agent" });
    expect((await fetch("/v1/memories", { headers: { ...named, ...as("ada") } })).status).toBe(200);
  });

  it("is part of the request that an idempotency key identifies [OPS-7]", async () => {
    const { fetch, hub } = await served({ open: "coordinator" });
    await (await hub.agent("ada", {})).branches.create("try");
    const keyed = { ...as("ada"), "idempotency-key": "k-1" };
    const first = await fetch("/v1/memories", remembering("team", keyed));
    expect(first.status).toBe(200);
    const other = remembering("team", { ...keyed, "baton-branch": "try" });
    expect(await codeOf(await fetch("/v1/memories", other))).toBe("idempotency_conflict");
  });
});

describe("a stream", () => {
  it.each(["/v1/events/stream", "/v1/inbox/stream"])(
    "ends when its token is revoked: %s [OPS-5]",
    async (path) => {
      vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
      onTestFinished(() => void vi.useRealTimers());
      const { fetch, hub } = await team();
      const { token, info } = await hub.tokens.add({ agent: "ada", access: "agent" });
      const response = await fetch(path, { headers: bearing(token) });
      expect(response.status).toBe(200);
      let text: string | undefined;
      void response.text().then((all) => {
        text = all;
      });
      const pass = async (seconds: number): Promise<void> => {
        for (let second = 0; second < seconds; second++) {
          vi.advanceTimersByTime(1_000);
          for (let turns = 0; turns < 20; turns++) await turn();
        }
      };
      await pass(60);
      expect(text, "as long as the token is good").toBeUndefined();
      await hub.tokens.revoke(info.id);
      for (let second = 0; second < 600 && text === undefined; second++) await pass(1);
      expect(text).toContain(": baton");
      expect((await fetch(path, { headers: bearing(token) })).status).toBe(401);
    },
  );
});

describe("deciding a failure", () => {
  it("is refused with the handle of another failure's report", async () => {
    const { fetch, hub } = await served({ open: "coordinator" });
    const policy = { attempts: 1 };
    const [ada, ben] = [await hub.agent("ada", {}), await hub.agent("ben", {})];
    const cleo = await hub.agent("cleo", { role: "coordinator" });
    const failed: string[] = [];
    for (const intent of ["Build it", "Ship it"]) {
      const { each } = await ada.handoff({ to: "ben", intent, policy });
      const work = await ben.accept();
      await work?.fail({ message: "No", class: "permanent" });
      failed.push(each[0]?.id ?? "");
    }
    const report = await cleo.accept();
    const about = report?.envelope.failure?.delivery;
    const other = failed.find((id) => id !== about);
    const body = { handle: report?.handle, decision: { decision: "abort", reason: "Not needed" } };
    const decide = (id: string | undefined) =>
      fetch(`/v1/failures/${id}/decide`, posting(body, as("cleo", cleo.instance)));
    expect(await (await decide(other)).json()).toMatchObject({
      code: "invalid_input",
      path: "handle",
    });
    expect((await cleo.failures.list({ undecided: true })).items.length).toBe(2);
    expect(await (await decide(about)).json()).toMatchObject({ kind: "decided" });
  });
});
