/** Denied calls and reads of administrators over HTTP and MCP: recorded, bounded, without any token's text. */
import { describe, expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../src/base/clock.ts";
import { randomIdGenerator } from "../../src/base/ids.ts";
import { DEFAULT_LIMITS } from "../../src/base/limits.ts";
import { addressClass } from "../../src/http/denied-calls.ts";
import { LocalHub } from "../../src/hub/hub.ts";
import { CallLog } from "../../src/memory/audit/call-log.ts";
import type { AuditEntry } from "../../src/memory/audit/read-audit.ts";
import type { Workspace } from "../../src/workspace/workspace.ts";
import { openReferenceStore } from "../../store-contract/reference/open.ts";
import { until } from "../support/until.ts";
import { bearing, posting, served } from "./support.ts";

const recorded = async (hub: LocalHub, kind: AuditEntry["kind"]): Promise<readonly AuditEntry[]> =>
  (await hub.events.audit({ kind })).items;

/** Waits until so many records of a kind exist; they are written in the background. */
const untilRecorded = (hub: LocalHub, kind: AuditEntry["kind"], count: number) =>
  until(`${count} records of kind ${kind}`, async () => {
    const found = await recorded(hub, kind);
    return found.length >= count ? found : undefined;
  });

async function team(rate?: { perSecond: number; burst: number }) {
  const { hub, fetch, http } = await served(rate === undefined ? {} : { rate });
  await hub.agent("ada", { role: "coder" });
  const reader = await hub.tokens.add({ agent: "ada", access: "reader" });
  const admin = await hub.tokens.add({ agent: "ada", access: "admin" });
  return { hub, fetch, http, reader, admin };
}

describe("denied calls", () => {
  it("are recorded with token, agent, access, operation and code [OPS-13]", async () => {
    const { hub, fetch, reader } = await team();
    expect((await fetch("/v1/tokens", { headers: bearing(reader.token) })).status).toBe(403);
    const [denied] = await untilRecorded(hub, "denied", 1);
    expect(denied).toMatchObject({
      kind: "denied",
      action: "tokens.list",
      code: "forbidden",
      actor: { via: "http", token: reader.info.id, agent: "ada", access: "reader" },
    });
  });

  it("are recorded if the operation itself refuses them [OPS-13]", async () => {
    const { hub, fetch } = await team();
    const { token } = await hub.tokens.add({ agent: "ada", access: "coordinator" });
    const change = { ...posting({ secrets: "allow" }, bearing(token)), method: "PATCH" };
    expect((await fetch("/v1/settings", change)).status).toBe(403);
    expect(await untilRecorded(hub, "denied", 1)).toMatchObject([{ action: "settings.update" }]);
  });

  it("of callers that did not authenticate are one kind, by address class, without the token [OPS-13]", async () => {
    const { hub, fetch, reader } = await team();
    const wrong = `${reader.token.slice(0, -1)}${reader.token.endsWith("A") ? "B" : "A"}`;
    for (const path of ["/v1/tokens", "/v1/agents", "/v1/events", "/mcp"]) {
      expect((await fetch(path, { headers: bearing(wrong) })).status).toBe(401);
    }
    expect(await untilRecorded(hub, "denied", 1)).toMatchObject([
      { action: "*", code: "unauthenticated", actor: { via: "http", address: "unknown" } },
    ]);
    const lines: string[] = [];
    for await (const line of hub.events.exportAudit()) lines.push(line);
    expect(lines.join("")).not.toContain(wrong.slice(0, 40));
  });

  it("by the rate limit are recorded once, and not for each call [OPS-13]", async () => {
    const { hub, fetch, reader } = await team({ perSecond: 0.001, burst: 1 });
    const call = () => fetch("/v1/agents", { headers: bearing(reader.token) });
    const statuses = await Promise.all(
      Array.from({ length: 50 }, async () => (await call()).status),
    );
    expect(statuses.filter((status) => status === 429)).toHaveLength(49);
    await untilRecorded(hub, "denied", 1);
    expect(await recorded(hub, "denied")).toMatchObject([{ code: "rate_limited" }]);
  });

  it("of a tool over MCP are recorded [OPS-13]", async () => {
    const { hub, fetch } = await team();
    const { token } = await hub.tokens.add({ agent: "ada", access: "agent" });
    const call = {
      ...{ jsonrpc: "2.0", id: 1, method: "tools/call" },
      params: { name: "handoff_rules", arguments: { actions: ["review"] } },
    };
    const accept = "application/json, text/event-stream";
    const response = await fetch("/mcp", posting(call, { ...bearing(token), accept }));
    expect(await response.text()).toContain("forbidden");
    expect(await untilRecorded(hub, "denied", 1)).toMatchObject([
      { action: "mcp handoff_rules", code: "forbidden", actor: { access: "agent" } },
    ]);
  });

  it("create no workspace: nothing is recorded where no agent or token was ever created [OPS-13]", async () => {
    const { hub, fetch } = await served({ open: "reader" });
    expect((await fetch("/v1/tokens", { headers: { "baton-workspace": "made-up" } })).status).toBe(
      403,
    );
    expect((await fetch("/v1/tokens")).status).toBe(403);
    await hub.close();
    expect((await fetch("/healthz")).status).toBe(200);
  });
});

describe("reads of administrators", () => {
  it.each([
    ["tokens.list", "/v1/tokens"],
    ["events.audit", "/v1/audit"],
    ["events.exportAudit", "/v1/audit/export"],
    ["archive.export", "/v1/export"],
  ])("%s is recorded before it is answered [OPS-13]", async (action, path) => {
    const { hub, fetch, admin } = await team();
    expect((await fetch(path, { headers: bearing(admin.token) })).status).toBe(200);
    expect(await recorded(hub, "read")).toMatchObject([
      { action, actor: { token: admin.info.id, agent: "ada", access: "admin" } },
    ]);
  });

  it("with SQL are recorded, those of other callers are not [OPS-13]", async () => {
    const { hub, fetch, admin } = await team();
    const agent = await hub.tokens.add({ agent: "ada", access: "agent" });
    const ask = (token: string) => fetch("/v1/sql", posting({ query: "select 1" }, bearing(token)));
    expect((await ask(agent.token)).status).toBe(200);
    expect(await recorded(hub, "read")).toEqual([]);
    expect((await ask(admin.token)).status).toBe(200);
    expect(await recorded(hub, "read")).toMatchObject([{ action: "memories.sql" }]);
  });

  it("by the program that opened the store are not recorded [OPS-13]", async () => {
    const { hub } = await team();
    await hub.tokens.list();
    expect(await recorded(hub, "read")).toEqual([]);
  });
});

describe("changes over HTTP", () => {
  it("state the token, agent and access of the caller [OPS-13]", async () => {
    const { hub, fetch, admin } = await team();
    const put = { ...posting({ profile: { role: "lead" } }, bearing(admin.token)), method: "PUT" };
    expect((await fetch("/v1/agents/ben", put)).status).toBe(200);
    const { items } = await hub.events.audit({ agent: "ben" });
    expect(items).toMatchObject([
      {
        action: "agent",
        actor: { via: "http", token: admin.info.id, agent: "ada", access: "admin" },
      },
    ]);
  });
});

describe("a call log", () => {
  const call = (token: string) =>
    ({
      kind: "denied",
      action: "agents.list",
      code: "forbidden",
      actor: { via: "http", token },
    }) as const;

  async function logged() {
    const store = openReferenceStore({ clock: systemClock });
    const hub = new LocalHub(store);
    onTestFinished(() => hub.close());
    await hub.agent("ada", { role: "coder" });
    const ids = randomIdGenerator(systemClock);
    const made = { name: hub.workspace, root: hub, store, clock: systemClock, ids };
    return { hub, workspace: { ...made, limits: DEFAULT_LIMITS } as unknown as Workspace };
  }

  it("counts repeated calls, and records them together at the end of a window [OPS-13]", async () => {
    const { hub, workspace } = await logged();
    const log = new CallLog(workspace, { windowMs: 20 });
    for (let n = 0; n < 30; n++) await log.add(call("tok_1"));
    const all = await untilRecorded(hub, "denied", 2);
    expect(all.toReversed().map(({ count }) => count)).toEqual([undefined, 29]);
    await log.close();
    expect(await recorded(hub, "denied")).toHaveLength(2);
  });

  it("records what it has counted when it is closed [OPS-13]", async () => {
    const { hub, workspace } = await logged();
    const log = new CallLog(workspace);
    for (let n = 0; n < 5; n++) await log.add(call("tok_1"));
    await log.close();
    expect((await recorded(hub, "denied")).map(({ count }) => count)).toEqual([4, undefined]);
  });

  it("keeps a bounded number of counters; further callers share one [OPS-13]", async () => {
    const { hub, workspace } = await logged();
    const log = new CallLog(workspace, { kinds: 3 });
    for (let n = 0; n < 1_000; n++) await log.add(call(`tok_${n}`));
    await log.close();
    const all = await recorded(hub, "denied");
    expect(all).toHaveLength(5);
    expect(all[0]).toMatchObject({ action: "*", count: 996, actor: { token: "*" } });
  });
});

it("puts addresses into few classes [OPS-13]", () => {
  const classes = [
    "127.0.0.1",
    "::1",
    "::ffff:127.0.0.1",
    "10.1.2.3",
    "fe80::1",
    "8.8.8.8",
    "2001:db8::1",
    undefined,
  ];
  expect(classes.map(addressClass)).toEqual([
    ...["loopback", "loopback", "loopback", "private", "private", "public", "public", "unknown"],
  ]);
});
