/**
 * The housekeeper's worker thread: does everything that takes long, on a separate connection, so that the
 * main thread does only short writes and point reads. Fills the index, checkpoints the write-ahead log,
 * verifies, and counts records. It may wait for locks; writers wait for it only while a checkpoint copies the
 * last few pages of the log.
 */
import { DatabaseSync } from "node:sqlite";
import { parentPort, workerData } from "node:worker_threads";
import { isBatonError } from "../../../base/errors.ts";
import type { ThreadData, ThreadRequest, ThreadResponse } from "../../../base/job-thread.ts";
import { DELIVERY_STATES, type DeliveryState } from "../../rows.ts";
import type { DeliveryTotals } from "../../store.ts";
import type { VerifyProgress } from "../../verify-report.ts";
import { scrub } from "../archive/scrub.ts";
import { storeFailure } from "../failures.ts";
import { inspect, type VerifiedFile, verifyFile } from "../inspect.ts";
import { mergeLog } from "../merge-log.ts";
import { surveyEvents } from "../operations/events.ts";
import { surveyTrace } from "../operations/prune.ts";
import { readRedactionCount } from "../operations/redaction-count.ts";
import { seekText } from "../operations/seek-text.ts";
import { numberOf, scalarOf } from "../scalar.ts";
import { prepareStatements } from "../statements.ts";
import type { Job, JobResults } from "./housekeeper-protocol.ts";
import { IndexFile, indexableRowOf, removeIndex } from "./index-file.ts";

/** Records indexed per transaction: large enough to be fast, small enough to be interrupted. */
const FILL_BATCH = 2_000;
/**
 * Pages in the log that make a checkpoint worth its two syncs. Not more: a log that restarts soon overwrites
 * blocks it already has; at 16,000 pages appends were a fifth slower.
 */
const CHECKPOINT_PAGES = 2_000;
/** How long a checkpoint waits for readers and writers before it is postponed. */
const CHECKPOINT_WAIT_MS = 50;

const { file } = workerData as ThreadData;
const port = parentPort;
if (port === null) throw new Error("the housekeeper runs in a worker thread only");

const db = new DatabaseSync(file, { timeout: CHECKPOINT_WAIT_MS });
db.exec(`
  pragma synchronous = full;
  pragma fullfsync = on;
  pragma wal_autocheckpoint = 0;
  pragma cache_size = -16000;
`);
const sql = prepareStatements(db);
const logState = db.prepare("pragma wal_checkpoint(noop)");
let index: IndexFile | undefined;
let working = false;
/** The index was just deleted: if filling a new one fails too, the next attempt waits for the next commit. */
let rebuilt = false;

port.on("message", (message: ThreadRequest<Job>) => {
  switch (message.kind) {
    case "notice": // Records were appended: there is something to index, and perhaps to checkpoint.
      scheduleHousekeeping();
      break;
    case "job":
      void handleJob(message.number, message.job);
      break;
    case "close":
      closeIndex();
      db.close();
      port.close();
      break;
  }
});

/** Works in slices and handles messages in between. */
function scheduleHousekeeping(): void {
  if (working) return;
  working = true;
  setImmediate(() => {
    working = false;
    if (!db.isOpen) return;
    const more = fillIndex() === FILL_BATCH;
    try {
      checkpoint();
    } catch (error) {
      post({ kind: "trouble", error: toPlainError(error) });
    }
    if (more) scheduleHousekeeping();
  });
}

/**
 * Fills a batch and returns its size. A damaged or foreign index is rebuilt: it is derived from the store.
 */
function fillIndex(): number {
  try {
    index ??= IndexFile.openForFilling(file, readRedactionCount(db));
    if (isForeign(index)) throw new Error("the index was made from another store");
    const filled = index.fill((after) =>
      sql.memoriesAfter.all(after, FILL_BATCH).map(indexableRowOf),
    );
    rebuilt = false;
    return filled;
  } catch (error) {
    const again = isRebuildNeeded(error) && !rebuilt;
    rebuilt = again;
    if (again) dropIndex();
    else closeIndex();
    return again ? FILL_BATCH : 0; // Start over, but not endlessly.
  }
}

function closeIndex(): void {
  index?.close();
  index = undefined;
}

function dropIndex(): void {
  closeIndex();
  removeIndex(file);
}

function isForeign(current: IndexFile): boolean {
  if (current.redactions !== readRedactionCount(db)) return true; // It contains redacted words.
  const { position, link } = current.watermark();
  if (position === 0) return false;
  return scalarOf<string>(sql.linkAt.get(position)) !== link;
}

/** Locks and full disks are temporary; any other error means that the index itself is unusable. */
function isRebuildNeeded(error: unknown): boolean {
  const code = (storeFailure(error, file) as { code?: string }).code;
  return code !== "store_busy" && code !== "store_full" && code !== "store_read_only";
}

/**
 * Checkpoints the bulk passively while others write, then the short rest with the writers' lock, so that the
 * log restarts. A passive checkpoint alone never catches up with a busy writer.
 */
function checkpoint(): void {
  if (logPages() < CHECKPOINT_PAGES) return;
  mergeLog(db, "passive");
  mergeLog(db, "restart");
}

function logPages(): number {
  return (logState.get() as { log: number }).log;
}

async function handleJob(number: number, job: Job): Promise<void> {
  try {
    const result = await run(job, number);
    post({ kind: "done", number, result });
  } catch (error) {
    post({ kind: "failed", number, error: toPlainError(error) });
  }
}

/** An error loses its class between threads, but keeps its fields. */
function toPlainError(error: unknown): unknown {
  const failure = storeFailure(error, file);
  return isBatonError(failure) ? failure.toJSON() : failure;
}

async function run(job: Job, number: number): Promise<JobResults[Job["kind"]]> {
  switch (job.kind) {
    case "verify":
      return readSnapshot(() => verifyFile(verified(number), job.workspace, job.expected));
    case "inspect":
      return readSnapshot(() => inspect(verified(number)));
    case "countDeliveries":
      return readSnapshot(async () => countDeliveries(job.workspace));
    case "surveyTrace": {
      const { of } = job;
      return readSnapshot(async () => surveyTrace(sql, workspaceOf(of), of));
    }
    case "surveyEvents": {
      const { of } = job;
      return readSnapshot(async () => surveyEvents(sql, workspaceOf(of), of));
    }
    case "index":
      while (fillIndex() === FILL_BATCH);
      return undefined;
    case "seek":
      return readSnapshot(async () => seekText(db, job.of));
    case "scrub": {
      dropIndex();
      const beyond = await scrub(db, file, job.forms);
      scheduleHousekeeping();
      return { beyond };
    }
    case "remake":
      dropIndex();
      scheduleHousekeeping();
      return undefined;
  }
}

const verified = (number: number): VerifiedFile => ({
  db,
  sql,
  onProgress: (progress) => post({ kind: "progress", number, progress }),
});

/**
 * Runs a read in one transaction. Rows that are read one after the other must be from one snapshot, or a
 * write in between looks like tampering. Nothing else runs on this connection meanwhile, because the sources
 * never wait.
 */
async function readSnapshot<T>(read: () => Promise<T>): Promise<T> {
  db.exec("begin");
  try {
    return await read();
  } finally {
    if (db.isTransaction) db.exec("rollback");
  }
}

const workspaceOf = ({ workspace }: { readonly workspace: string }): number =>
  numberOf(sql.workspaceKey.get(workspace));

function countDeliveries(workspace: string): DeliveryTotals {
  const key = numberOf(sql.workspaceKey.get(workspace));
  const byState = Object.fromEntries(DELIVERY_STATES.map((state) => [state, 0])) as Record<
    DeliveryState,
    number
  >;
  for (const [state, number] of sql.countStates.all(key) as unknown as [number, number][]) {
    byState[DELIVERY_STATES[state] as DeliveryState] += number;
  }
  return {
    envelopes: numberOf(sql.countEnvelopes.get(key)),
    deliveries: numberOf(sql.countDeliveries.get(key)),
    byState,
  };
}

function post(message: ThreadResponse<JobResults[Job["kind"]], VerifyProgress>): void {
  port?.postMessage(message);
}
