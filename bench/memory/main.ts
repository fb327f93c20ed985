/**
 * `npm run bench -- --only memory`: the memory of a hub under a steady load. Drives `baton start` over HTTP with
 * the client (remember, handoff, accept, complete, recall), samples it after full garbage collections, and
 * prints how fast each part grows, and which objects were added after the first samples.
 */
import { writeFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { setTimeout as pause } from "node:timers/promises";
import { parseArgs } from "node:util";
import { openHub } from "../../src/index.ts";
import { type HubProcess, residentMb, startHub } from "../hub-process.ts";
import { inScratch } from "../kit.ts";
import type { Heaps } from "./inspector.ts";
import { heapGrowth } from "./snapshot.ts";

const HELP = `npm run bench -- --only memory [--minutes 15] [--per-second 40] [--every 30] [--json FILE]
--per-second  rounds of remember, handoff, accept, complete and recall that are started per second
--every       seconds between samples
`;
/** Taking a heap snapshot enlarges the process for good, so the first one is taken early. */
const FIRST_SNAPSHOT = 4;
/** Rounds that are under way at most; a busy machine is given fewer than asked for. */
const CALLERS = 8;
const LARGEST_GROWTHS = 12;
const CONTENT = "The port of the service is 8080, and it answers in JSON. ".repeat(5);

interface Sample extends Heaps {
  readonly minute: number;
  readonly rounds: number;
  /** Resident memory: of the process itself, and pages of files. */
  readonly own: number;
  readonly files: number;
}

export async function runMemory(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: "string" },
      minutes: { type: "string", default: "15" },
      "per-second": { type: "string", default: "40" },
      every: { type: "string", default: "30" },
      json: { type: "string" },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return;
  }
  const plan = {
    minutes: Number(values.minutes),
    perSecond: Number(values["per-second"]),
    everyMs: Number(values.every) * 1_000,
  };
  const result = await inScratch(async (folder) => {
    await using hub = await startHub(`sqlite:${folder.file("hub.db")}`, folder.path);
    return await measure(hub, plan);
  });
  report(result);
  if (values.json === undefined) return;
  const machine = { cpu: cpus()[0]?.model, cores: cpus().length, node: process.version };
  const dated = { at: new Date().toISOString(), machine, load: loadavg(), ...plan, ...result };
  writeFileSync(values.json, `${JSON.stringify(dated, undefined, 2)}\n`);
}

interface Plan {
  readonly minutes: number;
  readonly perSecond: number;
  readonly everyMs: number;
}

interface Result {
  readonly samples: readonly Sample[];
  /** Megabytes per hour in the second half of the run. */
  readonly slopes: Readonly<Record<string, number>>;
  readonly grown: ReturnType<typeof heapGrowth>;
}

const PARTS = ["own", "files", "main", "external", "threads"] as const;

async function measure(hub: HubProcess, { minutes, perSecond, everyMs }: Plan): Promise<Result> {
  const load = new Load();
  const running = load.run(hub, perSecond);
  const samples: Sample[] = [];
  let first: string | undefined;
  const started = performance.now();
  process.stdout.write(`minute  rounds  ${PARTS.map((part) => part.padStart(8)).join("")}\n`);
  for (let n = 1; n * everyMs <= minutes * 60_000; n++) {
    await Promise.race([pause(Math.max(0, started + n * everyMs - performance.now())), running]);
    const minute = (performance.now() - started) / 60_000;
    const heaps = await hub.inspector.heaps();
    const sample = { minute, rounds: load.rounds, ...residentMb(hub.pid), ...heaps };
    samples.push(sample);
    const parts = PARTS.map((part) => sample[part].toFixed(1).padStart(8));
    process.stdout.write(
      `${minute.toFixed(1).padStart(6)}${String(load.rounds).padStart(8)}  ${parts.join("")}\n`,
    );
    if (n === FIRST_SNAPSHOT) first = await hub.inspector.snapshot();
  }
  const grown =
    first === undefined ? [] : heapGrowth(first, await hub.inspector.snapshot(), LARGEST_GROWTHS);
  load.stop();
  await running;
  const late = samples.slice(samples.length >> 1);
  const slopes = Object.fromEntries(PARTS.map((part) => [part, slopePerHour(late, part)]));
  return { samples, slopes, grown };
}

/** Starts rounds at a steady rate, each with one operation after the other. */
class Load {
  rounds = 0;
  #stopped = false;

  stop(): void {
    this.#stopped = true;
  }

  async run({ address, token }: HubProcess, perSecond: number): Promise<void> {
    await using hub = await openHub(address, { token });
    const started = performance.now();
    let next = 0;
    const caller = async (_: unknown, which: number): Promise<void> => {
      const ada = await hub.agent(`ada-${which}`, { role: "planner" });
      const bob = await hub.agent(`bob-${which}`, { role: "executor" });
      while (!this.#stopped) {
        const n = next++;
        await pause(Math.max(0, started + (n * 1_000) / perSecond - performance.now()));
        await ada.remember({ content: `${CONTENT} Item ${n}.`, tags: [`tag-${n % 100}`] });
        await ada.handoff({ to: bob.id, task: `task-${n}`, intent: `${CONTENT} Part ${n}.` });
        await (await bob.accept())?.complete({ summary: "Done." });
        await bob.recall(`item ${n}`, { limit: 5 });
        this.rounds++;
      }
    };
    await Promise.all(Array.from({ length: CALLERS }, caller));
  }
}

/** Least squares. */
function slopePerHour(samples: readonly Sample[], part: (typeof PARTS)[number]): number {
  const mean = (values: readonly number[]) =>
    values.reduce((sum, value) => sum + value, 0) / values.length;
  const [x, y] = [mean(samples.map(({ minute }) => minute)), mean(samples.map((s) => s[part]))];
  const above = samples.reduce((sum, s) => sum + (s.minute - x) * (s[part] - y), 0);
  const below = samples.reduce((sum, { minute }) => sum + (minute - x) ** 2, 0);
  return (above / below) * 60;
}

function report({ slopes, grown }: Result): void {
  process.stdout.write("\nMB per hour in the second half:\n");
  for (const [part, slope] of Object.entries(slopes)) {
    process.stdout.write(`  ${part.padEnd(10)}${slope.toFixed(1).padStart(8)}\n`);
  }
  process.stdout.write("\nObjects of the main thread added since the fourth sample:\n");
  for (const { name, count, bytes } of grown) {
    process.stdout.write(`  ${(bytes / 1e3).toFixed(0).padStart(8)} KB  ${count} ${name}\n`);
  }
}
