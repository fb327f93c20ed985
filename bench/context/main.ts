/**
 * Measures composing a view: from a SQLite store of 100,000 memories to a text of 4,000 tokens, for
 * a handoff with five references, twenty recent records, five pins and related records. Composes
 * every handoff twice (token counts are cached the second time) and reports where the time goes.
 */
import { writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { systemClock } from "../../src/base/clock.ts";
import { resolveLimits } from "../../src/base/limits.ts";
import { viewOf } from "../../src/context/view/compose.ts";
import { gather } from "../../src/context/view/gather.ts";
import type { View } from "../../src/context/view/view.ts";
import { type Envelope, EnvelopeSchema } from "../../src/envelope/schema.ts";
import { type Hub, LocalHub, type Memory } from "../../src/index.ts";
import { profileOf } from "../../src/profiles/workspace-profiles.ts";
import { openSqliteStore } from "../../src/store/sqlite/open.ts";
import { exactTokenizer } from "../../src/text/tokens.ts";
import type { Workspace } from "../../src/workspace/workspace.ts";
import { type Folder, inScratch, quantile } from "../kit.ts";
import { type Corpus, corpus } from "../recall/text.ts";
import { linesOf } from "./lines.ts";
import { Times, timedTokenizer, timedWorkspace } from "./workspace.ts";

const HELP = `npm run bench -- --only context [--records 100000] [--views 200] [--json FILE]
`;

const SEED = 7;
const BATCH = 500;
/** One record in ten has 4 KB, the others 400 bytes. */
const LONG_EVERY = 10;
const TASKS = 500;
const PINS = 5;
const REFERENCES = 5;
const TOKENS = 4_000;
const GOAL_MS = 25;
const GOAL_RATIO = 1.3;
const LINES = 60;
const TYPES = ["fact", "finding", "decision", "plan", "mistake", "convention", "lesson"] as const;

interface Measured {
  readonly p50: number;
  readonly p95: number;
  /** CPU time per view, of the event loop's thread and of the whole process. */
  readonly threadMs: number;
  readonly processMs: number;
  /** Milliseconds per view, by activity; concurrent activities each count in full. */
  readonly spent: ReturnType<Times["per"]>;
}

interface Report {
  readonly records: number;
  readonly views: number;
  readonly goalP95: number;
  /** Handoffs composed for the first time, and the same ones again. */
  readonly first: Measured;
  readonly again: Measured;
  /** The last handoffs of lines with 2 and with 12 hops. */
  readonly after2: Measured;
  readonly after12: Measured;
  /** Averages per view. */
  readonly tokens: number;
  readonly shown: number;
  readonly omitted: number;
}

export async function runContext(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: "string" },
      records: { type: "string", default: "100000" },
      views: { type: "string", default: "200" },
      json: { type: "string" },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return;
  }
  const report = await inScratch((folder) =>
    measure(folder, Number(values.records), Number(values.views)),
  );
  printReport(report);
  if (values.json !== undefined) {
    const machine = { cpu: cpus()[0]?.model, cores: cpus().length, node: process.version };
    const dated = { at: new Date().toISOString(), machine, ...report };
    writeFileSync(values.json, `${JSON.stringify(dated, undefined, 2)}\n`);
  }
}

async function measure(folder: Folder, records: number, views: number): Promise<Report> {
  const text = corpus(SEED);
  const limits = resolveLimits({ hops: 20 });
  const file = folder.file("context.db");
  const store = await openSqliteStore({ file, clock: systemClock, limits });
  const hub = new LocalHub(store, { limits });
  const memories = await fill(hub, text, records);
  const lines = { text, memories };
  const short = await linesOf(hub, lines, { hops: 2, count: LINES });
  const long = await linesOf(hub, lines, { hops: 12, count: LINES });
  await indexed(hub);
  await hub.index.embed();
  const times = new Times();
  const workspace = timedWorkspace(store, times);
  const warm = Array.from({ length: 20 }, () => envelopeOf(text, memories));
  const envelopes = Array.from({ length: views }, () => envelopeOf(text, memories));
  await composeAll(workspace, times, warm);
  const first = await composeAll(workspace, times, envelopes);
  const again = await composeAll(workspace, times, envelopes);
  await composeAll(workspace, times, [...short.slice(0, 5), ...long.slice(0, 5)]);
  const after2 = await composeAll(workspace, times, short);
  const after12 = await composeAll(workspace, times, long);
  await hub.close();
  const average = (of: (view: View) => number): number =>
    first.views.reduce((sum, view) => sum + of(view), 0) / views;
  return {
    records,
    views,
    goalP95: GOAL_MS,
    first: first.measured,
    again: again.measured,
    after2: after2.measured,
    after12: after12.measured,
    tokens: average((view) => view.tokens),
    shown: average((view) => view.shown.length),
    omitted: average((view) => view.omitted.length),
  };
}

async function composeAll(
  workspace: Workspace,
  times: Times,
  envelopes: readonly Envelope[],
): Promise<{ readonly measured: Measured; readonly views: readonly View[] }> {
  times.clear();
  const tokenizer = timedTokenizer(await exactTokenizer("o200k_base"), times);
  const { name, exact, margin } = tokenizer;
  const budget = { tokens: TOKENS, from: "call", tokenizer: name, exact, margin } as const;
  const took: number[] = [];
  const views: View[] = [];
  const thread = process.threadCpuUsage();
  const whole = process.cpuUsage();
  for (const envelope of envelopes) {
    const start = performance.now();
    const gathered = await gather(workspace, envelope);
    const chosen = performance.now();
    const view = viewOf(gathered, {
      envelope,
      to: { agent: "coder", role: "coder" },
      profile: profileOf("coder"),
      tokenizer,
      budget,
      strategy: "priority",
      boundary: "100",
    });
    const end = performance.now();
    times.add("gather", chosen - start);
    times.add("choose, count and render", end - chosen);
    took.push(end - start);
    views.push(view);
  }
  const perView = ({ user, system }: NodeJS.CpuUsage): number =>
    (user + system) / 1_000 / envelopes.length;
  const measured = {
    p50: quantile(took, 0.5),
    p95: quantile(took, 0.95),
    threadMs: perView(process.threadCpuUsage(thread)),
    processMs: perView(process.cpuUsage(whole)),
    spent: times.per(envelopes.length),
  };
  return { measured, views };
}

/** Spreads the records over 500 tasks; one in four refers to an earlier one. Returns a sample. */
async function fill(hub: Hub, text: Corpus, records: number): Promise<readonly Memory[]> {
  const writer = await hub.agent("writer", { role: "writer" });
  const kept: Memory[] = [];
  let before: readonly Memory[] = [];
  for (let from = 0; from < records; from += BATCH) {
    const inputs = Array.from({ length: Math.min(BATCH, records - from) }, (_, i) => {
      const n = from + i;
      const { text: content } = text.record(n % LONG_EVERY === 0 ? 4_096 : 400);
      const to = before[Math.floor(text.random() * before.length)]?.id;
      const isConnected = to !== undefined && n % 4 === 0;
      return {
        content,
        type: TYPES[n % TYPES.length] as string,
        task: `task-${n % TASKS}`,
        ...(isConnected && { relations: [{ kind: "derived-from" as const, to }] }),
      };
    });
    before = await writer.remember(inputs);
    kept.push(...before.filter((_, i) => i % 25 === 0));
  }
  for (const { id } of kept.slice(0, PINS)) await writer.memories.pin(id);
  return kept;
}

async function indexed(hub: Hub): Promise<void> {
  for (;;) {
    const { records, indexed: done } = await hub.index.state();
    if (records === done) return;
    await sleep(100);
  }
}

function envelopeOf(text: Corpus, memories: readonly Memory[]): Envelope {
  const some = (): Memory => memories[Math.floor(text.random() * memories.length)] as Memory;
  const refs = [...new Set(Array.from({ length: REFERENCES }, some))];
  const [first] = refs as [Memory, ...Memory[]];
  return EnvelopeSchema.parse({
    action: "delegated",
    constraints: [{ id: "api", level: "must", rule: "Do not change the public API." }],
    decisions: [{ id: "store", question: "Which store is it kept in?" }],
    doNotRedo: ["The survey of what there is."],
    done: ["Read what there is.", "Asked who owns it."],
    from: { agent: "planner", instance: "ses" },
    hop: 0,
    id: `env_${first.id.slice("mem_".length)}`,
    intent: text.question(first.content),
    metadata: { createdAt: systemClock.now() },
    next: [text.question(first.content)],
    refs: refs.map(({ id, digest }) => ({ digest, id })),
    state: "Nothing has been changed so far.",
    task: first.task ?? "task-0",
    to: { agent: "coder", kind: "agent" },
    version: "1.0",
    workspace: "default",
  });
}

function printReport(report: Report): void {
  const { records, goalP95, first, again, after2, after12, tokens, shown, omitted } = report;
  const line = (name: string, { p50, p95, threadMs, processMs }: Measured): string =>
    `${name}: p50 ${p50.toFixed(1)} ms, p95 ${p95.toFixed(1)} ms (goal ${goalP95}); CPU ${threadMs.toFixed(1)} ms on the event loop's thread, ${processMs.toFixed(1)} ms in all`;
  const spent = first.spent.map(
    ({ what, ms, calls }) => `  ${what}: ${ms.toFixed(2)} ms in ${calls.toFixed(1)} calls`,
  );
  process.stdout.write(
    `${[
      `${records.toLocaleString("en")} records to ${TOKENS.toLocaleString("en")} tokens (${tokens.toFixed(0)} used, ${shown.toFixed(0)} shown, ${omitted.toFixed(0)} omitted)`,
      line("first", first),
      line("again", again),
      line("after 2 hops", after2),
      line("after 12 hops", after12),
      `12 hops ÷ 2 hops: p50 ${(after12.p50 / after2.p50).toFixed(2)}, p95 ${(after12.p95 / after2.p95).toFixed(2)} (goal ${GOAL_RATIO})`,
      "time of the first, by activity (concurrent activities each count in full)",
      ...spent,
    ].join("\n")}\n`,
  );
}
