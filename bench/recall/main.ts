/**
 * Measures recall by store size: on SQLite, with natural-language records of 200 bytes and 4 KB,
 * with filters and relations. Compares it with the engine's own ranking (`ORDER BY bm25()`) over
 * the same texts in the same run, question by question, and with the top ten of an exhaustive
 * search. Also measures the event-loop delay during searches, the process's memory, and the index
 * lag behind a steady stream of records.
 */
import { writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { systemClock } from "../../src/base/clock.ts";
import { resolveLimits } from "../../src/base/limits.ts";
import { type Hub, openHub } from "../../src/index.ts";
import { queryOf } from "../../src/search/query.ts";
import { EFFORT } from "../../src/search/rank.ts";
import { WEIGHTS } from "../../src/search/weights.ts";
import { openSqliteStore } from "../../src/store/sqlite/open.ts";
import { ANONYMOUS_READER, END_OF_BRANCH } from "../../src/store/visibility.ts";
import { type Folder, inScratch, quantile } from "../kit.ts";
import { type Corpus, corpus } from "./text.ts";

const HELP = `npm run bench -- --only recall [--sizes 10000,100000,1000000] [--questions 200] [--words-only] [--json FILE]
`;

const SEED = 5;
const BATCH = 500;
const SESSION = 40;
/** One record in ten has 4 KB, the others 200 bytes. */
const LONG_EVERY = 10;
const AGENTS = 8;
const GOALS: Readonly<Record<number, number>> = { 10000: 5, 100000: 12, 1000000: 25 };

interface Row {
  readonly records: number;
  readonly fillS: number;
  readonly indexS: number;
  readonly embedS: number;
  readonly p50: number;
  readonly p95: number;
  readonly goal: number | undefined;
  readonly filteredP95: number;
  readonly bm25P95: number;
  readonly kept: number;
  readonly loopMaxMs: number;
  readonly rssMb: number;
  readonly rssBeforeMb: number;
}

export async function runRecall(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: "string" },
      sizes: { type: "string", default: "10000,100000,1000000" },
      questions: { type: "string", default: "200" },
      "words-only": { type: "boolean", default: false },
      json: { type: "string" },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return;
  }
  const rows: Row[] = [];
  for (const size of values.sizes.split(",").map(Number)) {
    const row = await inScratch((folder) =>
      measure(folder, size, {
        count: Number(values.questions),
        meaning: !values["words-only"],
      }),
    );
    rows.push(row);
    printRow(row);
  }
  const lag = await inScratch(indexLag);
  process.stdout.write(
    `index lag at ${lag.rate.toFixed(0)} appends/s: p50 ${lag.p50.toFixed(0)} ms, p95 ${lag.p95.toFixed(0)} ms, max ${lag.most.toFixed(0)} ms (goal 1,000)\n`,
  );
  if (values.json !== undefined) {
    const machine = { cpu: cpus()[0]?.model, cores: cpus().length, node: process.version };
    const report = { at: new Date().toISOString(), machine, rows, lag };
    writeFileSync(values.json, `${JSON.stringify(report, undefined, 2)}\n`);
  }
}

function printRow(row: Row): void {
  const goal = row.goal === undefined ? "" : ` (goal ${row.goal})`;
  process.stdout.write(
    `${[
      `${row.records.toLocaleString("en")} records`,
      `p50 ${row.p50.toFixed(1)} ms, p95 ${row.p95.toFixed(1)} ms${goal}`,
      `filtered p95 ${row.filteredP95.toFixed(1)} ms`,
      `bm25() p95 ${row.bm25P95.toFixed(1)} ms (recall ÷ bm25(): ${(row.p95 / row.bm25P95).toFixed(3)})`,
      `finds ${(row.kept * 100).toFixed(1)} % of the exhaustive top ten`,
      `event loop blocked for at most ${row.loopMaxMs.toFixed(1)} ms`,
      `memory ${row.rssBeforeMb.toFixed(0)} → ${row.rssMb.toFixed(0)} MB`,
      `filled in ${row.fillS.toFixed(0)} s, indexed ${row.indexS.toFixed(0)} s later, embedded in ${row.embedS.toFixed(0)} s`,
    ].join("\n  ")}\n`,
  );
}

async function measure(
  folder: Folder,
  size: number,
  { count, meaning }: { count: number; meaning: boolean },
): Promise<Row> {
  const text = corpus(SEED);
  const address = `sqlite:${folder.file("recall.db")}`;
  const peer = new DatabaseSync(folder.file("peer.db"));
  peer.exec("pragma journal_mode = wal; pragma synchronous = off; pragma cache_size = -64000");
  peer.exec("create virtual table texts using fts5 (text, tokenize = 'porter unicode61')");
  await using hub = await openHub(address, meaning ? {} : { embedder: false });
  const began = performance.now();
  const texts = await fill(hub, peer, { text, size });
  const fillS = (performance.now() - began) / 1_000;
  const indexS = await indexed(hub);
  const start = performance.now();
  await hub.index.embed();
  const embedS = (performance.now() - start) / 1_000;
  const questions = Array.from({ length: count }, () =>
    text.question(texts[Math.floor(text.random() * texts.length)] as string),
  );
  for (const question of questions.slice(0, 20)) await hub.recall(question);
  const rssBeforeMb = process.memoryUsage.rss() / 2 ** 20;
  const own: number[] = [];
  const filtered: number[] = [];
  const bm25: number[] = [];
  const rank = peer.prepare(
    "select rowid from texts where texts match ? order by bm25(texts) limit 50",
  );
  for (const [n, question] of questions.entries()) {
    own.push(await elapsedMs(() => hub.recall(question)));
    const filter = n % 2 === 0 ? { agent: `agent-${n % AGENTS}` } : { tag: `tag-${n % 50}` };
    filtered.push(await elapsedMs(() => hub.recall(question, { ...filter, depth: 2 })));
    if (n % 4 === 0) bm25.push(await elapsedMs(() => rank.all(matchOf(question))));
  }
  const loopMaxMs = await loopWhile(async () => {
    for (const question of questions.slice(0, 100)) await hub.recall(question);
  });
  const rssMb = process.memoryUsage.rss() / 2 ** 20;
  // An exhaustive search of a million records takes seconds.
  const compared = size < 1_000_000 ? 100 : 20;
  const kept = await topTenRecall(folder.file("recall.db"), questions.slice(0, compared));
  peer.close();
  return {
    records: size,
    fillS,
    indexS,
    embedS,
    p50: quantile(own, 0.5),
    p95: quantile(own, 0.95),
    goal: GOALS[size],
    filteredP95: quantile(filtered, 0.95),
    bm25P95: quantile(bm25, 0.95),
    kept,
    loopMaxMs,
    rssMb,
    rssBeforeMb,
  };
}

/** Writes the records; one in a hundred refers to an earlier one. Returns texts to ask about. */
async function fill(
  hub: Hub,
  peer: DatabaseSync,
  { text, size }: { text: Corpus; size: number },
): Promise<string[]> {
  const agents = await Promise.all(
    Array.from({ length: AGENTS }, (_, n) => hub.agent(`agent-${n}`, { role: "writer" })),
  );
  const add = peer.prepare("insert into texts (rowid, text) values (?, ?)");
  const kept: string[] = [];
  let connected: string | undefined;
  for (let from = 0; from < size; from += BATCH) {
    peer.exec("begin");
    const batch = Array.from({ length: Math.min(BATCH, size - from) }, (_, i) => {
      const n = from + i;
      const { text: content, topic } = text.record(n % LONG_EVERY === 0 ? 4_096 : 200);
      add.run(n + 1, content);
      if (n % Math.ceil(size / 2_000) === 0) kept.push(content);
      return {
        content,
        session: `session ${Math.floor(n / SESSION)}`,
        task: `task-${topic % 500}`,
        tags: [`tag-${n % 50}`],
        ...(connected !== undefined && n % 100 === 0
          ? { relations: [{ kind: "derived-from" as const, to: connected }] }
          : {}),
      };
    });
    peer.exec("commit");
    const agent = agents[Math.floor(from / BATCH) % AGENTS] as (typeof agents)[number];
    const memories = await agent.remember(batch);
    connected = memories.at(-1)?.id;
  }
  return kept;
}

async function indexed(hub: Hub): Promise<number> {
  const start = performance.now();
  for (;;) {
    const { records, indexed: done } = await hub.index.state();
    if (records - done < 512) return (performance.now() - start) / 1_000;
    await sleep(100);
  }
}

/** Returns the longest event-loop delay during `run`, which must not query the peer: it blocks. */
async function loopWhile(run: () => Promise<void>): Promise<number> {
  await sleep(50);
  const loop = monitorEventLoopDelay({ resolution: 1 });
  loop.enable();
  await run();
  loop.disable();
  return loop.max / 1e6;
}

async function elapsedMs(run: () => unknown): Promise<number> {
  const start = performance.now();
  await run();
  return performance.now() - start;
}

const matchOf = (question: string): string =>
  queryOf(question)
    .terms.map(({ word }) => `"${word}"`)
    .join(" OR ");

/** Returns the share of an exhaustive search's top ten that is in the top ten. Words only. */
async function topTenRecall(file: string, questions: readonly string[]): Promise<number> {
  const store = await openSqliteStore({ file, clock: systemClock, limits: resolveLimits() });
  const search = async (question: string, effort: typeof EFFORT): Promise<string[]> => {
    const found = await store.search({
      workspace: "default",
      sight: {
        lines: [{ branch: "main", upTo: END_OF_BRANCH }],
        reader: ANONYMOUS_READER,
        traces: false,
        quarantined: [],
      },
      filter: {},
      ranking: {
        query: queryOf(question),
        weights: WEIGHTS,
        now: 0,
        graph: { depth: 1, visits: 200 },
        superseded: "left-out",
        effort,
      },
      limit: 10,
    });
    return found.hits.map((hit) => hit.row.id);
  };
  let same = 0;
  let all = 0;
  for (const question of questions) {
    const exhaustive = await search(question, { postings: 20_000_000, candidates: 2_000 });
    const found = new Set(await search(question, EFFORT));
    same += exhaustive.filter((id) => found.has(id)).length;
    all += exhaustive.length;
  }
  await store.close();
  return same / all;
}

const LAG_RATE = 5_000;
const LAG_SECONDS = 20;

/** Samples the age of the oldest record missing from the index while records stream in. */
async function indexLag(folder: Folder) {
  const text = corpus(SEED + 1);
  await using hub = await openHub(`sqlite:${folder.file("lag.db")}`);
  const agent = await hub.agent("writer", { role: "writer" });
  const stamps: { readonly records: number; readonly at: number }[] = [];
  const lags: number[] = [];
  const contents = Array.from({ length: 2_000 }, () => text.record(300).text);
  const began = performance.now();
  let records = 0;
  let streaming = true;
  const sampler = (async () => {
    while (streaming) {
      await sleep(50);
      const { indexed: done } = await hub.index.state();
      const oldest = stamps.find((stamp) => stamp.records > done);
      lags.push(oldest === undefined ? 0 : performance.now() - oldest.at);
    }
  })();
  while (performance.now() - began < LAG_SECONDS * 1_000) {
    const due = Math.floor(((performance.now() - began) / 1_000) * LAG_RATE);
    const batch = Math.min(100, due - records);
    if (batch <= 0) {
      await sleep(1);
      continue;
    }
    await agent.remember(
      Array.from({ length: batch }, (_, i) => ({
        content: contents[(records + i) % 2_000] as string,
      })),
    );
    records += batch;
    stamps.push({ records, at: performance.now() });
  }
  streaming = false;
  await sampler;
  return {
    rate: records / ((performance.now() - began) / 1_000),
    p50: quantile(lags, 0.5),
    p95: quantile(lags, 0.95),
    most: Math.max(...lags),
  };
}
