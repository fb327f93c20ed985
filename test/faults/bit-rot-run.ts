/**
 * Flips random bits in the live pages of a filled store, one at a time, and runs `verify` on each damaged
 * copy. A flip that changes a row, or what an index finds, must be reported. The seed chooses the flips; ids
 * and keys in the store are random, so a copy that was missed is kept.
 */
import { createHash } from "node:crypto";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { systemClock } from "../../src/base/clock.ts";
import { DEFAULT_LIMITS } from "../../src/base/limits.ts";
import { isBatonError, openHub } from "../../src/index.ts";
import { openSqliteStore } from "../../src/store/sqlite/open.ts";
import { randomFrom } from "../support/random.ts";
import { openRichStore } from "../support/rich-store.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const WORKSPACES = ["default", "other"];
const MODEL = "test";
const DIMENSIONS = 64;
/** Handoffs in addition to those of the rich store, so that tables and indexes have several pages. */
const HANDOFFS = 60;
/** Bytes 24–27 and 92–99 of the header: a change counter and the version of SQLite that wrote last. */
const isIdle = (offset: number): boolean =>
  (offset >= 24 && offset < 28) || (offset >= 92 && offset < 100);

/** What a run found. */
export interface BitRotReport {
  readonly flips: number;
  /** Flips that changed what is stored or what an index finds. */
  readonly changed: number;
  readonly reported: number;
  /** Flips that changed something and were not reported, or made `verify` fail with another error. */
  readonly missed: readonly string[];
}

export interface BitRotOptions {
  readonly flips: number;
  readonly seed: number;
  readonly onFlip?: (done: number) => void;
}

/** Runs `flips` flips, chosen by the seed. */
export async function bitRotRun({ flips, seed, onFlip }: BitRotOptions): Promise<BitRotReport> {
  using folder = temporaryFolder();
  const random = randomFrom(seed);
  const made = folder.file("made.db");
  await fill(made);
  const sound = observe(made);
  if (!/^[0-9a-f]{64}$/.test(sound)) throw new Error(`the filled store cannot be read: ${sound}`);
  const bytes = readFileSync(made);
  const { pages, pageSize } = livePages(made);
  const missed: string[] = [];
  let changed = 0;
  for (let n = 1; n <= flips; n++) {
    const page = pages[random.below(pages.length)] as LivePage;
    const offset = (page.number - 1) * pageSize + random.below(pageSize);
    const bit = random.below(8);
    const copy = folder.file(`flip-${n}.db`);
    const damaged = Buffer.from(bytes);
    damaged[offset] = (damaged[offset] ?? 0) ^ (1 << bit);
    writeFileSync(copy, damaged);
    const isChanged = !isIdle(offset) && observe(copy) !== sound;
    if (isChanged) {
      changed++;
      const outcome = await reportOn(copy);
      if (outcome !== "reported") {
        const kept = join(tmpdir(), `baton-bit-rot-${seed}-${n}.db`);
        writeFileSync(kept, damaged);
        missed.push(`bit ${bit} of byte ${offset} (${page.name}) in ${kept}: ${outcome}`);
      }
    }
    for (const suffix of ["", "-wal", "-shm", ".index", ".index-wal", ".index-shm"])
      rmSync(copy + suffix, { force: true });
    onFlip?.(n);
  }
  return { flips, changed, reported: changed - missed.length, missed };
}

/** Fills a store with rows of every kind, and closes it, so that all of it is in the file. */
async function fill(file: string): Promise<void> {
  const { hub, other } = await openRichStore(file);
  await hub.close();
  await other.close();
  await using filled = await openHub(`sqlite:${file}`);
  const [planner, coder] = [await filled.agent("planner"), await filled.agent("reviewer")];
  for (let n = 0; n < HANDOFFS; n++) {
    await planner.handoff({ to: "reviewer", task: `bulk-${n}`, intent: `Do part ${n}` });
    if (n % 3 === 0) continue;
    await using work = await coder.accept({ task: `bulk-${n}` });
    if (n % 3 === 1) await work?.complete({ summary: `part ${n} is done` });
    else await work?.fail({ message: `part ${n} failed` });
  }
  await addVectors(file);
}

/** Stores a vector for every record. */
async function addVectors(file: string): Promise<void> {
  const store = await openSqliteStore({ file, clock: systemClock, limits: DEFAULT_LIMITS });
  const [workspace = ""] = WORKSPACES;
  const { records, upTo } = await store.findUnembedded({ workspace, model: MODEL, limit: 10_000 });
  const vectors = records.map(({ pos }) => ({
    pos,
    vector: Float32Array.from({ length: DIMENSIONS }, (_, d) => Math.sin(pos * (d + 1))),
    signature: Uint32Array.of(pos, ~pos, pos * 7, pos * 31),
  }));
  await store.putVectors({ workspace, model: MODEL, dimensions: DIMENSIONS, vectors, upTo });
  await store.close();
}

interface LivePage {
  readonly number: number;
  readonly name: string;
}

/** Lists the pages of tables and indexes. */
function livePages(file: string): { pages: LivePage[]; pageSize: number } {
  const db = new DatabaseSync(file, { readOnly: true });
  try {
    const pages = db.prepare("select pageno as number, name from dbstat order by pageno").all();
    const { page_size: pageSize } = db.prepare("pragma page_size").get() as { page_size: number };
    return { pages: pages as unknown as LivePage[], pageSize };
  } finally {
    db.close();
  }
}

/** Returns a digest of all rows, and of what every index contains; or the error of reading them. */
function observe(file: string): string {
  const hash = createHash("sha256");
  let db: DatabaseSync | undefined;
  try {
    db = new DatabaseSync(file, { readOnly: true });
    const schema = db.prepare("select type, name, tbl_name, sql from sqlite_schema").all();
    hash.update(JSON.stringify(schema));
    for (const { type, name, tbl_name: table, sql } of schema) {
      if (String(name) === "sqlite_sequence") continue; // Only the next number of a model.
      const query =
        type === "table" ? tableQuery(db, String(name)) : indexQuery(db, String(name), table, sql);
      const statement = db.prepare(query);
      statement.setReturnArrays(true);
      for (const row of statement.iterate()) hash.update(JSON.stringify(row));
    }
    return hash.digest("hex");
  } catch (error) {
    return String(error);
  } finally {
    db?.close();
  }
}

/** When a step was applied is for people who read the file. */
const tableQuery = (db: DatabaseSync, table: string): string => {
  const columns = db.prepare(`pragma table_info("${table}")`).all();
  const names = columns
    .map(({ name }) => `"${name}"`)
    .filter((name) => name !== '"at"' || table !== "migrations");
  return `select ${names.map((name) => `hex(${name}), typeof(${name})`).join(", ")} from "${table}" not indexed`;
};

/** Reads the index alone, without the table. */
function indexQuery(db: DatabaseSync, index: string, table: unknown, sql: unknown): string {
  const columns = db.prepare(`pragma index_xinfo("${index}")`).all();
  const names = columns.map(({ name }) => (name === null ? "rowid" : `"${name}"`)).join(", ");
  const [, where = "1"] = / where (.*)$/is.exec(String(sql ?? "")) ?? [];
  return `select ${names} from "${table}" indexed by "${index}" where ${where} order by ${names}`;
}

/** Returns "reported" if `verify` names a problem, or if the damaged store is refused. */
async function reportOn(file: string): Promise<string> {
  try {
    for (const workspace of WORKSPACES) {
      await using hub = await openHub(`sqlite:${file}`, { workspace });
      const { problems } = await hub.verify();
      if (problems.length > 0) return "reported";
    }
    return "no problems";
  } catch (error) {
    if (isBatonError(error)) return "reported";
    return error instanceof Error ? (error.stack ?? error.message) : String(error);
  }
}
