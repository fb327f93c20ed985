/**
 * Checks an SQLite file itself, before its rows are compared with the chain: SQLite's integrity check of
 * pages and indexes, the schema, the row sums (row-sums.ts), and the names of the workspaces. Finds damage
 * that leaves the chain intact, for example in an index that claims are read from.
 */
import { DatabaseSync, type SQLOutputValue } from "node:sqlite";
import { genesis, nextLink } from "../chain.ts";
import {
  ATTEMPT_COLUMNS,
  attemptOf,
  DELIVERY_COLUMNS,
  type Row,
  rawDeliveryOf,
} from "../codecs.ts";
import type { MemoryRow } from "../rows.ts";
import { writtenDigest } from "../verify/redactions.ts";
import type { Problem } from "../verify-report.ts";
import { EVENT_GROUP_COLUMNS, eventGroupOf } from "./event-groups.ts";
import { checkKnownHead } from "./known-head.ts";
import { migrate, SQLITE_STEPS } from "./migrations.ts";
import {
  attemptSum,
  deliverySum,
  entrySum,
  eventGroupSum,
  modelSum,
  vectorSum,
} from "./row-sums.ts";

/** Longest list of problems that SQLite's check reports. */
const MAX_PAGE_PROBLEMS = 100;

/**
 * Returns the problems of the file. If `workspace` is given, rows of other workspaces are counted and not
 * named, because the report may be read by a caller who must not see them.
 */
export function checkFile(db: DatabaseSync, workspace?: number): Problem[] {
  const pages = checkPages(db);
  // With damaged pages the rest cannot be read reliably, and may not be readable at all.
  if (pages.some(({ field }) => field === "pages")) return pages;
  return [
    ...pages,
    ...checkSchema(db),
    ...checkSums(db, workspace),
    ...checkWorkspaces(db),
    ...checkKnownHead(db),
  ];
}

/** What SQLite reports for an index that differs from its table; group 1 is the index. */
const INDEX_PROBLEM =
  /^(?:row \d+ missing from index|wrong # of entries in index|non-unique entry in index|row \d+ values differ from index) (\w+)$/;

/** Runs SQLite's integrity check: every page, and every index against its table. */
export function checkPages(db: DatabaseSync): Problem[] {
  return db
    .prepare(`pragma integrity_check(${MAX_PAGE_PROBLEMS})`)
    .all()
    .map((row) => String(row["integrity_check"]))
    .filter((message) => message !== "ok")
    .map((message) => {
      const [, index] = INDEX_PROBLEM.exec(message) ?? [];
      return { record: "file", field: index === undefined ? "pages" : `index ${index}`, message };
    });
}

/** Compares tables and indexes with those that the schema steps create; others may have been added. */
function checkSchema(db: DatabaseSync): Problem[] {
  const { version } = db.prepare("select max(version) as version from migrations").get() ?? {};
  if (version !== SQLITE_STEPS.length) return [];
  const expected = new DatabaseSync(":memory:");
  try {
    migrate(expected, ":memory:", { now: 0 });
    const made = schemaOf(expected);
    const stored = schemaOf(db);
    return [...made.keys()]
      .filter((name) => made.get(name) !== stored.get(name))
      .map((name) => problem("file", "schema", `${name} is not as this version creates it`));
  } finally {
    expected.close();
  }
}

function schemaOf(db: DatabaseSync): Map<string, string> {
  const rows = db.prepare("select name, type, tbl_name, sql from sqlite_schema").all();
  return new Map(
    rows.map(({ name, type, tbl_name: table, sql }) => [
      String(name),
      JSON.stringify([type, table, sql]),
    ]),
  );
}

/** A row with a sum: the key of its workspace, how a problem names it, and the sum it should have. */
interface SummedRow {
  readonly workspace: number;
  readonly record: string;
  readonly sum: number;
}

/** A table with row sums. Its query returns the workspace, the stored sum and the columns of `read`. */
interface SummedTable {
  readonly table: string;
  readonly sql: string;
  read(columns: Row, workspace: number): Omit<SummedRow, "workspace">;
}

const SUMMED_TABLES: readonly SummedTable[] = [
  {
    table: "deliveries",
    sql: `select d.workspace, d.sum, ${DELIVERY_COLUMNS} from deliveries d`,
    read: (columns) => {
      const row = rawDeliveryOf(columns);
      return { record: row.id, sum: deliverySum(row) };
    },
  },
  {
    table: "attempts",
    sql: `select workspace, sum, ${ATTEMPT_COLUMNS} from attempts`,
    read: (columns, workspace) => {
      const row = attemptOf(columns);
      const record = `attempt ${row.attempt} of ${row.delivery}`;
      return { record, sum: attemptSum(workspace, row) };
    },
  },
  {
    table: "event_groups",
    sql: `select workspace, sum, ${EVENT_GROUP_COLUMNS} from event_groups`,
    read: (columns, workspace) => {
      const group = eventGroupOf(columns);
      const { last, count } = group;
      const record = count === 1 ? `event ${last}` : `events ${last - count + 1}–${last}`;
      return { record, sum: eventGroupSum(workspace, group) };
    },
  },
  {
    table: "entries",
    sql: "select workspace, sum, kind, name, at from entries",
    read: (columns, workspace) => {
      const [kind, name, at] = columns as [string, string, number];
      return { record: `${kind} ${name}`, sum: entrySum(workspace, { kind, name, at }) };
    },
  },
  {
    table: "models",
    sql: "select workspace, sum, name, dimensions, pos from models",
    read: (columns, workspace) => {
      const [name, dimensions, pos] = columns as [string, number, number];
      return { record: `model ${name}`, sum: modelSum(workspace, { name, dimensions, pos }) };
    },
  },
  ...(["vectors", "signatures"] as const).map(
    (table): SummedTable => ({
      table,
      sql: `select coalesce(m.workspace, 0), v.sum, v.model, v.pos,
          ${table === "vectors" ? "v.vector" : "v.bits"}
        from ${table} v left join models m on m.key = v.model`,
      read: (columns) => {
        const [model, pos, bytes] = columns as [number, number, Uint8Array];
        return { record: `${table} of model ${model}, ${pos}`, sum: vectorSum(model, pos, bytes) };
      },
    }),
  ),
];

/** Compares every row sum, and what sums leave out. */
function checkSums(db: DatabaseSync, workspace: number | undefined): Problem[] {
  const known = new Set(
    db
      .prepare("select key from workspaces")
      .all()
      .map(({ key }) => key),
  );
  const found = new Findings((key) => (workspace ?? key) === key || !known.has(key));
  for (const { table, sql, read } of SUMMED_TABLES) {
    for (const row of iterate(db, sql)) {
      const [key, sum, ...columns] = row as [number, number, ...SQLOutputValue[]];
      const expected = read(columns, key);
      if (sum !== expected.sum)
        found.add(key, table, problem(expected.record, "sum", `${table}: a column has changed`));
    }
  }
  for (const { table, sql, message } of RULES) {
    for (const row of iterate(db, sql)) {
      const [key, record] = row as [number, string];
      found.add(key, table, problem(record, table, message));
    }
  }
  return found.problems();
}

/** What must hold for columns without a sum: queries that return workspace and name of rows that differ. */
const RULES: readonly { readonly table: string; readonly sql: string; readonly message: string }[] =
  [
    {
      table: "lease",
      sql: "select workspace, id from deliveries where state not in (2, 3) and lease_until <> 0",
      message: "has a lease, but is not held",
    },
    {
      table: "relations",
      sql: `select m.workspace, m.id from relations r join memories m on m.pos = r.source
        group by r.source having max(r.n) <> count(*) - 1 or min(r.n) <> 0`,
      message: "are not numbered from 0",
    },
    {
      table: "vectors",
      sql: `select coalesce(m.workspace, 0), 'model ' || v.model from
        (select model, pos from vectors except select model, pos from signatures) v
        left join models m on m.key = v.model group by v.model`,
      message: "have no signature",
    },
    {
      table: "signatures",
      sql: `select coalesce(m.workspace, 0), 'model ' || v.model from
        (select model, pos from signatures except select model, pos from vectors) v
        left join models m on m.key = v.model group by v.model`,
      message: "have no vector",
    },
    {
      table: "models",
      sql: `select 0, 'models' where coalesce((select max(key) from models), 0)
        > coalesce((select seq from sqlite_sequence where name = 'models'), 0)`,
      message: "have a key that was not assigned yet",
    },
  ];

/** Collects problems with rows; those of workspaces that the reader must not see are only counted. */
class Findings {
  readonly #isVisible: (workspace: number) => boolean;
  readonly #named: Problem[] = [];
  readonly #others = new Map<string, number>();

  constructor(isVisible: (workspace: number) => boolean) {
    this.#isVisible = isVisible;
  }

  add(workspace: number, table: string, what: Problem): void {
    if (this.#isVisible(workspace)) this.#named.push(what);
    else this.#others.set(table, (this.#others.get(table) ?? 0) + 1);
  }

  problems(): Problem[] {
    const others = [...this.#others].map(([table, count]) =>
      problem("file", table, `${count} of another workspace differ from what was written`),
    );
    return [...this.#named, ...others];
  }
}

/** Checks that every row belongs to a workspace, and that each workspace has the name its chain began with. */
function checkWorkspaces(db: DatabaseSync): Problem[] {
  const strays = ["agents", "agent_names", "chains", "memories", "envelopes", "entries"].flatMap(
    (table) => {
      const [count] = [
        ...iterate(
          db,
          `select count(*) from ${table} where workspace not in (select key from workspaces)`,
        ),
      ].map((row) => (row as [number])[0]);
      return count === 0 ? [] : [problem("file", table, `${count} belong to no workspace`)];
    },
  );
  const renamed = [...iterate(db, FIRST_RECORDS)].flatMap((row) => {
    const [name, ...columns] = row as [string, string, string, number, number, string, string];
    const [id, branch, seq, storedAt, text, link] = columns;
    const first: MemoryRow = { id, branch, seq, storedAt, text, link, signature: "" };
    const made = nextLink(genesis(name, branch), { ...first, digest: writtenDigest(first) });
    return made === link
      ? []
      : [
          problem(
            "file",
            "workspaces",
            "a workspace does not have the name its first record was written with",
          ),
        ];
  });
  return [...strays, ...renamed];
}

/** The first record of the main branch of each workspace, or of another branch if that has none. */
const FIRST_RECORDS = `select w.name, m.id, c.branch, m.seq, m.stored_at, m.text, m.link
  from workspaces w join memories m on m.pos = (
    select m.pos from chains c join memories m on m.chain = c.key and m.seq = 1
    where c.workspace = w.key order by c.branch <> 'main', c.key limit 1)
  join chains c on c.key = m.chain`;

function iterate(db: DatabaseSync, sql: string): Iterable<unknown> {
  const statement = db.prepare(sql);
  statement.setReturnArrays(true);
  return statement.iterate();
}

const problem = (record: string, field: string, message: string): Problem => ({
  record,
  field,
  message,
});
