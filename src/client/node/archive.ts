/** Exports, imports and backs up a workspace over HTTP, to and from files on this machine. */
import { createReadStream } from "node:fs";
import { type BackupOptions, type BackupReport, checkedBackup } from "../../archive/backup.ts";
import {
  type ExportOptions,
  type ExportReport,
  type ExportToOptions,
  relayLines,
  writeExport,
} from "../../archive/export.ts";
import {
  checkedImport,
  checkedSource,
  checkFile,
  type ImportOptions,
  type ImportReport,
  type ImportSource,
} from "../../archive/import.ts";
import { DEFAULT_LIMITS } from "../../base/limits.ts";
import type { Wire } from "../connection/wire.ts";
import { streamedLines, streamRoute } from "../streamed-lines.ts";

/** Yields the lines of an export. */
export const exportLines = (wire: Wire, options: ExportOptions) =>
  relayLines(streamedLines(wire, "archive.export", {}), options);

/** Writes an export to a file. */
export function exportTo(
  wire: Wire,
  workspace: string,
  file: string,
  options: ExportToOptions,
): Promise<ExportReport> {
  const lines = (how: ExportOptions) => exportLines(wire, how);
  return writeExport({ workspace, lines }, file, options);
}

/** Writes a backup: an export of this workspace, because a remote hub does not send its store file. */
export async function backupTo(
  wire: Wire,
  workspace: string,
  given: string,
  options: BackupOptions,
): Promise<BackupReport> {
  const { onProgress } = checkedBackup(options);
  const { file, bytes, sha256, counts } = await exportTo(wire, workspace, given, {
    onProgress: (progress) => onProgress?.({ phase: "copying", ...progress }),
  });
  return { kind: "workspace", file, bytes, sha256, workspace, counts };
}

/** Imports an export. A file is checked completely before any of it is sent. */
export async function importFrom(
  wire: Wire,
  given: ImportSource,
  options: ImportOptions,
): Promise<ImportReport> {
  const source = checkedSource(given);
  const listening = checkedImport(options);
  if (typeof source === "string") await checkFile({ limits: DEFAULT_LIMITS }, source, listening);
  const chunks = typeof source === "string" ? createReadStream(source) : source;
  const outgoing = {
    ...streamRoute("archive.import"),
    headers: { "content-type": "application/x-ndjson" },
    body: ReadableStream.from(bytesOf(chunks)),
  };
  return wire.open(outgoing, (response) => response.json() as Promise<ImportReport>);
}

async function* bytesOf(chunks: Exclude<ImportSource, string>) {
  const encoder = new TextEncoder();
  for await (const chunk of chunks) yield typeof chunk === "string" ? encoder.encode(chunk) : chunk;
}
