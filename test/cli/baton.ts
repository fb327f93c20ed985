/** The command line in tests, on a store in a folder of the test's own. */
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
const OUTER = ["BATON_STORE", "BATON_TOKEN", "NO_COLOR", "FORCE_COLOR"] as const;

let last: Promise<unknown> = Promise.resolve();

/**
 * Runs a command in the test's own process, as src/cli/run.ts does in one of its own: ten times as fast. One
 * after the other, because it captures this process's output. Each command runs as a process too, in
 * json.test.ts.
 */
export function batonHere(...words: string[]): Promise<Run> {
  return inTurn(() => captured(words, {}));
}

function inTurn<T>(run: () => Promise<T>): Promise<T> {
  const turn = last.then(run);
  last = turn.catch(() => {});
  return turn;
}

async function captured(
  words: readonly string[],
  env: { readonly BATON_STORE?: string },
): Promise<Run> {
  const outer = OUTER.map((name) => [name, process.env[name]] as const);
  for (const name of OUTER) delete process.env[name];
  Object.assign(process.env, env);
  const said = { stdout: "", stderr: "" };
  const spies = (["stdout", "stderr"] as const).map((name) =>
    vi.spyOn(process[name], "write").mockImplementation((chunk) => {
      said[name] += String(chunk);
      return true;
    }),
  );
  try {
    const code = await dispatch(words).catch((error: unknown) =>
      fail(error, words.includes("--json")),
    );
    return { code, ...said };
  } finally {
    for (const spy of spies) spy.mockRestore();
    for (const [name, value] of outer) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  }
}

export interface TestStore extends Disposable {
  readonly file: string;
  readonly address: string;
  /** Runs a command on this store, in the test's own process: see `batonHere`. */
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
    baton: (...words) => inTurn(() => captured(words, env)),
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
