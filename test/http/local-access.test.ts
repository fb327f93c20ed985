/** Callers on the hub's own machine: programs and browsers of its user authenticate by themselves, others not at all. */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, statSync } from "node:fs";
import { request } from "node:http";
import { dirname } from "node:path";
import { text } from "node:stream/consumers";
import { describe, expect, it, onTestFinished } from "vitest";
import { type HubServer, type LocalEntry, listen } from "../../src/http/listen.ts";
import { loginCode } from "../../src/http/local-access.ts";
import { openHub } from "../../src/index.ts";
import { openLocalHub } from "../../src/open/open-hub.ts";
import { refusal } from "../support/hub/support.ts";
import { bearing, posting } from "./support.ts";

interface Started extends HubServer {
  readonly local: LocalEntry;
  readonly token: string;
  /** Sends a request without a token, or with these headers. */
  get(path: string, headers?: Record<string, string>): Promise<Response>;
}

/** A hub as `baton start` serves it. */
async function started(port = 0): Promise<Started> {
  const server = await listen(await openLocalHub("memory:"), { port });
  onTestFinished(() => server.close());
  const local = server.local as LocalEntry;
  return {
    ...server,
    local,
    token: readFileSync(local.tokenFile, "utf8"),
    get: (path, headers = {}) => fetch(`${server.address}${path}`, { headers, redirect: "manual" }),
  };
}

const codeOf = async (response: Response): Promise<string> =>
  ((await response.json()) as { code: string }).code;

const cookieIn = (response: Response): string =>
  (response.headers.get("set-cookie") ?? "").split(";")[0] ?? "";

const isRoot = process.geteuid?.() === 0;
const OTHER = 65_534;

describe("a program on this machine", () => {
  it("needs the token of this start, also on loopback [OPS-15]", async () => {
    const { get, token, address } = await started();
    const refused = await get("/v1/agents");
    expect([refused.status, await codeOf(refused)]).toEqual([401, "unauthenticated"]);
    const mcp = await fetch(`${address}/mcp/mallory`, posting({}, { accept: "application/json" }));
    expect(mcp.status).toBe(401);
    expect((await get("/v1/agents", bearing(token))).status).toBe(200);
    expect((await get("/v1/agents", bearing(`${token.slice(0, -1)}!`))).status).toBe(401);
    expect((await get("/v1/tokens", bearing(token))).status).toBe(403);
  });

  it("finds the token in a file that only its user can read, while the hub runs [OPS-15]", async () => {
    const { local, token, close } = await started();
    expect(statSync(local.tokenFile).mode & 0o777).toBe(0o600);
    expect(statSync(dirname(local.tokenFile)).mode & 0o777).toBe(0o700);
    await close();
    expect(existsSync(local.tokenFile)).toBe(false);
    expect((await started()).token).not.toBe(token);
  });

  it.skipIf(!isRoot)(
    "of another user cannot read the token or reach the socket [OPS-15]",
    async () => {
      const { local } = await started();
      for (const path of [local.tokenFile, local.socket ?? ""]) {
        const read = spawnSync("cat", [path], { uid: OTHER, gid: OTHER, encoding: "utf8" });
        expect(read).toMatchObject({ status: 1, stdout: "" });
        expect(read.stderr).toContain("Permission denied");
      }
    },
  );

  it.skipIf(process.platform === "win32")(
    "needs no token on the Unix socket, which only its user can open [OPS-15]",
    async () => {
      const { local, close } = await started();
      const socketPath = local.socket as string;
      expect(statSync(socketPath).mode & 0o777).toBe(0o600);
      const ask = (headers: Record<string, string> = {}) =>
        new Promise<{ status: number | undefined; body: string }>((resolve, reject) => {
          const asked = request({ socketPath, path: "/v1/agents", headers }, (response) => {
            text(response).then((body) => resolve({ status: response.statusCode, body }), reject);
          });
          asked.on("error", reject).end();
        });
      expect(await ask()).toEqual({ status: 200, body: "[]" });
      expect((await ask({ "x-forwarded-for": "10.0.0.1" })).status).toBe(401);
      expect((await ask({ host: "evil.example" })).status).toBe(403);
      await close();
      expect(existsSync(socketPath)).toBe(false);
    },
  );

  it.each([
    ...["cf-connecting-ip", "fly-client-ip", "forwarded", "true-client-ip", "via"],
    ...["x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip"],
  ])("is not one whose request has %s: a proxy brought it [OPS-15 OPS-5]", async (name) => {
    const { get, token } = await started();
    const response = await get("/v1/agents", { ...bearing(token), [name]: "https" });
    expect(await response.json()).toMatchObject({
      code: "unauthenticated",
      details: { why: "forwarded" },
    });
  });

  it("has no token of its own where issued tokens are required [OPS-15]", async () => {
    const server = await listen(await openLocalHub("memory:"), { port: 0, requireTokens: true });
    onTestFinished(() => server.close());
    expect(server.local).toBeUndefined();
    expect((await refusal(openHub(server.address))).code).toBe("unauthenticated");
  });
});

describe("openHub()", () => {
  it.each(["127.0.0.1", "localhost"])(
    "finds the token of a hub on this machine by itself: %s [OPS-15]",
    async (host) => {
      const { port } = await started();
      await using hub = await openHub(`http://${host}:${port}`);
      const ada = await hub.agent("ada", { role: "coder" });
      expect((await ada.remember({ content: "In." })).agent).toBe("ada");
    },
  );

  it("keeps working when the hub was restarted and has another token [OPS-15]", async () => {
    const first = await started();
    await using hub = await openHub(first.address);
    await hub.agents.list();
    await first.close();
    const second = await started(first.port);
    expect(second.token).not.toBe(first.token);
    expect(await hub.agents.list()).toEqual([]);
  });
});

describe("a browser", () => {
  it("signs in with the printed address, once, and may read [OPS-15]", async () => {
    const { get, local, address } = await started();
    const path = local.login.slice(address.length);
    const welcome = await get(path);
    expect([welcome.status, welcome.headers.get("location")]).toEqual([303, "/"]);
    expect(welcome.headers.get("set-cookie")).toMatch(
      /^baton_\d+=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/,
    );
    const cookie = cookieIn(welcome);
    expect((await get("/metrics", { cookie })).status).toBe(200);
    expect((await get("/metrics")).status).toBe(401);
    const write = posting({ profile: { role: "coder" } }, { cookie });
    const registered = await fetch(`${address}/v1/agents/mallory`, { ...write, method: "PUT" });
    expect([registered.status, await codeOf(registered)]).toEqual([403, "forbidden"]);
    expect((await get(path)).status).toBe(410);
    expect((await get(path, { cookie })).status).toBe(303);
  });

  it("is refused if the page is of another port, or the code of another start [OPS-15]", async () => {
    const { get, token } = await started();
    const cookie = cookieIn(await get(`/login?code=${loginCode(token)}`));
    const from = (site: string) => get("/metrics", { cookie, "sec-fetch-site": site });
    expect((await from("none")).status).toBe(200);
    expect((await from("same-origin")).status).toBe(200);
    expect((await from("same-site")).status).toBe(403);
    const other = await started();
    for (const code of [loginCode(token), "", "a.b", `${loginCode(other.token)}x`]) {
      const response = await other.get(`/login?code=${code}`);
      expect([response.status, response.headers.get("set-cookie")]).toEqual([410, null]);
    }
  });
});
