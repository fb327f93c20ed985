/**
 * Writes an archive into an empty workspace, in one transaction on a separate connection: it becomes visible
 * only after verification, and any error leaves nothing behind. Others can read meanwhile, but writers to the
 * same file wait, so a large import is best done into a separate file.
 */
import type { DatabaseSync } from "node:sqlite";
import {
  type Archive,
  type ArchiveSummary,
  findSummaryMismatch,
  type ImportOutcome,
  type ImportProgress,
  inSlices,
  SLICE,
  totalOf,
  UnsoundRowError,
} from "../../archive.ts";
import type { VerifySource } from "../../verify/audit.ts";
import { verifyWorkspace } from "../../verify/workspace.ts";
import { isConstraintViolation } from "../failures.ts";
import { numberOf } from "../scalar.ts";
import { prepareStatements } from "../statements.ts";
import { summaryOf } from "./export.ts";
import { RowWriter } from "./import-rows.ts";
import { verifySource } from "./verify-source.ts";

/** The arguments of an import. */
interface ImportContext {
  readonly db: DatabaseSync;
  readonly workspace: string;
  readonly archive: Archive;
  readonly onProgress: ((progress: ImportProgress) => void) | undefined;
}

/** Runs inside the caller's write transaction; the caller may commit only after `imported`. */
export async function importWorkspace(given: ImportContext): Promise<ImportOutcome> {
  const { db, workspace, archive, onProgress } = given;
  const sql = prepareStatements(db);
  sql.addWorkspace.run(workspace);
  const key = numberOf(sql.workspaceKey.get(workspace));
  const there = summaryOf(db, key);
  if (totalOf(there.counts) > 0) return occupiedOutcome(db, key, { archive, there });
  const writer = new RowWriter(db, sql, { key, ...archive });
  const total = totalOf(archive.summary.counts);
  let done = 0;
  try {
    for await (const row of archive.rows) {
      writer.write(row);
      if (++done % SLICE !== 0) continue;
      onProgress?.({ phase: "writing", done, total });
      await new Promise(setImmediate);
    }
  } catch (error) {
    if (error instanceof UnsoundRowError) return { kind: "unsound", problems: [error.problem] };
    if (!isConstraintViolation(error)) throw error;
    const problem = { record: writer.last, field: "id", message: "appears twice in the archive" };
    return { kind: "unsound", problems: [problem] };
  }
  const lost = findSummaryMismatch(summaryOf(db, key), archive.summary);
  if (lost !== undefined) return { kind: "unsound", problems: [lost] };
  const { problems, ...read } = await verifyWorkspace(
    yieldingSource(verifySource(sql, workspace)),
    (progress) =>
      onProgress?.({ phase: "verifying", done: progress.checked, total: progress.total }),
  );
  if (problems.length > 0) return { kind: "unsound", problems };
  return { kind: "imported", report: { ...read, problems }, eventsMovedBy: writer.eventsMovedBy };
}

/**
 * A link fixes everything before it: a workspace with the archive's last records has the archive's history.
 */
function occupiedOutcome(
  db: DatabaseSync,
  key: number,
  { archive, there }: { readonly archive: Archive; readonly there: ArchiveSummary },
): ImportOutcome {
  const { heads } = archive.summary;
  const linkAt = db.prepare(`select m.link from chains c join memories m on m.chain = c.key
    where c.workspace = ? and c.branch = ? and m.seq = ?`);
  const same = heads.every(({ branch, seq, link }) => {
    // The last link of a trace stays known even after all of it was pruned.
    if (there.heads.some((head) => head.branch === branch && head.link === link)) return true;
    return linkAt.get(key, branch, seq)?.["link"] === link;
  });
  if (same && heads.length > 0) return { kind: "already_there" };
  return { kind: "not_empty", records: totalOf(there.counts) };
}

/** The same rows, with pauses for the event loop in between, because it reads on the main thread. */
function yieldingSource(source: VerifySource): VerifySource {
  const sync = <Row>(rows: unknown): AsyncGenerator<Row> =>
    inSlices(rows as Iterable<Row>, (row) => row);
  return {
    ...source,
    memories: (branch) => sync(source.memories(branch)),
    envelopes: () => sync(source.envelopes()),
    deliveries: () => sync(source.deliveries()),
    entries: () => sync(source.entries()),
  };
}
