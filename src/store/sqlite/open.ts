/**
 * The SQLite store: one file, any number of processes, no daemon.
 *
 * Writes go through the group commit on the main thread, point reads run at once, and long work goes to the
 * housekeeper's thread. Each operation has a file named after its verb.
 */
import { existsSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import type { Clock } from "../../base/clock.ts";
import { BatonError, warnOfBackgroundError } from "../../base/errors.ts";
import { createForSqlite } from "../../base/files/private-file.ts";
import { createFolder, syncPath } from "../../base/files/sync-path.ts";
import { JobThread } from "../../base/job-thread.ts";
import type { Limits } from "../../base/limits.ts";
import type { ExportItem } from "../archive.ts";
import { compareBranches } from "../chain.ts";
import { agentOf, attemptOf, deliveryOf, envelopeOf, memoryOf } from "../codecs.ts";
import type { DeliveryRow } from "../rows.ts";
import type { SchemaStep } from "../schema-steps.ts";
import type { SearchMemories } from "../search.ts";
import { QueryProcessPool } from "../sql/query-process-pool.ts";
import type { Store } from "../store.ts";
import { storeClosed } from "../store-closed.ts";
import { DUE_TIMES, DueAnnouncer, type TimedOutcome } from "../wake/due-announcer.ts";
import { backupFile } from "./archive/backup.ts";
import { exportWorkspace } from "./archive/export.ts";
import { importWorkspace } from "./archive/import.ts";
import { chainHeads } from "./archive/verify-source.ts";
import { Committer, retryWhileBusy } from "./commit.ts";
import { configure, connect } from "./connection.ts";
import { commitFailure, isBusy, storeFailure } from "./failures.ts";
import { FileNotifier } from "./file-notifier.ts";
import { forgetHead, KnownHeadFile } from "./known-head.ts";
import { closeAtExit, closeConnection, logKeptError, recoverLog } from "./merge-log.ts";
import { isCurrent, migrate } from "./migrations.ts";
import { acceptDelivery } from "./operations/accept.ts";
import { findAgent } from "./operations/agents.ts";
import { appendMemories } from "./operations/append.ts";
import { claimDeliveries } from "./operations/claim.ts";
import { findDelivery } from "./operations/deliveries.ts";
import { countDueRetries, dueDeliveries, makeRetriesReady, nextDue } from "./operations/due.ts";
import { findEntry, listEntries, putEntry } from "./operations/entries.ts";
import { withEnvelope } from "./operations/envelopes.ts";
import { pruneEvents, readEvents } from "./operations/events.ts";
import {
  envelopePositionsOf,
  type IndexContext,
  recentMemories,
  watermark,
} from "./operations/find-memories.ts";
import { findInbound } from "./operations/inbound.ts";
import { renewLease, renewSession } from "./operations/lease.ts";
import { findTips } from "./operations/lines.ts";
import {
  browseDeliveries,
  countOpen,
  openDeliveries,
  parkedDeliveries,
} from "./operations/list-deliveries.ts";
import { moveDeliveries } from "./operations/move.ts";
import { listTraces, pruneTrace } from "./operations/prune.ts";
import { redactBodies } from "./operations/redact.ts";
import { readRedactionCount } from "./operations/redaction-count.ts";
import { registerAgent } from "./operations/register.ts";
import { findRelations } from "./operations/relations.ts";
import { sendHandoff, sendHandoffs } from "./operations/send.ts";
import { settleDelivery } from "./operations/settle.ts";
import { scalarOf } from "./scalar.ts";
import { dropModel, findUnembedded, listModels, putVectors } from "./search/embed.ts";
import { Housekeeper } from "./search/housekeeper.ts";
import { IndexFile } from "./search/index-file.ts";
import type { SearchReply } from "./search/searcher-thread.ts";
import { prepareStatements, type Statements } from "./statements.ts";
import { ignoreInGit, refuseUnsafeStore } from "./store-privacy.ts";
import { Transaction } from "./transaction.ts";

/** What to open. */
export interface SqliteOptions {
  readonly file: string;
  readonly clock: Clock;
  readonly limits: Limits;
  /** Folders in which a store of another user, or one that git tracks, is accepted; `*` for all. */
  readonly safeFolders?: readonly string[];
  /** For tests: schema steps other than those of this version. */
  readonly steps?: readonly SchemaStep[];
}

/**
 * Opens the store, creating or upgrading the file if needed. Throws `store_busy`, `store_corrupt`,
 * `store_foreign`, `store_unsafe`, `store_too_new`, `store_too_old`, `store_full`, `store_read_only` or
 * `runtime_too_old`.
 */
export async function openSqliteStore(options: SqliteOptions): Promise<Store> {
  const file = resolve(options.file);
  const { busyMs, storeBytes } = options.limits;
  const busy = { busyMs, file };
  await refuseUnsafeStore(file, options.safeFolders);
  let isMerged = true;
  const db = await retryWhileBusy(() => {
    createFolder(dirname(file));
    isMerged = recoverLog(file);
    if (!existsSync(file)) forgetHead(file);
    createForSqlite(file);
    return connect(file);
  }, busy);
  closeAtExit(db);
  if (!isMerged) warnOfBackgroundError(logKeptError(file));
  try {
    const current = await retryWhileBusy(() => isCurrent(db, file, options.steps), busy);
    await retryWhileBusy(() => configure(db, storeBytes), busy);
    if (!current) await retryWhileBusy(() => upgradeSchema(db, file, options), busy);
    // The log exists now. SQLite syncs its name too, but ignores an error of that.
    await retryWhileBusy(() => syncPath(dirname(db.location() as string)), busy);
    ignoreInGit(file);
    return await retryWhileBusy(() => new SqliteStore(db, { ...options, file }), busy);
  } catch (error) {
    closeConnection(db);
    throw error;
  }
}

function upgradeSchema(db: DatabaseSync, file: string, { clock, steps }: SqliteOptions): void {
  db.exec("begin immediate");
  try {
    migrate(db, file, { now: clock.now(), steps });
    db.exec("commit");
  } catch (error) {
    if (db.isTransaction) db.exec("rollback");
    throw error;
  }
}

function commitImport(db: DatabaseSync, file: string): void {
  try {
    db.exec("commit");
  } catch (error) {
    throw commitFailure(error, file);
  }
}

/** If the index is behind by more records than this, it is opened again. */
const MAX_INDEX_LAG = 10_000;

class SqliteStore implements Store {
  readonly name: string;
  readonly #db: DatabaseSync;
  readonly #options: SqliteOptions;
  readonly #sql: Statements;
  readonly #committer: Committer;
  readonly #housekeeper: Housekeeper;
  readonly #searcher: JobThread<SearchMemories, SearchReply>;
  readonly #notifier: FileNotifier;
  readonly #known: KnownHeadFile;
  readonly #dueTimes = new DueAnnouncer(() => this.#notifier.ring([DUE_TIMES]));
  readonly #processes: QueryProcessPool;
  /** Keys of workspaces, which never change once committed. */
  readonly #workspaces = new Map<string, number>();
  #index: IndexFile | undefined;
  /** Set while the housekeeper replaces a damaged index. */
  #remaking: Promise<void> | undefined;
  #closing: Promise<void> | undefined;

  constructor(db: DatabaseSync, options: SqliteOptions) {
    this.name = `sqlite ${options.file}`;
    this.#db = db;
    this.#options = options;
    this.#sql = prepareStatements(db);
    this.#housekeeper = new Housekeeper(options.file);
    this.#searcher = new JobThread(options.file, {
      module: "./search/searcher-thread",
      base: import.meta.url,
    });
    this.#notifier = new FileNotifier(options.file);
    this.#known = new KnownHeadFile(db);
    this.#processes = new QueryProcessPool(options.file);
    this.#committer = new Committer({
      db,
      file: options.file,
      busyMs: options.limits.busyMs,
      begin: () => new Transaction(this.#sql, options.clock.now(), this.#workspaces),
      committed: (transaction) => {
        this.#known.note(transaction.newest());
        this.#notifier.ring(transaction.wakes());
        this.#housekeeper.committed(transaction.records);
      },
    });
    const { records, indexed } = this.#indexState();
    this.#housekeeper.committed(records - indexed);
  }

  registerAgent: Store["registerAgent"] = (operation) =>
    this.#write((tx) => registerAgent(tx, operation));
  appendMemories: Store["appendMemories"] = (operation) =>
    this.#write((tx) => appendMemories(tx, operation));
  sendHandoff: Store["sendHandoff"] = (operation) =>
    this.#writeTimed((tx) => sendHandoff(tx, operation));
  sendHandoffs: Store["sendHandoffs"] = (operations) =>
    this.#writeTimed((tx) => sendHandoffs(tx, operations));
  claimDeliveries: Store["claimDeliveries"] = (operation) =>
    this.#writeTimed((tx) => claimDeliveries(tx, operation));
  acceptDelivery: Store["acceptDelivery"] = (operation) =>
    this.#writeTimed((tx) => acceptDelivery(tx, operation));
  settleDelivery: Store["settleDelivery"] = (operation) =>
    this.#writeTimed((tx) => settleDelivery(tx, operation));
  moveDeliveries: Store["moveDeliveries"] = (operation) =>
    this.#writeTimed((tx) => moveDeliveries(tx, operation));
  putEntry: Store["putEntry"] = (workspace, entry, event) =>
    this.#write((tx) => putEntry(tx, { workspace, entry, event }));
  renewLease: Store["renewLease"] = (workspace, lease) =>
    this.#write((tx) => renewLease(tx, workspace, lease));

  /** For a session that holds nothing, this costs a read instead of a commit. */
  renewSession: Store["renewSession"] = async (session, leaseMs) => {
    const { workspace, agent, instance } = session;
    const holds = await this.#read(workspace, (key) =>
      this.#sql.heldBySession.get(key, agent, instance),
    );
    if (holds !== undefined) await this.#write((tx) => renewSession(tx, session, leaseMs));
  };

  listProcesses: Store["listProcesses"] = (workspace) =>
    this.#read(workspace, (key) =>
      this.#sql.processes.all(key).map((row) => scalarOf<string>(row) as string),
    );

  findAgent: Store["findAgent"] = (workspace, name) =>
    this.#read(workspace, (key) => findAgent(this.#sql, key, name));

  listAgents: Store["listAgents"] = (workspace) =>
    this.#read(workspace, (key) => this.#sql.agents.all(key).map(agentOf));

  readMemories: Store["readMemories"] = (workspace, ids) =>
    this.#read(workspace, (key) =>
      this.#sql.memoriesById.all(key, JSON.stringify(ids)).map(memoryOf),
    );

  recentMemories: Store["recentMemories"] = (operation) =>
    this.#read(operation.workspace, (key) =>
      this.#find((finder) => recentMemories(finder, key, operation)),
    );

  search: Store["search"] = async (operation) => {
    this.#refuseClosed();
    const { searched, isIndexDamaged } = await this.#searcher.run(operation);
    if (isIndexDamaged) this.#remakeIndex();
    return searched;
  };

  findUnembedded: Store["findUnembedded"] = (operation) =>
    this.#read(operation.workspace, (key) => findUnembedded(this.#sql, key, operation));

  putVectors: Store["putVectors"] = (operation) => this.#write((tx) => putVectors(tx, operation));

  listModels: Store["listModels"] = (workspace) =>
    this.#read(workspace, (key) => listModels(this.#sql, key));

  dropModel: Store["dropModel"] = (workspace, model) =>
    this.#write((tx) => dropModel(tx, workspace, model));

  findTips: Store["findTips"] = (operation) =>
    this.#read(operation.workspace, (key) => findTips(this.#sql, key, operation));

  findRelations: Store["findRelations"] = (operation) =>
    this.#read(operation.workspace, (key) => findRelations(this.#sql, key, operation));

  findInbound: Store["findInbound"] = (operation) =>
    this.#read(operation.workspace, (key) => findInbound(this.#sql, key, operation));

  findEntry: Store["findEntry"] = (workspace, kind, name) =>
    this.#read(workspace, (key) => findEntry(this.#sql, key, { kind, name }));

  listEntries: Store["listEntries"] = (operation) =>
    this.#read(operation.workspace, (key) => listEntries(this.#sql, key, operation));

  findDelivery: Store["findDelivery"] = (workspace, id) =>
    this.#read(workspace, (key) => {
      const delivery = findDelivery(this.#sql, key, id);
      return delivery && withEnvelope(this.#sql, key, delivery);
    });

  listDeliveries: Store["listDeliveries"] = (operation) =>
    this.#findRows(operation.workspace, (key) => openDeliveries(this.#sql, key, operation));

  listParked: Store["listParked"] = (operation) =>
    this.#findRows(operation.workspace, (key) => parkedDeliveries(this.#sql, key, operation));

  browseDeliveries: Store["browseDeliveries"] = (operation) =>
    this.#read(operation.workspace, (key) => browseDeliveries(this.#sql, key, operation));

  listDue: Store["listDue"] = async ({ workspace, gone, limit }) => {
    const now = this.#options.clock.now();
    return this.#read(workspace, (key) => ({
      now,
      due: dueDeliveries(this.#sql, key, { gone, limit, now }).map((delivery) =>
        withEnvelope(this.#sql, key, delivery),
      ),
      retries: countDueRetries(this.#sql, key, { limit, now }),
    }));
  };

  nextDue: Store["nextDue"] = (workspaces) =>
    this.#read("", () => {
      const now = this.#options.clock.now();
      const all = () =>
        this.#sql.workspaceNames.all().map((row) => scalarOf<string>(row) as string);
      return (workspaces ?? all())
        .map((workspace) => ({
          workspace,
          dueMs: nextDue({ sql: this.#sql, now }, this.#workspaceKey(workspace)),
        }))
        .filter(({ dueMs }) => Number.isFinite(dueMs));
    });

  makeRetriesReady: Store["makeRetriesReady"] = (workspace) =>
    this.#write((tx) => makeRetriesReady(tx, tx.workspace(workspace)));

  countOpen: Store["countOpen"] = (workspace, receiver, most) =>
    this.#read(workspace, (key) => countOpen(this.#sql, key, { receiver, most }));

  findEnvelope: Store["findEnvelope"] = (workspace, id) =>
    this.#read(workspace, (key) => {
      const row = this.#sql.envelope.get(key, id);
      const deliveries = this.#sql.deliveriesOf.all(key, id).map(deliveryOf);
      return row && { envelope: envelopeOf(row), deliveries };
    });

  readLine: Store["readLine"] = (workspace, task, newest = Number.POSITIVE_INFINITY) =>
    this.#read(workspace, (key) =>
      this.#find((finder) => envelopePositionsOf(finder, key, task))
        .slice(-newest)
        .map((position) => {
          const envelope = envelopeOf(this.#sql.envelopeAt.get(position));
          const deliveries = this.#sql.deliveriesOf.all(key, envelope.id).map(deliveryOf);
          return { envelope, deliveries };
        }),
    );

  readAttempts: Store["readAttempts"] = (workspace, delivery) =>
    this.#read(workspace, (key) => this.#sql.attempts.all(key, delivery).map(attemptOf));

  readEvents: Store["readEvents"] = (workspace, after, limit) =>
    this.#read(workspace, (key) => readEvents(this.#sql, key, { after, limit }));

  listTraces: Store["listTraces"] = (operation) =>
    this.#read(operation.workspace, (key) => listTraces(this.#sql, key, operation));

  surveyTrace: Store["surveyTrace"] = async (operation) => {
    this.#refuseClosed();
    return this.#housekeeper.run({ kind: "surveyTrace", of: operation });
  };

  /**
   * Indexes everything first: the index ends at a record known by its link, and if that is pruned, it is
   * rebuilt.
   */
  pruneTrace: Store["pruneTrace"] = async (operation) => {
    this.#refuseClosed();
    const { records, indexed } = this.#indexState();
    if (indexed < records) await this.#housekeeper.run({ kind: "index" });
    return this.#write((tx) => pruneTrace(tx, operation));
  };

  surveyEvents: Store["surveyEvents"] = async (operation) => {
    this.#refuseClosed();
    return this.#housekeeper.run({ kind: "surveyEvents", of: operation });
  };

  pruneEvents: Store["pruneEvents"] = (workspace, upTo, limit) =>
    this.#write((tx) => pruneEvents(tx, workspace, { upTo, limit }));

  redactBodies: Store["redactBodies"] = (operation) =>
    this.#write((tx) => redactBodies(tx, operation, this.#db));

  seekText: Store["seekText"] = async (of) => {
    this.#refuseClosed();
    return this.#housekeeper.run({ kind: "seek", of });
  };

  scrub: Store["scrub"] = async (_workspace, forms) => {
    this.#refuseClosed();
    this.#closeIndex();
    return this.#housekeeper.run({ kind: "scrub", forms });
  };

  countDeliveries: Store["countDeliveries"] = async (workspace) => {
    this.#refuseClosed();
    return this.#housekeeper.run({ kind: "countDeliveries", workspace });
  };

  listHeads: Store["listHeads"] = (workspace) =>
    this.#read(workspace, (key) => chainHeads(this.#sql, key).toSorted(compareBranches));

  verify: Store["verify"] = async (workspace, onProgress, expected = []) => {
    this.#refuseClosed();
    return this.#housekeeper.run({ kind: "verify", workspace, expected }, onProgress);
  };

  /** Runs in a separate process, so that a query can neither block nor change anything here. */
  query: Store["query"] = async (query) => {
    const workspace = await this.#read(query.workspace, (key) => key);
    const { file } = this.#options;
    return this.#processes.ask({ source: { kind: "file", file, workspace }, query });
  };

  indexState: Store["indexState"] = async () => {
    this.#refuseClosed();
    return this.#indexState();
  };

  async *exportWorkspace(workspace: string): AsyncGenerator<ExportItem, void, undefined> {
    this.#refuseClosed();
    const { file, limits } = this.#options;
    const db = await retryWhileBusy(() => connect(file), { file, busyMs: limits.busyMs });
    for await (const row of exportWorkspace(db, workspace)) {
      this.#refuseClosed();
      yield row;
    }
  }

  importWorkspace: Store["importWorkspace"] = async (workspace, archive, onProgress) => {
    this.#refuseClosed();
    const { file, limits } = this.#options;
    const busy = { file, busyMs: limits.busyMs };
    const db = await retryWhileBusy(() => connect(file), busy);
    try {
      configure(db, limits.storeBytes);
      await retryWhileBusy(() => db.exec("begin immediate"), busy);
      const outcome = await importWorkspace({ db, workspace, archive, onProgress });
      this.#refuseClosed();
      if (outcome.kind !== "imported") return outcome;
      commitImport(db, file);
      this.#housekeeper.committed(archive.summary.counts.memory);
      this.#notifier.ring([DUE_TIMES]);
      return outcome;
    } catch (error) {
      throw storeFailure(error, file);
    } finally {
      db.close(); // Rolls back what was not committed.
    }
  };

  backup: Store["backup"] = async (target, onProgress = () => {}) => {
    this.#refuseClosed();
    return backupFile(this.#options.file, { target, onProgress });
  };

  onWake: Store["onWake"] = (whom, listener) => this.#notifier.listen(whom, listener);

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#notifier.close();
    this.#processes.close();
    await this.#committer.idle();
    this.#known.close();
    // Before the housekeeper: the last connection to close merges the log, so it must be writable.
    this.#closeIndex();
    await this.#searcher.close();
    await this.#housekeeper.close();
    closeConnection(this.#db);
  }

  #write<Outcome>(run: (transaction: Transaction) => Outcome): Promise<Outcome> {
    if (this.#closing !== undefined) return Promise.reject(storeClosed());
    return this.#committer.submit(run);
  }

  /** Writes what can change when a delivery falls due, and announces that. */
  async #writeTimed<Outcome extends TimedOutcome>(
    run: (transaction: Transaction) => Outcome,
  ): Promise<Outcome> {
    return this.#dueTimes.announce(await this.#write(run));
  }

  /** Runs a short read at once; recovery after a crash can lock the file briefly. */
  async #read<T>(workspace: string, run: (workspace: number) => T): Promise<T> {
    this.#refuseClosed();
    const { file, limits } = this.#options;
    return retryWhileBusy(() => run(this.#workspaceKey(workspace)), {
      file,
      busyMs: limits.busyMs,
    });
  }

  /** Reads deliveries with their envelopes. */
  #findRows(workspace: string, find: (workspace: number) => readonly DeliveryRow[]) {
    return this.#read(workspace, (key) =>
      find(key).map((delivery) => withEnvelope(this.#sql, key, delivery)),
    );
  }

  /** Returns 0 for a workspace that was never written to; no row has that key. */
  #workspaceKey(name: string): number {
    const known = this.#workspaces.get(name);
    if (known !== undefined) return known;
    const key = scalarOf<number>(this.#sql.workspaceKey.get(name));
    if (key !== undefined && !this.#db.isTransaction) this.#workspaces.set(name, key);
    return key ?? 0;
  }

  /**
   * Runs a read with the index. If the index fails, runs it again without: the index is derived, so all is
   * scanned.
   */
  #find<Found>(look: (finder: IndexContext) => Found): Found {
    const sql = this.#sql;
    try {
      return look({ sql, index: this.#openIndex() });
    } catch (error) {
      if (this.#index === undefined || isBusy(error) || error instanceof BatonError) throw error;
      this.#remakeIndex();
      return look({ sql, index: undefined });
    }
  }

  #remakeIndex(): void {
    this.#closeIndex();
    this.#remaking ??= this.#housekeeper
      .run({ kind: "remake" })
      .catch(() => undefined) // The next read that finds it damaged starts again.
      .finally(() => {
        this.#remaking = undefined;
      });
  }

  /** Opens the index again if it is far behind, because another process may have replaced the file. */
  #openIndex(): IndexFile | undefined {
    if (this.#remaking !== undefined) return undefined;
    if (this.#index !== undefined) {
      const indexed = watermark({ sql: this.#sql, index: this.#index });
      const isOld = indexed === 0 || this.#records() - indexed > MAX_INDEX_LAG;
      if (isOld || this.#hasRedactedWords(this.#index)) this.#closeIndex();
    }
    this.#index ??= IndexFile.openForReading(this.#options.file);
    if (this.#index !== undefined && this.#hasRedactedWords(this.#index)) this.#remakeIndex();
    return this.#index;
  }

  #hasRedactedWords(index: IndexFile): boolean {
    return index.redactions !== readRedactionCount(this.#db);
  }

  #records(): number {
    return scalarOf<number>(this.#sql.lastPosition.get()) ?? 0;
  }

  #closeIndex(): void {
    this.#index?.close();
    this.#index = undefined;
  }

  #indexState() {
    const records = this.#records();
    return { records, indexed: this.#find(watermark) };
  }

  #refuseClosed(): void {
    if (this.#closing !== undefined) throw storeClosed();
  }
}
