/**
 * Query plans of SQLite: each statement of a claim, send, read or write finds its rows by an index,
 * so that its cost does not grow with the stored data. The plans come from SQLite's planner, on a
 * file with the current schema.
 */
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { systemClock } from "../../src/base/clock.ts";
import { DEFAULT_LIMITS } from "../../src/base/limits.ts";
import { openSqliteStore } from "../../src/store/sqlite/open.ts";
import { STATEMENT_TEXTS } from "../../src/store/sqlite/statements.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

type Name = keyof typeof STATEMENT_TEXTS;

/**
 * Statements that read a whole table or workspace by design, in the housekeeping thread. Workspaces are few,
 * and a server reads their names every few seconds.
 */
const READS_EVERYTHING: readonly Name[] = [
  "workspaceNames",
  "countMemories",
  "countRelations",
  "countEnvelopes",
  "countDeliveries",
  "countStates",
  "envelopes",
  "deliveries",
];

/** The statements of every operation, with the index that finds their rows. */
const FOUND_BY: Partial<Record<Name, string>> = {
  workspaceKey: "sqlite_autoindex_workspaces_1",
  chain: "sqlite_autoindex_chains_1",
  moveChain: "INTEGER PRIMARY KEY",
  agentStatus: "PRIMARY KEY",
  roleStatus: "agents_role (workspace=? AND role=?)",
  agentByName: "PRIMARY KEY",
  nameOwner: "PRIMARY KEY",
  memory: "memories_id",
  memoriesById: "memories_id",
  memoryPosition: "memories_id",
  memoryAt: "INTEGER PRIMARY KEY",
  memoriesBackward: "memories_seq",
  memoriesPage: "memories_seq (chain=? AND seq<?)",
  memoriesBefore: "INTEGER PRIMARY KEY (rowid<?)",
  markFrom: "memories_seq (chain=? AND seq>? AND seq<?)",
  chainLength: "INTEGER PRIMARY KEY",
  edgesOut: "PRIMARY KEY",
  edgesInto: "relations_target",
  edgesIn: "relations_target",
  envelope: "envelopes_id",
  envelopeExists: "envelopes_id",
  envelopeAt: "INTEGER PRIMARY KEY",
  isEnvelope: "INTEGER PRIMARY KEY",
  delivery: "deliveries_id",
  deliveriesOf: "deliveries_envelope",
  openDeliveries: "deliveries_inbox",
  openOfTask: "deliveries_open",
  countOpen: "COVERING INDEX deliveries_inbox",
  parkedDeliveries: "deliveries_parked (workspace=? AND state=? AND (place,id)>(?,?))",
  browseDeliveries: "deliveries_id (workspace=? AND id>? AND id<?)",
  nthBelow: "COVERING INDEX deliveries_id (workspace=? AND id<?)",
  queue: "deliveries_open",
  firstInQueue: "COVERING INDEX deliveries_open",
  queuedWork: "deliveries_queued",
  readyDeliveries: "deliveries_ready",
  readyOfTask: "deliveries_open (workspace=? AND receiver=? AND task=? AND place=?)",
  lapsed: "deliveries_lapses",
  expiredLeases: "deliveries_held",
  heldByProcess: "deliveries_held",
  processes: "deliveries_held",
  heldBySession: "deliveries_held",
  renewSession: "deliveries_held",
  passTurn: "deliveries_open",
  makeDue: "deliveries_scheduled",
  nextRetry: "deliveries_scheduled",
  nextExpiry: "deliveries_held",
  nextLapse: "COVERING INDEX deliveries_lapses",
  claim: "deliveries_id",
  takeAtOnce: "deliveries_id",
  accept: "deliveries_id",
  settle: "deliveries_id",
  move: "deliveries_id",
  renew: "deliveries_id",
  supersede: "deliveries_id",
  extendHeld: "deliveries_id",
  attempts: "attempts_delivery",
  eventGroups: "event_groups_workspace (workspace=? AND rowid>?)",
  entry: "entries_name (workspace=? AND kind=? AND name=?)",
  entriesFrom: "entries_name (workspace=? AND kind=? AND name>?)",
  entries: "entries_name (workspace=?)",
  anyEntry: "entries_name (workspace=? AND kind=?)",
  dropEntry: "entries_name (workspace=? AND kind=? AND name=?)",
  traces: "sqlite_autoindex_chains_1 (workspace=? AND branch>? AND branch<?)",
  stepHeld: "memories_seq (chain=? AND seq<?)",
  stepsFrom: "COVERING INDEX memories_seq (chain=? AND seq<?)",
  sizeOfSteps: "memories_seq (chain=? AND seq<?)",
  dropSteps: "memories_seq (chain=? AND seq<?)",
  dropEdgesOfSteps: "memories_seq (chain=? AND seq<?)",
  newestEvent: "event_groups_workspace (workspace=?)",
  countEvents: "event_groups_workspace (workspace=? AND rowid<?)",
  oldestEventGroups: "event_groups_workspace (workspace=? AND rowid<?)",
  eventGroup: "INTEGER PRIMARY KEY (rowid=?)",
  dropEventGroups: "event_groups_workspace (workspace=? AND rowid<?)",
  shortenEventGroup: "INTEGER PRIMARY KEY (rowid=?)",
};

/** Statements whose rows already come in order; sorting would read all of them before the first. */
const IN_ORDER: readonly Name[] = [
  "memoriesById",
  "memoriesBackward",
  "memoriesPage",
  "memoriesBefore",
  "markFrom",
  "readyDeliveries",
  "openDeliveries",
  "parkedDeliveries",
  "browseDeliveries",
  "nthBelow",
  "queue",
  "firstInQueue",
  "queuedWork",
  "passTurn",
  "lapsed",
  "expiredLeases",
  "edgesIn",
  "edgesOut",
  "attempts",
  "eventGroups",
  "entriesFrom",
  "entries",
  "traces",
  "stepHeld",
  "stepsFrom",
  "firstEventSince",
  "eventGroupSizes",
  "countEvents",
  "oldestEventGroups",
];

describe("query plans", () => {
  const folder = temporaryFolder();
  let db: DatabaseSync;

  beforeAll(async () => {
    const file = folder.file("hub.db");
    const store = await openSqliteStore({ file, clock: systemClock, limits: DEFAULT_LIMITS });
    await store.close();
    db = new DatabaseSync(file, { readOnly: true });
  });

  afterAll(() => {
    db.close();
    folder[Symbol.dispose]();
  });

  const planOf = (name: Name): string[] =>
    db
      .prepare(`explain query plan ${STATEMENT_TEXTS[name]}`)
      .all()
      .map((row) => row["detail"] as string);

  const hot = (Object.keys(STATEMENT_TEXTS) as Name[]).filter(
    (name) => !READS_EVERYTHING.includes(name),
  );

  it.each(hot)("%s does not scan a table", (name) => {
    // Limited results of a subquery may be scanned, and so may lists that are passed in.
    const scans = /^SCAN (?!\(subquery|json_each)/;
    expect(planOf(name).filter((step) => scans.test(step))).toEqual([]);
  });

  it.each(Object.entries(FOUND_BY))("%s finds its rows by %s", (name, index) => {
    expect(planOf(name as Name).join("\n")).toContain(index);
  });

  it.each(IN_ORDER)("%s does not sort", (name) => {
    expect(planOf(name).filter((step) => step.includes("TEMP B-TREE"))).toEqual([]);
  });

  it("openOfTask sorts only within one place", () => {
    expect(planOf("openOfTask")).toContain("USE TEMP B-TREE FOR LAST TERM OF ORDER BY");
  });

  it("partial indexes have the expected conditions", () => {
    const partial = db
      .prepare("select name, sql from sqlite_schema where type = 'index' and sql like '%where%'")
      .all()
      .map((row) => [row["name"], String(row["sql"]).replace(/^.* where /s, "")]);
    expect(Object.fromEntries(partial)).toEqual({
      deliveries_scheduled: "state = 0",
      deliveries_ready: "state = 1 and turn = 1",
      deliveries_held: "state in (2, 3)",
      deliveries_open: "settled_at = 0",
      deliveries_inbox: "settled_at = 0",
      deliveries_queued: "settled_at = 0 and turn = 0",
      deliveries_lapses: "lapse_at > 0",
      deliveries_parked: "state in (4, 7)",
    });
  });
});
