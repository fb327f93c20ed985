/**
 * Repairs a damaged file as far as that needs no guess: rebuilds indexes, relations, agent names and vectors,
 * which can be derived from rows that verify. Everything else is left as it is and reported.
 *
 * An index and its table can disagree because either of them is damaged. The index is rebuilt only if the
 * table is proven right: with the new index no problem is left, no other index of the table disagrees, and
 * the two differ in no column that only the index could confirm (`UNCONFIRMED`). All of it is one
 * transaction, and the damaged file is kept under another name. The search index is derived and deleted.
 */
import type { DatabaseSync } from "node:sqlite";
import type { Clock } from "../../../base/clock.ts";
import { edgesIn } from "../../archive.ts";
import { rawAgentOf } from "../../codecs.ts";
import type { Problem } from "../../verify-report.ts";
import { retryWhileBusy } from "../commit.ts";
import { connect } from "../connection.ts";
import { isConstraintViolation, storeFailure } from "../failures.ts";
import { inspect } from "../inspect.ts";
import { type ModelColumns, modelSum, vectorSum } from "../row-sums.ts";
import { numberOf } from "../scalar.ts";
import { removeIndex } from "../search/index-file.ts";
import { prepareStatements, type Statements } from "../statements.ts";
import { copyPages } from "./backup.ts";

/** Which file to repair. */
export interface RepairOptions {
  readonly file: string;
  /** Reports what would be repaired, and changes nothing. */
  readonly dryRun: boolean;
  readonly busyMs: number;
  readonly clock: Clock;
}

/** What was repaired, and what could not be. */
export interface RepairResult {
  /** What was rebuilt, for example `index deliveries_ready`. */
  readonly rebuilt: readonly string[];
  /** The problems that are left. */
  readonly problems: readonly Problem[];
  /** Path of the copy of the damaged file; empty: nothing was changed. */
  readonly kept: string;
}

/** Repairs a file. Throws `store_busy`, and `store_corrupt` if the file cannot be read at all. */
export async function repairFile(options: RepairOptions): Promise<RepairResult> {
  const { file } = options;
  const db = await retryWhileBusy(() => connect(file), options);
  try {
    await retryWhileBusy(() => db.exec("begin immediate"), options);
    return await repairInTransaction(db, options);
  } catch (error) {
    throw storeFailure(error, file);
  } finally {
    db.close(); // Rolls back what was not committed.
  }
}

async function repairInTransaction(
  db: DatabaseSync,
  { file, dryRun, clock }: RepairOptions,
): Promise<RepairResult> {
  const sql = prepareStatements(db);
  const found = await problemsOf(db, sql);
  const rebuilt = await rebuild(db, sql, found);
  if (rebuilt.length === 0) return { rebuilt, problems: found, kept: "" };
  const problems = await problemsOf(db, sql);
  if (dryRun) return { rebuilt, problems, kept: "" };
  const kept = `${file}.before-${new Date(clock.now()).toISOString().replace(/[:.]/g, "-")}`;
  await copyPages(file, kept, () => {}); // A connection of its own: it copies what was committed before.
  db.exec("commit");
  removeIndex(file);
  return { rebuilt, problems, kept };
}

async function problemsOf(db: DatabaseSync, sql: Statements): Promise<readonly Problem[]> {
  return (await inspect({ db, sql, onProgress: () => {} })).problems;
}

/** Rebuilds what can be derived and returns what that was. Undoes it if that causes other problems. */
async function rebuild(
  db: DatabaseSync,
  sql: Statements,
  found: readonly Problem[],
): Promise<readonly string[]> {
  if (found.length === 0 || found.some(({ field }) => field === "pages")) return [];
  const damaged = new Set(found.flatMap(({ field }) => INDEX_FIELD.exec(field)?.[1] ?? []));
  db.exec("savepoint repair");
  const rebuilt = damaged.size > 0 ? rebuildIndexes(db, [...damaged]) : rebuildRows(db, sql, found);
  const left = await problemsOf(db, sql);
  const known = new Set(found.map((each) => JSON.stringify(each)));
  // With a problem left, it may be the table that is damaged, and not its index.
  const isSafe =
    damaged.size > 0 ? left.length === 0 : left.every((each) => known.has(JSON.stringify(each)));
  if (isSafe) return rebuilt;
  db.exec("rollback to repair");
  return [];
}

const INDEX_FIELD = /^index (\w+)$/;

/** Columns that neither the chain nor a row sum confirms, so that an index and its table are equally likely. */
const UNCONFIRMED: readonly string[] = ["lease_until", "lapse_at"];
/** Tables whose row numbers only one index has. */
const NUMBERED: readonly string[] = ["attempts", "event_groups", "models"];

/** Rebuilds the indexes if each is proven to be what is damaged; otherwise none. */
function rebuildIndexes(db: DatabaseSync, names: readonly string[]): readonly string[] {
  const indexes = names.map((name) => readIndex(db, name));
  const tables = new Set(indexes.map(({ table }) => table));
  if (tables.size < indexes.length || !indexes.every((index) => isProven(db, index))) return [];
  try {
    for (const { name } of indexes) db.exec(`reindex "${name}"`);
  } catch (error) {
    if (isConstraintViolation(error)) return []; // Two rows of the table have one key.
    throw error;
  }
  return names.map((name) => `index ${name}`);
}

interface Index {
  readonly name: string;
  readonly table: string;
  readonly columns: readonly string[];
  /** The condition of a partial index. */
  readonly where: string;
}

function readIndex(db: DatabaseSync, name: string): Index {
  const { table, sql } = db
    .prepare(
      "select tbl_name as \"table\", sql from sqlite_schema where type = 'index' and name = ?",
    )
    .get(name) as { table: string; sql: string | null };
  const columns = db
    .prepare(`pragma index_xinfo("${name}")`)
    .all()
    .map((column) => String(column["name"] ?? "rowid"));
  const [, where = "true"] = / where (.*)$/is.exec(sql ?? "") ?? [];
  return { name, table, columns, where };
}

/** Returns whether the differences between an index and its table can only be damage of the index. */
function isProven(db: DatabaseSync, index: Index): boolean {
  const { columns, table, where } = index;
  if (!columns.includes("rowid")) return true; // Agents have a digest, and relations are on the chain.
  const [entries, rows] = [`indexed by "${index.name}"`, "not indexed"].map((how) =>
    byNumber(db, `select ${columns.join(", ")} from "${table}" ${how} where ${where}`),
  ) as [Entries, Entries];
  const missing = [...rows.keys()].some((number) => !entries.has(number));
  const extra = [...entries.keys()].some((number) => !rows.has(number));
  if (missing && extra && NUMBERED.includes(table)) return false;
  return [...entries].every(([number, entry]) => {
    const row = rows.get(number);
    if (row === undefined) return true;
    return columns.every((name, i) => entry[i] === row[i] || !UNCONFIRMED.includes(name));
  });
}

type Entries = ReadonlyMap<unknown, readonly unknown[]>;

/** Returns the rows of a query by their last column, the row number. */
function byNumber(db: DatabaseSync, sql: string): Entries {
  const statement = db.prepare(sql);
  statement.setReturnArrays(true);
  const rows = statement.all() as unknown as (readonly unknown[])[];
  return new Map(rows.map((row) => [row.at(-1), row]));
}

/** Rebuilds agent names, relations and vectors as far as they are reported. */
function rebuildRows(db: DatabaseSync, sql: Statements, found: readonly Problem[]): string[] {
  const about = (fits: (problem: Problem) => boolean): string[] => [
    ...new Set(found.filter(fits).map(({ record }) => record)),
  ];
  const isEdge = ({ field }: Problem): boolean => /^relations\b/.test(field);
  const unsound = new Set(about((each) => !isEdge(each)));
  const sources = about(isEdge).filter((record) => !unsound.has(record));
  const isName = ({ field }: Problem): boolean => /^names?\b/.test(field);
  const areAgentsSound = !found.some(
    ({ record, field }) => /^agent /.test(record) && field === "digest",
  );
  return [
    ...(areAgentsSound && found.some(isName) ? rebuildNames(db, sql) : []),
    ...rebuildRelations(db, sql, sources),
    ...dropVectors(db),
  ];
}

function rebuildNames(db: DatabaseSync, sql: Statements): string[] {
  db.exec("delete from agent_names");
  for (const { key } of db.prepare("select key from workspaces").all() as { key: number }[]) {
    for (const { id, aliases } of sql.agents.all(key).map(rawAgentOf)) {
      for (const name of new Set([id, ...aliases])) sql.addName.run(key, name, id);
    }
  }
  return ["agent names"];
}

/** Rebuilds the relations of records that verify, from their text. */
function rebuildRelations(db: DatabaseSync, sql: Statements, sources: readonly string[]): string[] {
  db.exec("delete from relations where source not in (select pos from memories)");
  const find = db.prepare("select pos, workspace, text from memories where id = ?");
  const drop = db.prepare("delete from relations where source = ?");
  const records = sources.flatMap(
    (id) => find.all(id) as { pos: number; workspace: number; text: string }[],
  );
  for (const { pos } of records) drop.run(pos);
  for (const { pos, workspace, text } of records) {
    for (const [n, { kind, target, validFrom, validUntil }] of edgesIn(text).entries()) {
      const to = numberOf(sql.memoryPosition.get(workspace, target));
      sql.addRelation.run(pos, n, to, validFrom, validUntil, kind);
    }
  }
  return records.length === 0 ? [] : [`relations of ${records.length} records`];
}

/** Drops models with a damaged row, so that their records are embedded again. */
function dropVectors(db: DatabaseSync): string[] {
  const damaged = new Set<number>();
  for (const table of ["vectors", "signatures"] as const) {
    const bytes = table === "vectors" ? "vector" : "bits";
    const rows = db.prepare(`select model, pos, ${bytes} as bytes, sum from ${table}`).iterate();
    for (const row of rows as Iterable<VectorRow>) {
      if (row.sum !== vectorSum(row.model, row.pos, row.bytes)) damaged.add(row.model);
    }
  }
  const models = db.prepare("select key, workspace, name, dimensions, pos, sum from models").all();
  for (const model of models as unknown as ModelRow[]) {
    if (model.sum !== modelSum(model.workspace, model)) damaged.add(model.key);
  }
  for (const table of ["vectors", "signatures"])
    for (const model of damaged) db.prepare(`delete from ${table} where model = ?`).run(model);
  for (const model of damaged) db.prepare("delete from models where key = ?").run(model);
  return damaged.size === 0 ? [] : [`vectors of ${damaged.size} models (dropped; run baton embed)`];
}

interface VectorRow {
  readonly model: number;
  readonly pos: number;
  readonly bytes: Uint8Array;
  readonly sum: number;
}

interface ModelRow extends ModelColumns {
  readonly key: number;
  readonly workspace: number;
  readonly sum: number;
}
