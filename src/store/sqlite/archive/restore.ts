/**
 * Turns a backup into a store: copies it next to its destination while checking its seal, upgrades its
 * schema, verifies all of it, and only then moves it into place in one step. An existing store is not
 * replaced unless `force` is set; then it is kept under another name, and no process may have it open.
 */
import {
  constants,
  copyFileSync,
  createWriteStream,
  existsSync,
  linkSync,
  renameSync,
} from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { pathToFileURL } from "node:url";
import type { Clock } from "../../../base/clock.ts";
import { BatonError } from "../../../base/errors.ts";
import { stageFile, toFileError } from "../../../base/staged-file.ts";
import type { BackupProgress, CopiedWorkspace } from "../../archive.ts";
import type { SchemaStep } from "../../schema-steps.ts";
import { connect } from "../connection.ts";
import { isBusy, isNotADatabase, storeFailure } from "../failures.ts";
import { isCurrent, migrate } from "../migrations.ts";
import { removeIndex } from "../search/index-file.ts";
import { foldLog, inspectFile } from "./backup.ts";
import { readSeal, sealedBytes } from "./backup-seal.ts";

/** What to restore, and where. */
export interface RestoreOptions {
  readonly backup: string;
  readonly file: string;
  /** Replaces an existing store, which is kept under another name. */
  readonly force: boolean;
  readonly clock: Clock;
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
 * Restores a backup. Throws `invalid_backup` if it is damaged, and `store_busy` if the old store is in use.
 */
export async function restoreFile(given: RestoreOptions): Promise<RestoreFileResult> {
  const { backup, file, force, clock, onProgress } = given;
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
    const kept = existsSync(file) ? keepPreviousStore(file, clock) : "";
    staged.place();
    removeIndex(file); // It was made from the replaced store.
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
 * Gives the old store a second name, so that the original name always refers to a store. The log is merged
 * into it first, which SQLite does only if no other connection has the file open. The log of a file that
 * cannot be read any more is renamed with it, because the new store must not find it.
 */
function keepPreviousStore(file: string, clock: Clock): string {
  const stamp = new Date(clock.now()).toISOString().replace(/[:.]/g, "-");
  const kept = `${file}.before-${stamp}`;
  try {
    if (isSqlite(file)) foldLog(file);
  } catch (error) {
    if (isBusy(error)) throw inUse(file, error);
  }
  for (const log of ["-wal", "-shm"]) {
    if (existsSync(`${file}${log}`)) renameSync(`${file}${log}`, `${kept}${log}`);
  }
  try {
    linkSync(file, kept);
  } catch {
    copyFileSync(file, kept, constants.COPYFILE_EXCL); // The file system has no hard links.
  }
  return kept;
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
