/**
 * A backup becomes a store: copied beside its place while its seal is checked, brought up to date,
 * verified in full, and only then put in place, in one step. A store that is there stays, unless it
 * is to be replaced; then it is kept beside under another name, and nobody may have it open.
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

export interface RestoreOptions {
  readonly backup: string;
  readonly file: string;
  /** Replaces a store that is there, which is kept beside. */
  readonly force: boolean;
  readonly clock: Clock;
  readonly onProgress: (progress: BackupProgress) => void;
  /** For tests: other schema steps than those of this version. */
  readonly steps?: readonly SchemaStep[];
}

export interface RestoreFileResult {
  readonly bytes: number;
  readonly sha256: string;
  readonly workspaces: readonly CopiedWorkspace[];
  /** Where the store that was there is now; empty when there was none. */
  readonly kept: string;
}

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
    removeIndex(file); // Made from the store that was here.
    return { ...seal, workspaces, kept };
  } catch (error) {
    throw toFileError(storeFailure(error, file), file);
  } finally {
    staged.discard();
  }
}

/** Upgrades a backup of an earlier release. Throws for what is not a store of ours, too new or too old. */
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
 * The old store under another name as well: its own name never stands for nothing. A log beside it
 * is folded in first, which SQLite does only for whoever has the file alone; the log of one that
 * cannot be read any more moves along, since the new file must not find it.
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
    copyFileSync(file, kept, constants.COPYFILE_EXCL); // A file system without links.
  }
  return kept;
}

/**
 * Of anything else SQLite would throw the log away; "immutable" lets it look at the file alone. Not
 * opened by ourselves, since this process may have it open (connection.ts).
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
    message: `${file} is open in another process. Nothing was changed.`,
    path: file,
    hint: "Stop every hub on that store, then restore again.",
    cause,
  });
}

function invalidBackupError(
  backup: string,
  problems: Awaited<ReturnType<typeof inspectFile>>["problems"],
): BatonError {
  const [first] = problems;
  return new BatonError("invalid_backup", {
    message: `${backup}: not everything is as it was written (${first?.record} ${first?.field}: ${first?.message}).`,
    path: backup,
    hint: "Use another copy. Nothing was changed.",
    details: { problems: problems.length },
  });
}
