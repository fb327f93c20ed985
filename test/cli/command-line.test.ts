/** The command line itself: commands and help, errors, output, and the modules loaded at start. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { COMMANDS } from "../../src/cli/commands.ts";
import { ERROR_CODES } from "../../src/index.ts";
import { BATON } from "../support/build/place.ts";
import { ROOT } from "../support/run-script.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { baton, batonFromSources, batonInProcess, testStore, withHandoff } from "./baton.ts";

const MISTAKE = ERROR_CODES.invalid_input.exit;

/** Returns the source as a module for `node --import`. */
const preload = (source: string): string => `data:text/javascript,${encodeURIComponent(source)}`;

/** Prints the URL of every loaded module to stderr. */
const LISTING = preload(
  `import { registerHooks } from "node:module";
   registerHooks({ load(url, context, next) { console.error(url); return next(url, context); } });`,
);

describe("baton", () => {
  it.each([[], ["help"], ["--help"], ["-h"]])("lists every command: %s", async (...words) => {
    const { code, stdout, stderr } = await batonInProcess(words);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    for (const { name } of COMMANDS) expect(stdout).toContain(`baton ${name}`);
  });

  it("lists the commands of a group, and loads only the module it needs", async () => {
    const { code, stdout } = await baton(["dead"]);
    expect(code).toBe(0);
    for (const verb of ["list", "show", "redrive", "discard"]) {
      expect(stdout).toContain(`baton dead ${verb}`);
    }
    expect((await batonInProcess(["help", "dead"])).stdout).toBe(stdout);
    const { stderr } = await batonFromSources(["dead", "list", "--help"], {
      node: ["--import", LISTING],
    });
    expect(stderr).toContain("commands/handoffs/dead.ts");
    expect(stderr).not.toMatch(/node_modules|open-hub|commands\/(?!handoffs\/dead)/);
  });

  it.each(["context", "failure", "ledger", "demo"])(
    "lists the subcommands of a command in its help: %s",
    async (word) => {
      const { code, stdout } = await batonInProcess([word, "--help"]);
      expect(code).toBe(0);
      expect(stdout).toContain(`Usage  baton ${word}`);
      const others = COMMANDS.filter(({ name }) => name.startsWith(`${word} `));
      expect(others.length).toBeGreaterThan(0);
      for (const { name } of others) expect(stdout).toContain(`  baton ${name}`);
    },
  );

  it("lists the commands in lines of at most 150 characters", async () => {
    const { stdout } = await baton(["help"]);
    const wide = stdout.split("\n").filter((line) => line.length > 150);
    expect(wide).toEqual([]);
  });

  it("prints its version without loading the library", async () => {
    const { code, stdout, stderr } = await batonFromSources(["--version"], {
      node: ["--import", LISTING],
    });
    const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
    expect({ code, stdout }).toEqual({ code: 0, stdout: `${version}\n` });
    expect(stderr).toContain("src/cli/main.ts");
    expect(stderr).not.toMatch(/node_modules|open-hub|commands/);
  });

  it("reports an outdated Node.js version in one line before it imports anything", async () => {
    const older = preload(`Object.defineProperty(process.versions, "node", { value: "20.11.1" });`);
    const { code, stdout, stderr } = await baton(["demo"], { node: ["--import", older] });
    expect({ code, stdout }).toEqual({ code: ERROR_CODES.runtime_too_old.exit, stdout: "" });
    expect(stderr).toBe("baton needs Node.js 24 or newer; this is 20.11.1.\n");
    expect(readFileSync(join(ROOT, "src/cli/main.ts"), "utf8")).not.toMatch(/^import /m);
  });
});

describe("a usage error", () => {
  it.each([
    [["verfy"], "verfy", "Did you mean verify?"],
    [["demmo"], "demmo", "Did you mean demo?"],
    [["handoff", "sned"], "handoff sned", "handoff send"],
    [["help", "dead", "lst"], "dead lst", "dead list"],
    [["accept"], "--as", "--as <agent>"],
    [["accept", "--as", "a", "--wait", "5"], "--wait", "15s, 5m"],
    [["cancel", "--as", "a", "--reason", "b"], "delivery", "--task <task>"],
    [["help", "inbx"], "inbx", "Did you mean inbox?"],
    [["--versoin"], "--versoin", "Did you mean --version?"],
    [["recent", "--limt", "3"], "--limt", "Did you mean --limit?"],
    [["verify", "--jsn"], "--jsn", "Did you mean --json?"],
    [["agents", "-x"], "-x", "Run baton help agents to list its options."],
    [["schema", "envelop"], "schema", "Did you mean envelope?"],
    [["recent", "--limit", "many"], "--limit", "Write a number such as 20."],
    [["recent", "--task"], "--task", "--task <task>"],
    [["recent", "--task", "--json"], "--task", "--task <task>"],
    [["verify", "--json=yes"], "--json", "Write --json without a value."],
    [["line"], "task", "baton line <task>"],
    [["line", "two", "words"], "words", "quote text"],
    [["recent", "--constructor"], "--constructor", "Run baton help recent to list its options."],
    [["ledger", "relase", "auth", "con-1"], "relase", "Did you mean baton ledger release?"],
    [["ledger", "relase", "auth", "--reason", "x"], "relase", "Did you mean baton ledger release?"],
    [["demo", "tem"], "tem", "Did you mean baton demo team?"],
    [["handoff", "send", "ben", "Fix it"], "Fix it", "Usage: baton handoff send [<intent>]"],
  ])("names the argument and gives a hint: %s", async (words, place, hint) => {
    const { code, stdout, stderr } = await batonInProcess(words);
    expect({ code, stdout }).toEqual({ code: MISTAKE, stdout: "" });
    const { path, hint: printedHint } = words.includes("--json")
      ? JSON.parse(stderr)
      : readError(stderr);
    expect(path).toBe(place);
    expect(printedHint).toContain(hint);
  });

  it("is printed as JSON to stderr with --json", async () => {
    const { code, stdout, stderr } = await baton(["verfy", "--json"]);
    expect({ code, stdout }).toEqual({ code: MISTAKE, stdout: "" });
    expect(JSON.parse(stderr)).toEqual({
      code: "invalid_input",
      message: 'Unknown command "verfy".',
      path: "verfy",
      hint: "Did you mean verify?",
      retryable: false,
      violations: [],
      details: {},
    });
  });
});

describe("an error of the library", () => {
  it("exits with the code of the error table", async () => {
    using folder = temporaryFolder();
    writeFileSync(folder.file("package.json"), "{}\n".repeat(500));
    const [unsupported, foreign] = await Promise.all([
      baton(["agents", "--store", "carrier-pigeon:"]),
      baton(["agents", "--store", `sqlite:${folder.file("package.json")}`]),
    ]);
    expect(unsupported.code).toBe(ERROR_CODES.store_unsupported.exit);
    expect(foreign.code).toBe(ERROR_CODES.store_corrupt.exit);
  });

  it("lists every violation", async () => {
    using store = testStore();
    await withHandoff(store);
    const { code, stderr } = await store.baton("recent", "--task=", "--limit=0");
    expect(code).toBe(MISTAKE);
    expect(stderr).toMatch(/limit: [\s\S]*task: /);
  });
});

describe("output", () => {
  it("has colours in a pipe only with FORCE_COLOR", async () => {
    const env = async (extra: Record<string, string>) =>
      (await baton(["nope"], { env: extra })).stderr;
    const [piped, forced, without] = await Promise.all([
      env({}),
      env({ FORCE_COLOR: "1" }),
      env({ NO_COLOR: "1" }),
    ]);
    expect(piped).not.toContain("\u001b");
    expect(forced).toContain("\u001b[31m");
    expect(without).not.toContain("\u001b");
  });

  it("ends without an error when its reader closes the pipe early", async () => {
    using store = testStore();
    await using hub = await store.open();
    const writer = await hub.agent("writer", { role: "writer" });
    await writer.remember(Array.from({ length: 500 }, () => ({ content: "x".repeat(1_000) })));
    const child = spawn(
      process.execPath,
      [BATON, "recent", "--limit=500", "--store", store.address],
      { stdio: ["ignore", "pipe", "pipe"] },
    );
    let stderr = "";
    child.stderr.on("data", (chunk) => (stderr += chunk));
    child.stdout.once("data", () => child.stdout.destroy());
    const [code] = await once(child, "exit");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  });
});

function readError(stderr: string): { path: string | undefined; hint: string | undefined } {
  return {
    path: /^ +at (.*)$/m.exec(stderr)?.[1],
    hint: /^ hint (.*)$/m.exec(stderr)?.[1],
  };
}
