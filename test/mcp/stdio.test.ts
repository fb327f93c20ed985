/** `baton mcp`: one process for one client, directly on the store file. */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { describe, expect, it, onTestFinished } from "vitest";
import { listen } from "../../src/http/listen.ts";
import { openLocalHub } from "../../src/open/open-hub.ts";
import { baton } from "../cli/baton.ts";
import { withoutNumbers } from "../support/fences.ts";
import { freshAddress, open, tempFolder } from "../support/hub/support.ts";
import { throughHub } from "./listen.ts";
import { call, clientOf, clockBehind, connected, MAIN, overStdio } from "./support.ts";

const ERA = "2026-07-28";
const PATH = process.env["PATH"] ?? "";

/** Starts `baton mcp` in a shell in this folder, as a user does. Returns a connected client. */
async function shell(folder: string, agent: string): Promise<Client> {
  const client = clientOf(ERA);
  onTestFinished(() => client.close());
  const words = `"${process.execPath}" "${MAIN}" mcp --as ${agent}`;
  const transport = new StdioClientTransport({
    command: "sh",
    args: ["-c", words],
    cwd: folder,
    env: { PATH },
    stderr: "inherit",
  });
  return connected(client, transport);
}

/** Starts `baton mcp` without a client, for tests that write to and read from the process. */
function started(address: string, agent: string): ChildProcessWithoutNullStreams {
  const child = spawn(process.execPath, [MAIN, "mcp", "--as", agent, "--store", address]);
  onTestFinished(() => {
    child.kill("SIGKILL");
  });
  return child;
}

const INITIALIZE = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo: { name: "by hand", version: "1" },
  },
};

describe("several baton mcp processes", { timeout: 240_000 }, () => {
  it("hand a task to each other through one file, without a server [OPS-7]", async () => {
    const folder = tempFolder();
    const ada = await shell(folder, "ada");
    const ben = await shell(folder, "ben");
    const there = await call(ada, "hand_off", { to: "ben", task: "page", intent: "Write it" });
    const work = await call(ben, "accept", { wait_seconds: 30 });
    expect(work).toMatchObject({ status: "accepted", handoff: there["handoff"] });
    const back = await call(ben, "hand_off", {
      handle: work["handle"],
      to: "ada",
      action: "needs_review",
      state: "A draft is there",
    });
    const review = await call(ada, "accept", { wait_seconds: 30 });
    expect(review).toMatchObject({ status: "accepted", handoff: back["handoff"], from: "ben" });
    expect(review.text).toContain("A draft is there");
    const { handle } = review;
    await call(ada, "update", { handle, action: "complete", text: "It is good." });
    const seen = await call(ben, "wait", { handoff: back["handoff"], seconds: 30 });
    expect(seen).toMatchObject({ status: "ended", state: "completed" });

    const hub = await open(`sqlite:${join(folder, ".baton", "hub.db")}`);
    expect((await hub.verify()).problems).toEqual([]);
    const states = (await hub.tasks.line("page")).flatMap(({ deliveries }) =>
      deliveries.map(({ state }) => state),
    );
    expect(states).toEqual(["completed", "completed"]);
  });

  it("hand a task over through a hub [OPS-7]", async () => {
    const { url, close } = await throughHub();
    onTestFinished(close);
    const ada = await overStdio(url.origin, "ada", ERA);
    const ben = await overStdio(url.origin, "ben", ERA);
    const { handoff } = await call(ada, "hand_off", { to: "ben", task: "page", intent: "Write" });
    const { handle } = await call(ben, "accept", { wait_seconds: 30 });
    await call(ben, "update", { handle, action: "note", text: "The outline is there." });
    await call(ben, "update", { handle, action: "complete", text: "Written." });
    const seen = await call(ada, "wait", { handoff, seconds: 30 });
    expect(seen).toMatchObject({ status: "ended", state: "completed" });
    expect(withoutNumbers(seen.text)).toContain("«Written.»");
  });

  it("keep two sessions of one agent apart [OPS-7]", async () => {
    const address = freshAddress();
    const ada = await overStdio(address, "ada", ERA);
    const one = await overStdio(address, "ben", ERA);
    const two = await overStdio(address, "ben", ERA);
    await call(ada, "hand_off", { to: "ben", task: "page", intent: "Write it" });
    expect(await call(one, "accept")).toMatchObject({ status: "accepted" });
    expect(await call(two, "accept")).toMatchObject({ status: "nothing" });
    expect(await call(two, "catch_up")).toMatchObject({ held: [] });
    expect((await call(one, "catch_up"))["held"]).toMatchObject([{ task: "page" }]);
  });
});

describe("a baton mcp process", { timeout: 240_000 }, () => {
  it("registers a new agent, and leaves a registered one unchanged", async () => {
    const address = freshAddress();
    const hub = await open(address);
    await hub.agent("ada", { role: "planner" });
    await overStdio(address, "ada", ERA);
    await overStdio(address, "ben", ERA);
    const roles = (await hub.agents.list()).map(({ id, role }) => `${id} ${role}`);
    expect(roles.sort()).toEqual(["ada planner", "ben agent"]);
  });

  it("refuses to start without the name of the agent", async () => {
    const { code, stderr, stdout } = await baton(["mcp"], { cwd: tempFolder() });
    expect({ code, stdout }).toEqual({ code: 64, stdout: "" });
    expect(stderr).toContain("BATON_AGENT");
  });

  it("reads the name of the agent from the environment", async () => {
    const address = freshAddress();
    const client = clientOf(ERA);
    onTestFinished(() => client.close());
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: [MAIN, "mcp", "--role", "coder"],
      env: { PATH, BATON_AGENT: "cyd", BATON_STORE: address },
      stderr: "inherit",
    });
    await connected(client, transport);
    expect(await call(client, "catch_up")).toMatchObject({ agent: "cyd", role: "coder" });
  });

  it.each(["SIGTERM", "stdin"] as const)(
    "writes only protocol messages to stdout, and exits with 0: %s",
    async (how) => {
      const child = started(freshAddress(), "ada");
      const lines: string[] = [];
      const reader = createInterface(child.stdout).on("line", (line) => lines.push(line));
      child.stdin.write(`${JSON.stringify(INITIALIZE)}\n`);
      await once(reader, "line");
      child.stdin.write("this is no message\n");
      child.stdin.write('{"jsonrpc":"2.0","id":2,"method":"tools/list"}\n');
      await once(reader, "line");
      if (how === "stdin") child.stdin.end();
      else child.kill("SIGTERM");
      const [code] = (await once(child, "close")) as [number | null];
      expect(code).toBe(0);
      const said = lines.map((line) => JSON.parse(line) as { jsonrpc: string; id: number });
      expect(said.map(({ jsonrpc, id }) => [jsonrpc, id])).toEqual([
        ["2.0", 1],
        ["2.0", 2],
      ]);
    },
  );

  it("keeps its work leased when it ends; the next session gets it with its notes", async () => {
    const address = freshAddress();
    // The first processes run ten minutes in the past, so that the lease has expired by now.
    const earlier = ["--import", clockBehind(600_000)];
    const ada = await overStdio(address, "ada", ERA, earlier);
    const first = await overStdio(address, "ben", ERA, earlier);
    await call(ada, "hand_off", { to: "ben", task: "page", intent: "Write it" });
    const { handle, handoff } = await call(first, "accept");
    await call(first, "update", { handle, action: "note", text: "The outline is in docs/." });
    await first.close();

    const hub = await open(address);
    const { delivery } = await hub.deliveries.get(String(handoff));
    expect(delivery).toMatchObject({ state: "accepted", holder: "ben", attempt: 1 });
    const next = await overStdio(address, "ben", ERA);
    const again = await call(next, "accept", { wait_seconds: 50 });
    expect(again).toMatchObject({ status: "accepted", handoff, attempt: 2 });
    expect(again.text).toContain("The outline is in docs/.");
  });
});

describe("a client that baton setup configured for a hub", { timeout: 240_000 }, () => {
  it("reaches the hub by itself, with no token in its settings [OPS-15]", async () => {
    const local = await openLocalHub("memory:");
    const hub = await listen(local, { port: 0 });
    onTestFinished(() => hub.close());
    const folder = tempFolder();
    const setup = ["setup", "claude-code", "--as", "ada", "--store", hub.address];
    expect(await baton(setup, { cwd: folder })).toMatchObject({ code: 0, stderr: "" });
    const settings = readFileSync(join(folder, ".mcp.json"), "utf8");
    expect(settings).not.toContain("baton_");
    const { command, args } = JSON.parse(settings).mcpServers.baton as {
      command: string;
      args: string[];
    };
    const env = { PATH, HOME: homedir() }; // Clients pass on little else.
    const transport = new StdioClientTransport({ command, args, cwd: folder, env });
    const client = await connected(clientOf(ERA), transport);
    onTestFinished(() => client.close());
    await call(client, "remember", { content: "Tokens are checked with jose." });
    expect(await local.memories.recent()).toMatchObject({ items: [{ agent: "ada" }] });
  });
});
