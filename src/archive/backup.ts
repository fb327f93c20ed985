/**
 * Backing up while everybody works. Where the store is a file, a copy of all of it; where it is not
 * (PostgreSQL, memory), the export of the workspace, which restores as well.
 */
import * as z from "zod";
import type { BackupProgress, CopiedWorkspace, RowCounts } from "../store/archive.ts";
import type { Workspace } from "../workspace/workspace.ts";
import { exportToFile } from "./export.ts";
import { checkedFile, checkedOptions, progressListener } from "./input-checks.ts";

const BackupSchema = z.strictObject({ onProgress: progressListener<BackupProgress>() });

export type BackupOptions = z.input<typeof BackupSchema>;

export const checkedBackup = (options: BackupOptions): z.output<typeof BackupSchema> =>
  checkedOptions(BackupSchema, options);

export type BackupReport =
  | {
      /** The whole store, with every workspace in it, as it was verified in the copy. */
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
