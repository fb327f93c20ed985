/**
 * Writing everything a workspace holds, in the caller's transaction and under the workspace's lock:
 * until it is verified nobody sees it, and whatever goes wrong leaves nothing. Other workspaces go
 * on meanwhile.
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
  /** The rows as they are in this transaction. */
  source(): Promise<VerifySource>;
}

/** Only `imported` may be committed. */
export async function importWorkspace(given: ImportContext): Promise<ImportOutcome> {
  const { ask, workspace, archive, onProgress } = given;
  await ask("set local search_path = $schema, pg_temp", []); // As the functions have it.
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
  message: "one of them is there twice",
});

/** A link fixes everything before it: who has the file's last records has the file's history. */
async function occupiedOutcome(
  ask: ExecuteSql,
  key: number,
  { archive, there }: { readonly archive: Archive; readonly there: ArchiveSummary },
): Promise<ImportOutcome> {
  const { heads } = archive.summary;
  let same = heads.length > 0;
  for (const { branch, seq, link } of heads) {
    // What a trace ended with stays known, also when all of it was pruned.
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
