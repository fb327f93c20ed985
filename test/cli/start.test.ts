/** `baton start`: the hub in a process, and the command line against it, over HTTP. */
import { mkdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { startHub } from "../support/start-hub.ts";
import { until } from "../support/until.ts";
import { baton, testStore } from "./baton.ts";

/** Runs a command against a hub; fails unless it went well. */
function at(address: string, env: Record<string, string> = {}) {
  return async (...args: string[]) => {
    const run = await baton(args, { env: { BATON_STORE: address, ...env } });
    expect(run.code, run.stderr).toBe(0);
    return run.stdout;
  };
}

/** Commands run one after the other, each in a process: many seconds on a busy machine. */
describe("baton start", { timeout: 240_000 }, () => {
  it("serves every command that is told its address, from registering to completing [OPS-7]", async () => {
    using store = testStore();
    await using hub = await startHub(store.address);
    const run = at(hub.address);
    await run("agent", "add", "ada", "--role", "planner");
    await run("agent", "add", "ben", "--role", "coder");
    await run("remember", "Tokens are checked with jose.", "--agent", "ada", "--type", "decision");
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
    // What went through the hub is in the file.
    await using direct = await store.open();
    expect(await direct.deliveries.totals()).toMatchObject({ byState: { completed: 1 } });
  });

  it("says that its port is taken, and ends well when it is asked to [OPS-7]", async () => {
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
  ])("says what is wrong with %s, and starts nothing", async (option, code) => {
    using store = testStore();
    const { stderr, ...run } = await baton(["start", option], {
      env: { BATON_STORE: store.address },
    });
    expect([run.code, stderr]).toEqual([
      code,
      expect.stringContaining(option.split(/[=]/)[1] ?? ""),
    ]);
    expect(stderr).not.toContain("internal error");
  });

  it("takes tokens where it is told to, and nobody without one [OPS-5]", async () => {
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

  it("ends cleanly on a signal that comes as soon as its address is printed [OPS-7]", async () => {
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

  it("answers what is under way before it ends, and ends what waits [OPS-7]", async () => {
    using store = testStore();
    {
      await using direct = await store.open();
      await direct.agent("ada", { role: "planner" });
    }
    await using hub = await startHub(store.address);
    const waiting = fetch(`${hub.address}/v1/inbox/accept`, {
      method: "POST",
      headers: { "content-type": "application/json", "baton-agent": "ada" },
      body: JSON.stringify({ waitMs: 25_000 }),
    });
    await until("the hub has the call that waits, beside this one", async () => {
      const metrics = await (await fetch(`${hub.address}/metrics`)).text();
      return metrics.includes("baton_http_requests_under_way 2\n");
    });
    const stream = await fetch(`${hub.address}/v1/events/stream`);
    hub.child.signal("SIGTERM");
    expect(await (await waiting).json()).toEqual({ work: null });
    expect(await stream.text()).toContain(": baton");
    expect(await hub.child.ended).toMatchObject({ code: 0, signal: null });
  });
});

/** A folder beside the store, for what a command writes. */
function folderFor(file: string): string {
  const folder = `${file}-out`;
  mkdirSync(folder, { recursive: true });
  return folder;
}
