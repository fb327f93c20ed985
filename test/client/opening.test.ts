/**
 * Opening a hub over HTTP: options that are refused before a request is sent, and errors of a hub
 * that cannot be reached.
 */
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { listen } from "../../src/http/listen.ts";
import { generateKey, openHub } from "../../src/index.ts";
import { openLocalHub } from "../../src/open/open-hub.ts";
import { VirtualClock } from "../../src/testing/index.ts";
import { refusal } from "../support/hub/support.ts";
import { open, serveHere } from "./support.ts";

/** Starts a server that answers but is not a hub. */
async function strange(answer: RequestListener): Promise<string> {
  const server = createServer(answer).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe("a hub over HTTP", () => {
  it("has an address and a workspace, and accepts names with any characters [OPS-5]", async () => {
    const address = await serveHere({ workspace: "ours" });
    const hub = await open(`${address}/`);
    expect([hub.store, hub.workspace]).toEqual([address, "ours"]);
    const theirs = await open(address, { workspace: "Größe 1" });
    await theirs.agent("jürgen", { role: "prüfer" });
    expect(await hub.agents.list()).toEqual([]);
    expect((await theirs.agents.list()).map(({ id }) => id)).toEqual(["jürgen"]);
    const memory = await (await theirs.agent("jürgen")).remember({ content: "Schön." });
    expect(memory.agent).toBe("jürgen");
  });

  it.each([
    ["limits", { limits: { leaseMs: 1 } }],
    ["clock", { clock: new VirtualClock() }],
    ["route", { route: () => "coder" }],
    ["embedder", { embedder: false as const }],
    ["token", { token: "two words" }],
    ["outageMs", { outageMs: -1 }],
    ["workspace", { workspace: "\0" }],
    ["known", { known: "perhaps" as never }],
  ])("refuses an unsupported or invalid option: %s [OPS-5]", async (path, options) => {
    const fetch = () => Promise.reject(new Error("nothing may be sent"));
    const error = await refusal(openHub("http://localhost:1", { fetch, ...options }));
    expect([error.code, error.path]).toEqual(["invalid_input", path]);
  });

  it.each([
    "http://hub.test",
    "http://10.0.0.7:4747",
    "http://127.0.0.1.hub.test",
    "http://[fe80::1]:1",
  ])("sends no token to %s, where it could be read on the way [OPS-5]", async (address) => {
    const error = await refusal(openHub(address, { token: "baton_x", outageMs: 0 }));
    expect([error.code, error.path]).toEqual(["invalid_input", "address"]);
    expect(error.hint).toMatch(/https:.*allowInsecure.*BATON_ALLOW_INSECURE_HTTP/s);
    expect(JSON.stringify(error)).not.toContain("baton_x");
  });

  it.each([
    ["on this machine", "http://127.0.0.1:1", {}],
    ["on this machine, by IPv6", "http://[::1]:1", {}],
    ["over https", "https://hub.invalid", {}],
    ["that is allowed to be insecure", "http://hub.invalid", { allowInsecure: true }],
  ])("sends its token to a hub %s [OPS-5]", async (_, address, options) => {
    const error = await refusal(openHub(address, { token: "baton_x", outageMs: 0, ...options }));
    expect(error.code).toBe("hub_unreachable");
  });

  it("refuses a password or token in its address [OPS-6]", async () => {
    for (const address of ["http://me:secret@localhost:1", "http://localhost:1/?token=secret"]) {
      const error = await refusal(openHub(address));
      expect([error.code, error.path]).toEqual(["invalid_input", "address"]);
      expect(JSON.stringify(error)).not.toContain("secret");
    }
  });

  it("authenticates with a token, which its address does not contain [OPS-5 OPS-6]", async () => {
    const local = await openLocalHub("memory:");
    await local.agent("coder", { role: "coder" });
    const { token } = await local.tokens.add({ agent: "coder", access: "agent" });
    const listening = await listen(local, { port: 0, requireTokens: true });
    onTestFinished(() => listening.close());
    expect((await refusal(openHub(listening.address))).code).toBe("unauthenticated");
    const hub = await open(listening.address, { token });
    expect(hub.store).toBe(listening.address);
    const coder = await hub.agent("coder");
    expect((await coder.remember({ content: "In." })).agent).toBe("coder");
    const elsewhere = refusal(openHub(listening.address, { token, workspace: "other" }));
    expect(await elsewhere).toMatchObject({ code: "invalid_input", path: "workspace" });
  });

  it("refuses to send an agent's key [OPS-6]", async () => {
    const hub = await open(await serveHere());
    const error = await refusal(hub.agent("coder", { key: generateKey() }));
    expect([error.code, error.path]).toEqual(["invalid_input", "profile.key"]);
    expect(await hub.agents.list()).toEqual([]);
  });

  it("is reported as unreachable with a retryable error [OPS-5]", async () => {
    const address = await strange((_, response) => response.end());
    const gone = new URL(address);
    gone.port = String(Number(gone.port) === 1 ? 2 : 1);
    const error = await refusal(openHub(gone.origin, { outageMs: 100 }));
    expect(error).toMatchObject({ code: "hub_unreachable", retryable: true });
    expect(error.message).toContain(gone.origin);
  });

  it.each([
    ["an HTML page", 404, "text/html", "<h1>Not here</h1>"],
    ["truncated JSON", 200, "application/json", '{"workspace":'],
    ["a proxy error", 502, "text/html", "Bad gateway"],
  ])(
    "is reported as unreachable when the server answers with %s [OPS-5]",
    async (_what, status, type, body) => {
      const address = await strange((_, response) => {
        response.writeHead(status, { "content-type": type }).end(body);
      });
      expect((await refusal(openHub(address, { outageMs: 100 }))).code).toBe("hub_unreachable");
    },
  );

  it("waits for Retry-After and retries [OPS-5]", async () => {
    const whoAmI = { version: "1", workspace: "w", access: "reader", leaseMs: 60_000 };
    const calledAt: number[] = [];
    const address = await strange((_, response) => {
      const calls = calledAt.push(performance.now());
      if (calls > 2) return void response.end(JSON.stringify(whoAmI));
      const pause = calls === 1 ? { "retry-after": "1" } : {};
      const headers = { "content-type": "application/problem+json", ...pause };
      const problem = { code: "rate_limited", message: "Slowly.", hint: "Wait." };
      response.writeHead(429, headers).end(JSON.stringify(problem));
    });
    expect((await open(address)).workspace).toBe("w");
    const [first = 0, second = 0, ...more] = calledAt;
    expect(second - first).toBeGreaterThan(990); // A timer may fire slightly early.
    expect(more).toHaveLength(1);
  });
});
