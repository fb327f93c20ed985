/**
 * Copies the whole file while other processes write. The copy is of the moment it began, because its
 * connection keeps one snapshot. (Without that, SQLite starts over whenever another connection commits, and
 * under load never finishes.) The pages are copied in a thread of Node.js, so nothing waits for it.
 *
 * The copy is verified before it gets its name: SQLite's integrity check, then every chain, signature and
 * delivery of every workspace. The index next to a store is derived and not copied.
 */
import { backup, DatabaseSync } from "node:sqlite";
import { BatonError } from "../../../base/errors.ts";
import { stageFile, toFileError } from "../../../base/files/staged-file.ts";
import type { BackupOutcome, BackupProgress } from "../../archive.ts";
import { connect } from "../connection.ts";
import { storeFailure } from "../failures.ts";
import { Housekeeper } from "../search/housekeeper.ts";
import type { Inspection } from "../search/housekeeper-protocol.ts";
import { type Seal, sealFile } from "./backup-seal.ts";

/** Pages copied per step; about a millisecond. */
const PAGES_PER_STEP = 256;

/** Where a backup goes, and its progress callback. */
export interface BackupOptions {
  readonly target: string;
  readonly onProgress: (progress: BackupProgress) => void;
}

/** Writes a verified and sealed copy to `target`. Throws `store_corrupt` if the store is damaged. */
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

/** Copies a file as of one moment, damaged or not. */
export async function copyPages(
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

/** Merges the log into the file, so that a single file is left. Opening it as a store creates a log again. */
export function foldLog(file: string): void {
  const db = new DatabaseSync(file);
  try {
    db.exec("pragma journal_mode = delete");
  } finally {
    db.close();
  }
}

/** Verifies everything in a file, in a thread. */
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
    message: `${file} is damaged (${first?.record} ${first?.field}: ${first?.message}), so no backup was made.`,
    path: file,
    hint: "Run baton verify to list all problems, and keep your earlier backups.",
    details: { problems: problems.length },
  });
}
