/** `hub.archive`: exports, imports and backups of a workspace. */
import { type BackupOptions, type BackupReport, backupTo } from "../../archive/backup.ts";
import {
  type ExportOptions,
  type ExportReport,
  type ExportToOptions,
  exportLines,
  exportToFile,
} from "../../archive/export.ts";
import { readHead, type WorkspaceHead } from "../../archive/heads.ts";
import {
  type ImportOptions,
  type ImportReport,
  type ImportSource,
  importExport,
} from "../../archive/import.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import type { HeadSigner } from "../options.ts";

/** `hub.archive`: exports, imports and backs up the workspace. Over HTTP, requires access admin. */
export interface Archive {
  /** Yields everything in the workspace at one moment as lines of JSON, including private records. */
  export(options?: ExportOptions): AsyncGenerator<string, unknown, undefined>;
  /** Writes the same lines to a file. The file appears only when it is complete. */
  exportTo(file: string, options?: ExportToOptions): Promise<ExportReport>;
  /**
   * Imports an export (a path or its lines) into an empty workspace. Either everything is imported and
   * verified, or nothing is. Throws `invalid_export`.
   */
  import(source: ImportSource, options?: ImportOptions): Promise<ImportReport>;
  /**
   * Creates a backup while agents work: a verified copy of the whole store if it is a file, otherwise an
   * export of this workspace. `restore()` creates a store from it.
   */
  backup(file: string, options?: BackupOptions): Promise<BackupReport>;
  /**
   * Returns the newest position and link of every chain, signed if the hub has a key (`headKey`). Kept outside
   * the store, it shows later whether a chain was cut off or rewritten: `hub.verify({ expect: head })`. Over
   * HTTP, requires access coordinator.
   */
  head(): Promise<WorkspaceHead>;
}

/** Returns `hub.archive` for a workspace. */
export const archive = (workspace: Workspace, sign?: HeadSigner): Archive => ({
  export: (options = {}) => exportLines(workspace, options),
  exportTo: (file, options = {}) => exportToFile(workspace, file, options),
  import: (source, options = {}) => importExport(workspace, source, options),
  backup: (file, options = {}) => backupTo(workspace, file, options),
  async head() {
    const head = await readHead(workspace);
    return sign?.(head) ?? head;
  },
});
