/** Helpers that run the command line on a store in a temporary folder. */
import { Readable } from "node:stream";
import { vi } from "vitest";
import { dispatch } from "../../src/cli/dispatch.ts";
import { printError } from "../../src/cli/render/error.ts";
import { type Hub, openHub } from "../../src/index.ts";
import { BATON } from "../support/build/place.ts";
import { type Run, type RunOptions, runScript } from "../support/run-script.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** Runs the published build of the command line (test/support/build) in a child process. */
export function baton(args: readonly string[], options: RunOptions = {}): Promise<Run> {
  return runScript(BATON, args, options);
}

/** Runs the command line from the sources, for behaviour that depends on where it is installed. */
export function batonFromSources(args: readonly string[], options: RunOptions = {}): Promise<Run> {
  return runScript("src/cli/main.ts", args, options);
}

/**
 * Environment variables that the test runner or its user may have set; commands run without them.
 */
const INHERITED = [
  ...["BATON_STORE", "BATON_TOKEN", "NO_COLOR", "FORCE_COLOR"],
  ...["CLAUDE_CONFIG_DIR", "CODEX_HOME"],
];

interface InProcessOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Standard input. */
  readonly input?: string;
}

let last: Promise<unknown> = Promise.resolve();

/**
 * Runs a command in the test's own process, which is ten times as fast as a child process. Calls
 * run one after the other, because they share this process's input, output and environment.
 * json.test.ts also runs each command as a child process.
 */
export function batonInProcess(
  words: readonly string[],
  options: InProcessOptions = {},
): Promise<Run> {
  const run = last.then(() => capture(words, options));
  last = run.catch(() => {});
  return run;
}

async function capture(
  words: readonly string[],
  { env = {}, input }: InProcessOptions,
): Promise<Run> {
  using stack = new DisposableStack();
  for (const name of INHERITED) stack.defer(setVariable(name, undefined));
  for (const [name, value] of Object.entries(env)) stack.defer(setVariable(name, value));
  if (input !== undefined) {
    const stdin = vi.spyOn(process, "stdin", "get");
    stack.defer(() => stdin.mockRestore());
    stdin.mockReturnValue(Readable.from([Buffer.from(input)]) as typeof process.stdin);
  }
  const said = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    const write = vi.spyOn(process[name], "write").mockImplementation((chunk) => {
      said[name] += String(chunk);
      return true;
    });
    stack.defer(() => write.mockRestore());
  }
  const code = await dispatch(words).catch((error: unknown) =>
    printError(error, words.includes("--json")),
  );
  return { code, ...said };
}

/** Sets or deletes an environment variable. Returns a function that restores it. */
function setVariable(name: string, value: string | undefined): () => void {
  const before = process.env[name];
  const set = (to: string | undefined): void => {
    if (to === undefined) delete process.env[name];
    else process.env[name] = to;
  };
  set(value);
  return () => set(before);
}

export interface TestStore extends Disposable {
  readonly file: string;
  readonly address: string;
  /** Runs a command on this store in the test's own process; see `batonInProcess`. */
  baton(...words: string[]): Promise<Run>;
  /** Runs a command on this store in a child process. */
  process(...words: string[]): Promise<Run>;
  open(): Promise<Hub>;
}

export function testStore(): TestStore {
  const folder = temporaryFolder();
  const file = folder.file("hub.db");
  const address = `sqlite:${file}`;
  const env = { BATON_STORE: address };
  return {
    file,
    address,
    baton: (...words) => batonInProcess(words, { env }),
    process: (...words) => baton(words, { env }),
    open: () => openHub(address),
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  };
}

/**
 * Registers a planner and a coder; the planner hands over one task, which the coder has not
 * claimed.
 */
export async function withHandoff(store: TestStore): Promise<void> {
  await using hub = await store.open();
  const planner = await hub.agent("planner", { role: "planner", aliases: ["plan-bot"] });
  await hub.agent("coder", { role: "coder" });
  const plan = await planner.remember({ type: "plan", task: "auth", content: "Split, then test." });
  await planner.handoff({
    to: "coder",
    task: "auth",
    intent: "Refactor auth",
    next: ["Extract validateToken()"],
    constraints: ["Keep the fixtures", { level: "should", rule: "Stay small" }],
    doNotRedo: ["Choosing a library"],
    refs: [plan.id],
  });
}

/** Registers a sender, two coders and a person, and creates a channel. */
export async function team(store: TestStore): Promise<void> {
  await using hub = await store.open();
  await hub.agent("ada", { role: "planner" });
  await hub.agent("ben", { role: "coder" });
  await hub.agent("cyd", { role: "coder" });
  await hub.agent("pat", { kind: "person" });
  await hub.channels.set("news");
}
