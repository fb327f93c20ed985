/**
 * Turns a backup into a store: copies it next to its destination while checking its seal, upgrades its
 * schema, verifies all of it, and only then moves it into place in one step. An existing store is not
 * replaced unless `force` is set; then it is kept under another name, and no process may have it open. Logs
 * that lie next to the destination are moved away in every case: SQLite would replay them over the new file.
 */
import {
  constants,
  copyFileSync,
  createWriteStream,
  existsSync,
  linkSync,
  renameSync,
} from "node:fs";
import { dirname, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { pathToFileURL } from "node:url";
import type { Clock } from "../../../base/clock.ts";
import { BatonError } from "../../../base/errors.ts";
import { stageFile, toFileError } from "../../../base/files/staged-file.ts";
import { syncPath } from "../../../base/files/sync-path.ts";
import type { BackupProgress, CopiedWorkspace } from "../../archive.ts";
import type { SchemaStep } from "../../schema-steps.ts";
import { connect } from "../connection.ts";
import { isBusy, isNotADatabase, storeFailure } from "../failures.ts";
import { forgetHead } from "../known-head.ts";
import { UNMERGED } from "../merge-log.ts";
import { isCurrent, migrate } from "../migrations.ts";
import { removeIndex } from "../search/index-file.ts";
import { refuseUnsafeStore } from "../store-privacy.ts";
import { foldLog, inspectFile } from "./backup.ts";
import { readSeal, sealedBytes } from "./backup-seal.ts";

/** What to restore, and where. */
export interface RestoreOptions {
  readonly backup: string;
  readonly file: string;
  /** Replaces an existing store, which is kept under another name. */
  readonly force: boolean;
  readonly clock: Clock;
  /** Folders in which a store of another user is accepted; `*` for all. */
  readonly safeFolders?: readonly string[];
  readonly onProgress: (progress: BackupProgress) => void;
  /** For tests: schema steps other than those of this version. */
  readonly steps?: readonly SchemaStep[];
}

/** What was restored. */
export interface RestoreFileResult {
  readonly bytes: number;
  readonly sha256: string;
  readonly workspaces: readonly CopiedWorkspace[];
  /** Path of the store that was replaced; empty: there was none. */
  readonly kept: string;
}

/**
 * Restores a backup. Throws `invalid_backup` if it is damaged, `store_busy` if the old store is in use, and
 * `store_unsafe` if the folder belongs to another user.
 */
export async function restoreFile(given: RestoreOptions): Promise<RestoreFileResult> {
  const { backup, file, force, clock, onProgress } = given;
  await refuseUnsafeStore(resolve(file), given.safeFolders);
  const staged = stageFile(file, { replace: force });
  try {
    const seal = await readSeal(backup);
    const bytes = sealedBytes(backup, seal, (done, total) =>
      onProgress({ phase: "copying", done, total }),
    );
    await pipeline(Readable.from(bytes), createWriteStream(staged.path, { flush: true }));
    upgradeSchema(staged.path, given);
    const { workspaces, problems } = await inspectFile(staged.path, onProgress);
    if (problems.length > 0) throw invalidBackupError(backup, problems);
    foldLog(staged.path);
    const kept = keepPreviousStore(file, clock);
    staged.place();
    removeIndex(file); // It was made from the replaced store.
    forgetHead(file);
    return { ...seal, workspaces, kept };
  } catch (error) {
    throw toFileError(storeFailure(error, file), file);
  } finally {
    staged.discard();
  }
}

/** Upgrades a backup of an earlier release. Throws if it is not a Baton store, too new or too old. */
function upgradeSchema(copy: string, { backup, clock, steps }: RestoreOptions): void {
  const db = connect(copy);
  try {
    if (isCurrent(db, backup, steps)) return;
    db.exec("begin immediate");
    migrate(db, backup, { now: clock.now(), steps });
    db.exec("commit");
  } finally {
    db.close();
  }
}

/**
 * Gives the old store a second name, so that the original name always refers to a store, and returns it;
 * empty if there was no store. The log is merged into it first, which SQLite does only if no other connection
 * has the file open. A log that is left, because its file cannot be read or is gone, is renamed too.
 */
function keepPreviousStore(file: string, clock: Clock): string {
  const stamp = new Date(clock.now()).toISOString().replace(/[:.]/g, "-");
  const kept = `${file}.before-${stamp}`;
  const exists = existsSync(file);
  try {
    if (exists && isSqlite(file)) foldLog(file);
  } catch (error) {
    if (isBusy(error)) throw inUse(file, error);
  }
  moveLogs(file, kept);
  if (!exists) return "";
  try {
    linkSync(file, kept);
  } catch {
    copyFileSync(file, kept, constants.COPYFILE_EXCL); // The file system has no hard links.
  }
  return kept;
}

/** Renames the logs of a store, and syncs that before another file gets the store's name. */
function moveLogs(file: string, kept: string): void {
  const logs = ["-wal", "-shm", "-journal", UNMERGED].filter((log) => existsSync(`${file}${log}`));
  for (const log of logs) renameSync(`${file}${log}`, `${kept}${log}`);
  if (logs.length > 0) syncPath(dirname(resolve(file)));
}

/**
 * Returns whether the file is an SQLite database: SQLite would delete the log of anything else. "immutable"
 * makes it read the file without its log. SQLite opens the file, because this process may have it open
 * already (connection.ts).
 */
function isSqlite(file: string): boolean {
  const address = pathToFileURL(file);
  address.searchParams.set("immutable", "1");
  const db = new DatabaseSync(address, { readOnly: true });
  try {
    return db.prepare("pragma page_count").get()?.["page_count"] !== 0;
  } catch (error) {
    return !isNotADatabase(error);
  } finally {
    db.close();
  }
}

function inUse(file: string, cause: unknown): BatonError {
  return new BatonError("store_busy", {
    message: `${file} is open in another process, so nothing was changed.`,
    path: file,
    hint: "Stop every hub that uses the store, then restore again.",
    cause,
  });
}

function invalidBackupError(
  backup: string,
  problems: Awaited<ReturnType<typeof inspectFile>>["problems"],
): BatonError {
  const [first] = problems;
  return new BatonError("invalid_backup", {
    message: `${backup} is damaged (${first?.record} ${first?.field}: ${first?.message}).`,
    path: backup,
    hint: "Use another copy; nothing was changed.",
    details: { problems: problems.length },
  });
}
