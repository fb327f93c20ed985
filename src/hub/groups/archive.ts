/** `hub.archive`: exports, imports and backups of a workspace. */
import { type BackupOptions, type BackupReport, backupTo } from "../../archive/backup.ts";
import {
  type ExportOptions,
  type ExportReport,
  type ExportToOptions,
  exportLines,
  exportToFile,
} from "../../archive/export.ts";
import {
  type ImportOptions,
  type ImportReport,
  type ImportSource,
  importExport,
} from "../../archive/import.ts";
import type { Workspace } from "../../workspace/workspace.ts";

export interface Archive {
  /** Yields everything the workspace holds at one moment as lines, private records included. */
  export(options?: ExportOptions): AsyncGenerator<string, unknown, undefined>;
  /** Writes the same to a file, which appears when it is complete. */
  exportTo(file: string, options?: ExportToOptions): Promise<ExportReport>;
  /** Replaces an empty workspace by an export (a path or its lines): all of it, verified, or nothing. */
  import(source: ImportSource, options?: ImportOptions): Promise<ImportReport>;
  /**
   * Backs up while agents work: a verified copy of the whole store where it is a file, else an export of
   * this workspace. `restore()` makes a store from it.
   */
  backup(file: string, options?: BackupOptions): Promise<BackupReport>;
}

export const archive = (workspace: Workspace): Archive => ({
  export: (options = {}) => exportLines(workspace, options),
  exportTo: (file, options = {}) => exportToFile(workspace, file, options),
  import: (source, options = {}) => importExport(workspace, source, options),
  backup: (file, options = {}) => backupTo(workspace, file, options),
});
