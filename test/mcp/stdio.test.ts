/** `baton mcp`: one process for one client, straight on the store's file. */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { describe, expect, it, onTestFinished } from "vitest";
import { baton } from "../cli/baton.ts";
import { freshAddress, open, tempFolder } from "../support/hub/support.ts";
import { throughHub } from "./listen.ts";
import { call, clientOf, clockBehind, connected, MAIN, overStdio } from "./support.ts";

const ERA = "2026-07-28";
const PATH = process.env["PATH"] ?? "";

/** A shell in this folder, in which somebody has typed `baton mcp`. */
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

/** The same without a client: what is written to it, and what it says, word for word. */
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

describe("two shells and one file", { timeout: 240_000 }, () => {
  it("hand a task to each other, with no server running [OPS-7]", async () => {
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

  it("or through a hub, each with a process of its own [OPS-7]", async () => {
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
    expect(seen.text).toContain("«Written.»");
  });

  it("two sessions of one agent stay apart [OPS-7]", async () => {
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

describe("the process", { timeout: 240_000 }, () => {
  it("registers who connects, and leaves the known as they are", async () => {
    const address = freshAddress();
    const hub = await open(address);
    await hub.agent("ada", { role: "planner" });
    await overStdio(address, "ada", ERA);
    await overStdio(address, "ben", ERA);
    const roles = (await hub.agents.list()).map(({ id, role }) => `${id} ${role}`);
    expect(roles.sort()).toEqual(["ada planner", "ben agent"]);
  });

  it("says what is missing when nobody said who the client is", async () => {
    const { code, stderr, stdout } = await baton(["mcp"], { cwd: tempFolder() });
    expect({ code, stdout }).toEqual({ code: 64, stdout: "" });
    expect(stderr).toContain("BATON_AGENT");
  });

  it("takes the name from the environment", async () => {
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
    "writes nothing but the protocol to stdout, and ends by itself on %s",
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

  it("releases nothing when it ends: the work goes to the next session, with its notes", async () => {
    const address = freshAddress();
    // Ten minutes ago: by now the lease has run out.
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
