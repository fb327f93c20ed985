/** The command line in tests, on a store in a folder of the test's own. */
import { Readable } from "node:stream";
import { vi } from "vitest";
import { dispatch } from "../../src/cli/dispatch.ts";
import { fail } from "../../src/cli/failure.ts";
import { type Hub, openHub } from "../../src/index.ts";
import { BATON } from "../support/build/place.ts";
import { type Run, type RunOptions, runScript } from "../support/run-script.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** The command line as it is published (test/support/build). */
export function baton(args: readonly string[], options: RunOptions = {}): Promise<Run> {
  return runScript(BATON, args, options);
}

/** The same from the sources: for what depends on where it runs from. */
export function batonFromSources(args: readonly string[], options: RunOptions = {}): Promise<Run> {
  return runScript("src/cli/main.ts", args, options);
}

/** Set by the test runner or by the person who runs it; no command may depend on them here. */
const OUTER = [
  ...["BATON_STORE", "BATON_TOKEN", "NO_COLOR", "FORCE_COLOR"],
  ...["CLAUDE_CONFIG_DIR", "CODEX_HOME"],
];

interface Around {
  readonly env?: Readonly<Record<string, string>>;
  /** On standard input. */
  readonly input?: string;
}

let last: Promise<unknown> = Promise.resolve();

/** Runs a command in the test's own process: see `here`. */
export const batonHere = (...words: string[]): Promise<Run> => here(words);

/**
 * Runs a command in the test's own process, as src/cli/run.ts does in one of its own: ten times as fast. One
 * after the other, because they share this process's input, output and environment. Each command runs as a
 * process too, in json.test.ts.
 */
export function here(words: readonly string[], around: Around = {}): Promise<Run> {
  const run = last.then(() => captured(words, around));
  last = run.catch(() => {});
  return run;
}

async function captured(words: readonly string[], { env = {}, input }: Around): Promise<Run> {
  using stack = new DisposableStack();
  for (const name of OUTER) stack.defer(setting(name, undefined));
  for (const [name, value] of Object.entries(env)) stack.defer(setting(name, value));
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
    fail(error, words.includes("--json")),
  );
  return { code, ...said };
}

/** Sets a variable, or removes it; the answer undoes that. */
function setting(name: string, value: string | undefined): () => void {
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
  /** Runs a command on this store, in the test's own process: see `here`. */
  baton(...words: string[]): Promise<Run>;
  /** The same in a process of its own. */
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
    baton: (...words) => here(words, { env }),
    process: (...words) => baton(words, { env }),
    open: () => openHub(address),
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  };
}

/** A planner that handed one task to a coder, who has not looked yet. */
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

/** A sender, two coders and a person, and a channel. */
export async function team(store: TestStore): Promise<void> {
  await using hub = await store.open();
  await hub.agent("ada", { role: "planner" });
  await hub.agent("ben", { role: "coder" });
  await hub.agent("cyd", { role: "coder" });
  await hub.agent("pat", { kind: "person" });
  await hub.channel("news");
}
