/** `baton start`: a hub in a child process, and commands that use it over HTTP. */
import { mkdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { startHub } from "../support/start-hub.ts";
import { until } from "../support/until.ts";
import { baton, testStore } from "./baton.ts";

/** Returns a function that runs a command against a hub and expects it to succeed. */
function at(address: string, env: Record<string, string> = {}) {
  return async (...args: string[]) => {
    const run = await baton(args, { env: { BATON_STORE: address, ...env } });
    expect(run.code, run.stderr).toBe(0);
    return run.stdout;
  };
}

/** Commands run one after the other as child processes: many seconds on a busy machine. */
describe("baton start", { timeout: 240_000 }, () => {
  it("serves commands over HTTP, from registration to completion [OPS-7]", async () => {
    using store = testStore();
    await using hub = await startHub(store.address);
    const run = at(hub.address);
    await run("agent", "add", "ada", "--role", "planner");
    await run("agent", "add", "ben", "--role", "coder");
    await run("remember", "Tokens are checked with jose.", "--as", "ada", "--type", "decision");
    expect(await run("recall", "what checks tokens?")).toContain("jose");
    const send = ["--as", "ada", "--to", "ben", "--task", "auth", "--constraint", "Keep logins"];
    await run("handoff", "send", "Refactor auth without breaking logins", ...send);
    expect(await run("inbox", "ben")).toContain("auth");
    const { handle } = JSON.parse(await run("accept", "--as", "ben", "--json")) as {
      handle: string;
    };
    await run("note", handle, "validateToken() is extracted");
    await run("complete", handle, "All tests pass");
    expect(await run("line", "auth")).toContain("completed");
    expect(await run("verify")).toContain("match what was written");
    // What was written through the hub is in the file.
    await using direct = await store.open();
    expect(await direct.deliveries.totals()).toMatchObject({ byState: { completed: 1 } });
  });

  it("reports a port that is in use, and exits with 0 on SIGTERM [OPS-7]", async () => {
    using store = testStore();
    await using hub = await startHub(store.address);
    const second = await baton(["start", "--port", new URL(hub.address).port], {
      env: { BATON_STORE: store.address },
    });
    expect(second.code).toBe(69);
    expect(second.stderr).toMatch(/Port \d+ on 127\.0\.0\.1 is already in use/);
    hub.child.signal("SIGTERM");
    expect(await hub.child.ended).toMatchObject({ code: 0 });
  });

  it.each([
    ["--rate-limit=0", 64],
    ["--body-limit=-1", 64],
    ["--port=99999", 69],
  ])("refuses %s, and names the invalid value", async (option, code) => {
    using store = testStore();
    const { stderr, ...run } = await baton(["start", option], {
      env: { BATON_STORE: store.address },
    });
    expect([run.code, stderr]).toEqual([
      code,
      expect.stringContaining(option.split(/[=]/)[1] ?? ""),
    ]);
    expect(stderr).not.toMatch(/internal error/i);
  });

  it("requires a token with --require-tokens, and checks its access level [OPS-5]", async () => {
    using store = testStore();
    {
      await using direct = await store.open();
      await direct.agent("ada", { role: "planner" });
    }
    const made = await store.baton("token", "add", "ada", "--access", "agent", "--json");
    const { token } = JSON.parse(made.stdout) as { token: string };
    await using hub = await startHub(store.address, "--require-tokens");
    const refused = await baton(["agents"], { env: { BATON_STORE: hub.address } });
    expect(refused.code).toBe(77);
    expect(refused.stderr).toContain("requires a token");
    const run = at(hub.address, { BATON_TOKEN: token });
    expect(await run("agents")).toContain("ada");
    const admin = await baton(["export", "x.jsonl"], {
      env: { BATON_STORE: hub.address, BATON_TOKEN: token },
      cwd: folderFor(store.file),
    });
    expect(admin.code).toBe(77);
    expect(admin.stderr).toContain('requires the access level "admin"');
    expect(`${admin.stdout}${admin.stderr}${refused.stderr}`).not.toContain(token);
  });

  it("prints how this user signs in a browser, and so does baton login [OPS-15]", async () => {
    using store = testStore();
    await using hub = await startHub(store.address);
    const signIn = async (address: string) => (await fetch(address, { redirect: "manual" })).status;
    expect(await signIn(hub.printed["login"] ?? "")).toBe(303);
    const { port } = new URL(hub.address);
    const { address } = JSON.parse((await baton(["login", "--port", port, "--json"])).stdout) as {
      address: string;
    };
    expect([await signIn(address), await signIn(address)]).toEqual([303, 410]);
    const none = await baton(["login", "--port", "1"]);
    expect([none.code, none.stderr]).toEqual([75, expect.stringContaining("baton start")]);
  });

  it("exits with 0 on a signal that arrives when its address is printed [OPS-7]", async () => {
    using store = testStore();
    const impatient = `data:text/javascript,${encodeURIComponent(`
      const write = process.stdout.write.bind(process.stdout);
      process.stdout.write = (...args) => {
        const written = write(...args);
        process.kill(process.pid, "SIGTERM");
        return written;
      };`)}`;
    const run = await baton(["start", "--port", "0", "--json"], {
      env: { BATON_STORE: store.address },
      node: ["--import", impatient],
    });
    expect(run).toMatchObject({ code: 0, stderr: "" });
    expect(JSON.parse(run.stdout)).toMatchObject({ address: expect.stringContaining("http://") });
  });

  it("answers waiting calls and ends streams before it exits [OPS-7]", async () => {
    using store = testStore();
    {
      await using direct = await store.open();
      await direct.agent("ada", { role: "planner" });
    }
    await using hub = await startHub(store.address);
    const waiting = fetch(`${hub.address}/v1/inbox/accept`, {
      method: "POST",
      headers: { ...hub.headers, "content-type": "application/json", "baton-agent": "ada" },
      body: JSON.stringify({ waitMs: 25_000 }),
    });
    await until("the hub has the call that waits, beside this one", async () => {
      const metrics = await (
        await fetch(`${hub.address}/metrics`, { headers: hub.headers })
      ).text();
      return metrics.includes("baton_http_requests_under_way 2\n");
    });
    const stream = await fetch(`${hub.address}/v1/events/stream`, { headers: hub.headers });
    hub.child.signal("SIGTERM");
    expect(await (await waiting).json()).toEqual({ work: null });
    expect(await stream.text()).toContain(": baton");
    expect(await hub.child.ended).toMatchObject({ code: 0, signal: null });
  });
});

/** Creates a folder next to the store for files that a command writes. */
function folderFor(file: string): string {
  const folder = `${file}-out`;
  mkdirSync(folder, { recursive: true });
  return folder;
}
