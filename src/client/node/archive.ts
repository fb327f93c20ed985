/** Exports, imports and backups over HTTP, to and from files of this process. */
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

export const exportLines = (wire: Wire, options: ExportOptions) =>
  relayLines(streamedLines(wire, "archive.export", {}), options);

export function exportTo(
  wire: Wire,
  workspace: string,
  file: string,
  options: ExportToOptions,
): Promise<ExportReport> {
  const lines = (how: ExportOptions) => exportLines(wire, how);
  return writeExport({ workspace, lines }, file, options);
}

/** The export of this workspace: a hub elsewhere does not hand out its file. */
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

/** A file is read to its end before any of it is sent. */
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
