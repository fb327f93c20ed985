/**
 * Imports a whole workspace, in the caller's transaction and under the workspace's lock: it is not visible
 * until it is verified, and a failure leaves nothing behind. Other workspaces are not affected.
 */
import {
  type Archive,
  type ArchiveSummary,
  findSummaryMismatch,
  type ImportOutcome,
  type ImportProgress,
  type RowKind,
  totalOf,
  UnsoundRowError,
} from "../../archive.ts";
import type { VerifySource } from "../../verify/audit.ts";
import { verifyWorkspace } from "../../verify/workspace.ts";
import { isDuplicate } from "../failures.ts";
import { type ExecuteSql, summaryOf } from "./export.ts";
import { RowWriter } from "./import-rows.ts";

interface ImportContext {
  readonly ask: ExecuteSql;
  readonly workspace: string;
  readonly archive: Archive;
  readonly onProgress: ((progress: ImportProgress) => void) | undefined;
  /** Returns the rows as they are in this transaction. */
  source(): Promise<VerifySource>;
}

/** Writes and verifies the rows of an archive. The caller commits only if the outcome is `imported`. */
export async function importWorkspace(given: ImportContext): Promise<ImportOutcome> {
  const { ask, workspace, archive, onProgress } = given;
  await ask("set local search_path = $schema, pg_temp", []); // The same as in the functions.
  const [entered] = await ask("select w from $schema.enter($1, null)", [workspace]);
  const key = entered?.[0] as number;
  const there = await summaryOf(ask, key);
  if (totalOf(there.counts) > 0) return occupiedOutcome(ask, key, { archive, there });
  const writer = new RowWriter(ask, { key, summary: archive.summary });
  const total = totalOf(archive.summary.counts);
  try {
    await writer.begin();
    for await (const row of archive.rows) {
      const done = await writer.add(row);
      if (done !== undefined) onProgress?.({ phase: "writing", done, total });
    }
    await writer.end();
  } catch (error) {
    if (error instanceof UnsoundRowError) return { kind: "unsound", problems: [error.problem] };
    if (!isDuplicate(error)) throw error;
    return { kind: "unsound", problems: [duplicateProblem(writer.kind)] };
  }
  const lost = findSummaryMismatch(await summaryOf(ask, key), archive.summary);
  if (lost !== undefined) return { kind: "unsound", problems: [lost] };
  const { problems, ...read } = await verifyWorkspace(await given.source(), (progress) =>
    onProgress?.({ phase: "verifying", done: progress.checked, total: progress.total }),
  );
  if (problems.length > 0) return { kind: "unsound", problems };
  return { kind: "imported", report: { ...read, problems }, eventsMovedBy: 0 };
}

const duplicateProblem = (kind: RowKind) => ({
  record: `rows of kind ${kind}`,
  field: "id",
  message: "an id occurs twice",
});

/** Compares heads. A link fixes everything before it: the same last records mean the same history. */
async function occupiedOutcome(
  ask: ExecuteSql,
  key: number,
  { archive, there }: { readonly archive: Archive; readonly there: ArchiveSummary },
): Promise<ImportOutcome> {
  const { heads } = archive.summary;
  let same = heads.length > 0;
  for (const { branch, seq, link } of heads) {
    // The head of a trace is kept even if all its steps were pruned.
    if (there.heads.some((head) => head.branch === branch && head.link === link)) continue;
    const [row] = await ask(
      `select m.link from $schema.chains c
        join $schema.memories m on m.workspace = c.workspace and m.chain = c.key
        where c.workspace = $1 and c.branch = $2 and m.seq = $3`,
      [key, branch, seq],
    );
    same &&= row?.[0] === link;
  }
  if (same) return { kind: "already_there" };
  return { kind: "not_empty", records: totalOf(there.counts) };
}
