/**
 * Backs up a workspace while agents work. If the store is a file, copies the whole file; otherwise
 * (PostgreSQL, memory) writes an export of the workspace, which can be restored as well.
 */
import * as z from "zod";
import type { BackupProgress, CopiedWorkspace, RowCounts } from "../store/archive.ts";
import type { Workspace } from "../workspace/workspace.ts";
import { exportToFile } from "./export.ts";
import { checkedFile, checkedOptions, progressListener } from "./input-checks.ts";

const BackupSchema = z.strictObject({ onProgress: progressListener<BackupProgress>() });

export type BackupOptions = z.input<typeof BackupSchema>;

/** Returns checked backup options. Throws `invalid_input`. */
export const checkedBackup = (options: BackupOptions): z.output<typeof BackupSchema> =>
  checkedOptions(BackupSchema, options);

/** What was backed up, by `kind`. */
export type BackupReport =
  | {
      /** A copy of the whole store with every workspace in it, verified after copying. */
      readonly kind: "store";
      readonly file: string;
      readonly bytes: number;
      readonly sha256: string;
      readonly workspaces: readonly CopiedWorkspace[];
    }
  | {
      /** One workspace, as an export. */
      readonly kind: "workspace";
      readonly file: string;
      readonly bytes: number;
      readonly sha256: string;
      readonly workspace: string;
      readonly counts: RowCounts;
    };

/** Writes a backup to a file. Throws if the file exists or cannot be written. */
export async function backupTo(
  workspace: Workspace,
  given: string,
  options: BackupOptions = {},
): Promise<BackupReport> {
  const file = checkedFile(given);
  const { onProgress } = checkedBackup(options);
  const outcome = await workspace.store.backup(file, onProgress);
  if (outcome.kind === "copied") {
    const { bytes, sha256, workspaces } = outcome;
    return { kind: "store", file, bytes, sha256, workspaces };
  }
  const { bytes, sha256, counts } = await exportToFile(workspace, file, {
    onProgress: (progress) => onProgress?.({ phase: "copying", ...progress }),
  });
  return { kind: "workspace", file, bytes, sha256, workspace: workspace.name, counts };
}
