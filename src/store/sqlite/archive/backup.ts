/**
 * A copy of the whole file while others write: of the moment it began, since its connection keeps
 * one snapshot for as long as it takes. (Without that, SQLite starts over whenever somebody else
 * commits, and under load never ends.) The pages are copied in a thread of Node's, so nobody waits.
 *
 * The copy is checked before it gets its name: SQLite's integrity check, then every chain, signature
 * and delivery of every workspace. The index beside a store is derived, and not copied.
 */
import { backup, DatabaseSync } from "node:sqlite";
import { BatonError } from "../../../base/errors.ts";
import { stageFile, toFileError } from "../../../base/staged-file.ts";
import type { BackupOutcome, BackupProgress } from "../../archive.ts";
import { connect } from "../connection.ts";
import { storeFailure } from "../failures.ts";
import { Housekeeper } from "../search/housekeeper.ts";
import type { Inspection } from "../search/housekeeper-protocol.ts";
import { type Seal, sealFile } from "./backup-seal.ts";

/** Copied in one go: about a millisecond. */
const PAGES_PER_STEP = 256;

export interface BackupOptions {
  readonly target: string;
  readonly onProgress: (progress: BackupProgress) => void;
}

export async function backupFile(
  file: string,
  { target, onProgress }: BackupOptions,
): Promise<BackupOutcome> {
  const staged = stageFile(target);
  try {
    await copyPages(file, staged.path, onProgress);
    const { workspaces, problems } = await inspectFile(staged.path, onProgress);
    if (problems.length > 0) throw corruptStoreError(file, problems);
    const seal: Seal = await sealFile(staged.path, () => {});
    staged.place();
    return { kind: "copied", workspaces, ...seal };
  } catch (error) {
    throw toFileError(storeFailure(error, file), target);
  } finally {
    staged.discard();
  }
}

async function copyPages(
  file: string,
  target: string,
  onProgress: BackupOptions["onProgress"],
): Promise<void> {
  const source = connect(file);
  try {
    source.exec("begin; select count(*) from workspaces");
    await backup(source, target, {
      rate: PAGES_PER_STEP,
      progress: ({ totalPages, remainingPages }) =>
        onProgress({
          phase: "copying",
          done: totalPages - remainingPages,
          total: totalPages,
        }),
    });
  } finally {
    source.close();
  }
  foldLog(target);
}

/** One file, without a log beside it: whoever opens it as a store gets one again. */
export function foldLog(file: string): void {
  const db = new DatabaseSync(file);
  try {
    db.exec("pragma journal_mode = delete");
  } finally {
    db.close();
  }
}

/** Everything in a file, looked at in a thread of its own. */
export async function inspectFile(
  file: string,
  onProgress: BackupOptions["onProgress"],
): Promise<Inspection> {
  const thread = new Housekeeper(file);
  try {
    return await thread.run(
      { kind: "inspect" },
      ({ checked, total }: { checked: number; total: number }) =>
        onProgress({ phase: "verifying", done: checked, total }),
    );
  } finally {
    await thread.close();
  }
}

function corruptStoreError(file: string, problems: Inspection["problems"]): BatonError {
  const [first] = problems;
  return new BatonError("store_corrupt", {
    message: `${file}: not everything is as it was written (${first?.record} ${first?.field}: ${first?.message}). No backup was made.`,
    path: file,
    hint: "See all of it with baton verify, and keep your earlier backups.",
    details: { problems: problems.length },
  });
}
