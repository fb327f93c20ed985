/**
 * Measures startup time: `baton --version` and the hooks that a harness waits for, from the sources
 * and from the built package, compared with `node -e 0` in the same rounds. Each is a separate
 * process, one after the other. The compile cache is kept between rounds, as it is between two
 * calls by a user; the first round fills it and is not counted.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, writeFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { openHub } from "../../src/index.ts";
import { type Folder, inScratch, median } from "../kit.ts";

const HELP = `npm run bench -- --only startup [--rounds 15] [--package dist/cli/main.js] [--json FILE]
(without a built package, only the sources are measured; npm run build creates it)
`;

const ROOT = join(import.meta.dirname, "..", "..");
const SOURCES = join(ROOT, "src/cli/main.ts");
const VERSION_GOAL_MS = 150;
const HOOK_GOAL_MS = 250;
/** The content of the store: a project of a few weeks. */
const MEMORIES = 500;
const HANDOFFS = 3;

interface Program {
  readonly name: string;
  readonly args: readonly string[];
  readonly input: string;
  readonly goalMs?: number;
}

interface StartupTime {
  readonly name: string;
  readonly medianMs: number;
  readonly leastMs: number;
  /** Milliseconds more than `node -e 0`, in the same rounds. */
  readonly overNodeMs: number;
  readonly goalMs?: number | undefined;
}

export async function runStartup(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: "string" },
      rounds: { type: "string", default: "15" },
      package: { type: "string", default: join(ROOT, "dist/cli/main.js") },
      json: { type: "string" },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return;
  }
  const started = await inScratch((folder) =>
    measure(folder, resolve(values.package), Number(values.rounds)),
  );
  const [load = 0] = loadavg();
  const machine = { cpu: cpus()[0]?.model, cores: cpus().length, load, node: process.version };
  for (const each of started) process.stdout.write(`${rowOf(each)}\n`);
  process.stdout.write(`load average: ${load.toFixed(1)} on ${machine.cores} cores\n`);
  if (values.json === undefined) return;
  const report = { at: new Date().toISOString(), rounds: Number(values.rounds), machine, started };
  writeFileSync(values.json, `${JSON.stringify(report, null, 2)}\n`);
}

async function measure(folder: Folder, built: string, rounds: number): Promise<StartupTime[]> {
  const address = `sqlite:${folder.file("hub.db")}`;
  await fill(address);
  const env = { ...process.env, NODE_COMPILE_CACHE: folder.file("compiled"), BATON_STORE: address };
  const programs = programsIn(folder.path, built);
  const times = new Map<Program, number[]>(programs.map((program) => [program, []]));
  for (let round = 0; round <= rounds; round++) {
    for (const program of programs) {
      const ms = await runMs(program, { cwd: folder.path, env });
      if (round > 0) times.get(program)?.push(ms);
    }
  }
  const [node = []] = times.values();
  return programs.map((program) => {
    const own = times.get(program) ?? [];
    const over = own.map((ms, round) => ms - (node[round] ?? 0));
    const { name, goalMs } = program;
    const medianMs = median(own);
    return { name, medianMs, leastMs: Math.min(...own), overNodeMs: median(over), goalMs };
  });
}

function programsIn(cwd: string, built: string): Program[] {
  const eventBase = { session_id: "bench", transcript_path: join(cwd, "none.jsonl"), cwd };
  const start = { ...eventBase, hook_event_name: "SessionStart", source: "startup" };
  const use = {
    ...eventBase,
    hook_event_name: "PostToolUse",
    tool_name: "Bash",
    tool_input: { command: "npm test" },
    tool_response: { stdout: "47 of 47 tests pass", stderr: "", interrupted: false },
  };
  const entries = { sources: SOURCES, ...(existsSync(built) && { package: built }) };
  return [
    { name: "node -e 0", args: ["-e", "0"], input: "" },
    ...Object.entries(entries).flatMap(([from, entry]) => {
      const hook = (event: object & { readonly hook_event_name: string }): Program => ({
        name: `baton hook ${event.hook_event_name}, ${from}`,
        args: [entry, "hook", "claude-code", event.hook_event_name, "--strict"],
        input: JSON.stringify(event),
        goalMs: HOOK_GOAL_MS,
      });
      const version = { args: [entry, "--version"], input: "", goalMs: VERSION_GOAL_MS };
      return [{ name: `baton --version, ${from}`, ...version }, hook(start), hook(use)];
    }),
  ];
}

async function fill(address: string): Promise<void> {
  await using hub = await openHub(address);
  const lead = await hub.agent("lead", { role: "planner" });
  await hub.agent("claude-code", { role: "coder" });
  const contents = Array.from({ length: MEMORIES }, (_, i) => `What was found on day ${i}.`);
  await lead.remember(contents.map((content) => ({ content, task: "auth" })));
  for (let i = 0; i < HANDOFFS; i++) {
    await lead.handoff({ to: "claude-code", task: `part-${i}`, intent: "Refactor auth" });
  }
}

async function runMs(
  { name, args, input }: Program,
  options: { readonly cwd: string; readonly env: NodeJS.ProcessEnv },
): Promise<number> {
  const startedAt = performance.now();
  const child = spawn(process.execPath, args, { ...options, stdio: ["pipe", "ignore", "inherit"] });
  child.stdin.end(input);
  const [code] = (await once(child, "close")) as [number | null];
  if (code !== 0) throw new Error(`${name} exited with code ${code}`);
  return performance.now() - startedAt;
}

function rowOf({ name, medianMs, leastMs, overNodeMs, goalMs }: StartupTime): string {
  const over = `+${overNodeMs.toFixed(0)} over node`.padStart(16);
  const goal =
    goalMs === undefined ? "" : ` (goal ${goalMs}: ${medianMs <= goalMs ? "met" : "missed"})`;
  const least = leastMs.toFixed(0).padStart(4);
  return `${name.padEnd(34)} ${medianMs.toFixed(0).padStart(5)} ms, min ${least}, ${over}${goal}`;
}
