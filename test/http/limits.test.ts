/** Limits of the HTTP server on a real socket: host and origin, body size and request rate. */
import { request } from "node:http";
import { describe, expect, it } from "vitest";
import { freshAddress } from "../support/hub/support.ts";
import { sendRaw } from "./fuzz/bytes.ts";
import { describedOperations } from "./fuzz/described.ts";
import { as, json, listened, posting, served } from "./support.ts";

/** Sends a request with any Host and Origin, as an attacker can; `fetch` sets its own. */
function statusOf(
  port: number,
  headers: Readonly<Record<string, string>>,
  { method = "GET", path = "/v1/agents" } = {},
): Promise<{ status: number; headers: NodeJS.Dict<string | string[]>; body: string }> {
  return new Promise((resolve, reject) => {
    const outgoing = request({ host: "127.0.0.1", port, method, path, headers }, (incoming) => {
      let body = "";
      incoming.setEncoding("utf8").on("data", (piece: string) => {
        body += piece;
      });
      incoming.on("end", () =>
        resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, body }),
      );
    });
    outgoing.once("error", reject).end();
  });
}

describe("the HTTP server", () => {
  it("refuses every operation for a foreign host name [OPS-5]", async () => {
    const { listening, hub } = await listened(freshAddress("memory"));
    await hub.agent("kestrel", { role: "bird" });
    const { port } = listening;
    for (const { method, path } of describedOperations()) {
      const call = { method, path: path.replace(/\{\w+\}/g, "x") };
      const { status, body } = await statusOf(port, { host: `evil.example:${port}` }, call);
      expect([path, status, body.includes("kestrel")]).toEqual([path, 403, false]);
    }
    expect((await statusOf(port, { host: `localhost:${port}` })).status).toBe(200);
  });

  it.each(["https://evil.example", "null", "http://127.0.0.1:1", "http://localhost.evil.example"])(
    "refuses requests from pages of %s, without CORS headers [OPS-5]",
    async (origin) => {
      const { listening } = await listened(freshAddress("memory"));
      for (const path of ["/v1/agents", "/healthz", "/mcp", "/openapi.json"]) {
        const { status, headers } = await statusOf(listening.port, { origin }, { path });
        expect([path, status]).toEqual([path, 403]);
        expect(Object.keys(headers).filter((name) => name.startsWith("access-control"))).toEqual(
          [],
        );
      }
      const asking = { origin, "access-control-request-method": "POST" };
      const preflight = await statusOf(listening.port, asking, { method: "OPTIONS" });
      expect(Object.keys(preflight.headers).join()).not.toContain("access-control");
    },
  );

  it("sends no-store, nosniff and a content security policy on every page [OPS-5]", async () => {
    const { fetch } = await served({ open: "coordinator" });
    for (const path of ["/", "/v1/agents", "/v1/nowhere", "/healthz", "/reference"]) {
      const { headers } = await fetch(path);
      expect(headers.get("cache-control")).toBe("no-store");
      expect(headers.get("x-content-type-options")).toBe("nosniff");
      expect(headers.get("content-security-policy")).toContain("default-src 'none'");
    }
  });
});

describe("a request body", () => {
  const most = 1_000;
  const large = { memories: [{ content: "x".repeat(2 * most) }] };

  it("is refused by its Content-Length if it is too long [OPS-5]", async () => {
    const { listening, hub } = await listened(freshAddress("memory"), { bodyBytes: most });
    await hub.agent("ada", { role: "planner" });
    const address = `${listening.address}/v1/memories`;
    const response = await fetch(address, posting(large, as("ada")));
    expect([response.status, await response.json()]).toMatchObject([
      413,
      { code: "limit_exceeded", details: { limit: "bodyBytes", max: most } },
    ]);
    expect((await hub.memories.recent()).items).toEqual([]);
  });

  it("is read only up to the limit if it has no Content-Length [OPS-5]", async () => {
    const { listening, hub } = await listened(freshAddress("memory"), { bodyBytes: most });
    await hub.agent("ada", { role: "planner" });
    let bytes = 0;
    const body = new ReadableStream({
      pull(controller) {
        bytes += 100;
        controller.enqueue(new TextEncoder().encode(" ".repeat(100)));
      },
    });
    const init = { method: "POST", headers: { ...json, ...as("ada") }, body, duplex: "half" };
    const outcome = await fetch(`${listening.address}/v1/memories`, init as RequestInit).then(
      ({ status }) => status,
      () => 413, // The hub disconnected during the upload.
    );
    expect(outcome).toBe(413);
    // Besides the limit only what the buffers of both sockets hold was sent.
    expect(bytes).toBeLessThan(32 * 1024 * 1024);
    expect((await fetch(`${listening.address}/healthz`)).status).toBe(200);
    expect((await hub.memories.recent()).items).toEqual([]);
  });

  it("stores nothing if it is incomplete, and is not reported as a bug [OPS-7]", async () => {
    const { listening, hub, bugs } = await listened(freshAddress("memory"));
    await hub.agent("ada", { role: "planner" });
    const head = "POST /v1/memories HTTP/1.1\r\nhost: 127.0.0.1\r\nbaton-agent: ada\r\n";
    const cut = `${head}content-type: application/json\r\ncontent-length: 500\r\n\r\n{"memories":[{"content":"x"}]}`;
    const bytes = Buffer.from(cut);
    await sendRaw(listening.port, { kind: "cut", bytes, leaves: true, mayBeGood: false });
    expect((await fetch(`${listening.address}/v1/totals`)).status).toBe(200);
    expect((await hub.memories.recent()).items).toEqual([]);
    expect(bugs).toEqual([]);
  });
});

describe("the rate limit", () => {
  it("applies to each caller, and answers 429 with retry-after [OPS-5]", async () => {
    const { fetch, hub } = await served({
      open: "coordinator",
      rate: { perSecond: 0.001, burst: 3 },
    });
    await hub.agent("ada", { role: "planner" });
    const { token } = await hub.tokens.add({ agent: "ada", access: "reader" });
    const statuses: number[] = [];
    for (let calls = 0; calls < 4; calls++) statuses.push((await fetch("/v1/agents")).status);
    expect(statuses).toEqual([200, 200, 200, 429]);
    const refused = await fetch("/v1/agents");
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(await refused.json()).toMatchObject({ code: "rate_limited", retryable: true });
    const other = await fetch("/v1/agents", { headers: { authorization: `Bearer ${token}` } });
    expect(other.status).toBe(200);
    expect((await fetch("/healthz")).status).toBe(200);
  });
});
