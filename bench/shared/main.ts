/**
 * Measures reading the shared context for a role within 2,000 tokens: with 100,000 versions of
 * decisions and constraints, of which 200 are live, in turn with 200 that were never changed. Also
 * measures reading with quarantined records, and writing with the long history.
 *
 * The history is written directly to the store, 200 versions per transaction: through the public
 * interface each version would be one commit, and only the resulting store matters here.
 */
import { writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { parseArgs } from "node:util";
import { systemClock } from "../../src/base/clock.ts";
import { randomIdGenerator } from "../../src/base/ids.ts";
import { resolveLimits } from "../../src/base/limits.ts";
import { type Agent, type Hub, LocalHub, type Store } from "../../src/index.ts";
import { SHARED_TAG } from "../../src/memory/keepers.ts";
import { writeRecord } from "../../src/memory/record.ts";
import { type ContextBody, itemTextOf, MEMORY_TYPE } from "../../src/shared-context/items.ts";
import { entryName, putChange, putContextVersion } from "../../src/shared-context/stored-items.ts";
import { openPostgresStore } from "../../src/store/postgres/open.ts";
import { openSqliteStore } from "../../src/store/sqlite/open.ts";
import { startPostgres } from "../engines/postgres.ts";
import { startSqlite } from "../engines/sqlite.ts";
import { quantile } from "../kit.ts";
import { corpus } from "../recall/text.ts";

const HELP = `npm run bench -- --only shared [--versions 100000] [--live 200] [--reads 1000] [--stores sqlite,postgres] [--json FILE]
`;

const SEED = 7;
const TOKENS = 2_000;
const GOAL_MS = 5;
const WRITES = 50;
const MARKED = 20;
const ROLES = ["coder", "reviewer", "tester", "planner"] as const;

interface Timing {
  readonly p50: number;
  readonly p95: number;
  /** CPU time of the event loop's thread per call. */
  readonly threadMs: number;
}

interface Report {
  readonly store: string;
  /** After 200 writes and after all of them, measured in turn. */
  readonly young: Timing;
  readonly old: Timing;
  /** The first read of a hub, before token counts are cached. */
  readonly firstMs: number;
  /** With records quarantined. */
  readonly marked: Timing;
  readonly setting: Timing;
  readonly deciding: Timing;
  readonly tokens: number;
  readonly shown: number;
  readonly omitted: number;
}

export async function runShared(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: "string" },
      versions: { type: "string", default: "100000" },
      live: { type: "string", default: "200" },
      reads: { type: "string", default: "1000" },
      stores: { type: "string", default: "sqlite,postgres" },
      json: { type: "string" },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return;
  }
  const size = {
    versions: Number(values.versions),
    live: Number(values.live),
    reads: Number(values.reads),
  };
  const reports: Report[] = [];
  for (const store of values.stores.split(",")) {
    const report = await measure(store, size);
    printReport(report);
    reports.push(report);
  }
  if (values.json !== undefined) {
    const machine = { cpu: cpus()[0]?.model, cores: cpus().length, node: process.version };
    const dated = { at: new Date().toISOString(), machine, ...size, goalP95: GOAL_MS, reports };
    writeFileSync(values.json, `${JSON.stringify(dated, undefined, 2)}\n`);
  }
}

interface Size {
  readonly versions: number;
  readonly live: number;
  readonly reads: number;
}

async function measure(name: string, { versions, live, reads }: Size): Promise<Report> {
  await using engine = await (name === "postgres" ? startPostgres() : startSqlite());
  await using youngPlace = await engine.place();
  await using oldPlace = await engine.place();
  const [young, old] = [
    await openFilledHub(name, youngPlace.address, { versions: live, live }),
    await openFilledHub(name, oldPlace.address, { versions, live }),
  ];
  const start = performance.now();
  const first = await old.context.text({ role: "coder", tokens: TOKENS });
  const firstMs = performance.now() - start;
  const times = { young: [] as number[], old: [] as number[] };
  await readAll(young, 100, []);
  await readAll(old, 100, []);
  const cpu = { young: 0, old: 0 };
  for (let round = 0; round < 10; round++) {
    cpu.young += await readAll(young, reads / 10, times.young);
    cpu.old += await readAll(old, reads / 10, times.old);
  }
  const lead = await old.agent("lead");
  const setting = await measureWrites(lead, "constraints");
  const deciding = await measureWrites(lead, "decisions");
  const notes = await lead.remember(Array.from({ length: MARKED }, () => ({ content: "Wrong" })));
  await lead.memories.quarantine(
    notes.map(({ id }) => id),
    "To measure",
  );
  const seen: number[] = [];
  const busy = await readAll(old, reads, seen);
  await young.close();
  await old.close();
  return {
    store: name,
    young: timingOf(times.young, cpu.young),
    old: timingOf(times.old, cpu.old),
    firstMs,
    marked: timingOf(seen, busy),
    setting,
    deciding,
    tokens: first.tokens,
    shown: first.items.length,
    omitted: first.omitted.length,
  };
}

const timingOf = (times: readonly number[], threadMs: number): Timing => ({
  p50: quantile(times, 0.5),
  p95: quantile(times, 0.95),
  threadMs: threadMs / times.length,
});

/** Reads for four roles in turn. Returns the CPU time of the thread for all reads. */
async function readAll(hub: Hub, reads: number, times: number[]): Promise<number> {
  const before = process.threadCpuUsage();
  for (let n = 0; n < reads; n++) {
    const role = ROLES[n % ROLES.length] as string;
    const start = performance.now();
    await hub.context.text({ role, tokens: TOKENS });
    times.push(performance.now() - start);
  }
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
}

/** Measures writes through the public interface: read, compare, commit. */
async function measureWrites(lead: Agent, section: "constraints" | "decisions"): Promise<Timing> {
  const times: number[] = [];
  const before = process.threadCpuUsage();
  for (let n = 0; n < WRITES; n++) {
    const now = await lead.context.item(section, `${section}-${n}`);
    if (now === undefined) throw new Error(`${section}-${n} is missing`);
    const { version, memory: _memory, by: _by, at: _at, ...body } = now;
    const start = performance.now();
    await lead.context.set(body, { basedOn: version });
    times.push(performance.now() - start);
  }
  const { user, system } = process.threadCpuUsage(before);
  return timingOf(times, (user + system) / 1_000);
}

async function openFilledHub(
  name: string,
  address: string,
  { versions, live }: { readonly versions: number; readonly live: number },
): Promise<Hub> {
  const limits = resolveLimits();
  const clock = systemClock;
  const store =
    name === "postgres"
      ? await openPostgresStore({ address, clock, limits, create: true })
      : await openSqliteStore({ file: address.slice("sqlite:".length), clock, limits });
  const hub = new LocalHub(store);
  const lead = await hub.agent("lead", { role: "coordinator" });
  await fill(store, { workspace: hub.workspace, author: lead, versions, live });
  return hub;
}

interface FillOptions {
  readonly workspace: string;
  readonly author: Agent;
  readonly versions: number;
  readonly live: number;
}

/** Writes a new version of every live item per transaction until there are enough versions. */
async function fill(
  store: Store,
  { workspace, author, versions, live }: FillOptions,
): Promise<void> {
  const ids = randomIdGenerator(systemClock);
  const recordContext = { ids, now: Date.now(), limits: resolveLimits(), branch: "main" };
  const by = { agent: author.id, instance: author.instance };
  const text = corpus(SEED);
  const names = Array.from({ length: live }, (_, i) => bodyOf(i, text.record(120).text));
  const before: string[] = [];
  for (let version = 0, round = 0; version < versions; version += live, round++) {
    const records = names.map((item, i) => {
      const last = before[i];
      const was = last === undefined ? 0 : version - live + i + 1;
      const { record } = writeRecord(
        by,
        {
          type: MEMORY_TYPE[item.section],
          content: itemTextOf(item),
          data: { version: version + i + 1, was, item },
          tags: [SHARED_TAG],
          ...(last && { relations: [{ kind: "supersedes", to: last }] }),
        },
        recordContext,
      );
      before[i] = record.id;
      return { record, item, was, version: version + i + 1 };
    });
    const outcome = await store.appendMemories({
      workspace,
      branch: "main",
      memories: records.map(({ record }) => record),
      entries: [
        ...records.flatMap(({ record, item, was, version: at }) => [
          {
            kind: "context",
            name: entryName(item),
            value: JSON.stringify({ memory: record.id, version: at }),
            basedOn: round,
          },
          putChange(at, { ...nameIn(item), kind: "set" as const, memory: record.id, was }),
        ]),
        putContextVersion({ version: version + live, live, revision: round }),
      ],
    });
    if (outcome.kind !== "appended")
      throw new Error(`The store refused the history: ${outcome.kind}`);
  }
}

const nameIn = ({ section, key }: ContextBody) => ({ section, key });

/** Returns decisions and constraints in turn; one constraint in ten is a must. */
function bodyOf(i: number, words: string): ContextBody {
  const n = i >> 1;
  if (i % 2 === 0) {
    return {
      section: "decisions",
      key: `decisions-${n}`,
      question: `Which ${words.slice(0, 40)} for part ${n}?`,
      choice: words.slice(40, 80),
      reasons: [words.slice(0, 60)],
      rejected: [{ option: `Option${n}`, why: words.slice(60, 110) }],
    };
  }
  const level = n % 10 === 0 ? "must" : n % 3 === 0 ? "may" : "should";
  return { section: "constraints", key: `constraints-${n}`, rule: words, level };
}

function printReport({
  store,
  young,
  old,
  firstMs,
  marked,
  setting,
  deciding,
  ...rest
}: Report): void {
  const row = (what: string, { p50, p95, threadMs }: Timing): string =>
    `  ${what.padEnd(34)} p50 ${p50.toFixed(2)} ms, p95 ${p95.toFixed(2)} ms, thread ${threadMs.toFixed(2)} ms`;
  process.stdout.write(
    [
      `${store}: ${rest.shown} shown, ${rest.omitted} omitted, ${rest.tokens} tokens; first read ${firstMs.toFixed(1)} ms`,
      row("read, no history", young),
      row(`read (goal p95 ≤ ${GOAL_MS} ms)`, old),
      row("read, with quarantined records", marked),
      row("set a constraint", setting),
      row("decide, with conflict check", deciding),
      "",
    ].join("\n"),
  );
}
