/** `npm run check:package`: builds and packs the package, then checks it as users install it. */

import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { startPostgres } from "../test/support/postgres/server.ts";
import { BUILD, DATA_FILES } from "./build.ts";
import { quietTool, ROOT, runSteps, type Step } from "./tools.ts";

type Targets = string | { readonly [condition: string]: Targets };

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly bin: Targets;
  readonly exports: Targets;
}

const manifest = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as Manifest;
const folder = mkdtempSync(join(tmpdir(), "baton-package-"));
const tarball = join(folder, `${manifest.name}-${manifest.version}.tgz`);
const unpacked = join(folder, "package");
const BATON = join(unpacked, "dist/cli/main.js");
const store = `sqlite:${join(folder, "hub.db")}`;
/** Commands on PostgreSQL, by the optional package they need. */
const OPTIONAL = {
  pg: ["agent", "add", "coder", "--role", "coder"],
  "libpg-query": ["sql", "select 1 as one"],
};

let packed: ReadonlySet<string> = new Set();

try {
  process.exitCode = await runSteps({
    ...BUILD,
    pack: async () => {
      packed = pack();
      return 0;
    },
    "every target of bin and exports is in the package": containsFiles(() =>
      filesOf([manifest.bin, manifest.exports]),
    ),
    "every file that is started by path is in the package": containsFiles(startedFiles),
    "the data files are in the package": containsFiles(() =>
      DATA_FILES.map((file) => `dist/${file}`),
    ),
    unpack: async () => {
      unpack();
      return 0;
    },
    "the team demo runs": succeeds(runsTeamDemo),
    "threads and processes respond": succeeds(threadsAnswer),
    "a hook gets a response": succeeds(answersAHook),
    "an MCP client gets a response": succeeds(answersAClient),
    "the error for a missing optional package names it": namesMissingPackages,
    "a program can use the package": async () => {
      // Inside the package, where "batonpass" resolves to the package itself.
      const program = join(unpacked, "use-package.ts");
      copyFileSync(join(ROOT, "scripts/use-package.ts"), program);
      execFileSync(process.execPath, [program], { stdio: "inherit" });
      return 0;
    },
    publint: quietTool("publint", "run", tarball, "--strict"),
    "are the types wrong": quietTool(
      "attw",
      tarball,
      "--profile=esm-only",
      "--exclude-entrypoints", // data without types
      ...Object.keys(manifest.exports).filter((name) => name.startsWith("./schemas/")),
    ),
  });
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function pack(): ReadonlySet<string> {
  const args = ["pack", "--json", "--ignore-scripts", `--pack-destination=${folder}`];
  const output = execFileSync("npm", args, {
    cwd: ROOT,
    encoding: "utf8",
    shell: process.platform === "win32",
    stdio: ["ignore", "pipe", "ignore"],
  });
  const [result] = JSON.parse(output) as [{ readonly files: readonly { readonly path: string }[] }];
  return new Set(result.files.map((file) => file.path));
}

function containsFiles(files: () => readonly string[]): Step {
  return async () => {
    const missing = files().filter((file) => !packed.has(file));
    for (const file of missing) console.error(`Missing from the package: ${file}`);
    return missing.length === 0 ? 0 : 1;
  };
}

function succeeds(check: () => boolean): Step {
  return async () => (check() ? 0 : 1);
}

/** Returns the files that are started by path: knip.json must list them as entries. */
function startedFiles(): readonly string[] {
  const { entry } = JSON.parse(readFileSync(join(ROOT, "knip.json"), "utf8")) as {
    readonly entry: readonly string[];
  };
  const sources = entry.filter((file) => file.startsWith("src/"));
  return sources.map((file) => file.replace(/^src\//, "dist/").replace(/\.ts$/, ".js"));
}

/**
 * Unpacks the package next to its dependencies, as npm installs it. Sources, development
 * dependencies and optional packages cannot be resolved from there.
 */
function unpack(): void {
  execFileSync("tar", ["-xzf", tarball, "-C", folder]);
  for (const name of Object.keys(manifest.dependencies)) install(name);
}

function install(name: string): void {
  const place = join(folder, "node_modules", name);
  mkdirSync(dirname(place), { recursive: true });
  symlinkSync(join(ROOT, "node_modules", name), place, "junction");
}

function baton(words: readonly string[], input = ""): string {
  const args = [BATON, ...words, "--store", store];
  return execFileSync(process.execPath, args, { cwd: folder, encoding: "utf8", input });
}

/** Returns the length of a list in the JSON output of a command. */
function countFound(what: string, ...words: string[]): number {
  const said = JSON.parse(baton([...words, "--json"])) as Record<string, readonly unknown[]>;
  return said[what]?.length ?? Number.NaN;
}

/** Uses the example in the package. */
function runsTeamDemo(): boolean {
  return countFound("messages", "demo", "team") > 0;
}

/** Covers the crashing executor, the searcher, the housekeeper and the process that runs SQL. */
function threadsAnswer(): boolean {
  return (
    baton(["demo"]).includes("attempt 2") &&
    countFound("items", "recall", "validateToken") > 0 &&
    countFound("problems", "verify") === 0 &&
    countFound("rows", "sql", "select 1 as one") === 1
  );
}

/** Checks that a command names the missing package, and succeeds once it is installed. */
async function namesMissingPackages(): Promise<number> {
  const server = await startPostgres(["fsync=off"]);
  try {
    for (const [name, words] of Object.entries(OPTIONAL)) {
      const command = [BATON, ...words, "--json", "--store", server.url];
      const options = { cwd: folder, encoding: "utf8" } as const;
      const without = spawnSync(process.execPath, command, options);
      const { code, message } = JSON.parse(without.stderr) as Record<string, string>;
      assert.equal(code, "dependency_missing", message);
      assert.ok(message?.endsWith(`Install it: npm install ${name}`), message);
      install(name);
      execFileSync(process.execPath, command, { ...options, stdio: "pipe" });
    }
    return 0;
  } finally {
    await server.stop();
  }
}

function answersAHook(): boolean {
  const said = { session_id: "check", cwd: folder, source: "startup" };
  const hook = ["hook", "claude-code", "SessionStart", "--strict"];
  return baton(hook, JSON.stringify(said)).includes("additionalContext");
}

function answersAClient(): boolean {
  const clientInfo = { name: "check", version: "1.0.0" };
  const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo };
  const request = { jsonrpc: "2.0", id: 1, method: "initialize", params };
  return baton(["mcp", "--as", "client"], `${JSON.stringify(request)}\n`).includes("serverInfo");
}

function filesOf(targets: readonly Targets[]): string[] {
  return targets.flatMap((target) =>
    typeof target === "string" ? [target.replace(/^\.\//, "")] : filesOf(Object.values(target)),
  );
}
