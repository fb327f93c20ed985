/** Harnesses in tests: runs hooks with their documented inputs in a temporary repository. */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { openHub } from "../../src/index.ts";
import { batonInProcess } from "../cli/baton.ts";
import { BATON } from "../support/build/place.ts";
import { open, tempFolder } from "../support/hub/support.ts";
import { ROOT, type Run } from "../support/run-script.ts";

type Input = Readonly<Record<string, unknown>>;

export const HARNESSES = ["claude-code", "codex", "cursor"] as const;

/** Returns the documented hook input of a harness for each event. */
export const documentedInputs = (harness: string): Readonly<Record<string, Input>> =>
  JSON.parse(readFileSync(join(ROOT, "test/fixtures/harness", `${harness}.json`), "utf8"));

export interface Project {
  readonly folder: string;
  /** A temporary one, so that no test reads the settings of the user. */
  readonly home: string;
  readonly address: string;
  baton(...words: string[]): Promise<Run>;
  /**
   * Runs a hook in this process, with its documented input and the test's changes. Strict by
   * default: an error fails the test with its message, whatever the speed of the machine.
   */
  hook(harness: string, event: string, changed?: Input, words?: readonly string[]): Promise<Run>;
  /** Runs a hook as a process. Harnesses run it without arguments: not strict. */
  hookProcess(
    harness: string,
    event: string,
    changed?: Input,
    words?: readonly string[],
  ): Promise<Run>;
  /** Runs a hook of Claude Code and returns what its model is shown. */
  claude(
    event: string,
    changed?: Input,
    words?: readonly string[],
  ): Promise<Run & { shown: string }>;
  open(): ReturnType<typeof openHub>;
}

/** Creates a repository with a store in which `coder` and `planner` are registered. */
export async function project(): Promise<Project> {
  const made = bareProject();
  await using hub = await openHub(made.address);
  await hub.agent("coder", { role: "coder" });
  await hub.agent("planner", { role: "coordinator" });
  return made;
}

export function bareProject(): Project {
  const root = tempFolder();
  const [folder, home] = [join(root, "app"), join(root, "home")];
  for (const each of [folder, home]) mkdirSync(each);
  git(folder, "init", "-q");
  const address = `sqlite:${join(folder, ".baton", "hub.db")}`;
  const inputOf = (harness: string, event: string, changed: Input) => ({
    ...documentedInputs(harness)[event],
    cwd: folder,
    ...changed,
  });
  const hook: Project["hook"] = (harness, event, changed = {}, words = ["--strict"]) =>
    batonInProcess(["hook", harness, event, "--as", "coder", ...words], {
      env: { HOME: home, USERPROFILE: home },
      input: JSON.stringify(inputOf(harness, event, changed)),
    });
  return {
    folder,
    home,
    address,
    baton: (...words) => run(words, { home, cwd: folder }),
    hook,
    hookProcess(harness, event, changed = {}, words = []) {
      const input = inputOf(harness, event, changed);
      return run(["hook", harness, event, "--as", "coder", ...words], { home, input });
    },
    async claude(event, changed, words) {
      const ran = await hook("claude-code", event, changed, words);
      return { ...ran, shown: shownIn(ran.stdout) };
    },
    open: () => open(address),
  };
}

/** Returns what Claude Code and Codex show their model of a hook's output. */
export function shownIn(stdout: string): string {
  if (stdout === "") return "";
  const answer = JSON.parse(stdout) as { hookSpecificOutput: { additionalContext: string } };
  return answer.hookSpecificOutput.additionalContext;
}

export function git(folder: string, ...words: string[]): void {
  const who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"];
  execFileSync("git", [...who, ...words], { cwd: folder, stdio: "pipe" });
}

/** Runs `baton` as a process. A hook may run in any folder: its input names that of the project. */
export async function run(
  words: readonly string[],
  options: {
    readonly home: string;
    readonly cwd?: string;
    readonly input?: Input | string;
    /** Arguments for Node itself. */
    readonly node?: readonly string[];
  },
): Promise<Run> {
  const { BATON_STORE: _, CLAUDE_CONFIG_DIR: _claude, CODEX_HOME: _codex, ...rest } = process.env;
  const { input = "", node = [] } = options;
  const child = spawn(process.execPath, [...node, BATON, ...words], {
    cwd: options.cwd ?? options.home,
    env: { ...rest, HOME: options.home, USERPROFILE: options.home, NO_COLOR: "1" },
    stdio: ["pipe", "pipe", "pipe"],
  });
  const said = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name].setEncoding("utf8").on("data", (chunk: string) => {
      said[name] += chunk;
    });
  }
  child.stdin.end(typeof input === "string" ? input : JSON.stringify(input));
  const [code] = (await once(child, "close")) as [number | null];
  return { code, ...said };
}
