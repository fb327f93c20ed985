/** `baton doctor` and `baton catchup`: what they report, and the fixes they suggest. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { checkClients } from "../../src/cli/doctor/clients.ts";
import { settingsPathsFor } from "../../src/harness/setup/settings-paths.ts";
import { listen } from "../../src/http/listen.ts";
import { ERROR_CODES } from "../../src/index.ts";
import { openLocalHub } from "../../src/open/open-hub.ts";
import { UNMERGED } from "../../src/store/sqlite/merge-log.ts";
import { bareProject, type Project, project } from "./harness.ts";

interface Finding {
  readonly check: string;
  readonly status: string;
  readonly found: string;
  readonly fix?: string;
}

async function examined(here: Project, ...words: string[]) {
  const { code, stdout, stderr } = await here.baton("doctor", "--json", ...words);
  expect(stderr).toBe("");
  const { findings } = JSON.parse(stdout) as { findings: Finding[] };
  return { code, findings, of: (check: string) => findings.find((each) => each.check === check) };
}

/** Starts the server of another program on a free port. */
async function listening(): Promise<number> {
  const server = createServer((_, answer) => answer.end("{}"));
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

describe("baton doctor", () => {
  it("reports no problems in a project that was set up [OPS-8]", async () => {
    const here = bareProject();
    for (const client of ["claude-code", "codex"]) await here.baton("setup", client);
    const { port, close } = await listen(await openLocalHub("memory:"), { port: 0 });
    onTestFinished(close);
    const { code, findings, of } = await examined(here, "--port", String(port));
    expect(code).toBe(0);
    // The duration of a hook depends on the machine.
    const wrong = findings.filter(({ check, status }) => status !== "ok" && check !== "hooks");
    expect(wrong).toEqual([]);
    expect(of(`port ${port}`)?.found).toContain("a hub is running");
    expect(of("store")?.found).toContain("2 agents");
    expect(of("claude-code (project)")?.found).toContain("8 hooks");
    expect(of("codex (project)")?.found).toContain("acts as codex");
    expect(of("hooks")?.found).toMatch(/^\d+ ms/);
    const { stdout } = await here.baton("doctor", "--port", String(port));
    expect(stdout.split("\n").filter((line) => /^(ok|warn|fail)/.test(line)).length).toBe(
      findings.length,
    );
  });

  it("suggests how to start when nothing is set up, and exits with 0 [OPS-8]", async () => {
    const here = bareProject();
    const { code, findings, of } = await examined(here, "--port", String(await listening()));
    expect(code).toBe(0);
    expect(of("store")).toMatchObject({
      status: "warn",
      fix: expect.stringContaining("baton setup"),
    });
    expect(of("codex")).toMatchObject({
      status: "ok",
      found: expect.stringContaining("baton setup codex"),
    });
    expect(findings).toContainEqual(
      expect.objectContaining({ check: expect.stringMatching(/^port/), status: "warn" }),
    );
  });

  it("reports moved, missing and unregistered parts with a fix [OPS-8]", async () => {
    const here = bareProject();
    await here.baton("setup", "claude-code");
    const settings = join(here.folder, ".claude", "settings.json");
    const whole = readFileSync(settings, "utf8");
    const places = settingsPathsFor(here.folder, {
      home: here.home,
      claude: undefined,
      codex: undefined,
    });
    const found = (agents = ["claude-code"]) => checkClients(places, new Set(agents))[0];
    expect(found()).toMatchObject({ status: "ok" });
    expect(found([])).toMatchObject({
      status: "warn",
      fix: expect.stringContaining("baton agent add claude-code"),
    });
    writeFileSync(settings, "{}");
    expect(found()).toMatchObject({
      status: "warn",
      found: expect.stringContaining("SessionStart"),
    });
    writeFileSync(settings, "{");
    expect(found()).toMatchObject({ status: "fail", code: "file_unusable" });
    writeFileSync(settings, whole.replaceAll("dist/cli/main.js hook", "gone/cli/main.js hook"));
    const moved = await examined(here);
    expect(moved.code).toBe(ERROR_CODES.file_unusable.exit);
    expect(moved.of("claude-code (project)")).toMatchObject({
      status: "fail",
      found: expect.stringContaining("gone/cli/main.js"),
      fix: expect.stringContaining("baton setup claude-code --scope project"),
    });
  });

  it("reports a damaged store and errors of hooks [OPS-8]", async () => {
    const here = bareProject();
    mkdirSync(join(here.folder, ".baton"));
    writeFileSync(join(here.folder, ".baton", "hub.db"), "no database".repeat(1_000));
    await here.hookProcess("claude-code", "SessionStart");
    const { code, of } = await examined(here);
    expect(of("store")?.status).toBe("fail");
    expect([ERROR_CODES.store_foreign.exit, ERROR_CODES.store_corrupt.exit]).toContain(code);
    expect(of("hook errors")).toMatchObject({
      found: expect.stringContaining("claude-code SessionStart"),
    });
  });

  it("reports a log that is kept because the disk failed while it was merged [OPS-8]", async () => {
    const here = await project();
    const file = join(here.folder, ".baton", "hub.db");
    await using _hub = await openLocalHub(`sqlite:${file}`); // The log cannot be recovered meanwhile.
    writeFileSync(`${file}${UNMERGED}`, "");
    const { stdout, stderr } = await here.baton("doctor", "--json");
    expect(stderr).toContain("BATON_BACKGROUND_ERROR"); // Each open reports it too.
    const { findings } = JSON.parse(stdout) as { findings: Finding[] };
    expect(findings.find(({ check }) => check === "size")).toMatchObject({
      status: "warn",
      found: expect.stringContaining("the log is kept"),
    });
  });
});

describe("content that Baton did not write", () => {
  it("is not a failure: a server added by hand, and a truncated line [OPS-8]", async () => {
    const here = await project();
    const baton = { command: "baton", args: ["mcp", "--as", "coder"] };
    writeFileSync(join(here.folder, ".mcp.json"), JSON.stringify({ mcpServers: { baton } }));
    const file = join(here.folder, ".baton", "hook-trouble.jsonl");
    await here.baton("hook", "claude-code", "Stop", "--as", "coder");
    writeFileSync(file, `${readFileSync(file, "utf8")}{"at": "20`);
    const { code, of } = await examined(here);
    expect(code).toBe(0);
    expect(of("claude-code (project)")).toMatchObject({
      status: "warn",
      found: expect.stringContaining("SessionStart"),
    });
    expect(of("hook errors")?.found).toMatch(/^1; .*claude-code Stop/);
  });
});

describe("baton catchup", () => {
  it("shows what an agent should know within its token budget, and claims nothing [OPS-8]", async () => {
    const here = await project();
    await using hub = await here.open();
    const planner = await hub.agent("planner");
    await planner.handoff({ to: "coder", task: "auth", intent: "Refactor auth" });
    const { stdout } = await here.baton("catchup", "--as", "coder");
    expect(stdout).toContain("Refactor auth");
    const json = JSON.parse(
      (await here.baton("catchup", "--as", "coder", "--tokens", "500", "--json")).stdout,
    );
    expect(json.tokens).toBeLessThanOrEqual(500);
    const { code, stderr } = await here.baton("catchup", "--as", "nobody");
    expect(code).toBe(ERROR_CODES.unknown_agent.exit);
    expect(stderr).toContain("baton agent add nobody");
    const coder = await hub.agent("coder");
    expect((await coder.deliveries.waiting()).items[0]?.delivery).toMatchObject({
      state: "ready",
      attempt: 0,
    });
  });
});
