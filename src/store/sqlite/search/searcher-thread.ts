/**
 * The searcher's worker thread: runs ranked searches on separate connections, so that the main thread never
 * waits for one. One search at a time, each over one snapshot of the store and of the index.
 */
import { DatabaseSync } from "node:sqlite";
import { parentPort, workerData } from "node:worker_threads";
import { isBatonError } from "../../../base/errors.ts";
import type { ThreadData, ThreadRequest, ThreadResponse } from "../../../base/job-thread.ts";
import { rank } from "../../../search/rank.ts";
import { memoryOf } from "../../codecs.ts";
import { hitsOf, type SearchMemories, type SearchResult } from "../../search.ts";
import { UnindexedTail } from "../../unindexed-tail.ts";
import { isBusy, storeFailure } from "../failures.ts";
import { watermark } from "../operations/find-memories.ts";
import { readRedactionCount } from "../operations/redaction-count.ts";
import { numberOf, scalarOf } from "../scalar.ts";
import { prepareStatements } from "../statements.ts";
import { IndexFile, indexableRowOf } from "./index-file.ts";
import { IndexReader } from "./index-reader.ts";
import { SqliteSources } from "./search-sources.ts";
import { SignatureCache, VectorSearch } from "./vector-search.ts";

/** How long a search waits for a lock that recovery after a crash holds. */
const WAIT_MS = 2_000;
/** Rows of the tail to read at once. */
const SLICE = 1_000;
/** If the index is behind by more records than this, it may have been replaced: open it again. */
const MAX_INDEX_LAG = 10_000;
/** Page cache for the index: a query reads a few hundred pages, mostly the same ones. */
const CACHE_KB = 64_000;

/** The answer of the thread. */
export interface SearchReply {
  readonly searched: SearchResult;
  /** True if the index could not be read and should be rebuilt by a writer. */
  readonly isIndexDamaged: boolean;
}

const { file } = workerData as ThreadData;
const port = parentPort;
if (port === null) throw new Error("the searcher runs in a worker thread only");

const db = new DatabaseSync(file, { readOnly: true, timeout: WAIT_MS });
db.exec("pragma cache_size = -16000");
const sql = prepareStatements(db);
let tail = new UnindexedTail();
let signatures = new SignatureCache();
let redactions = readRedactionCount(db);
let index: { readonly file: IndexFile; readonly reader: IndexReader } | undefined;
let queue: Promise<void> = Promise.resolve();

port.on("message", (message: ThreadRequest<SearchMemories>) => {
  switch (message.kind) {
    case "job":
      queue = queue.then(() => handleSearch(message.number, message.job));
      break;
    case "notice":
      break;
    case "close":
      queue = queue.then(() => {
        closeIndex();
        db.close();
        port.close();
      });
      break;
  }
});

async function handleSearch(number: number, operation: SearchMemories): Promise<void> {
  try {
    post({ kind: "done", number, result: await search(operation) });
  } catch (error) {
    const failure = storeFailure(error, file);
    // An error loses its class between threads, but keeps its fields.
    post({ kind: "failed", number, error: isBatonError(failure) ? failure.toJSON() : failure });
  }
}

/** Searches; if the index fails, searches again without it, because it is derived. */
async function search(operation: SearchMemories): Promise<SearchReply> {
  dropRedactedCaches();
  try {
    openIndex();
    const look = () => searchSnapshot(operation);
    const searched = await (index === undefined ? look() : index.file.atOneMoment(look));
    return { searched, isIndexDamaged: false };
  } catch (error) {
    if (isBatonError(error) || isBusy(error) || index === undefined) throw error;
    closeIndex();
    return { searched: await searchSnapshot(operation), isIndexDamaged: true };
  }
}

async function searchSnapshot(operation: SearchMemories): Promise<SearchResult> {
  db.exec("begin");
  try {
    const { limit, meant, shown = [] } = operation;
    const records = numberOf(sql.lastPosition.get());
    const indexed = watermark({ sql, index: index?.file });
    tail.follow({
      watermark: indexed,
      last: records,
      redactions: readRedactionCount(db),
      read: (after) => sql.memoriesAfter.all(after, SLICE).map(indexableRowOf),
    });
    index?.reader.at(indexed);
    const workspace = numberOf(sql.workspaceKey.get(operation.workspace));
    const vectors = new VectorSearch(sql, { cache: signatures, workspace, meant });
    const upTo = operation.upTo ?? records;
    const sources = new SqliteSources({
      sql,
      index: index?.reader,
      tail,
      vectors,
      watermark: indexed,
      workspace,
      operation: { ...operation, upTo },
    });
    const ranked = await rank(sources, {
      ...operation.ranking,
      want: limit + 1,
      shown: new Set(shown),
    });
    const page = ranked.slice(0, limit);
    const rowAt = (pos: number) => {
      const raw = sql.memoryAt.get(pos);
      return raw === undefined ? undefined : memoryOf(raw);
    };
    const envelopeAt = (pos: number) => scalarOf<string>(sql.envelopeTextAt.get(pos));
    return {
      hits: hitsOf(page, operation.ranking.query, { rowAt, envelopeAt }),
      more: ranked.length > limit,
      upTo,
      index: { records, indexed },
      vectors: vectors.isThere ? "quantised" : "none",
    };
  } finally {
    if (db.isTransaction) db.exec("rollback");
  }
}

/** Opens the index again if it is far behind, because another process may have replaced the file. */
function openIndex(): void {
  if (index !== undefined) {
    const behind = numberOf(sql.lastPosition.get()) - watermark({ sql, index: index.file });
    if (behind > MAX_INDEX_LAG || hasRedactedWords(index.file)) closeIndex();
  }
  if (index !== undefined) return;
  const opened = IndexFile.openForReading(file, { cacheKb: CACHE_KB });
  if (opened === undefined) return;
  if (hasRedactedWords(opened)) opened.close();
  else index = { file: opened, reader: new IndexReader(opened) };
}

const hasRedactedWords = (opened: IndexFile): boolean =>
  opened.redactions !== readRedactionCount(db);

/** Drops all caches after a redaction, because they may contain redacted text. */
function dropRedactedCaches(): void {
  const now = readRedactionCount(db);
  if (now === redactions) return;
  redactions = now;
  closeIndex();
  tail = new UnindexedTail();
  signatures = new SignatureCache();
}

function closeIndex(): void {
  index?.file.close();
  index = undefined;
}

function post(message: ThreadResponse<SearchReply>): void {
  port?.postMessage(message);
}
