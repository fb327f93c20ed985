/**
 * Runs one query on SQLite, in the query process (query-process.ts), on a connection opened for it alone:
 * read-only, with temporary views bound to workspace and reader, under the guard.
 */
import { DatabaseSync, type StatementSync } from "node:sqlite";
import type { QueryOutcome, RunQuery, SqlValue } from "../sql-query.ts";
import { refuseParameterCount } from "./parameter-count.ts";
import { firstWord, isBlank, numberPlaceholders } from "./placeholders.ts";
import type { QueryRequest, QuerySource, Table } from "./protocol.ts";
import { sizeOf } from "./row-size.ts";
import { cosineSimilarity, storedVectorJson } from "./similarity.ts";
import { GROUPED_EVENTS, STORED_VECTOR_FUNCTION, sqliteDialect } from "./sqlite-dialect.ts";
import { baseOf, containsBaseView, Guard } from "./sqlite-guard.ts";
import { definitionOf, quoteName } from "./view-definitions.ts";
import { columnsOf, VIEW_NAMES, VIEWS_HINT } from "./views.ts";

/** Maximum size of a single value, in the result or during the computation. */
const VALUE_BYTES = 64 * 1024 * 1024;
/** How long to wait for a locked file: recovery after a crash locks it for a moment. */
const BUSY_MS = 1_000;

/** SQLite result codes SQLITE_TOOBIG and SQLITE_NOMEM. */
const TOO_BIG = 18;
const NO_MEMORY = 7;

/** Runs a query and returns its outcome; a refused query is not run. Throws if the store cannot be read. */
export function runQuery({ source, query }: QueryRequest): QueryOutcome {
  const { text, params } = query;
  const numbered = numberPlaceholders(text);
  if (numbered.kind === "named") return refuseNamed(numbered.placeholder);
  const unsound = refuseText(numbered.text) ?? refuseParameterCount(numbered.used, params.length);
  if (unsound !== undefined) return unsound;
  const db = open(source, query);
  try {
    return executeQuery(db, numbered.text, query);
  } finally {
    db.close();
  }
}

type RefusedOutcome = Extract<QueryOutcome, { readonly kind: "refused" }>;

function refuseNamed(placeholder: string): RefusedOutcome {
  return {
    kind: "refused",
    reason: `it has the placeholder ${placeholder}, but parameters have numbers, not names`,
    hint: "Write ? for each parameter in order, or $1, $2, ….",
  };
}

function refuseText(text: string): RefusedOutcome | undefined {
  if (!["select", "with", "values"].includes(firstWord(text))) {
    const reason = "it is not a SELECT";
    return { kind: "refused", reason, hint: `Write one SELECT. ${VIEWS_HINT}` };
  }
  if (containsBaseView(text)) {
    return { kind: "refused", reason: "it names an internal base of a view", hint: VIEWS_HINT };
  }
  return undefined;
}

function open(source: QuerySource, { sight, vectors, bounds }: RunQuery): DatabaseSync {
  const db = new DatabaseSync(source.kind === "file" ? source.file : ":memory:", {
    readOnly: source.kind === "file",
    readBigInts: true,
    returnArrays: true,
    timeout: BUSY_MS,
    limits: { attach: 0, compoundSelect: 50, length: Math.max(VALUE_BYTES, bounds.bytes) },
  });
  // In memory, which is limited, and not in files, which no limit covers.
  db.exec("pragma temp_store = memory; pragma trusted_schema = off");
  if (source.kind === "tables") for (const table of source.tables) fill(db, table);
  db.function(STORED_VECTOR_FUNCTION, { deterministic: true }, storedVectorJson);
  db.function("cosine_similarity", { deterministic: true, directOnly: true }, cosineSimilarity);
  const dialect = sqliteDialect(source.workspace, source.kind === "file" ? GROUPED_EVENTS : {});
  for (const view of VIEW_NAMES) {
    // The limit is an optimization fence: SQLite does not push conditions into a select that has one.
    const definition = definitionOf(view, { dialect, sight, vectors, view: baseOf });
    const columns = columnsOf(view).map(quoteName).join(", ");
    db.exec(`create temp view ${baseOf(view)} as ${definition} limit -1;
      create temp view ${view} as select ${columns} from temp.${baseOf(view)}`);
  }
  db.exec("pragma query_only = on");
  return db;
}

function fill(db: DatabaseSync, { name, columns, rows }: Table): void {
  db.exec(`create table main.${name} (${columns.join(", ")})`);
  const insert = db.prepare(
    `insert into main.${name} values (${columns.map(() => "?").join(", ")})`,
  );
  for (const row of rows) insert.run(...row.map(toBindValue));
}

function executeQuery(db: DatabaseSync, text: string, { params, bounds }: RunQuery): QueryOutcome {
  const guard = new Guard(db);
  try {
    const statement = db.prepare(text);
    if (!isBlank(text.slice(statement.sourceSQL.length))) {
      const reason = "it has more than one statement";
      return { kind: "refused", reason, hint: "Run one statement at a time." };
    }
    const named = Object.fromEntries(params.map((value, i) => [`$${i + 1}`, toBindValue(value)]));
    return collect(statement, named, bounds);
  } catch (error) {
    if (guard.denial !== undefined) return { kind: "refused", ...guard.denial };
    const { errcode, message } = error as { errcode?: number; message: string };
    if (errcode === TOO_BIG || errcode === NO_MEMORY) return { kind: "too_large", bound: "memory" };
    return { kind: "failed", message };
  }
}

function collect(
  statement: StatementSync,
  named: Record<string, ReturnType<typeof toBindValue>>,
  bounds: RunQuery["bounds"],
): QueryOutcome {
  const columns = statement.columns().map(({ name }) => name);
  const rows: SqlValue[][] = [];
  let bytes = 0;
  for (const cells of statement.iterate(named) as unknown as Iterable<readonly unknown[]>) {
    const row = cells.map(cellOf);
    bytes += sizeOf(row);
    if (rows.length === bounds.rows) return { kind: "too_large", bound: "rows" };
    if (bytes > bounds.bytes) return { kind: "too_large", bound: "bytes" };
    rows.push(row);
  }
  return { kind: "answered", columns, rows };
}

/** Converts whole numbers to bigint: a number would be bound as a real. */
function toBindValue(value: SqlValue): string | number | bigint | null | Uint8Array {
  if (typeof value === "boolean") return value ? 1n : 0n;
  return typeof value === "number" && Number.isSafeInteger(value) ? BigInt(value) : value;
}

/** Returns integers that a number cannot represent exactly as text. */
function cellOf(cell: unknown): SqlValue {
  if (typeof cell !== "bigint") return cell as SqlValue;
  const number = Number(cell);
  return Number.isSafeInteger(number) ? number : `${cell}`;
}
