/**
 * Compares this source tree with another commit: each runs in its own process, and the two take
 * turns. A pair of processes runs several rounds and is then replaced, because one process can be
 * faster than the next for its whole life; the first round of each pair is a warm-up. The result is
 * the median of the ratios within a round, of wall-clock time and of CPU time per operation: CPU
 * time is less noisy.
 */
import { type ChildProcess, execFileSync, fork } from "node:child_process";
import { once } from "node:events";
import { existsSync, symlinkSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { inScratch, median } from "../kit.ts";
import { WORKLOADS } from "./workloads.ts";

const HELP = `npm run bench -- --only against --commit COMMIT [--pairs 4] [--rounds 4] [--workloads append,cycle,fused,delivery]
Compares the working tree with COMMIT. A ratio above 1 means that the working tree is slower.
`;

const ROOT = join(import.meta.dirname, "..", "..");

type Name = keyof typeof WORKLOADS;

interface Measurement {
  readonly micros: number;
  readonly cpuMicros: number;
}

interface Round {
  readonly name: Name;
  readonly then: Measurement;
  readonly now: Measurement;
}

export async function runAgainst(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: "string" },
      commit: { type: "string" },
      pairs: { type: "string", default: "4" },
      rounds: { type: "string", default: "4" },
      workloads: { type: "string", default: Object.keys(WORKLOADS).join(",") },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help || values.commit === undefined) {
    process.stdout.write(HELP);
    process.exitCode = values.help ? 0 : 2;
    return;
  }
  const names = values.workloads.split(",").map(nameOf);
  const commit = git("rev-parse", "--short", values.commit);
  const rounds: Round[] = [];
  await withSourcesOf(commit, async (root) => {
    for (let pair = 0; pair < Number(values.pairs); pair++)
      rounds.push(...(await pairOf(root, names, { rounds: Number(values.rounds), pair })));
  });
  process.stdout.write(`${report(names, rounds)}\n\n`);
  const [load = 0] = loadavg();
  process.stdout.write(
    `Against ${commit}, ${values.pairs} pairs of ${values.rounds} rounds, ${cpus().length} cores of ${cpus()[0]?.model}, load ${load.toFixed(1)}, Node ${process.version}.\n`,
  );
}

function nameOf(text: string): Name {
  if (text in WORKLOADS) return text as Name;
  throw new Error(
    `Unknown workload "${text}": expected one of ${Object.keys(WORKLOADS).join(", ")}.`,
  );
}

/** Checks out the commit into a temporary worktree that uses the packages installed here. */
async function withSourcesOf(commit: string, run: (root: string) => Promise<void>): Promise<void> {
  await inScratch(async (folder) => {
    const root = folder.file("then");
    git("worktree", "add", "--quiet", "--detach", root, commit);
    try {
      const packages = join(ROOT, "node_modules");
      if (existsSync(packages)) symlinkSync(packages, join(root, "node_modules"));
      await run(root);
    } finally {
      git("worktree", "remove", "--force", root);
    }
  });
}

async function pairOf(
  root: string,
  names: readonly Name[],
  { rounds, pair }: { readonly rounds: number; readonly pair: number },
): Promise<Round[]> {
  const then = await startChild(root);
  const now = await startChild(ROOT);
  const measured: Round[] = [];
  try {
    for (let round = 0; round <= rounds; round++)
      for (const name of names) {
        const first = (round + pair) % 2 === 0;
        const before = first ? await ask(then, name) : undefined;
        const own = await ask(now, name);
        const other = before ?? (await ask(then, name));
        if (round > 0) measured.push({ name, then: other, now: own });
      }
  } finally {
    then.kill();
    now.kill();
  }
  return measured;
}

async function startChild(root: string): Promise<ChildProcess> {
  const child = fork(join(import.meta.dirname, "child.ts"), [root]);
  await answerOf(child);
  return child;
}

async function ask(child: ChildProcess, name: Name): Promise<Measurement> {
  child.send(name);
  return (await answerOf(child)) as Measurement;
}

/** Returns the next message. Throws if the process exits instead; its stderr has the reason. */
async function answerOf(child: ChildProcess): Promise<unknown> {
  const over = new AbortController();
  const [answer] = await Promise.race([
    once(child, "message", { signal: over.signal }),
    once(child, "exit", { signal: over.signal }).then(() => {
      throw new Error("A benchmark process exited without a result");
    }),
  ]).finally(() => over.abort());
  return answer;
}

function report(names: readonly Name[], rounds: readonly Round[]): string {
  return [
    "| workload | time before | after | ratio | min … max | CPU before | after | ratio |",
    "|---|---|---|---|---|---|---|---|",
    ...names.map((name) => {
      const own = rounds.filter((round) => round.name === name);
      const ratios = own.map((round) => round.now.micros / round.then.micros);
      const cpu = own.map((round) => round.now.cpuMicros / round.then.cpuMicros);
      const middle = (of: (round: Round) => number) => `${Math.round(median(own.map(of)))} µs`;
      return `| ${name} | ${middle((r) => r.then.micros)} | ${middle((r) => r.now.micros)} | **${median(ratios).toFixed(2)}** | ${Math.min(...ratios).toFixed(2)} … ${Math.max(...ratios).toFixed(2)} | ${middle((r) => r.then.cpuMicros)} | ${middle((r) => r.now.cpuMicros)} | **${median(cpu).toFixed(2)}** |`;
    }),
  ].join("\n");
}

function git(...args: readonly string[]): string {
  return execFileSync("git", args, { cwd: ROOT, encoding: "utf8" }).trim();
}
